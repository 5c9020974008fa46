# SPDX-License-Identifier: Apache-2.0
"""Trajectories and streams of references that are made feasible: the path is kept, and the limits are."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dyn_core
from dyn_core.control.motion import Motion
from dyn_core.control.plan import planned
from dyn_core.control.trajectories.trajectory_planning import TrajectoryPoints, trajectory_points
from dyn_core.core.errors import DynError
from dyn_core.feasibility.actuator_limits import (
    ActuatorLimit,
    ActuatorLimits,
    actuator_limits,
    described_limit,
)
from dyn_core.feasibility.drive_torques import DriveTorques
from dyn_core.feasibility.reference_governor import InfeasibleReference, ReferenceGovernor
from dyn_core.feasibility.step_feasibility import Feasibility
from dyn_core.feasibility.torque_speed_curve import TorqueSpeedCurve
from dyn_core.feasibility.trajectory_governor import TrajectoryGovernor, scaled_points
from dyn_core.robot.robot import Robot

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
GOAL = np.array([1.0, 0.4, -0.3, 0.5, 0.5, 1.0])


@pytest.fixture(scope="module")
def robot() -> Robot:
    return dyn_core.load_robot(ROBOTS / "rx90.urdf", loops=ROBOTS / "rx90.yaml")


@pytest.fixture(scope="module")
def governor(robot: Robot) -> TrajectoryGovernor:
    return TrajectoryGovernor(DriveTorques(robot), actuator_limits(robot))


def quintic(robot: Robot, duration: float, velocities: bool = True) -> TrajectoryPoints:
    """From rest at 0 over the middle to rest at GOAL."""
    times = np.array([0.0, 0.5, 1.0]) * duration
    q = np.array([np.zeros(6), 0.5 * GOAL, GOAL])
    qd = np.array([np.zeros(6), 1.875 * GOAL / duration, np.zeros(6)])
    return trajectory_points(
        robot.coordinate_names,
        robot.coordinate_names,
        times,
        q.tolist(),
        qd.tolist() if velocities else None,
        np.zeros((3, 6)).tolist() if velocities else None,
    )


def kept(robot: Robot, limits: ActuatorLimits, trajectory, end: float, room: float = 1e-6) -> bool:
    t = np.linspace(trajectory.start, end, 3001)
    samples = trajectory.sample_many(t)
    torques = dyn_core.compile_model(robot).inverse_dynamics(samples.q, samples.qd, samples.qdd)
    return bool(
        (np.abs(samples.qd) <= limits.velocity * (1.0 + room)).all()
        and (np.abs(torques) <= limits.effort(samples.qd) * (1.0 + room)).all()
    )


def test_a_feasible_trajectory_is_left_as_it_is(robot: Robot, governor: TrajectoryGovernor) -> None:
    points = quintic(robot, 4.0)
    governed = governor.governed(points, 10.0)
    assert governed.unchanged
    assert governed.points is points
    assert governed.failures == ()


def test_one_that_is_too_fast_is_slower_on_the_same_path(robot: Robot, governor: TrajectoryGovernor) -> None:
    points = quintic(robot, 0.4)
    governed = governor.governed(points, 0.0, start=Motion.at_rest(np.zeros(6)))
    assert governed.factor > 1.0
    assert not governed.unchanged
    assert {failure.excess.joint for failure in governed.failures} >= {"joint_1"}
    trajectory = governed.trajectory
    assert kept(robot, governor.limits, trajectory, trajectory.end, 2e-3)
    # No more than it has to: a little faster is too fast.
    faster = governor.governed(scaled_points(points, governed.factor * 0.99), 0.0)
    assert faster.factor == pytest.approx(1.0 / 0.99, rel=1e-6)
    straight = governor.governed(quintic(robot, 4.0), 0.0).trajectory
    u = np.linspace(0.0, 1.0, 501)
    ours = trajectory.sample_many(trajectory.start + u * (trajectory.end - trajectory.start)).q
    wished = straight.sample_many(straight.start + u * (straight.end - straight.start)).q
    np.testing.assert_allclose(ours, wished, atol=1e-9)


def test_points_with_positions_only_get_velocities(robot: Robot, governor: TrajectoryGovernor) -> None:
    governed = governor.governed(quintic(robot, 4.0, velocities=False), 0.0)
    assert governed.filled
    assert governed.factor == 1.0
    assert np.isfinite(governed.points.qd).all()
    np.testing.assert_array_equal(governed.points.qd[[0, -1]], 0.0)


def test_one_that_replaces_a_running_one_begins_in_motion(robot: Robot, governor: TrajectoryGovernor) -> None:
    running = governor.governed(quintic(robot, 3.0), 0.0).trajectory
    back = trajectory_points(
        robot.coordinate_names,
        robot.coordinate_names,
        [0.3],
        [np.zeros(6).tolist()],
        [np.zeros(6).tolist()],
        [np.zeros(6).tolist()],
    )
    governed = governor.governed(back, 1.5, running=running)
    assert governed.factor > 1.0
    begin = governed.trajectory.motion(1.5)
    np.testing.assert_allclose(begin.qd, running.motion(1.5).qd, atol=1e-9)
    assert kept(robot, governor.limits, governed.trajectory, governed.trajectory.end, 2e-3)


def test_what_no_time_will_mend(robot: Robot, governor: TrajectoryGovernor) -> None:
    far = replace(quintic(robot, 2.0), q=np.array([np.zeros(6), 0.5 * GOAL, 5.0 * GOAL]))
    with pytest.raises(
        DynError, match=r"joint 'joint_1' asks for the position .* slower it would be so, too"
    ):
        governor.governed(far, 0.0)
    weak = actuator_limits(robot, {"joint_2": ActuatorLimit(curve=TorqueSpeedCurve.constant(10.0))})
    with pytest.raises(DynError, match="joint 'joint_2' cannot hold itself on the way"):
        TrajectoryGovernor(DriveTorques(robot), weak).governed(quintic(robot, 2.0), 0.0)
    some = quintic(robot, 2.0)
    qd = some.qd.copy()
    qd[1] = math.nan
    with pytest.raises(
        DynError, match=r"the velocity of joint 'joint_1' jumps from 0 to 0\.5 .* no actuator"
    ):
        governor.governed(replace(some, qd=qd, qdd=np.full((3, 6), math.nan)), 0.0)


@pytest.mark.parametrize("duration", [4e-3, 1e-3, 1e-5])
def test_one_that_is_much_too_fast_is_said_to_be_so(
    robot: Robot, governor: TrajectoryGovernor, duration: float
) -> None:
    """The joints can hold themselves; it is the time that is too short."""
    with pytest.raises(DynError, match=r"even in 100 times the time: give other points"):
        governor.governed(quintic(robot, duration), 0.0)
    patient = TrajectoryGovernor(DriveTorques(robot), governor.limits, most=1e9)
    expected = governor.governed(quintic(robot, 0.4), 0.0).factor * 0.4
    # Samples are as many whatever the factor, and a short trajectory has few.
    assert patient.governed(quintic(robot, duration), 0.0).factor * duration == pytest.approx(
        expected, rel=0.05
    )


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"period": 0.0}, r"period: expected a finite time > 0, but it is 0\.0"),
        ({"period": -1.0}, r"period: expected a finite time > 0, but it is -1\.0"),
        ({"period": math.nan}, "period: expected a finite time > 0, but it is nan"),
        ({"most": 0.5}, r"most: expected a finite number of 1 or more, but it is 0\.5"),
        ({"most": math.inf}, "most: expected a finite number of 1 or more, but it is inf"),
    ],
)
def test_settings_that_will_not_do(given: dict[str, float], sentence: str, robot: Robot) -> None:
    with pytest.raises(ValueError, match=sentence):
        TrajectoryGovernor(DriveTorques(robot), actuator_limits(robot), **given)


def test_a_motion_that_begins_from_nowhere(robot: Robot, governor: TrajectoryGovernor) -> None:
    """All points have velocities; it is the motion that the joints have at the beginning that is missing."""
    points = quintic(robot, 4.0)
    with pytest.raises(
        DynError,
        match=r"velocity of joint 'joint_1' jumps from 0 to 0\.4688 at present, 2 s after its first point "
        r"was due, which no actuator can do: give the motion that the joints have now \(start\), or a stamp "
        "that is not past",
    ):
        governor.governed(points, 12.0, stamp=10.0)
    under_way = planned(points, 10.0).motion(12.0)
    assert governor.governed(points, 12.0, stamp=10.0, start=under_way).unchanged
    moving = points.qd.copy()
    moving[0, 0] = 0.3
    with pytest.raises(
        DynError, match=r"jumps from 0 to 0\.3 0 s after the trajectory begins, .*: give the motion that"
    ):
        governor.governed(replace(points, qd=moving), 0.0)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("period", [0.005, 0.1])
def test_speeds_are_kept_between_samples(seed: int, period: float, robot: Robot) -> None:
    """At the extremes of each piece, found by NumPy's roots, however far the samples are from each other."""
    random = np.random.default_rng(seed)
    given = {
        name: replace(described_limit(robot, name), velocity=v, curve=TorqueSpeedCurve.constant(1e5))
        for name, v in zip(robot.coordinate_names, random.uniform(0.2, 2.0, 6), strict=True)
    }
    limits = actuator_limits(robot, given)
    governor = TrajectoryGovernor(DriveTorques(robot), limits, period=period)
    times = np.cumsum(random.uniform(0.05, 0.4, 12))
    q = random.uniform(-0.5, 0.5, (12, 6))
    qd, qdd = random.uniform(-2, 2, (12, 6)), random.uniform(-9, 9, (12, 6))
    qd[[0, -1]] = qdd[[0, -1]] = 0.0
    names = robot.coordinate_names
    accelerations = qdd.tolist() if seed % 2 else None
    points = trajectory_points(names, names, times, q.tolist(), qd.tolist(), accelerations)
    governed = governor.governed(points, 0.0)
    assert governed.factor > 1.0
    part = max(extremes(governed.trajectory.rows[:, 6:12]) / limits.velocity)
    # No faster than it may be, and no slower than it has to be.
    assert part <= 1.0 + 2e-9
    assert part == pytest.approx(1.0, rel=2e-9)
    # What is said of the wish is its greatest speed, not that of the nearest sample.
    wished = extremes(planned(points, 0.0).rows[:, 6:12])
    for j, name in enumerate(names):
        said = [abs(f.excess.value) for f in governed.failures if f.excess.joint == name]
        assert max(said, default=limits.velocity[j]) == pytest.approx(max(wished[j], limits.velocity[j]))


