# SPDX-License-Identifier: Apache-2.0
"""Inertia matrix and bias torques in one pass: the algorithm, models that use it, and the paper's check."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from properties import examples, given, st
from random_case import assert_close, random_case
from random_urdf import random_urdf

import dyn_core
from dyn_core.codegen.traced_program import trace
from dyn_core.dynamics.bias_torques import bias_torques
from dyn_core.dynamics.inertia_matrix import inertia_matrix
from dyn_core.dynamics.mrnea import inertia_and_bias
from dyn_core.formulations.chain import chain_of
from dyn_core.formulations.recursive_newton_euler import mrnea
from dyn_core.model.fixed_base.dynamics_programs import DIVISION, FEW, kinds, traced
from dyn_core.robot.joints import Friction

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
BAR = 1e-11
IN_ONE_PASS = ("inertia_matrix", "inertia_and_bias", "forward_dynamics")

MIMIC = """
<robot name='gripper'><link name='palm'/>
<link name='a'><inertial><origin xyz='0.1 0.02 0'/><mass value='2'/>
<inertia ixx='0.1' ixy='0' ixz='0' iyy='0.2' iyz='0' izz='0.3'/></inertial></link>
<link name='b'><inertial><origin xyz='0 0.1 0.05'/><mass value='1'/>
<inertia ixx='0.1' ixy='0.01' ixz='0' iyy='0.1' iyz='0' izz='0.1'/></inertial></link>
<joint name='near' type='continuous'><parent link='palm'/><child link='a'/><axis xyz='0 1 0'/></joint>
<joint name='far' type='continuous'><parent link='a'/><child link='b'/><origin xyz='0.3 0 0'/>
<axis xyz='0 1 0.5'/><mimic joint='near' multiplier='-0.5' offset='0.2'/></joint>
</robot>
"""


def sdt() -> dyn_core.Robot:
    return dyn_core.load_robot(ROBOTS / "sdt.urdf")


def states(n: int, count: int = 30) -> np.ndarray:
    return np.random.default_rng(11).uniform(-2.0, 2.0, (3, count, n))


@examples(150)
@given(seed=st.integers(0, 2**32 - 1), joints=st.integers(1, 20), compound=st.booleans())
def test_random_trees(seed: int, joints: int, compound: bool) -> None:
    """With prismatic joints, branches, friction, rotors, tilted gravity and wrenches on links."""
    case = random_case(seed, joints, compound)
    robot = case.robot
    A, H = inertia_and_bias(robot, case.q, case.qd, robot.gravity_0, case.external)
    assert_close(A, inertia_matrix(robot, case.q), BAR)
    assert_close(H, bias_torques(robot, case.q, case.qd, robot.gravity_0, case.external), BAR)
    expected = case.oracle.inertia_matrix(case.q) + np.diag(case.rotor_inertias)
    assert_close(A, expected, BAR)


@examples(100)
@given(seed=st.integers(0, 2**32 - 1), joints=st.integers(1, 20), compound=st.booleans())
def test_bias_torques_of_random_trees_are_those_of_pinocchio(seed: int, joints: int, compound: bool) -> None:
    case = random_case(seed, joints, compound)
    robot, rest = case.robot, [0.0] * len(case.robot.joints)
    frictionless = replace(robot, joints=tuple(replace(j, friction=Friction()) for j in robot.joints))
    _, H = inertia_and_bias(frictionless, case.q, case.qd, robot.gravity_0, case.external)
    assert_close(H, case.oracle.inverse_dynamics(case.q, case.qd, rest, case.wrenches), BAR)


def test_branches_have_nothing_to_do_with_one_another() -> None:
    robot = dyn_core.load_robot(ROBOTS / "two_branch.urdf")
    q, qd, _ = states(robot.dof, 1)[:, 0].tolist()
    A, _ = inertia_and_bias(robot, q, qd, robot.gravity_0, {})
    left, right = robot.joint_names.index("left_elbow"), robot.joint_names.index("right_elbow")
    assert A[left][right] == A[right][left] == 0.0
    assert A[left][0] is A[0][left]


@pytest.mark.parametrize("backend", ["c", "python"])
@pytest.mark.parametrize("parameters", ["baked", "runtime"])
@pytest.mark.parametrize("name", ["rrp", "rx90", "two_branch", "sdt"])
def test_models_by_either_method(name: str, parameters: str, backend: str) -> None:
    robot = dyn_core.load_robot(ROBOTS / f"{name}.urdf")
    auto = dyn_core.compile_model(robot, parameters, backend)
    one = dyn_core.compile_model(robot, parameters, backend, method="mrnea")
    assert (auto.method, one.method) == ("auto", "mrnea")
    q, qd, tau = states(robot.dof)
    A, H = auto.inertia_matrix(q), auto.bias_torques(q, qd)
    for model in (auto, one):
        both = model.inertia_and_bias(q, qd)
        assert both.shape == (len(q), robot.dof + 1, robot.dof)
        assert_close(both[:, :-1], A, BAR)
        assert_close(both[:, -1], H, BAR)
        assert_close(model.inertia_matrix(q), A, BAR)
        out = np.empty((robot.dof + 1, robot.dof))
        assert model.inertia_and_bias(q[0], qd[0], out=out) is out
        np.testing.assert_allclose(out, both[0], rtol=1e-12, atol=1e-12)
    assert_close(one.forward_dynamics(q, qd, tau), auto.forward_dynamics(q, qd, tau), 1e-10)


def test_joints_that_mimic() -> None:
    robot = dyn_core.load_robot(MIMIC)
    auto, one = (dyn_core.compile_model(robot, method=method) for method in ("auto", "mrnea"))
    q, qd, x = states(robot.dof)
    assert_close(one.inertia_and_bias(q, qd), auto.inertia_and_bias(q, qd), BAR)
    A, H = np.split(one.inertia_and_bias(q, qd), [robot.dof], axis=1)
    assert_close((A @ x[..., None])[..., 0] + H[:, 0], one.inverse_dynamics(q, qd, x), BAR)
    assert_close(one.forward_dynamics(q, qd, x), auto.forward_dynamics(q, qd, x), 1e-10)


def test_the_method_stays_with_the_model() -> None:
    robot = dyn_core.load_robot(ROBOTS / "rx90.urdf")
    auto, one = (dyn_core.compile_model(robot, backend="python", method=m) for m in ("auto", "mrnea"))
    assert pickle.loads(pickle.dumps(one)).method == "mrnea"
    for function in IN_ONE_PASS:
        counts = traced(one.robot, function, method="mrnea").operation_counts
        assert one.operation_counts(function) == counts != auto.operation_counts(function)
    assert one.operation_counts("inverse_dynamics") == auto.operation_counts("inverse_dynamics")
    runtime = dyn_core.compile_model(robot, "runtime", backend="python", method="mrnea")
    assert sum(runtime.operation_counts("inertia_and_bias").values()) > 1000


def test_another_method_is_refused() -> None:
    with pytest.raises(ValueError, match="method: expected 'auto' or 'mrnea', but it is 'rnea'"):
        dyn_core.compile_model(sdt(), method="rnea")


def total(counts: dict[str, int]) -> int:
    return counts["mul"] + counts["add"]


def test_the_pass_is_used_where_it_has_the_fewest_operations() -> None:
    """In some trees with few joints, and nowhere else: composite links are taken where they have as few."""
    robots = [dyn_core.load_robot(random_urdf(seed, 2)) for seed in range(40)]
    robots = [robot for robot in robots if robot.dof == 2]
    taken = 0
    for robot in robots:
        q = {"q": robot.dof}
        by_links, by_pass = (
            total(trace("A", partial(algorithm, robot), q, (2, 2)).operation_counts)
            for algorithm in kinds(robot)["inertia_matrix"].algorithms
        )
        assert total(traced(robot, "inertia_matrix").operation_counts) == min(by_links, by_pass)
        assert total(traced(robot, "inertia_matrix", method="mrnea").operation_counts) == by_pass
        taken += by_pass < by_links
    assert 0 < taken < len(robots) / 2


def cost_of(robot: dyn_core.Robot, function: str, algorithm: Callable) -> int:
    """Operations of one algorithm for a function of a model, as the choice weighs them."""
    kind = kinds(robot)[function]
    counts = trace(function, partial(algorithm, robot), kind.sizes, kind.shape).operation_counts
    return counts["mul"] + counts["add"] + DIVISION * counts["div"]


def crane(slides: int) -> dyn_core.Robot:
    """A column that turns, and slides in general directions, each on the one before."""
    directions = np.random.default_rng(slides).uniform(-1.0, 1.0, (slides + 1, 2, 3))
    links = "".join(
        f'<link name="l{j}"><inertial><origin xyz="0.1 0.2 0.3"/><mass value="2"/>'
        '<inertia ixx="1" ixy="0.1" ixz="0.2" iyy="1.2" iyz="0.05" izz="1.1"/></inertial></link>'
        for j in range(slides + 2)
    )
    joints = "".join(
        f'<joint name="j{j}" type="{"prismatic" if j else "revolute"}">'
        f'<parent link="l{j}"/><child link="l{j + 1}"/>'
        f'<origin xyz="{" ".join(map(str, at))}"/><axis xyz="{" ".join(map(str, axis))}"/>'
        '<limit lower="-1" upper="1" velocity="1" effort="1"/></joint>'
        for j, (at, axis) in enumerate(directions)
    )
    return dyn_core.load_robot(f'<robot name="crane">{links}{joints}</robot>')


@pytest.mark.parametrize("slides", [1, 4, 7])
def test_a_crane_takes_the_pass_for_all_three_functions(slides: int) -> None:
    """Behind one revolute joint it has the fewest operations, with any number of slides."""
    robot = crane(slides)
    for function in IN_ONE_PASS:
        *others, one = (
            cost_of(robot, function, algorithm) for algorithm in kinds(robot)[function].algorithms
        )
        assert one < min(others)
        counts = traced(robot, function, method="mrnea").operation_counts
        assert traced(robot, function).operation_counts == counts
    q, qd, tau = states(robot.dof)
    auto, by_links = dyn_core.compile_model(robot, backend="python"), inertia_matrix(robot, q[0].tolist())
    assert_close(auto.inertia_matrix(q[0]), by_links, BAR)
    A, H = auto.inertia_matrix(q), auto.bias_torques(q, qd)
    assert_close(auto.forward_dynamics(q, qd, tau), np.linalg.solve(A, (tau - H)[..., None])[..., 0], 1e-10)


def test_what_is_no_candidate_would_not_be_taken() -> None:
    """Of random trees with more revolute joints in a path than `FEW` the pass wins in none, else in some."""
    wins = {True: 0, False: 0}
    for seed in range(120):
        robot = dyn_core.load_robot(random_urdf(seed, 2 + seed % 8))
        if robot.dof < 2:
            continue
        kind = kinds(robot)["inertia_matrix"]
        assert kind.in_one_pass is not None
        by_links = cost_of(robot, "inertia_matrix", kind.algorithms[0])
        by_pass = cost_of(robot, "inertia_matrix", kind.in_one_pass)
        wins[len(kind.algorithms) == 2] += by_pass < by_links
    assert wins[True] > 0
    assert wins[False] == 0


def test_the_pass_is_no_candidate_where_many_revolute_joints_follow_one_another() -> None:
    long = dyn_core.load_robot(random_urdf(3, FEW + 8, chain=True))
    assert len(kinds(long)["inertia_matrix"].algorithms) == 1
    assert len(kinds(sdt())["inertia_matrix"].algorithms) == 2


def motion(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions, velocities and accelerations of the trainer: the arm speeds up while the gondola tumbles."""
    amplitude, rate = np.array([0.0, 0.6, 0.8, 0.5]), np.array([1.0, 0.9, 0.7, 1.3])
    phase = rate * t[:, None]
    start = np.array([0.5, 0.0, 0.0, 0.0])  # rad/s^2
    q = amplitude * np.sin(phase) + 0.5 * start * t[:, None] ** 2
    qd = amplitude * rate * np.cos(phase) + start * t[:, None]
    return q, qd, -amplitude * rate**2 * np.sin(phase) + start


