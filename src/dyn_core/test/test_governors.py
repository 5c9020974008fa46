# SPDX-License-Identifier: Apache-2.0
"""Trajectories and reference streams that governors make feasible: path and limits are kept."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from refusals import refusal, refused
from robots import loop_robot

import dyn_core
from dyn_core import ActuatorLimit, ActuatorLimits, Feasibility, Robot, TorqueSpeedCurve, actuator_limits
from dyn_core.control.trajectories.piecewise_polynomials import Motion
from dyn_core.control.trajectories.trajectory_planning import TrajectoryPoints, planned, trajectory_points
from dyn_core.feasibility.actuator_limits import described_limit
from dyn_core.feasibility.limit_violations import DriveTorques
from dyn_core.feasibility.reference_governor import InfeasibleReference, ReferenceGovernor
from dyn_core.feasibility.trajectory_governor import TrajectoryGovernor, scaled_points

GOAL = np.array([1.0, 0.4, -0.3, 0.5, 0.5, 1.0])
ZERO = np.zeros(6)
OUT = np.array([2.9, 0.0, 0.0, 0.0, 0.0, 0.0])
"""Positions; the first one is out of range."""


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


@pytest.fixture(scope="module")
def steps(robot: Robot) -> Feasibility:
    return Feasibility(robot)


def smooth(t: float, duration: float) -> tuple[np.ndarray, np.ndarray]:
    u = min(max(t / duration, 0.0), 1.0)
    return GOAL * u**3 * (10 - 15 * u + 6 * u * u), GOAL * 30 * u * u * (1 - u) ** 2 / duration


@pytest.mark.parametrize("dt", [0.001, 0.004])
def test_feasible_references_are_unchanged_to_the_last_bit(steps: Feasibility, dt: float) -> None:
    """Also with velocities that lag by a filter, stamps with errors of 20 us, and numbers with six digits."""
    random = np.random.default_rng(21)
    exact, late, stamped, rounded = (Kept(steps) for _ in range(4))
    for k in range(round(4.0 / dt)):
        t = k * dt
        q, qd = smooth(t, 3.0)
        exact.take(t, q, qd)
        assert exact.out.q is q
        assert exact.out.qd is qd
        late.take(t, q, smooth(t - 0.02, 3.0)[1])
        stamped.take(t + 2e-5 * random.uniform(-1.0, 1.0), q, qd)
        rounded.take(t, np.round(q, 6), np.round(qd, 6))
    assert [kept.unchanged for kept in (exact, late, stamped, rounded)] == [True] * 4
    assert exact.governor.lag == 0.0


def test_references_that_are_too_fast_keep_path_and_limits(steps: Feasibility) -> None:
    """Twice as fast as the actuators allow, then at rest until the end of the path is reached."""
    kept = Kept(steps)
    for k in range(1501):
        kept.take(k * 0.002, *smooth(k * 0.002, 0.35))
        # All joints move along one line, so the path is that line.
        part = kept.out.q / GOAL
        np.testing.assert_allclose(part, part[0], atol=1e-3)
    assert kept.furthest < 1e-9
    assert "joint_1" in {joint for joint, _ in kept.asked}
    np.testing.assert_allclose(kept.out.q, GOAL, atol=1e-6)
    assert (kept.governor.lag, kept.out.unchanged) == (0.0, True)


def test_the_path_is_completed_without_further_references(steps: Feasibility) -> None:
    governor, dt, count = ReferenceGovernor(steps), 0.002, 151
    for k in range(count):
        governor.take(k * dt, *smooth(k * dt, 0.3))
    assert governor.behind
    assert governor.lag > 0.0
    for k in range(count, 3 * count):
        out = governor.advance(k * dt)
        if not governor.behind:
            break
    assert not governor.behind
    np.testing.assert_allclose(out.q, GOAL, atol=1e-9)


def test_a_path_that_cannot_be_kept_is_reported_and_joined_again(steps: Feasibility) -> None:
    """The velocity stops at once: torques stay within limits, the joint overshoots and returns."""
    governor, dt, q, worst = ReferenceGovernor(steps), 0.002, ZERO, 0.0
    for k in range(5000):
        qd = np.eye(6)[0] * (min(k / 200, 1.0) if k < 500 else 0.0)
        q = q + dt * qd
        out = governor.take(k * dt, q, qd)
        worst = max(worst, out.distance)
    assert worst > 1e-3
    np.testing.assert_allclose(out.q, q, atol=1e-6)


def test_a_stream_that_begins_too_fast_or_out_of_range(steps: Feasibility) -> None:
    governor = ReferenceGovernor(steps)
    out = governor.take(0.0, ZERO, 2.0 * steps.limits.velocity)
    assert (out.unchanged, out.rate) == (False, 0.5)
    np.testing.assert_allclose(out.qd, steps.limits.velocity)
    assert {excess.quantity for excess in out.asked} == {"velocity"}
    assert refusal(governor.take, 0.01, OUT, ZERO) == "reference-out-of-range: joint_1, -2.79, 2.9, rad, 2.79"
    # If the robot is measured out of range, references may begin there.
    assert ReferenceGovernor(steps).take(0.0, OUT, ZERO, measured=OUT).unchanged


def test_a_stream_that_lags_too_much_is_refused(steps: Feasibility) -> None:
    """An endless stream that is twice as fast as joint 1."""
    governor, dt, first = ReferenceGovernor(steps, most=0.3), 0.004, np.eye(6)[0]
    speed = 2.0 * steps.limits.velocity[0]

    def take_all() -> None:
        for k in range(100_000):
            u, angle = min(k * dt / 0.4, 1.0), speed / 1.5 * k * dt
            governor.take(k * dt, u * 1.5 * math.sin(angle) * first, u * speed * math.cos(angle) * first)

    assert refusal(take_all) == "reference-lag-exceeded: 0.304, 0.3"


def test_output_is_finite_and_within_speed_limits_for_random_references(steps: Feasibility) -> None:
    random = np.random.default_rng(3)
    governor, t = ReferenceGovernor(steps), 0.0
    for _ in range(600):
        t += float(random.choice([0.002, 0.01, 0.15, 0.3]))
        q = np.clip(random.normal(size=6), steps.limits.lower, steps.limits.upper)
        qd = float(random.choice([0.1, 1.0, 30.0, 1e6])) * random.normal(size=6)
        out = governor.take(t, q, qd)
        assert np.isfinite([*out.q, *out.qd]).all()
        assert (np.abs(out.qd) <= steps.limits.velocity * (1.0 + 1e-9)).all()


@pytest.mark.parametrize("later", [0.0, -0.05])
def test_a_time_that_is_not_later_is_refused(steps: Feasibility, later: float) -> None:
    """Otherwise it would be the start of a new stream, as after a gap."""
    governor = ReferenceGovernor(steps, timeout=0.1)
    governor.take(1.0, ZERO, ZERO)
    with refused("reference-not-later", last=1.0):
        governor.take(1.0 + later, GOAL, ZERO)
    assert not governor.take(1.002, GOAL, ZERO).unchanged
    assert governor.take(2.0, GOAL, ZERO).unchanged
    governor.reset()
    assert governor.take(0.5, GOAL, ZERO).unchanged


class Kept:
    """Output of a governor, compared with the limits."""

    def __init__(self, steps: Feasibility) -> None:
        self.governor = ReferenceGovernor(steps)
        self.limits = steps.limits
        self.model = dyn_core.compile_model(steps.robot)
        self.t, self.out = 0.0, None
        self.unchanged, self.furthest, self.lag = True, 0.0, 0.0
        self.asked: set[tuple[str, str]] = set()

    def take(self, t: float, q: np.ndarray, qd: np.ndarray | None) -> None:
        before, dt, self.t = self.out, t - self.t, t
        out = self.out = self.governor.take(t, q, qd)
        self.unchanged = self.unchanged and out.unchanged
        self.furthest, self.lag = max(self.furthest, out.distance), max(self.lag, out.lag)
        self.asked |= {(excess.joint, excess.quantity) for excess in out.asked}
        if before is None:
            return
        torques = self.model.inverse_dynamics(before.q, before.qd, (out.qd - before.qd) / dt)
        assert (np.abs(torques) <= self.limits.effort(before.qd) * (1.0 + 1e-9) + 1e-6).all()
        assert (np.abs(out.qd) <= self.limits.velocity + 1e-9).all()
        # Positions move no faster than the velocities, apart from the difference of a cubic and a parabola.
        assert (np.abs(out.q - before.q) <= 1.01 * dt * self.limits.velocity).all()


@pytest.mark.parametrize("dt", [0.001, 0.002, 0.01, 0.04])
def test_positions_that_jump_at_rest_become_a_motion(steps: Feasibility, dt: float) -> None:
    """A step input: velocities of 0, one position now and another from the next reference on."""
    kept = Kept(steps)
    for k in range(round(2.0 / dt)):
        kept.take(k * dt, ZERO if k * dt < 0.1 else 0.5 * GOAL, ZERO)
        part = kept.out.q / GOAL
        np.testing.assert_allclose(part, part[0], atol=1e-9)
    assert not kept.unchanged
    assert ("joint_1", "velocity") in kept.asked
    assert kept.furthest < 1e-9
    assert kept.lag < 0.4
    np.testing.assert_array_equal(kept.out.q, 0.5 * GOAL)
    assert (kept.out.unchanged, kept.governor.lag) == (True, 0.0)


@pytest.mark.parametrize("dt", [0.002, 0.01])
def test_jumps_in_motion_and_moving_positions_with_zero_velocities(steps: Feasibility, dt: float) -> None:
    jumping, slow, fast = (Kept(steps) for _ in range(3))
    for k in range(round(6.0 / dt)):
        q, qd = smooth(k * dt, 3.0)
        jumping.take(k * dt, q + (0.2 * GOAL if k * dt > 1.5 else 0.0), qd)
    # A jump cannot be followed: the joints brake, return beyond the jump, and continue from there.
    assert jumping.furthest > 0.01
    np.testing.assert_array_equal(jumping.out.q, GOAL + 0.2 * GOAL)
    assert jumping.out.unchanged
    # A slow start is feasible; a start at 2 rad/s is not, and the references are followed one by one.
    for k in range(round(3.5 / dt)):
        slow.take(k * dt, smooth(k * dt, 3.0)[0], ZERO)
    assert slow.unchanged
    for k in range(round(3.0 / dt)):
        fast.take(k * dt, min(max(k * dt - 0.1, 0.0), 0.5) * 2.0 * GOAL, ZERO)
    assert not fast.unchanged
    assert fast.furthest < 1e-9


@pytest.mark.parametrize("dt", [0.001, 0.004])
def test_stamp_noise_does_not_change_the_path(steps: Feasibility, dt: float) -> None:
    """The stream is twice as fast as possible, and its stamps have errors of 20 us."""
    random = np.random.default_rng(22)
    kept, exact = Kept(steps), Kept(steps)
    for k in range(round(1.5 / dt)):
        exact.take(k * dt, *smooth(k * dt, 0.35))
        kept.take(k * dt + 2e-5 * random.uniform(-1.0, 1.0), *smooth(k * dt, 0.35))
    assert not kept.unchanged
    assert kept.furthest < 1e-9
    assert kept.lag == pytest.approx(exact.lag, rel=0.1)
    np.testing.assert_array_equal(kept.out.q, GOAL)


def check_infeasible(governor: ReferenceGovernor, t: float, q: np.ndarray, qd: np.ndarray = ZERO) -> None:
    with pytest.raises(InfeasibleReference) as caught:
        governor.take(t, q, qd)
    assert (caught.value.excess.joint, caught.value.excess.quantity) == ("joint_1", "velocity")


def test_infeasible_references_are_refused_where_slowing_is_off(steps: Feasibility) -> None:
    """References after a jump are refused, too: accepting one would be the jump, a period later."""
    governor, there = ReferenceGovernor(steps, timeout=0.1, slow=False), 0.5 * GOAL
    assert governor.take(0.0, ZERO, ZERO).unchanged
    assert governor.take(0.01, ZERO, ZERO).unchanged
    for k in range(2, 50):
        check_infeasible(governor, 0.01 * k, there)
    assert governor.take(0.5, ZERO, ZERO).unchanged
    check_infeasible(governor, 0.51, there)
    assert governor.take(1.0, there, ZERO).unchanged
    too_fast = ReferenceGovernor(steps, slow=False)
    check_infeasible(too_fast, 0.0, ZERO, 2.0 * steps.limits.velocity)
    assert too_fast.take(0.01, ZERO, ZERO).unchanged


@pytest.mark.parametrize("slow", [True, False])
def test_after_positions_out_of_range_the_output_continues_from_the_last_good_one(
    steps: Feasibility, slow: bool
) -> None:
    governor = ReferenceGovernor(steps, timeout=0.05, slow=slow)
    governor.take(0.0, ZERO, ZERO)
    for k in range(1, 20):
        with refused("reference-out-of-range", position=2.9, unit="rad"):
            governor.take(0.01 * k, OUT, ZERO)
    if slow:
        assert not governor.take(0.2, GOAL, ZERO).unchanged
    else:
        check_infeasible(governor, 0.2, GOAL)
        assert governor.take(0.21, ZERO, ZERO).unchanged


@pytest.mark.parametrize(("off", "passes"), [(1e-4, True), (0.02, False)])
def test_a_single_wrong_position_is_detected(steps: Feasibility, off: float, passes: bool) -> None:
    """It differs by more than a joint can move in one step."""
    kept = Kept(steps)
    for k in range(300):
        q, qd = smooth(0.004 * k, 3.0)
        q[0] += off * (k == 100)
        kept.take(0.004 * k, q, qd)
    assert kept.unchanged == passes


def test_invalid_arguments_of_the_governor_are_refused(steps: Feasibility) -> None:
    blind, governor = np.array([0.0, math.nan, 0.0, 0.0, 0.0, 0.0]), ReferenceGovernor(steps)
    for q, qd, quantity, joint in (
        (blind, ZERO, "q", "joint_2"),
        (ZERO, blind, "qd", "joint_2"),
        (ZERO, math.inf * np.ones(6), "qd", "joint_1"),
    ):
        with refused("joint-value-not-finite", quantity=quantity, joint=joint):
            governor.take(0.0, q, qd)
    for q, qd, argument, shape in ((ZERO[:4], ZERO, "q", (4,)), (ZERO, np.zeros((2, 6)), "qd", (2, 6))):
        with refused("argument-shape", argument=argument, expected=(6,), given=shape):
            governor.take(0.0, q, qd)
    assert refusal(governor.take, math.nan, ZERO, ZERO) == "argument-time-not-finite: t, nan"
    assert refusal(governor.advance, 0.0) == "argument-time-not-later: t, 0, nan"
    assert governor.take(0.0, ZERO.tolist(), ZERO.tolist()).unchanged
    for times in ({"timeout": -1.0}, {"timeout": 0.0}, {"most": math.nan}):
        with refused("argument-time-not-positive"):
            ReferenceGovernor(steps, **times)