def extremes(rows: np.ndarray) -> np.ndarray:
    """Greatest size of polynomials (k, n, powers) for u from 0 to 1, over the pieces, (n,)."""
    found = np.zeros(rows.shape[:2])
    for place in np.ndindex(found.shape):
        polynomial = np.polynomial.Polynomial(rows[place])
        roots = polynomial.deriv().roots()
        u = [0.0, 1.0, *(x.real for x in roots if abs(x.imag) < 1e-9 and 0.0 < x.real < 1.0)]
        found[place] = np.abs(polynomial(np.array(u))).max()
    return found.max(axis=0)


def test_positions_are_kept_between_samples(robot: Robot) -> None:
    """A swing beyond the range that is over before the next sample."""
    limits = actuator_limits(robot)
    governor = TrajectoryGovernor(DriveTorques(robot), limits, period=0.5)
    upper = limits.upper[0]
    q, qd = np.zeros((4, 6)), np.zeros((4, 6))
    q[1:3, 0] = upper - 0.002
    qd[1, 0], qd[2, 0] = 0.1, -0.1
    names = robot.coordinate_names
    # The cubic of 0.2 s between these goes on by 0.1 * 0.2 / 4 = 0.005 rad.
    points = trajectory_points(names, names, [0.0, 5.0, 5.2, 10.0], q.tolist(), qd.tolist())
    with pytest.raises(DynError) as refused:
        governor.governed(points, 0.0)
    assert str(refused.value).startswith(
        f"at 5.1 s joint 'joint_1' asks for the position {upper + 0.003:.4g} rad, 0.003 rad beyond its limit "
        f"of {upper:.4g} rad: slower it would be so, too"
    )


