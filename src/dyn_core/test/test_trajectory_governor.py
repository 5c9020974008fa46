# SPDX-License-Identifier: Apache-2.0
"""Trajectories that the governor makes feasible: path and limits are kept."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from refusals import refused
from robots import loop_robot

import dyn_core
from dyn_core import ActuatorLimit, ActuatorLimits, Robot, TorqueSpeedCurve, actuator_limits
from dyn_core.control.trajectories.piecewise_polynomials import Motion
from dyn_core.control.trajectories.trajectory_planning import TrajectoryPoints, planned, trajectory_points
from dyn_core.feasibility.actuator_limits import described_limit
from dyn_core.feasibility.limit_violations import DriveTorques
from dyn_core.feasibility.trajectory_governor import TrajectoryGovernor, scaled_points

GOAL = np.array([1.0, 0.4, -0.3, 0.5, 0.5, 1.0])
ZERO = np.zeros(6)


@pytest.fixture(scope="module")
def robot() -> Robot:
    return loop_robot("rx90")


@pytest.fixture(scope="module")
def governor(robot: Robot) -> TrajectoryGovernor:
    return TrajectoryGovernor(DriveTorques(robot), actuator_limits(robot))


def through(robot: Robot, times, q, qd=None, qdd=None) -> TrajectoryPoints:
    names = robot.coordinate_names
    rows = (None if values is None else np.asarray(values).tolist() for values in (q, qd, qdd))
    return trajectory_points(names, names, times, *rows)


def quintic(robot: Robot, duration: float, velocities: bool = True) -> TrajectoryPoints:
    """From rest at 0 through the middle to rest at GOAL."""
    times = np.array([0.0, 0.5, 1.0]) * duration
    given = ([ZERO, 1.875 * GOAL / duration, ZERO], np.zeros((3, 6))) if velocities else ()
    return through(robot, times, [ZERO, 0.5 * GOAL, GOAL], *given)


def kept(robot: Robot, limits: ActuatorLimits, trajectory, room: float) -> bool:
    samples = trajectory.sample_many(np.linspace(trajectory.start, trajectory.end, 3001))
    torques = dyn_core.compile_model(robot).inverse_dynamics(samples.q, samples.qd, samples.qdd)
    slow = np.abs(samples.qd) <= limits.velocity * (1.0 + room)
    return bool(slow.all() and (np.abs(torques) <= limits.effort(samples.qd) * (1.0 + room)).all())


def test_a_feasible_trajectory_is_unchanged(robot: Robot, governor: TrajectoryGovernor) -> None:
    """Points with positions only get velocities."""
    points = quintic(robot, 4.0)
    governed = governor.governed(points, 10.0)
    assert (governed.unchanged, governed.failures) == (True, ())
    assert governed.points is points
    governed = governor.governed(quintic(robot, 4.0, velocities=False), 0.0)
    assert (governed.filled, governed.factor) == (True, 1.0)
    assert np.isfinite(governed.points.qd).all()
    np.testing.assert_array_equal(governed.points.qd[[0, -1]], 0.0)


def test_a_trajectory_that_is_too_fast_is_slower_on_the_same_path(
    robot: Robot, governor: TrajectoryGovernor
) -> None:
    points = quintic(robot, 0.4)
    governed = governor.governed(points, 0.0, start=Motion.at_rest(ZERO))
    assert governed.factor > 1.0
    assert not governed.unchanged
    assert {failure.excess.joint for failure in governed.failures} >= {"joint_1"}
    trajectory = governed.trajectory
    assert kept(robot, governor.limits, trajectory, 2e-3)
    # No slower than necessary: a slightly faster one is infeasible.
    faster = governor.governed(scaled_points(points, governed.factor * 0.99), 0.0)
    assert faster.factor == pytest.approx(1.0 / 0.99, rel=1e-6)
    straight = governor.governed(quintic(robot, 4.0), 0.0).trajectory
    ours, wished = (one.sample_many(np.linspace(one.start, one.end, 501)).q for one in (trajectory, straight))
    np.testing.assert_allclose(ours, wished, atol=1e-9)


def test_a_replacement_of_a_running_trajectory_begins_in_motion(
    robot: Robot, governor: TrajectoryGovernor
) -> None:
    running = governor.governed(quintic(robot, 3.0), 0.0).trajectory
    back = through(robot, [0.3], *np.zeros((3, 1, 6)))
    governed = governor.governed(back, 1.5, running=running)
    assert governed.factor > 1.0
    np.testing.assert_allclose(governed.trajectory.motion(1.5).qd, running.motion(1.5).qd, atol=1e-9)
    assert kept(robot, governor.limits, governed.trajectory, 2e-3)


def test_trajectories_that_no_duration_makes_feasible_are_refused(
    robot: Robot, governor: TrajectoryGovernor
) -> None:
    some = quintic(robot, 2.0)
    with refused("trajectory-path-infeasible") as caught:
        governor.governed(replace(some, q=np.array([ZERO, 0.5 * GOAL, 5.0 * GOAL])), 0.0)
    assert caught.value.element == "joint 'joint_1'"
    weak = actuator_limits(robot, {"joint_2": ActuatorLimit(curve=TorqueSpeedCurve.constant(10.0))})
    with refused("trajectory-cannot-be-held", joint="joint_2"):
        TrajectoryGovernor(DriveTorques(robot), weak).governed(some, 0.0)
    qd = some.qd.copy()
    qd[1] = math.nan
    with refused("trajectory-starts-moving", joint="joint_1", before=0.0, after=0.5, time=0.0):
        governor.governed(replace(some, qd=qd, qdd=np.full((3, 6), math.nan)), 0.0)


def test_a_trajectory_that_needs_too_much_slowing_is_refused(
    robot: Robot, governor: TrajectoryGovernor
) -> None:
    """The joints can hold their weight; only the duration is too short."""
    patient = TrajectoryGovernor(DriveTorques(robot), governor.limits, most=1e9)
    expected = governor.governed(quintic(robot, 0.4), 0.0).factor * 0.4
    for duration in (4e-3, 1e-3, 1e-5):
        with refused("trajectory-slowdown-exceeded", factor=100.0):
            governor.governed(quintic(robot, duration), 0.0)
        # The number of samples does not depend on the factor, and a short trajectory has few.
        found = patient.governed(quintic(robot, duration), 0.0).factor * duration
        assert found == pytest.approx(expected, rel=0.05)


def test_wrong_settings_are_refused(robot: Robot, governor: TrajectoryGovernor) -> None:
    wrong = [("period", given, "argument-time-not-positive") for given in (0.0, -1.0, math.nan)]
    for argument, given, code in (
        *wrong,
        *(("most", most, "argument-below-one") for most in (0.5, math.inf)),
    ):
        with refused(code, argument=argument, given=given):
            TrajectoryGovernor(DriveTorques(robot), governor.limits, **{argument: given})


def test_a_trajectory_that_begins_in_motion_is_refused_for_a_robot_at_rest(
    robot: Robot, governor: TrajectoryGovernor
) -> None:
    """All points have velocities, but the present motion of the joints is missing."""
    points = quintic(robot, 4.0)
    with refused("trajectory-joined-moving", joint="joint_1", before=0.0, after=0.46875, late=2.0):
        governor.governed(points, 12.0, stamp=10.0)
    under_way = planned(points, 10.0).motion(12.0)
    assert governor.governed(points, 12.0, stamp=10.0, start=under_way).unchanged
    moving = points.qd.copy()
    moving[0, 0] = 0.3
    with refused("trajectory-starts-moving", before=0.0, after=0.3, time=0.0):
        governor.governed(replace(points, qd=moving), 0.0)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("period", [0.005, 0.1])
def test_speeds_are_kept_between_samples(seed: int, period: float, robot: Robot) -> None:
    """At the extremes of each polynomial piece, found by NumPy's roots, however long the sample period is."""
    random, names = np.random.default_rng(seed), robot.coordinate_names
    given = {
        name: replace(described_limit(robot, name), velocity=v, curve=TorqueSpeedCurve.constant(1e5))
        for name, v in zip(names, random.uniform(0.2, 2.0, 6), strict=True)
    }
    limits = actuator_limits(robot, given)
    times = np.cumsum(random.uniform(0.05, 0.4, 12))
    q = random.uniform(-0.5, 0.5, (12, 6))
    qd, qdd = random.uniform(-2, 2, (12, 6)), random.uniform(-9, 9, (12, 6))
    qd[[0, -1]] = qdd[[0, -1]] = 0.0
    points = through(robot, times, q, qd, qdd if seed % 2 else None)
    governed = TrajectoryGovernor(DriveTorques(robot), limits, period=period).governed(points, 0.0)
    assert governed.factor > 1.0
    # Neither faster than allowed nor slower than necessary.
    part = max(extremes(governed.trajectory.rows[:, 6:12]) / limits.velocity)
    assert part == pytest.approx(1.0, rel=2e-9)
    # The report has the greatest desired speed, not that of the nearest sample.
    wished = extremes(planned(points, 0.0).rows[:, 6:12])
    for name, limit, speed in zip(names, limits.velocity, wished, strict=True):
        said = [abs(f.excess.value) for f in governed.failures if f.excess.joint == name]
        assert max(said, default=limit) == pytest.approx(max(speed, limit))


