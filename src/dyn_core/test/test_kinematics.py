# SPDX-License-Identifier: Apache-2.0
"""Placements, velocities, accelerations and Jacobians of links, against Pinocchio and differences."""

from __future__ import annotations

import numpy as np
from counting_scalar import inputs, operations
from properties import examples, given, st
from random_case import assert_close, random_case

import dyn_core
from dyn_core.geometry.forward import link_placements
from dyn_core.kinematics.jacobian import jacobian
from dyn_core.kinematics.link_acceleration import jacobian_rate_times_velocity, link_acceleration
from dyn_core.kinematics.link_velocity import link_velocity
from dyn_core.linalg.transform import IDENTITY
from dyn_core.model.link_frame import LinkFrame
from dyn_core.robot.mdh.direct_geometry import parallel_axes_merged, transform_between
from dyn_core.symbolic import step
from dyn_core.symbolic.step import Rotation, Translation

trees = given(seed=st.integers(0, 2**32 - 1), joints=st.integers(1, 20), compound=st.booleans())
few = examples(100)


def axes_of(case, frame: LinkFrame) -> np.ndarray:
    """Rotation that takes components on the axes of the root link to those of a frame."""
    return np.array(case.oracle.link_placement(case.q, frame.name)[0]).T


@few
@trees
def test_any_frame_in_any_other(seed: int, joints: int, compound: bool) -> None:
    case = random_case(seed, joints, compound)
    placed = link_placements(case.robot, case.q)
    for a in case.robot.link_frames[::3]:
        for b in case.robot.link_frames[::2]:
            T_a_b = transform_between(case.robot, case.q, a, b)
            (R_a, p_a), (R_b, p_b) = (map(np.array, placed[frame.name]) for frame in (a, b))
            np.testing.assert_allclose(T_a_b.R, R_a.T @ R_b, rtol=0.0, atol=1e-13)
            np.testing.assert_allclose(T_a_b.p, R_a.T @ (p_b - p_a), rtol=0.0, atol=1e-12)


@few
@trees
def test_link_motion(seed: int, joints: int, compound: bool) -> None:
    case = random_case(seed, joints, compound)
    robot, state = case.robot, (case.q, case.qd, case.qdd)
    frame, root, other = robot.link_frame(case.link), robot.link_frames[0], robot.link_frames[-1]
    velocity, acceleration = case.oracle.link_motion(*state, case.link)
    for seen_from in (root, frame, other):
        R = np.kron(np.eye(2), axes_of(case, seen_from))
        assert_close(link_velocity(robot, *state[:2], frame, seen_from).values, R @ velocity)
        assert_close(link_acceleration(robot, *state, frame, seen_from).values, R @ acceleration)


@few
@trees
def test_jacobian(seed: int, joints: int, compound: bool) -> None:
    case = random_case(seed, joints, compound)
    robot, q = case.robot, case.q
    frame, root, other = robot.link_frame(case.link), robot.link_frames[0], robot.link_frames[-1]
    expected = case.oracle.jacobian(q, case.link, own_axes=False)
    assert_close(jacobian(robot, q, frame, root), expected)
    assert_close(jacobian(robot, q, frame, frame), case.oracle.jacobian(q, case.link, own_axes=True))
    R = np.kron(np.eye(2), axes_of(case, other))
    assert_close(jacobian(robot, q, frame, other), R @ expected)


@few
@trees
def test_rate_of_the_jacobian(seed: int, joints: int, compound: bool) -> None:
    """The acceleration is J qdd + Jdot qd, and Jdot qd is the difference of J along the motion."""
    case = random_case(seed, joints, compound)
    robot, q, qd, qdd = case.robot, case.q, case.qd, case.qdd
    frame, root = robot.link_frame(case.link), robot.link_frames[0]
    rate = np.array(jacobian_rate_times_velocity(robot, q, qd, frame, root).values)
    J = np.array(jacobian(robot, q, frame, root)).reshape(6, robot.dof)
    assert_close(link_acceleration(robot, q, qd, qdd, frame, root).values, J @ qdd + rate)

    h = 1e-5
    ahead, behind = (
        np.array(jacobian(robot, (np.array(q) + s * h * np.array(qd)).tolist(), frame, root))
        for s in (1.0, -1.0)
    )
    difference = (ahead - behind).reshape(6, robot.dof) @ qd / (2.0 * h)
    assert_close(rate, difference, tolerance=1e-6)


def test_merging_parallel_axes_keeps_the_placement() -> None:
    def turn(axis: int, angle: float) -> Rotation:
        return Rotation(axis, np.cos(angle), np.sin(angle))

    steps = [
        Translation(0, 0.3), turn(2, 0.4), Translation(2, 0.1), Translation(0, 0.5), turn(2, -1.1),
        Translation(1, 0.2), turn(0, 0.7), Translation(0, 0.6), turn(2, 0.2), turn(2, 0.3), turn(0, 1.0),
    ]  # fmt: skip
    merged = parallel_axes_merged(steps)
    assert sum(isinstance(s, Rotation) for s in merged) == 4
    for sequence in (steps, merged):
        forward, backward = IDENTITY, IDENTITY
        for s in sequence:
            forward = step.compose(forward, s)
        for s in reversed(sequence):
            backward = step.precede(s, backward)
        np.testing.assert_allclose(backward.R, forward.R, atol=1e-15)
        np.testing.assert_allclose(backward.p, forward.p, atol=1e-15)
        if sequence is steps:
            expected = forward
    np.testing.assert_allclose(forward.R, expected.R, atol=1e-15)
    np.testing.assert_allclose(forward.p, expected.p, atol=1e-15)


def test_common_joints_cost_nothing() -> None:
    """Between neighbours far from the base, only the joint between them is computed."""
    case = random_case(3, 18)
    robot = case.robot
    q = inputs(*robot.joint_names)
    last = robot.dof
    own = LinkFrame("own", last, IDENTITY)
    carrier = LinkFrame("carrier", robot.joints[last - 1].antecedent, IDENTITY)
    T = transform_between(robot, q, carrier, own)
    entries = [*(x for row in T.R for x in row), *T.p]
    assert operations(entries).total() <= 20
    assert operations(entries)["trig"] <= 2


def test_unmoved_frame() -> None:
    robot = dyn_core.load_robot('<robot name="r"><link name="a"/></robot>')
    root = robot.link_frames[0]
    assert jacobian(robot, [], root, root) == [[]] * 6
    assert link_velocity(robot, [], [], root, root).values == (0.0,) * 6