def test_the_limit_that_is_named_is_the_real_one(robot: Robot, governor: TrajectoryGovernor) -> None:
    """What is let pass beyond it, as splines overshoot, and where the joint begins, is another matter."""
    upper = governor.limits.upper[0]
    q = np.zeros((2, 6))
    q[0, 0], q[1, 0] = upper + 0.05, upper + 0.1
    names = robot.coordinate_names
    points = trajectory_points(names, names, [0.0, 5.0], q.tolist(), np.zeros((2, 6)).tolist())
    with pytest.raises(
        DynError, match=rf"position {upper + 0.1:.4g} rad, 0\.1 rad beyond its limit of {upper:.4g} rad:"
    ):
        governor.governed(points, 0.0)
    inside = replace(points, q=np.array([q[0], 0.0 * q[1]]))
    assert governor.governed(inside, 0.0).failures == ()


def test_loops() -> None:
    folder = ROBOTS
    loops = dyn_core.load_robot(folder / "sr400.urdf", loops=folder / "sr400.yaml")
    n = loops.dof
    limits = actuator_limits(loops, {name: ActuatorLimit(velocity=0.5) for name in loops.coordinate_names})
    governor = TrajectoryGovernor(DriveTorques(loops), limits)
    names = loops.coordinate_names
    zero, goal = np.zeros(n), np.full(n, 0.2)
    points = trajectory_points(names, names, [0.0, 0.3], [zero.tolist(), goal.tolist()], [zero.tolist()] * 2)
    governed = governor.governed(points, 0.0)
    # A cubic from rest to rest is at most 1.5 times as fast as its mean.
    assert governed.factor == pytest.approx(1.5 * 0.2 / 0.3 / 0.5, rel=1e-3)


