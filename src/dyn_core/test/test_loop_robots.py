# SPDX-License-Identifier: Apache-2.0
"""The example robots with loops load, are closed in their assembly, and have suitable actuators."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from loop_oracle import LoopOracle, example_oracle, example_side, example_urdf
from par_robots import AKR3000, AKR3000_ZERO, SR400, SR400_ZERO
from robots import loop_robot

import dyn_core
from dyn_core.check.loop_gaps import loop_gap
from dyn_core.robot.mdh.direct_geometry import link_placements

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
        return loop_robot(name)


@pytest.mark.parametrize("name", NAMES)
def test_they_load_and_have_as_many_actuators_as_degrees_of_freedom(name: str) -> None:
    """The loops are planar with revolute joints: three of the five constraints of each are redundant."""
    robot, oracle = load(name), example_oracle(name)
    assert (robot.name, set(robot.actuated_joint_names)) == (name, set(ACTUATED[name]))
    assert np.array([loop_gap(robot, loop) for loop in robot.loops]).max() < 4e-15
    assert oracle.assembly_gap(example_side(name)) < 4e-15
    assert oracle.n - oracle.rank == oracle.dof == len(ACTUATED[name])
    assert oracle.rank == 2 * len(oracle.loops)
    J = oracle.jacobian(oracle.assembly)
    singular = np.linalg.svd(J, compute_uv=False)
    assert singular[oracle.rank - 1] > 0.05
    assert singular[oracle.rank :].max() < 1e-14
    assert np.linalg.matrix_rank(J[:, oracle.dof :], tol=1e-8) == oracle.rank
    # All moving bodies are physically possible and not symmetric, and all joints have friction and limits.
    for body in robot.bodies[1:]:
        assert all(abs(value) > 1e-6 for value in (body.XY, body.XZ, body.YZ, body.MX, body.MY, body.MZ))
    for joint in robot.joints:
        assert min(joint.friction.Fv, joint.friction.Fs, joint.limits.velocity) > 0.0
        assert (joint.Ia > 0.0) == (joint.mu == 1)
        assert joint.limits.lower < dict(robot.assembly).get(joint.name, 0.0) < joint.limits.upper
        assert (joint.limits.effort or 0.0) > 0.0 or joint.mu == 0
    # The actuators can hold the robot against gravity.
    random = np.random.default_rng(4)
    for _ in range(10):
        holding = np.abs(oracle.gravity(oracle.random_state(random)[0])) + oracle.Fs[: oracle.dof]
        assert np.all(holding < 0.5 * oracle.effort_limits[: oracle.dof])


@pytest.mark.parametrize("name", NAMES)
def test_the_oracle_has_the_same_tree_and_drives(name: str) -> None:
    tree, oracle = replace(load(name), loops=(), assembly=()), example_oracle(name)
    model = dyn_core.compile_model(tree, backend="python")
    order = [oracle.joint_names.index(joint) for joint in model.joint_names]
    q, qd, qdd = np.random.default_rng(7).uniform(-1.0, 1.0, (3, oracle.n))
    expected = oracle._tree_torques(q, qd, qdd)[order]
    found = model.inverse_dynamics(q[order], qd[order], qdd[order])
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["sr400", "akr3000"])
def test_frames_and_base_parameters_agree_with_symoro(name: str, tmp_path: Path) -> None:
    """Axes, actuators and cut joints agree with the table, in all positions of the tree."""
    sr400 = name == "sr400"
    table, zero = (SR400, SR400_ZERO) if sr400 else (AKR3000, AKR3000_ZERO)
    path = tmp_path / f"{name}.par"
    path.write_text(table)
    ours, theirs = load(name), dyn_core.load_robot(path)
    kept = dyn_core.base_parameters(replace(ours, loops=(), assembly=())).kept
    of_rotors = sum(parameter.startswith("Ia") for parameter in kept)
    assert (len(kept) - of_rotors, of_rotors) == ((50, 5) if sr400 else (58, 6))
    assert {joint.name: joint.mu for joint in ours.joints} == {j.name: j.mu for j in theirs.joints}
    for q in np.random.default_rng(2).uniform(-2.0, 2.0, (5, len(ours.joints))).tolist():
        at = dict(zip(ours.joint_names, q, strict=True))
        there = [at[joint] + value_of(zero.get(joint, "0")) for joint in theirs.joint_names]
        T, T_table = link_placements(ours, q), link_placements(theirs, there)
        for joint, child in zip(ours.joints, ours.child_links, strict=True):
            T_body = T_table[f"link_{joint.name.split('_')[1]}"]
            np.testing.assert_allclose(T[child.name].p, T_body.p, rtol=0.0, atol=1e-14)
            body = np.array(T[child.name].R) @ np.array(child.T_body_link.R).T
            np.testing.assert_allclose(body[:, 2], np.array(T_body.R)[:, 2], rtol=0.0, atol=1e-14)
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
    """Passive positions of robots whose loops are parallelograms (SYMORO+ 2003, sec. 2.2.2)."""
    if name == "sr400":
        turned = q["joint_7"] - q["joint_2"]
        return {"joint_3": turned, "joint_8": -turned}
    lower, fore = q["axis_2"], q["axis_3"]
    found = {"elbow": fore - lower, "rod_foot": lower - fore, "tilt": -fore}
    return found | {"lower_level_foot": lower, "plate_pivot": -lower, "upper_level_foot": fore}


@pytest.mark.parametrize("name", ["sr400", "palletizer"])
def test_parallelograms(name: str) -> None:
    """The URDF of SR400 has its joints at 0 where t3 = 0 and t8 = pi/2 with t2 = -pi/2 and t7 = -pi.

    The wrist of the palletizer stays level.
    """
    oracle, robot, random = example_oracle(name), load(name), np.random.default_rng(5)
    for _ in range(10):
        closed = oracle.closed(oracle.random_state(random)[0])
        expected = passive_of_parallelograms(name, closed)
        assert {joint: closed[joint] for joint in expected} == pytest.approx(expected, abs=1e-12)
        T = link_placements(robot, [closed[joint] for joint in robot.joint_names])
        if name == "palletizer":
            np.testing.assert_allclose(np.array(T["tool0"].R)[:, 2], (0.0, 0.0, 1.0), rtol=0.0, atol=1e-12)


def test_an_open_robot_has_a_gap() -> None:
    side = example_side("five_bar")
    side["assembly"]["left_elbow"] += 0.01
    gap = LoopOracle(example_urdf("five_bar"), side).assembly_gap(side)
    assert gap == pytest.approx(0.01 * 0.55, rel=0.3)
