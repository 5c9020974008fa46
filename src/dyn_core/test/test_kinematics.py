# SPDX-License-Identifier: Apache-2.0
"""Kinematics against Pinocchio and a hand-written arm, with numbers, arrays and symbols."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np
import pytest
from properties import examples, given, st
from random_case import Case, assert_close, random_case
from robots import example

import dyn_core
from dyn_core.algorithms import link_motion
from dyn_core.algorithms.dynamics.newton_euler import friction_torque
from dyn_core.algorithms.link_motion import jacobian, link_acceleration, link_velocity
from dyn_core.robot.joints import Friction
from dyn_core.robot.links import LinkFrame
from dyn_core.robot.mdh.direct_geometry import link_placements, parallel_axes_merged, transform_between
from dyn_core.symbolic import mat3, scalar, step, transform, vec3
from dyn_core.symbolic.expression_graph import Graph, operation_counts
from dyn_core.symbolic.scalar import cos_sin, cos_sin_of_sum, wrapped
from dyn_core.symbolic.step import Rotation, Translation
from dyn_core.symbolic.transform import IDENTITY, Transform

few = examples(100)
trees = given(case=st.builds(random_case, st.integers(0, 2**32 - 1), st.integers(1, 20), st.booleans()))


def axes_of(case: Case, frame: LinkFrame) -> np.ndarray:
    """Rotation from the axes of the root link to those of a frame."""
    return np.array(case.oracle.link_placement(case.q, frame.name)[0]).T


@few
@trees
def test_any_frame_in_any_other(case: Case) -> None:
    placed = link_placements(case.robot, case.q)
    for a in case.robot.link_frames[::3]:
        for b in case.robot.link_frames[::2]:
            T_a_b = transform_between(case.robot, case.q, a, b)
            (R_a, p_a), (R_b, p_b) = (map(np.array, placed[frame.name]) for frame in (a, b))
            np.testing.assert_allclose(T_a_b.R, R_a.T @ R_b, rtol=0.0, atol=1e-13)
            np.testing.assert_allclose(T_a_b.p, R_a.T @ (p_b - p_a), rtol=0.0, atol=1e-12)


@few
@trees
def test_link_motion_and_jacobian(case: Case) -> None:
    """The acceleration is J qdd + Jdot qd, and Jdot qd agrees with differences of J along the motion."""
    robot, q, qd, qdd = case.robot, case.q, case.qd, case.qdd
    frame, root, other = robot.link_frame(case.link), robot.link_frames[0], robot.link_frames[-1]
    velocity, acceleration = case.oracle.link_motion(q, qd, qdd, case.link)
    expected = case.oracle.jacobian(q, case.link, own_axes=False)
    for seen_from in (root, frame, other):
        R = np.kron(np.eye(2), axes_of(case, seen_from))
        assert_close(link_velocity(robot, q, qd, frame, seen_from).values, R @ velocity)
        assert_close(link_acceleration(robot, q, qd, qdd, frame, seen_from).values, R @ acceleration)
        assert_close(jacobian(robot, q, frame, seen_from), R @ expected)
    assert_close(jacobian(robot, q, frame, frame), case.oracle.jacobian(q, case.link, own_axes=True))

    rate = np.array(link_motion.jacobian_rate_times_velocity(robot, q, qd, frame, root).values)
    J = np.array(jacobian(robot, q, frame, root)).reshape(6, robot.dof)
    assert_close(link_acceleration(robot, q, qd, qdd, frame, root).values, J @ qdd + rate)
    h = 1e-5
    near = (np.array(q) + h * np.array(qd), np.array(q) - h * np.array(qd))
    ahead, behind = (np.array(jacobian(robot, x.tolist(), frame, root)).reshape(6, robot.dof) for x in near)
    assert_close(rate, (ahead - behind) @ qd / (2.0 * h), tolerance=1e-6)


def test_merging_parallel_axes_keeps_the_placement() -> None:
    def turn(axis: int, angle: float) -> Rotation:
        return Rotation(axis, np.cos(angle), np.sin(angle))

    steps = [
        Translation(0, 0.3), turn(2, 0.4), Translation(2, 0.1), Translation(0, 0.5), turn(2, -1.1),
        Translation(1, 0.2), turn(0, 0.7), Translation(0, 0.6), turn(2, 0.2), turn(2, 0.3), turn(0, 1.0),
    ]  # fmt: skip
    merged = parallel_axes_merged(steps)
    assert sum(isinstance(s, Rotation) for s in merged) == 4
    expected = reduce(step.compose, steps, IDENTITY)
    for sequence in (steps, merged):
        backward = reduce(lambda T, s: step.precede(s, T), reversed(sequence), IDENTITY)
        for found in (reduce(step.compose, sequence, IDENTITY), backward):
            np.testing.assert_allclose(found.R, expected.R, atol=1e-15)
            np.testing.assert_allclose(found.p, expected.p, atol=1e-15)


def test_common_joints_of_two_frames_cost_nothing() -> None:
    """For neighbouring links far from the base, only the joint between them is computed."""
    robot = random_case(3, 18).robot
    graph, last = Graph(), robot.dof
    own = LinkFrame("own", last, IDENTITY)
    carrier = LinkFrame("carrier", robot.joints[last - 1].antecedent, IDENTITY)
    T = transform_between(robot, [graph.input(name) for name in robot.joint_names], carrier, own)
    counts = operation_counts([*(x for row in T.R for x in row), *T.p])
    assert sum(counts.values()) <= 20
    assert counts["trig"] <= 2
    jointless = dyn_core.load_robot('<robot name="r"><link name="a"/></robot>')
    root = jointless.link_frames[0]
    assert jacobian(jointless, [], root, root) == [[]] * 6
    assert link_velocity(jointless, [], [], root, root).values == (0.0,) * 6


def test_functions_of_every_kind_of_scalar_and_friction() -> None:
    assert [scalar.sign(x) for x in (-2.0, 0.0, -0.0, 3)] == [-1.0, 0.0, 0.0, 1.0]
    assert math.isnan(scalar.sign(math.nan))
    np.testing.assert_array_equal(scalar.sign(np.array([-2.0, 0.0, np.nan])), [-1.0, 0.0, np.nan])
    x = Graph().input("x")
    assert scalar.sign(x) is x.sign()
    assert [scalar.larger(x, 1.0, 3.0, 4.0) for x in (2.0, 1.0, math.nan)] == [3.0, 4.0, 4.0]
    chosen = scalar.larger(np.array([0.0, 2.0, np.nan]), 1.0, 3.0, np.array([4.0, 5.0, 6.0]))
    np.testing.assert_array_equal(chosen, [4.0, 3.0, 6.0])
    for angle in (math.inf, -math.inf, math.nan):
        assert math.isnan(scalar.sin(angle))
        assert math.isnan(scalar.cos(angle))
    friction = Friction(Fv=2.0, Fs=3.0, Fo=0.5)
    expected = [3.0 + 8.0 + 0.5, -3.0 - 8.0 + 0.5, 0.5]
    assert [friction_torque(friction, velocity) for velocity in (4.0, -4.0, 0.0)] == expected


def test_quarter_turns_are_exact() -> None:
    quarter = math.pi / 2
    table = {0.0: (1, 0), quarter: (0, 1), math.pi: (-1, 0), -quarter: (0, -1), 3 * quarter: (0, -1)}
    for angle, expected in table.items():
        assert cos_sin(angle) == expected
        c, s = cos_sin_of_sum(0.3, angle)
        assert (c, s) == pytest.approx((math.cos(0.3 + angle), math.sin(0.3 + angle)), abs=1e-15)
    assert cos_sin_of_sum(0.3, quarter) == (-math.sin(0.3), math.cos(0.3))
    assert cos_sin_of_sum(0.3, 0.2) == (math.cos(0.5), math.sin(0.5))
    assert wrapped(-math.pi) == math.pi
    assert wrapped(2.5 * math.pi) == pytest.approx(quarter)


def test_linear_algebra_agrees_with_numpy() -> None:
    random = np.random.default_rng(0)
    A, B = random.normal(size=(2, 3, 3))
    u, v = random.normal(size=(2, 3))
    a, b = (tuple(map(tuple, M.tolist())) for M in (A, B))
    s, t = tuple(u.tolist()), tuple(v.tolist())
    for ours, expected in (
        (mat3.mul(a, b), A @ B),
        (mat3.add(a, b), A + B),
        (mat3.transpose(a), A.T),
        (mat3.mul_vec(a, s), A @ u),
        (mat3.outer(s, t), np.outer(u, v)),
        (vec3.cross(s, t), np.cross(u, v)),
        (vec3.dot(s, t), u @ v),
        (vec3.sub(s, t), u - v),
        (mat3.mul_vec(mat3.skew(s), t), np.cross(u, v)),
        (mat3.mul_vec(mat3.skew_squared(s), t), np.cross(u, np.cross(u, v))),
        (vec3.unit((3e-320, 0.0, 0.0)), [1.0, 0.0, 0.0]),
        (vec3.unit((1e308, 1e308, 0.0)), np.array([1.0, 1.0, 0.0]) / math.sqrt(2.0)),
    ):
        np.testing.assert_allclose(ours, expected, rtol=1e-14, atol=1e-15)

    T_a_b = Transform(((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)), (1.0, 2.0, 3.0))
    assert transform.apply(T_a_b, (1.0, 0.0, 0.0)) == (1.0, 3.0, 3.0)
    assert transform.compose(T_a_b, transform.inverse(T_a_b)) == transform.IDENTITY


# The RRP arm against its equations of motion, derived by hand.


M1, M2, M3 = 2.0, 3.0, 1.5  # kg
L1, L2, L3 = 0.10, 0.40, 0.60  # m
G = 9.81  # m/s^2
STATES = [
    ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (1.0, 0.0, 0.0)),
    ((0.3, -0.5, 0.1), (0.0, 0.0, 0.0), (1.0, -2.0, 3.0)),
    ((-1.2, 0.9, 0.3), (0.7, -0.4, 0.2), (0.0, 0.0, 0.0)),
    ((2.0, 1.3, 0.2), (-1.5, 2.0, -0.3), (4.0, -3.0, 2.0)),
]


@pytest.mark.parametrize(("q", "qd", "qdd"), STATES)
def test_each_term_and_the_total_torque(q, qd, qdd) -> None:
    c, sn, rho = math.cos(q[1]), math.sin(q[1]), L3 + q[2]
    turn, lift, stretch = qd
    about_lift = M2 * L2**2 + M3 * rho**2
    gravity = np.array([0.0, (M2 * L2 + M3 * rho) * G * c, M3 * G * sn])
    inertial = np.array([M1 * L1**2 + about_lift * c**2, about_lift, M3]) * qdd
    coriolis = (
        -2.0 * about_lift * c * sn * turn * lift + 2.0 * M3 * rho * c**2 * turn * stretch,
        2.0 * M3 * rho * lift * stretch + about_lift * c * sn * turn**2,
        -M3 * rho * (lift**2 + c**2 * turn**2),
    )
    friction = [0.8, 0.6, 12.0] * np.array(qd) + [0.5, 0.4, 2.0] * np.sign(qd)
    bias = gravity + coriolis + friction
    model = dyn_core.compile_model(example("rrp"))
    for name, ours, expected in (
        ("gravity", model.gravity_torques(q), gravity),
        ("inertial", model.inertial_torques(q, qdd), inertial),
        ("coriolis", model.coriolis_torques(q, qd), coriolis),
        ("friction", model.friction_torques(qd), friction),
        ("bias", model.bias_torques(q, qd), bias),
        ("whole", model.inverse_dynamics(q, qd, qdd), bias + inertial),
    ):
        np.testing.assert_allclose(ours, expected, rtol=1e-13, atol=1e-13, err_msg=name)


def test_force_on_the_environment_needs_torque() -> None:
    """Pushing down with 10 N at the tip of a level arm needs a downward torque of 10 N times the reach."""
    model = dyn_core.compile_model(example("rrp", gravity=(0.0, 0.0, 0.0)))
    wrench = {"slider": (0.0, 0.0, -10.0, 0.0, 10.0 * L3, 0.0)}
    torques = model.inverse_dynamics(*np.zeros((3, 3)), wrenches=wrench)
    np.testing.assert_allclose(torques, (0.0, -10.0 * L3, 0.0), atol=1e-14)