@pytest.fixture(scope="module")
def steps(robot: Robot) -> Feasibility:
    return Feasibility(robot)


def smooth(t: float, duration: float) -> tuple[np.ndarray, np.ndarray]:
    u = min(max(t / duration, 0.0), 1.0)
    return GOAL * u**3 * (10 - 15 * u + 6 * u * u), GOAL * 30 * u * u * (1 - u) ** 2 / duration


def test_a_feasible_stream_goes_through_bit_by_bit(steps: Feasibility) -> None:
    governor, dt = ReferenceGovernor(steps), 0.004
    for k in range(1001):
        q, qd = smooth(k * dt, 3.0)
        out = governor.take(k * dt, q, qd)
        assert out.unchanged
        assert out.q is q
        assert out.qd is qd
    assert governor.lag == 0.0


def test_a_stream_that_is_too_fast_keeps_its_path_and_its_limits(robot: Robot, steps: Feasibility) -> None:
    """Twice as fast as the actuators can, then at rest until the path has been run through."""
    governor, dt, duration = ReferenceGovernor(steps), 0.002, 0.35
    model = dyn_core.compile_model(robot)
    before = None
    asked: set[str] = set()
    for k in range(1501):
        q, qd = smooth(k * dt, duration)
        out = governor.take(k * dt, q, qd)
        asked |= {excess.joint for excess in out.asked}
        # All joints go along one line, so that the path is that line.
        part = out.q / GOAL
        np.testing.assert_allclose(part, part[0], atol=1e-3)
        assert out.distance < 1e-9
        if before is not None:
            torques = model.inverse_dynamics(before.q, before.qd, (out.qd - before.qd) / dt)
            assert (np.abs(torques) <= steps.limits.effort(before.qd) * (1.0 + 1e-9) + 1e-6).all()
            assert (np.abs(out.qd) <= steps.limits.velocity + 1e-9).all()
        before = out
    assert "joint_1" in asked
    assert before is not None
    np.testing.assert_allclose(before.q, GOAL, atol=1e-6)
    assert governor.lag == 0.0
    assert before.unchanged


def test_it_goes_on_without_references_until_the_path_ends(steps: Feasibility) -> None:
    governor, dt, duration = ReferenceGovernor(steps), 0.002, 0.3
    count = round(duration / dt) + 1
    for k in range(count):
        governor.take(k * dt, *smooth(k * dt, duration))
    assert governor.behind
    lag = governor.lag
    k = count
    while governor.behind:
        out = governor.advance(k * dt)
        k += 1
        assert k < 3 * count
    np.testing.assert_allclose(out.q, GOAL, atol=1e-9)
    assert lag > 0.0


