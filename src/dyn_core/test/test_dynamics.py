# SPDX-License-Identifier: Apache-2.0
"""Every dynamics algorithm on random trees, against Pinocchio and against one another."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from properties import examples, given, hypothesis, st
from random_case import Case, assert_close, random_case
from toy_symbol import Symbol, evaluate

import dyn_core
from dyn_core.algorithms.dynamics.newton_euler import inverse_dynamics, joint_reactions
from dyn_core.dynamics.articulated_dynamics import articulated_direct_dynamics
from dyn_core.dynamics.bias_torques import bias_torques
from dyn_core.dynamics.drive import drive_torques
from dyn_core.dynamics.factorisation import carriers, factorised, solved
from dyn_core.dynamics.factorised_dynamics import factorised_direct_dynamics
from dyn_core.dynamics.gravity_torques import gravity_torques
from dyn_core.dynamics.inertia_matrix import inertia_matrix
from dyn_core.dynamics.regressor import regressor
from dyn_core.dynamics.unresisted import unresisted
from dyn_core.dynamics.wrench import wrench_on_antecedent
from dyn_core.linalg.transform import inverse

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
DIRECT = (articulated_direct_dynamics, factorised_direct_dynamics)

trees = given(seed=st.integers(0, 2**32 - 1), joints=st.integers(1, 20), compound=st.booleans())
few = examples(100)


def all_torques(case: Case, qdd: list[float]) -> np.ndarray:
    """Torques of the actuators: Khalil 2010, eq. (31)."""
    robot = case.robot
    rigid = inverse_dynamics(robot, case.q, case.qd, qdd, robot.gravity_0, case.external)
    return np.add(rigid, drive_torques(robot.joints, case.qd, qdd))


@few
@trees
def test_inertia_matrix_bias_and_gravity(seed: int, joints: int, compound: bool) -> None:
    case = random_case(seed, joints, compound)
    robot, zero = case.robot, [0.0] * case.robot.dof
    A = np.array(inertia_matrix(robot, case.q)).reshape(robot.dof, robot.dof)
    assert_close(A, case.oracle.inertia_matrix(case.q) + np.diag(case.rotor_inertias))
    assert_close(gravity_torques(robot, case.q, robot.gravity_0), case.oracle.gravity_torques(case.q))
    H = bias_torques(robot, case.q, case.qd, robot.gravity_0, case.external)
    friction = drive_torques(robot.joints, case.qd, zero)
    expected = case.oracle.inverse_dynamics(case.q, case.qd, zero, case.wrenches)
    assert_close(H, expected + friction)
    assert_close(all_torques(case, case.qdd), A @ case.qdd + H)


@few
@trees
def test_regressor(seed: int, joints: int, compound: bool) -> None:
    case = random_case(seed, joints, compound)
    robot = case.robot
    Y = np.array(regressor(robot, case.q, case.qd, case.qdd, robot.gravity_0))
    torques = all_torques(Case(robot, case.oracle, case.q, case.qd, case.qdd, {}, case.link), case.qdd)
    assert_close(Y.reshape(robot.dof, 14 * robot.dof) @ robot.parameters, torques)


def test_parameters_have_names_and_go_back_into_the_robot() -> None:
    robot = random_case(1, 5).robot
    names = robot.parameter_names
    assert names[:10] == ("XX1", "XY1", "XZ1", "YY1", "YZ1", "ZZ1", "MX1", "MY1", "MZ1", "M1")
    assert names[10:15] == ("Ia1", "Fv1", "Fs1", "Fo1", "XX2")
    assert len(names) == len(robot.parameters) == 14 * robot.dof
    assert robot.with_parameters(robot.parameters) == robot
    doubled = robot.with_parameters([2.0 * value for value in robot.parameters])
    assert doubled.bodies[2].M == 2.0 * robot.bodies[2].M
    assert doubled.joints[1].friction.Fo == 2.0 * robot.joints[1].friction.Fo


@few
@trees
def test_direct_dynamics(seed: int, joints: int, compound: bool) -> None:
    """Both recursions give Pinocchio's accelerations, and undo the inverse dynamics."""
    case = random_case(seed, joints, compound, massless_leaves=False)
    robot = case.robot
    A = np.array(inertia_matrix(robot, case.q)).reshape(robot.dof, robot.dof)
    hypothesis.assume(robot.dof == 0 or np.linalg.cond(A) < 1e5)
    torques = all_torques(case, case.qdd)
    friction = drive_torques(robot.joints, case.qd, [0.0] * robot.dof)
    expected = case.oracle.direct_dynamics(
        case.q, case.qd, torques - friction, case.wrenches, case.rotor_inertias
    )
    for direct in DIRECT:
        qdd = direct(robot, case.q, case.qd, torques.tolist(), robot.gravity_0, case.external)
        assert_close(qdd, expected)
        assert_close(qdd, case.qdd)


@few
@trees
def test_joint_reactions(seed: int, joints: int, compound: bool) -> None:
    case = random_case(seed, joints, compound)
    robot = case.robot
    args = (case.q, case.qd, case.qdd)
    reactions = joint_reactions(robot, *args, robot.gravity_0, case.external)
    case.oracle.inverse_dynamics(*args, case.wrenches)
    ours, expected = [], []
    for j, (joint, reaction) in enumerate(zip(robot.joints, reactions[1:], strict=True), start=1):
        link = next(frame.name for frame in robot.link_frames if frame.body == j)
        in_link = wrench_on_antecedent(inverse(robot.link_frame(link).T_body_link), reaction)
        ours.append(in_link.values)
        expected.append(case.oracle.joint_wrench(joint.name, link))
    assert_close(ours, expected)


