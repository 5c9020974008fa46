# SPDX-License-Identifier: Apache-2.0
"""Every dynamics algorithm on random trees, against Pinocchio and against the other algorithms."""

from __future__ import annotations

import numpy as np
import pytest
from properties import examples, given, hypothesis, st
from random_case import Case, assert_close, random_case
from robots import example

import dyn_core
from dyn_core.algorithms.dynamics import direct_dynamics, newton_euler
from dyn_core.algorithms.dynamics.regressors import regressor
from dyn_core.algorithms.dynamics.wrenches import wrench_on_antecedent
from dyn_core.codegen.traced_program import trace
from dyn_core.model.tunable_parameters import runnables
from dyn_core.symbolic.transform import inverse

DIRECT = (direct_dynamics.articulated_direct_dynamics, direct_dynamics.factorised_direct_dynamics)

few = examples(100)
seeds, joints = st.integers(0, 2**32 - 1), st.integers(1, 20)
trees = given(case=st.builds(random_case, seeds, joints, st.booleans()))


def all_torques(case: Case, qdd: list[float]) -> np.ndarray:
    """Actuator torques: Khalil 2010, eq. (31)."""
    robot = case.robot
    rigid = newton_euler.inverse_dynamics(robot, case.q, case.qd, qdd, robot.gravity_0, case.external)
    return np.add(rigid, newton_euler.drive_torques(robot.joints, case.qd, qdd))


@few
@trees
def test_inertia_matrix_bias_and_gravity(case: Case) -> None:
    robot, zero = case.robot, [0.0] * case.robot.dof
    A = np.array(newton_euler.inertia_matrix(robot, case.q)).reshape(robot.dof, robot.dof)
    assert_close(A, case.oracle.inertia_matrix(case.q) + np.diag(case.rotor_inertias))
    Q = newton_euler.gravity_torques(robot, case.q, robot.gravity_0)
    assert_close(Q, case.oracle.gravity_torques(case.q))
    H = newton_euler.bias_torques(robot, case.q, case.qd, robot.gravity_0, case.external)
    friction = newton_euler.drive_torques(robot.joints, case.qd, zero)
    expected = case.oracle.inverse_dynamics(case.q, case.qd, zero, case.wrenches)
    assert_close(H, expected + friction)
    assert_close(all_torques(case, case.qdd), A @ case.qdd + H)


@few
@trees
def test_regressor(case: Case) -> None:
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
@given(case=st.builds(random_case, seeds, joints, st.booleans(), st.just(False)))
def test_direct_dynamics(case: Case) -> None:
    """Both recursions give Pinocchio's accelerations and invert the inverse dynamics."""
    robot = case.robot
    A = np.array(newton_euler.inertia_matrix(robot, case.q)).reshape(robot.dof, robot.dof)
    hypothesis.assume(robot.dof == 0 or np.linalg.cond(A) < 1e5)
    torques = all_torques(case, case.qdd)
    smooth = torques - newton_euler.drive_torques(robot.joints, case.qd, [0.0] * robot.dof)
    expected = case.oracle.direct_dynamics(case.q, case.qd, smooth, case.wrenches, case.rotor_inertias)
    for direct in DIRECT:
        qdd = direct(robot, case.q, case.qd, torques.tolist(), robot.gravity_0, case.external)
        assert_close(qdd, expected)
        assert_close(qdd, case.qdd)


@few
@trees
def test_joint_reactions_agree_with_pinocchio(case: Case) -> None:
    robot, args = case.robot, (case.q, case.qd, case.qdd)
    reactions = newton_euler.joint_reactions(robot, *args, robot.gravity_0, case.external)
    case.oracle.inverse_dynamics(*args, case.wrenches)
    ours, expected = [], []
    for j, (joint, reaction) in enumerate(zip(robot.joints, reactions[1:], strict=True), start=1):
        link = next(frame.name for frame in robot.link_frames if frame.body == j)
        in_link = wrench_on_antecedent(inverse(robot.link_frame(link).T_body_link), reaction)
        ours.append(in_link.values)
        expected.append(case.oracle.joint_wrench(joint.name, link))
    assert_close(ours, expected)