def test_a_path_that_cannot_be_kept_is_said_and_joined_again(steps: Feasibility) -> None:
    """A velocity that stops at once: torques stay within limits, the joint goes too far, and comes back."""
    governor, dt = ReferenceGovernor(steps), 0.002
    q, speed = np.zeros(6), np.zeros(6)
    speed[0] = 1.0
    ramp = 200
    worst = 0.0
    for k in range(5000):
        qd = speed * min(k / ramp, 1.0) if k < 500 else np.zeros(6)
        q = q + dt * qd
        out = governor.take(k * dt, q, qd)
        worst = max(worst, out.distance)
    assert worst > 1e-3
    np.testing.assert_allclose(out.q, q, atol=1e-6)


def test_a_stream_that_begins_too_fast_or_out_of_range(steps: Feasibility) -> None:
    governor = ReferenceGovernor(steps)
    fast = 2.0 * steps.limits.velocity
    out = governor.take(0.0, np.zeros(6), fast)
    assert not out.unchanged
    assert out.rate == 0.5
    np.testing.assert_allclose(out.qd, steps.limits.velocity)
    assert {excess.quantity for excess in out.asked} == {"velocity"}
    far = np.zeros(6)
    far[0] = 2.9
    with pytest.raises(
        DynError, match=r"joint 'joint_1' asks for the position 2\.9 rad, its range is -2\.79"
    ):
        governor.take(0.01, far, np.zeros(6))
    # Where the robot is found there, references may be there, too.
    assert ReferenceGovernor(steps).take(0.0, far, np.zeros(6), measured=far).unchanged


def test_what_is_too_late_is_refused(steps: Feasibility) -> None:
    """A stream that never rests: twice as fast as joint 1 for ever."""
    governor, dt = ReferenceGovernor(steps, most=0.3), 0.004
    speed = 2.0 * steps.limits.velocity[0]
    w = speed / 1.5

    def take_all() -> None:
        for k in range(100_000):
            q, qd = np.zeros(6), np.zeros(6)
            u = min(k * dt / 0.4, 1.0)
            q[0], qd[0] = u * 1.5 * np.sin(w * k * dt), u * speed * np.cos(w * k * dt)
            governor.take(k * dt, q, qd)

    with pytest.raises(DynError, match=r"what goes out is 0\.30.* s late, at most 0\.3 s are made up for"):
        take_all()


def test_whatever_the_stream_is_what_goes_out_is_finite(steps: Feasibility) -> None:
    random = np.random.default_rng(3)
    governor, t = ReferenceGovernor(steps), 0.0
    for _ in range(600):
        t += float(random.choice([0.002, 0.01, 0.15, 0.3]))
        q = np.clip(random.normal(size=6), steps.limits.lower, steps.limits.upper)
        qd = float(random.choice([0.1, 1.0, 30.0, 1e6])) * random.normal(size=6)
        out = governor.take(t, q, qd)
        assert np.isfinite([*out.q, *out.qd]).all()
        assert (np.abs(out.qd) <= steps.limits.velocity * (1.0 + 1e-9)).all()


def test_a_gap_begins_a_new_stream(steps: Feasibility) -> None:
    governor = ReferenceGovernor(steps, timeout=0.1)
    governor.take(0.0, np.zeros(6), np.zeros(6))
    out = governor.take(1.0, GOAL, np.zeros(6))
    assert out.unchanged


class Kept:
    """What goes out of a governor, beside the limits."""

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
        if before is None or out.unchanged:
            return
        torques = self.model.inverse_dynamics(before.q, before.qd, (out.qd - before.qd) / dt)
        assert (np.abs(torques) <= self.limits.effort(before.qd) * (1.0 + 1e-9) + 1e-6).all()
        assert (np.abs(out.qd) <= self.limits.velocity + 1e-9).all()
        # Positions go no faster than velocities say, but for what a cubic is beside a parabola.
        assert (np.abs(out.q - before.q) <= 1.01 * dt * self.limits.velocity).all()