def test_the_trainer_has_the_geometry_of_the_paper() -> None:
    """p1 = a1 (c1, s1, 0), p2 = (0, 0, d2), p3 = p4 = 0 in base coordinates."""
    robot = sdt()
    a1, d2, ground = 2.5, 0.6, np.array([0.0, 0.0, 1.0])
    model = dyn_core.compile_model(robot, backend="python")
    for q in states(4, 5)[0]:
        at = [model.forward_kinematics(q, link)[:3, 3] for link in ("arm", "fork", "ring", "gondola")]
        np.testing.assert_allclose(at[0], ground)
        np.testing.assert_allclose(at[1] - at[0], [a1 * np.cos(q[0]), a1 * np.sin(q[0]), 0.0], atol=1e-12)
        np.testing.assert_allclose(at[2] - at[1], [0.0, 0.0, d2], atol=1e-12)
        np.testing.assert_allclose(at[3], at[2], atol=1e-12)


def test_the_check_of_the_paper() -> None:
    """Torques by either recursion are the same; solved for the accelerations they give back the motion's."""
    robot = replace(sdt(), joints=tuple(replace(j, friction=type(j.friction)()) for j in sdt().joints))
    chain = chain_of(robot)
    model = dyn_core.compile_model(robot)
    for q, qd, qdd in zip(*motion(np.linspace(0.0, 6.0, 61)), strict=True):
        u = model.inverse_dynamics(q, qd, qdd)
        passes = (
            mrnea(chain, q.tolist(), qd.tolist(), robot.gravity_0),
            inertia_and_bias(robot, q.tolist(), qd.tolist(), robot.gravity_0, {}),
            np.split(model.inertia_and_bias(q, qd), [4]),
        )
        for h, bias in passes:
            bias = np.reshape(bias, 4)
            assert_close(h @ qdd + bias, u, BAR)
            assert_close(np.linalg.solve(h, u - bias), qdd, BAR)
