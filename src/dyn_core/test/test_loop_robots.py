# SPDX-License-Identifier: Apache-2.0
"""The example robots with loops: they load, are closed in their assembly, and have the actuators for it."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from loop_oracle import LoopOracle, example_oracle, example_side, example_urdf
from loop_par_robots import AKR3000, AKR3000_ZERO, SR400, SR400_ZERO

import dyn_core
from dyn_core.check.loop_gaps import loop_gap
from dyn_core.geometry.forward import link_placements

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
ACTUATED = {
    "sr400": ("joint_1", "joint_2", "joint_4", "joint_5", "joint_6", "joint_7"),
    "akr3000": ("joint_1", "joint_5", "joint_6", "joint_8", "joint_9", "joint_10"),
    "five_bar": ("left_shoulder", "right_shoulder"),
    "palletizer": ("axis_1", "axis_2", "axis_3", "axis_4"),
}
NAMES = tuple(ACTUATED)


def load(name: str) -> dyn_core.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return dyn_core.load_robot(ROBOTS / f"{name}.urdf", loops=ROBOTS / f"{name}.yaml")


@pytest.mark.parametrize("name", NAMES)
def test_they_load_and_are_closed_in_their_assembly(name: str) -> None:
    robot = load(name)
    assert robot.name == name
    assert sorted(robot.actuated_joint_names) == sorted(ACTUATED[name])
    assert np.array([loop_gap(robot, loop) for loop in robot.loops]).max() < 4e-15
    assert example_oracle(name).assembly_gap(example_side(name)) < 4e-15


@pytest.mark.parametrize("name", NAMES)
def test_they_have_as_many_actuators_as_degrees_of_freedom(name: str) -> None:
    """The loops are planar, of revolute joints: three of the five rows of each are redundant."""
    oracle = example_oracle(name)
    assert oracle.n - oracle.rank == oracle.dof == len(ACTUATED[name])
    assert oracle.rank == 2 * len(oracle.loops)
    J = oracle.jacobian(oracle.assembly)
    singular = np.linalg.svd(J, compute_uv=False)
    assert singular[oracle.rank - 1] > 0.05
    assert singular[oracle.rank :].max() < 1e-14
    assert np.linalg.matrix_rank(J[:, oracle.dof :], tol=1e-8) == oracle.rank


@pytest.mark.parametrize("name", NAMES)
def test_what_they_are_made_of_is_complete_and_hides_nothing(name: str) -> None:
    """All bodies that move are possible ones without symmetry, and all joints have friction and limits."""
    robot = load(name)
    for body in robot.bodies[1:]:
        assert all(abs(value) > 1e-6 for value in (body.XY, body.XZ, body.YZ, body.MX, body.MY, body.MZ))
    for joint in robot.joints:
        assert joint.friction.Fv > 0.0
        assert joint.friction.Fs > 0.0
        assert (joint.Ia > 0.0) == (joint.mu == 1)
        assert joint.limits.lower < dict(robot.assembly).get(joint.name, 0.0) < joint.limits.upper
        assert joint.limits.velocity > 0.0
        assert (joint.limits.effort or 0.0) > 0.0 or joint.mu == 0


@pytest.mark.parametrize("name", NAMES)
def test_their_actuators_can_hold_them(name: str) -> None:
    oracle, random = example_oracle(name), np.random.default_rng(4)
    for _ in range(10):
        q, _, _ = oracle.random_state(random)
        holding = np.abs(oracle.gravity(q)) + oracle.Fs[: oracle.dof]
        assert np.all(holding < 0.5 * oracle.effort_limits[: oracle.dof])


@pytest.mark.parametrize("name", NAMES)
def test_the_oracle_read_the_same_tree_and_drives(name: str) -> None:
    tree, oracle = replace(load(name), loops=(), assembly=()), example_oracle(name)
    model = dyn_core.compile_model(tree, backend="python")
    order = [oracle.joint_names.index(joint) for joint in model.joint_names]
    q, qd, qdd = np.random.default_rng(7).uniform(-1.0, 1.0, (3, oracle.n))
    expected = oracle._tree_torques(q, qd, qdd)[order]
    found = model.inverse_dynamics(q[order], qd[order], qdd[order])
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize(("name", "of_bodies", "with_rotors"), [("sr400", 50, 55), ("akr3000", 58, 64)])
def test_base_parameters_of_the_equivalent_tree(name: str, of_bodies: int, with_rotors: int) -> None:
    tree = replace(load(name), loops=(), assembly=())
    found = dyn_core.base_parameters(tree)
    assert len(found.kept) == with_rotors
    assert sum(not parameter.startswith("Ia") for parameter in found.kept) == of_bodies


@pytest.mark.parametrize(
    ("name", "table", "zero"), [("sr400", SR400, SR400_ZERO), ("akr3000", AKR3000, AKR3000_ZERO)]
)
def test_the_frames_of_symoro(name: str, table: str, zero: dict[str, str], tmp_path: Path) -> None:
    """Joints have the axes, actuators and cut joints of the table, wherever the tree of joints moves."""
    path = tmp_path / f"{name}.par"
    path.write_text(table)
    ours, theirs = load(name), dyn_core.load_robot(path)
    assert {joint.name: joint.mu for joint in ours.joints} == {j.name: j.mu for j in theirs.joints}
    offset = {joint: value_of(text) for joint, text in zero.items()}
    for q in np.random.default_rng(2).uniform(-2.0, 2.0, (5, len(ours.joints))).tolist():
        at = dict(zip(ours.joint_names, q, strict=True))
        there = [at[joint] + offset.get(joint, 0.0) for joint in theirs.joint_names]
        T, T_table = link_placements(ours, q), link_placements(theirs, there)
        for joint, child in zip(ours.joints, ours.child_links, strict=True):
            number = joint.name.split("_")[1]
            T_body = T_table[f"link_{number}"]
            np.testing.assert_allclose(T[child.name].p, T_body.p, rtol=0.0, atol=1e-14)
            axis = np.array(T_body.R)[:, 2]
            body = np.array(T[child.name].R) @ np.array(child.T_body_link.R).T
            np.testing.assert_allclose(body[:, 2], axis, rtol=0.0, atol=1e-14)
        for one, other in zip(ours.loops, theirs.loops, strict=True):
            ends = {point(T, one.parent), point(T, one.child)}
            assert ends == {point(T_table, other.parent), point(T_table, other.child)}


def value_of(text: str) -> float:
    return {"pi/2": math.pi / 2, "-pi/2": -math.pi / 2, "-pi": -math.pi}.get(text) or float(text)


def point(T: dict, end: object) -> tuple[float, ...]:
    """Origin of a cut frame in the base, rounded."""
    T_root_link = T[end.link]
    p = np.array(T_root_link.R) @ np.array(end.T_link_cut.p) + np.array(T_root_link.p)
    return tuple((np.round(p, 12) + 0.0).tolist())


def passive_of_parallelograms(name: str, q: dict[str, float]) -> dict[str, float]:
    """Passive positions of the robots whose loops are parallelograms (SYMORO+ 2003, sec. 2.2.2)."""
    if name == "sr400":
        turned = q["joint_7"] - q["joint_2"]
        return {"joint_3": turned, "joint_8": -turned}
    lower, fore = q["axis_2"], q["axis_3"]
    return {
        "elbow": fore - lower,
        "rod_foot": lower - fore,
        "tilt": -fore,
        "lower_level_foot": lower,
        "plate_pivot": -lower,
        "upper_level_foot": fore,
    }


@pytest.mark.parametrize("name", ["sr400", "palletizer"])
def test_parallelograms(name: str) -> None:
    """The URDF of SR400 has its joints at 0 where t3 = 0 and t8 = pi/2 with t2 = -pi/2 and t7 = -pi."""
    oracle, random = example_oracle(name), np.random.default_rng(5)
    for _ in range(5):
        closed = oracle.closed(oracle.random_state(random)[0])
        for joint, expected in passive_of_parallelograms(name, closed).items():
            assert closed[joint] == pytest.approx(expected, abs=1e-12)


def test_the_wrist_of_the_palletizer_stays_level() -> None:
    oracle, robot, random = example_oracle("palletizer"), load("palletizer"), np.random.default_rng(6)
    for _ in range(5):
        closed = oracle.closed(oracle.random_state(random)[0])
        T = link_placements(robot, [closed[joint] for joint in robot.joint_names])
        np.testing.assert_allclose(np.array(T["tool0"].R)[:, 2], (0.0, 0.0, 1.0), rtol=0.0, atol=1e-12)


def test_a_robot_that_is_not_closed_has_a_gap() -> None:
    side = example_side("five_bar")
    side["assembly"]["left_elbow"] += 0.01
    oracle = LoopOracle(example_urdf("five_bar"), side)
    assert oracle.assembly_gap(side) == pytest.approx(0.01 * 0.55, rel=0.3)