@pytest.mark.parametrize("dt", [0.001, 0.002, 0.01, 0.04])
def test_positions_that_jump_become_a_motion(steps: Feasibility, dt: float) -> None:
    """As a step response of who thinks in goals: velocities of 0, positions now here, then there."""
    kept, zero = Kept(steps), np.zeros(6)
    for k in range(round(2.0 / dt)):
        kept.take(k * dt, zero if k * dt < 0.1 else 0.5 * GOAL, zero)
        part = kept.out.q / GOAL
        np.testing.assert_allclose(part, part[0], atol=1e-9)
    assert not kept.unchanged
    assert ("joint_1", "velocity") in kept.asked
    assert kept.furthest < 1e-9
    assert kept.lag < 0.4
    np.testing.assert_array_equal(kept.out.q, 0.5 * GOAL)
    assert kept.out.unchanged
    assert kept.governor.lag == 0.0


@pytest.mark.parametrize("dt", [0.002, 0.01])
def test_positions_that_jump_in_motion(steps: Feasibility, dt: float) -> None:
    """Nothing can follow: the joints brake, come back beyond the jump, and go on from there."""
    kept = Kept(steps)
    for k in range(round(6.0 / dt)):
        q, qd = smooth(k * dt, 3.0)
        kept.take(k * dt, q + (0.2 * GOAL if k * dt > 1.5 else 0.0), qd)
    assert kept.furthest > 0.01
    np.testing.assert_array_equal(kept.out.q, GOAL + 0.2 * GOAL)
    assert kept.out.unchanged


@pytest.mark.parametrize("dt", [0.002, 0.01])
def test_positions_that_go_on_while_velocities_say_0(steps: Feasibility, dt: float) -> None:
    """A slow beginning is fine; one at 2 rad/s is not, and is run through from reference to reference."""
    kept, zero = Kept(steps), np.zeros(6)
    for k in range(round(3.5 / dt)):
        kept.take(k * dt, smooth(k * dt, 3.0)[0], zero)
    assert kept.unchanged
    kept = Kept(steps)
    for k in range(round(3.0 / dt)):
        kept.take(k * dt, min(max(k * dt - 0.1, 0.0), 0.5) * 2.0 * GOAL, zero)
    assert not kept.unchanged
    assert kept.furthest < 1e-9


@pytest.mark.parametrize("dt", [0.001, 0.004])
def test_noise_of_a_feasible_stream_is_no_jump(steps: Feasibility, dt: float) -> None:
    """Velocities late by a filter, stamps off by 20 us, numbers with six digits."""
    random = np.random.default_rng(21)
    late, stamped, rounded = Kept(steps), Kept(steps), Kept(steps)
    for k in range(round(3.5 / dt)):
        t = k * dt
        q, qd = smooth(t, 3.0)
        late.take(t, q, smooth(t - 0.02, 3.0)[1])
        stamped.take(t + 2e-5 * random.uniform(-1.0, 1.0), q, qd)
        rounded.take(t, np.round(q, 6), np.round(qd, 6))
    assert late.unchanged
    assert stamped.unchanged
    assert rounded.unchanged


@pytest.mark.parametrize("dt", [0.001, 0.004])
def test_noise_of_stamps_does_not_take_a_stream_off_its_path(steps: Feasibility, dt: float) -> None:
    """Twice as fast as it can be, with stamps off by 20 us."""
    random = np.random.default_rng(22)
    kept, exact = Kept(steps), Kept(steps)
    for k in range(round(1.5 / dt)):
        exact.take(k * dt, *smooth(k * dt, 0.35))
        kept.take(k * dt + 2e-5 * random.uniform(-1.0, 1.0), *smooth(k * dt, 0.35))
    assert not kept.unchanged
    assert kept.furthest < 1e-9
    assert kept.lag == pytest.approx(exact.lag, rel=0.1)
    np.testing.assert_array_equal(kept.out.q, GOAL)