def test_ground_carries_the_weight() -> None:
    """At rest, the ground pushes the base up with the weight of the robot."""
    robot = dyn_core.load_robot(ROBOTS / "two_branch.urdf")
    rest = [0.0] * robot.dof
    ground = joint_reactions(robot, rest, rest, rest, robot.gravity_0, {})[0]
    mass = sum(body.M for body in robot.bodies)
    np.testing.assert_allclose(np.array(robot.T_root_0.R) @ ground.force, (0.0, 0.0, 9.81 * mass), atol=1e-10)


def test_branches_do_not_fill_the_factors() -> None:
    robot = dyn_core.load_robot(ROBOTS / "two_branch.urdf")
    q = np.random.default_rng(2).uniform(-1.0, 1.0, robot.dof).tolist()
    A = inertia_matrix(robot, q)
    factors = factorised(A, carriers(robot))
    L = np.eye(robot.dof)
    for k, row in enumerate(factors.L):
        for i, value in row.items():
            L[k, i] = value
    np.testing.assert_allclose(L.T @ np.diag(1.0 / np.array(factors.D_inverse)) @ L, A, atol=1e-12)
    left, right = robot.joint_names.index("left_elbow"), robot.joint_names.index("right_elbow")
    assert A[left][right] == 0.0
    assert left not in factors.L[right]
    x = np.random.default_rng(2).normal(size=robot.dof)
    np.testing.assert_allclose(solved(factors, (np.array(A) @ x).tolist()), x, rtol=1e-11)


def test_factors_of_any_symmetric_matrix() -> None:
    """Coupled joints can fill what is 0 in a tree: the factorisation finds where."""
    A = np.diag([5.0, 6.0, 7.0, 8.0])
    nonzero = [set(), set(), {0}, {0, 1, 2}]
    for k, columns in enumerate(nonzero):
        for i in columns:
            A[k, i] = A[i, k] = 1.0 + 0.1 * k - 0.2 * i
    x = np.array([1.0, -2.0, 0.5, 3.0])
    np.testing.assert_allclose(solved(factorised(A.tolist(), nonzero), (A @ x).tolist()), x, rtol=1e-14)


@pytest.mark.parametrize("direct", DIRECT)
def test_a_joint_that_moves_nothing_has_no_finite_acceleration(direct) -> None:
    text = """<robot name="r"><link name="a"/><link name="b"/>
      <joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>"""
    robot = dyn_core.load_robot(text)
    for zero, torque in ((0.0, 1.0), (np.zeros(2), np.ones(2))):
        qdd = direct(robot, [zero], [zero], [torque], robot.gravity_0, {})
        assert not np.any(np.isfinite(qdd[0]))


@pytest.mark.parametrize("name", ["rrp", "rx90", "two_branch"])
def test_numbers_arrays_and_symbols_agree(name: str) -> None:
    robot = dyn_core.load_robot(ROBOTS / f"{name}.urdf")
    q, qd, qdd = np.random.default_rng(3).uniform(-2.0, 2.0, (3, 4, robot.dof))

    def functions(q, qd, qdd):
        yield articulated_direct_dynamics(robot, q, qd, qdd, robot.gravity_0, {})
        yield factorised_direct_dynamics(robot, q, qd, qdd, robot.gravity_0, {})
        yield gravity_torques(robot, q, robot.gravity_0)
        yield [x for row in regressor(robot, q, qd, qdd, robot.gravity_0) for x in row]
        yield [x for row in inertia_matrix(robot, q) for x in row]

    batches = list(functions(list(q.T), list(qd.T), list(qdd.T)))
    symbols = [[Symbol(None) for _ in range(robot.dof)] for _ in range(3)]
    traced = list(functions(*symbols))
    for k in range(4):
        state = [x[k].tolist() for x in (q, qd, qdd)]
        names = dict(zip(chain(*symbols), chain(*state), strict=True))
        for batch, trace, single in zip(batches, traced, functions(*state), strict=True):
            at_k = [x[k] if isinstance(x, np.ndarray) else x for x in batch]
            np.testing.assert_allclose(at_k, single, rtol=1e-9, atol=1e-11)
            np.testing.assert_allclose(evaluate(trace, names), single, rtol=1e-9, atol=1e-11)


def revolute_robot(*inertials: str) -> str:
    """Answer a URDF of parallel axes 0 apart, with these contents of the links."""
    links = "".join(f'<link name="l{k}">{text}</link>' for k, text in enumerate(("", *inertials)))
    joints = "".join(
        f'<joint name="j{k}" type="continuous"><parent link="l{k}"/><child link="l{k + 1}"/></joint>'
        for k in range(len(inertials))
    )
    return f'<robot name="r">{links}{joints}</robot>'


def test_joints_without_inertia_are_named() -> None:
    solid = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    for inertials, expected in (
        ((solid, solid), ()),
        (("", solid), (0,)),  # the axes coincide: j1 can undo j0
        ((solid, ""), (1,)),
        (("", ""), (0, 1)),
    ):
        robot = dyn_core.load_robot(revolute_robot(*inertials))
        assert unresisted(inertia_matrix(robot, [0.3, 0.4]), carriers(robot)) == expected
    driven = robot.with_rotor_inertias({"j0": 0.1, "j1": 0.2})
    assert unresisted(inertia_matrix(driven, [0.3, 0.4]), carriers(driven)) == ()