def test_the_ground_reaction_is_the_weight() -> None:
    """At rest."""
    robot = example("two_branch")
    rest = [0.0] * robot.dof
    ground = newton_euler.joint_reactions(robot, rest, rest, rest, robot.gravity_0, {})[0]
    mass = sum(body.M for body in robot.bodies)
    np.testing.assert_allclose(np.array(robot.T_root_0.R) @ ground.force, (0.0, 0.0, 9.81 * mass), atol=1e-10)


def test_the_factors_keep_zeros_between_branches_except_for_coupled_joints() -> None:
    robot = example("two_branch")
    q = np.random.default_rng(2).uniform(-1.0, 1.0, robot.dof).tolist()
    A = newton_euler.inertia_matrix(robot, q)
    factors = newton_euler.factorised(A, newton_euler.carriers(robot))
    L = np.eye(robot.dof)
    for k, row in enumerate(factors.L):
        L[k, list(row)] = list(row.values())
    np.testing.assert_allclose(L.T @ np.diag(1.0 / np.array(factors.D_inverse)) @ L, A, atol=1e-12)
    left, right = robot.joint_names.index("left_elbow"), robot.joint_names.index("right_elbow")
    assert A[left][right] == 0.0
    assert left not in factors.L[right]
    x = np.random.default_rng(2).normal(size=robot.dof)
    np.testing.assert_allclose(newton_euler.solved(factors, (np.array(A) @ x).tolist()), x, rtol=1e-11)
    # Coupled joints can fill entries that are 0 in a tree; the factorisation must find them.
    A = np.diag([5.0, 6.0, 7.0, 8.0])
    nonzero = [set(), set(), {0}, {0, 1, 2}]
    for k, columns in enumerate(nonzero):
        for i in columns:
            A[k, i] = A[i, k] = 1.0 + 0.1 * k - 0.2 * i
    x = np.array([1.0, -2.0, 0.5, 3.0])
    factors = newton_euler.factorised(A.tolist(), nonzero)
    np.testing.assert_allclose(newton_euler.solved(factors, (A @ x).tolist()), x, rtol=1e-14)


@pytest.mark.parametrize("direct", DIRECT)
def test_a_joint_without_inertia_has_no_finite_acceleration(direct) -> None:
    joint = '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>'
    robot = dyn_core.load_robot(f'<robot name="r"><link name="a"/><link name="b"/>{joint}</robot>')
    for zero, torque in ((0.0, 1.0), (np.zeros(2), np.ones(2))):
        qdd = direct(robot, [zero], [zero], [torque], robot.gravity_0, {})
        assert not np.any(np.isfinite(qdd[0]))


@pytest.mark.parametrize("name", ["rrp", "rx90", "two_branch"])
def test_numbers_arrays_and_symbols_agree(name: str) -> None:
    robot = example(name)
    states = np.random.default_rng(3).uniform(-2.0, 2.0, (3, 4, robot.dof))

    def whole(q, qd, qdd) -> list:
        """Compute all functions in sequence."""
        at = (robot, q, qd, qdd, robot.gravity_0)
        return [
            *(x for direct in DIRECT for x in direct(*at, {})),
            *newton_euler.inverse_dynamics(*at, {}),
            *newton_euler.gravity_torques(robot, q, robot.gravity_0),
            *(x for row in (*regressor(*at), *newton_euler.inertia_matrix(robot, q)) for x in row),
        ]

    single = np.array([whole(*state) for state in states.swapaxes(0, 1).tolist()])
    batch = [np.broadcast_to(x, 4) for x in whole(*(list(x.T) for x in states))]
    np.testing.assert_allclose(np.transpose(batch), single, rtol=1e-9, atol=1e-11)
    program = trace("whole", whole, dict.fromkeys(("q", "qd", "qdd"), robot.dof), single.shape[1:])
    (run,) = runnables([program], "python")
    np.testing.assert_allclose(run.run((), *states), single, rtol=1e-9, atol=1e-11)