def test_refused_in_the_place_of_slowed(steps: Feasibility) -> None:
    """What comes after a jump is refused as well: it would be the jump, a period later."""
    governor, zero, there = ReferenceGovernor(steps, timeout=0.1, slow=False), np.zeros(6), 0.5 * GOAL
    assert governor.take(0.0, zero, zero).unchanged
    assert governor.take(0.01, zero, zero).unchanged
    for k in range(2, 50):
        with pytest.raises(InfeasibleReference, match="joint 'joint_1' asks for the velocity"):
            governor.take(0.01 * k, there, zero)
    assert governor.take(0.5, zero, zero).unchanged
    with pytest.raises(InfeasibleReference):
        governor.take(0.51, there, zero)
    assert governor.take(1.0, there, zero).unchanged
    too_fast = ReferenceGovernor(steps, slow=False)
    with pytest.raises(InfeasibleReference, match="joint 'joint_1' asks for the velocity"):
        too_fast.take(0.0, zero, 2.0 * steps.limits.velocity)
    assert too_fast.take(0.01, zero, zero).unchanged


@pytest.mark.parametrize("later", [0.0, -0.05])
def test_a_time_that_is_not_after_the_last_is_refused(steps: Feasibility, later: float) -> None:
    """It would be a stream that begins anywhere."""
    governor, zero = ReferenceGovernor(steps), np.zeros(6)
    governor.take(1.0, zero, zero)
    with pytest.raises(DynError, match=r"the reference is of .* s, not after the last one of 1 s"):
        governor.take(1.0 + later, GOAL, zero)
    assert not governor.take(1.002, GOAL, zero).unchanged
    governor.reset()
    assert governor.take(0.5, GOAL, zero).unchanged


@pytest.mark.parametrize("slow", [True, False])
def test_after_positions_out_of_range_it_goes_on_where_it_was(steps: Feasibility, slow: bool) -> None:
    governor, zero, far = ReferenceGovernor(steps, timeout=0.05, slow=slow), np.zeros(6), np.zeros(6)
    far[0] = 2.9
    governor.take(0.0, zero, zero)
    for k in range(1, 20):
        with pytest.raises(DynError, match=r"asks for the position 2\.9 rad"):
            governor.take(0.01 * k, far, zero)
    if slow:
        assert not governor.take(0.2, GOAL, zero).unchanged
    else:
        with pytest.raises(InfeasibleReference):
            governor.take(0.2, GOAL, zero)
        assert governor.take(0.21, zero, zero).unchanged


def test_a_position_that_is_off_once_is_seen(steps: Feasibility) -> None:
    """By more than a joint could go in one step, and back."""
    for off, passes in ((1e-4, True), (0.02, False)):
        kept = Kept(steps)
        for k in range(300):
            q, qd = smooth(0.004 * k, 3.0)
            q[0] += off * (k == 100)
            kept.take(0.004 * k, q, qd)
        assert kept.unchanged == passes


def test_what_a_governor_is_given_is_checked(steps: Feasibility) -> None:
    zero, blind = np.zeros(6), np.array([0.0, math.nan, 0.0, 0.0, 0.0, 0.0])
    governor = ReferenceGovernor(steps)
    for q, qd, sentence in (
        (blind, zero, "the q of joint 'joint_2' is nan"),
        (zero, blind, "the qd of joint 'joint_2' is nan"),
        (zero, math.inf * np.ones(6), "the qd of joint 'joint_1' is inf"),
        (zero[:4], zero, r"q: expected the shape \(6,\), but it has \(4,\)"),
        (zero, np.zeros((2, 6)), r"qd: expected the shape \(6,\), but it has \(2, 6\)"),
    ):
        with pytest.raises(ValueError, match=sentence):
            governor.take(0.0, q, qd)
    with pytest.raises(ValueError, match="t: expected a finite time, but it is nan"):
        governor.take(math.nan, zero, zero)
    with pytest.raises(ValueError, match="begin with `take`"):
        governor.advance(0.0)
    assert governor.take(0.0, zero.tolist(), zero.tolist()).unchanged
    for times in ({"timeout": -1.0}, {"timeout": 0.0}, {"most": math.nan}):
        with pytest.raises(ValueError, match="expected a finite time > 0"):
            ReferenceGovernor(steps, **times)