def extremes(rows: np.ndarray) -> np.ndarray:
    """Greatest absolute value of polynomials (k, n, powers) for u from 0 to 1, over the pieces, (n,)."""
    found = np.zeros(rows.shape[:2])
    for place in np.ndindex(found.shape):
        polynomial = np.polynomial.Polynomial(rows[place])
        roots = polynomial.deriv().roots()
        u = [0.0, 1.0, *(x.real for x in roots if abs(x.imag) < 1e-9 and 0.0 < x.real < 1.0)]
        found[place] = np.abs(polynomial(np.array(u))).max()
    return found.max(axis=0)


def test_positions_are_kept_between_samples(robot: Robot, governor: TrajectoryGovernor) -> None:
    """A swing beyond the range that ends before the next sample is found, and the report has the true limit.

    The tolerance for spline overshoot, and starts outside of the range, are separate.
    """
    limits = actuator_limits(robot)
    coarse = TrajectoryGovernor(DriveTorques(robot), limits, period=0.5)
    upper = limits.upper[0]
    q, qd = np.zeros((4, 6)), np.zeros((4, 6))
    q[1:3, 0], qd[1:3, 0] = upper - 0.002, (0.1, -0.1)
    # The cubic of 0.2 s between these points overshoots by 0.1 * 0.2 / 4 = 0.005 rad.
    swing = through(robot, [0.0, 5.0, 5.2, 10.0], q, qd)
    ends = np.zeros((2, 6))
    ends[:, 0] = upper + 0.05, upper + 0.1
    outside = through(robot, [0.0, 5.0], ends, np.zeros((2, 6)))
    for one, points, words in (
        (coarse, swing, ("at 5.1 s ", f"{upper + 0.003:.4g} rad, 0.003 rad", f"{upper:.4g} rad")),
        (governor, outside, (f"{upper + 0.1:.4g} rad, 0.1 rad", f"{upper:.4g} rad")),
    ):
        with refused("trajectory-path-infeasible") as caught:
            one.governed(points, 0.0)
        assert all(word in caught.value.values["cause"] for word in words)
        assert caught.value.element == "joint 'joint_1'"
    inside = replace(outside, q=np.array([ends[0], ZERO]))
    assert governor.governed(inside, 0.0).failures == ()


def test_loops() -> None:
    loops = loop_robot("sr400")
    limits = actuator_limits(loops, {name: ActuatorLimit(velocity=0.5) for name in loops.coordinate_names})
    points = through(loops, [0.0, 0.3], np.outer([0.0, 0.2], np.ones(loops.dof)), np.zeros((2, loops.dof)))
    governed = TrajectoryGovernor(DriveTorques(loops), limits).governed(points, 0.0)
    # A cubic from rest to rest is at most 1.5 times as fast as its mean.
    assert governed.factor == pytest.approx(1.5 * 0.2 / 0.3 / 0.5, rel=1e-3)
