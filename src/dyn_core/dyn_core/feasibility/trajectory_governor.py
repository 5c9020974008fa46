# SPDX-License-Identifier: Apache-2.0
"""Make trajectories feasible by uniform time scaling, and references of a stream as a path.

`reference_governor` uses the path, in which the noise of time stamps is removed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from dyn_core.control.trajectories.piecewise_polynomials import Motion, hull, turning_points
from dyn_core.control.trajectories.trajectory import OVERSHOOT, Trajectory
from dyn_core.control.trajectories.trajectory_planning import REST, TrajectoryPoints, planned, replaced
from dyn_core.core.arrays import Array
from dyn_core.core.errors import ArgumentError, DynError, at_joint
from dyn_core.feasibility.actuator_limits import ActuatorLimits
from dyn_core.feasibility.limit_violations import DriveTorques, Failure, failures, greatest_rate
from dyn_core.feasibility.sampled_motion import SampledMotion

ON_PATH = 1e-9  # Distance (rad or m) that counts as 0
SAME = 0.05  # Greatest relative difference of the times between two references by stamps and by velocities
RESTING = 1e-6  # Speed (rad/s or m/s) that counts as 0


@dataclass(eq=False)
class ReferencePath:
    """References that are still to be reached, and the last one that was reached.

    Stamps are noisy: at 1 kHz, 20 us change the speed of the positions by 2 %. So the time between two
    references is the one in which the velocities lead from one to the other, if that is near the stamps.
    """

    s: list[float] = field(default_factory=list)  # their times on the path (s), increasing
    q: list[Array] = field(default_factory=list)  # positions (rad or m), (n,) each
    qd: list[Array] = field(default_factory=list)  # velocities (rad/s or m/s), (n,) each

    def reach(self, T: float, q: Array, qd: Array) -> None:
        """Take the next reference, T (s) after the last; both are reached, and its time becomes 0."""
        self.s, self.q, self.qd = [-T, 0.0], [self.q[-1], q], [self.qd[-1], qd]

    def append(self, T: float, q: Array, qd: Array) -> None:
        """Take the next reference, by its stamp T (s) after the last."""
        self.s.append(self.s[-1] + self._time_to(T, q, qd) if self.s else 0.0)
        self.q.append(q)
        self.qd.append(qd)

    def _time_to(self, T: float, q: Array, qd: Array) -> float:
        """Return the time (s) to the next reference by a parabola through three velocities, or T."""
        if len(self.s) < 2:
            return T
        T_before = self.s[-1] - self.s[-2]
        slope, slope_before = (qd - self.qd[-1]) / T, (self.qd[-1] - self.qd[-2]) / T_before
        bend = (slope - slope_before) / (T + T_before)
        mean = 0.5 * (self.qd[-1] + qd) - bend * T * T / 6.0
        square = float(mean @ mean)
        by_velocities = float((q - self.q[-1]) @ mean) / square if square > 0.0 else T
        return by_velocities if abs(by_velocities - T) < SAME * T else T

    def forget_before(self, s: float) -> None:
        """Forget references before s, except the last one of them."""
        while len(self.s) > 2 and self.s[1] <= s:
            del self.s[0], self.q[0], self.qd[0]

    def at(self, s: float) -> tuple[Array, Array]:
        """Return position and velocity, by cubics between references."""
        if s >= self.s[-1] or len(self.s) == 1:
            return self.q[-1], self.qd[-1]
        k = next(i for i in range(1, len(self.s)) if s < self.s[i])
        T = self.s[k] - self.s[k - 1]
        u = max(0.0, (s - self.s[k - 1]) / T)
        q0, q1, h0, h1 = self.q[k - 1], self.q[k], T * self.qd[k - 1], T * self.qd[k]
        c2 = 3.0 * (q1 - q0) - 2.0 * h0 - h1
        c3 = h0 + h1 - 2.0 * (q1 - q0)
        return q0 + u * (h0 + u * (c2 + u * c3)), (h0 + u * (2.0 * c2 + 3.0 * u * c3)) / T

    def rests_at(self, s: float) -> bool:
        """True if the path has no velocity at s."""
        return bool(np.abs(self.at(s)[1]).max() <= RESTING)

    def following(self, s: float) -> float:
        """Return the time of the next reference after s, or of the last."""
        return next((time for time in self.s if time > s), self.s[-1])

    def rest_until(self, s: float) -> float:
        """Return the time until which the path stays at rest from s on; s itself if it moves there."""
        q, qd = self.at(s)
        if np.abs(qd).max() > RESTING:
            return s
        for time, position, velocity in zip(self.s, self.q, self.qd, strict=True):
            if time <= s:
                continue
            if np.abs(velocity).max() > RESTING or np.abs(position - q).max() > ON_PATH:
                break
            s = time
        return s


GLANCE_S = 0.01  # Time for mean velocities (s): in shorter times they show the noise of stamps and positions


@dataclass(eq=False)
class ReferencePositions:
    """Positions of the last references (rad or m), (n,) each, and their times (s)."""

    t: list[float] = field(default_factory=list)
    q: list[Array] = field(default_factory=list)

    def begin(self, t: float, q: Array, qd: Array) -> None:
        """Begin a stream at a constant velocity (rad/s or m/s)."""
        self.t, self.q = [t - 1.0, t], [q - qd, q]

    def append(self, t: float, q: Array) -> None:
        """Take the next reference."""
        self.t.append(t)
        self.q.append(q)
        needed = t - 2.0 * self._span
        while self.t[1] <= needed:
            del self.t[0], self.q[0]

    def change(self) -> tuple[float, Array, Array, Array]:
        """Return the time span T (s) before the last reference and the motion in it.

        It is the mean velocity in the time T before the span (rad/s or m/s), the position at its begin (rad
        or m), and the mean velocity in it.
        """
        last, T = self.t[-1], self._span
        first, middle = self._at(last - 2.0 * T), self._at(last - T)
        return T, (middle - first) / T, middle, (self.q[-1] - middle) / T

    @property
    def _span(self) -> float:
        return max(GLANCE_S, self.t[-1] - self.t[-2])

    def _at(self, t: float) -> Array:
        k = next((i for i in range(1, len(self.t)) if t < self.t[i]), len(self.t) - 1)
        part = (t - self.t[k - 1]) / (self.t[k] - self.t[k - 1])
        return self.q[k - 1] + part * (self.q[k] - self.q[k - 1])


MORE = 1.02
"""Least factor by which an infeasible trajectory that begins in motion is slowed down in an iteration."""
ROUNDS = 200


@dataclass(frozen=True, eq=False)
class Governed:
    """A feasible trajectory."""

    points: TrajectoryPoints  # its points
    trajectory: Trajectory  # the trajectory through them
    factor: float  # ratio of its duration to the desired one; 1 if unchanged
    filled: bool  # whether velocities were added to points with positions only
    failures: tuple[Failure, ...]  # violations of the desired trajectory, at times from its beginning

    @property
    def unchanged(self) -> bool:
        """True if it is the desired trajectory."""
        return self.factor == 1.0 and not self.filled


MOST_SAMPLES = 100_000
"""Most samples at which a trajectory is checked: for six joints they take 0.1 s and 50 MB."""


class TrajectoryGovernor:
    """Make trajectories feasible, within `limits`, by uniform time scaling."""

    def __init__(
        self, drives: DriveTorques, limits: ActuatorLimits, *, period: float = 0.005, most: float = 100.0
    ) -> None:
        """Check trajectories every `period` (s), and make them at most `most` times as slow.

        Raise ValueError if the period is not above 0, or `most` is below 1.
        """
        if not (math.isfinite(period) and period > 0.0):
            raise ArgumentError("argument-time-not-positive", argument="period", given=period)
        if not (math.isfinite(most) and most >= 1.0):
            raise ArgumentError("argument-below-one", argument="most", given=most)
        self.limits = limits
        self._drives = drives
        self._period = period
        self._most = most

    def governed(
        self,
        points: TrajectoryPoints,
        now: float,
        stamp: float | None = None,
        start: Motion | None = None,
        running: Trajectory | None = None,
    ) -> Governed:
        """Return the fastest feasible trajectory on the path through points, at most as fast as these.

        A trajectory that begins in motion keeps that motion: then its path to the first point depends on its
        duration. Raise DynError if velocities jump, or no time scaling is feasible; the message names the
        joint.

        Args:
            points: the points; those with positions only get the velocities of a spline.
            now: current time (s).
            stamp: start of the trajectory (s), from which the times of the points count; None for now.
            start: the motion at the later of `now` and `stamp`; None to keep all points.
            running: the trajectory that it replaces, from whose motion it begins; None for `start`.
        """

        def plan(points: TrajectoryPoints, smooth: bool = False) -> Trajectory:
            if running is not None:
                return replaced(running, points, now, stamp, smooth=smooth)
            return planned(points, now, stamp, start, smooth=smooth)

        begin = now if stamp is None else max(now, stamp)
        filled = bool(np.isnan(points.qd).all())
        if filled:
            at = points.times + (now if stamp is None else stamp)
            points = replace(points, qd=_spline_velocities(plan(points, smooth=True), at, begin))
        desired = plan(points)
        limits = self.limits.widened(desired.motion(begin).q, OVERSHOOT)
        dense = self._dense(limits, desired, begin)
        self._check_jumps(desired, dense, begin, start if running is None else running.motion(begin))
        found = self._failures(limits, dense)
        factor, trajectory, slower = 1.0, desired, points
        present = found
        for _ in range(ROUNDS):
            if not present:
                return Governed(slower, trajectory, factor, filled, found)
            out = next((one for one in present if one.excess.quantity == "position"), None)
            if out is not None:
                raise DynError(
                    "trajectory-path-infeasible", cause=out.sentence, element=f"joint '{out.excess.joint}'"
                )
            scaling = greatest_rate(limits, dense.qd, self._drives.rated(dense.q, dense.qd, dense.qdd))
            if not scaling.rate:
                name = limits.joint_names[scaling.joint or 0]
                raise at_joint(name, "trajectory-cannot-be-held", cause=present[0].sentence)
            moving = start is not None or running is not None
            factor *= max(scaling.factor, MORE if moving and factor > 1.0 else 1.0 + 1e-12)
            if factor > self._most:
                break
            slower = scaled_points(points, factor)
            trajectory = plan(slower)
            dense = self._dense(limits, trajectory, begin, factor)
            present = self._failures(limits, dense)
        raise DynError(
            "trajectory-slowdown-exceeded",
            cause=present[0].sentence,
            factor=self._most,
            element=f"joint '{present[0].excess.joint}'",
        )

    def _failures(self, let_pass: ActuatorLimits, dense: SampledMotion) -> tuple[Failure, ...]:
        torques = self._drives.rated(dense.q, dense.qd, dense.qdd).at(1.0)
        return failures(self.limits, dense.times, dense.q, dense.qd, torques, let_pass)

    def _dense(
        self, limits: ActuatorLimits, trajectory: Trajectory, begin: float, factor: float = 1.0
    ) -> SampledMotion:
        """Return samples from `begin` (s) on, with a number in each piece that does not depend on the factor.

        Extremes of positions or velocities beyond limits are added.
        """
        n = len(trajectory.first)
        samples = (trajectory.end - begin) / (factor * self._period)
        if samples > MOST_SAMPLES:
            longest = MOST_SAMPLES * self._period
            raise DynError("trajectory-too-long", duration=trajectory.end - begin, limit=longest)
        times, values = [], []
        turning = _turning_beyond(limits, trajectory)
        for k, duration in enumerate(trajectory.durations):
            first, last = max(trajectory.knots[k], begin), trajectory.knots[k + 1]
            if last <= first:
                continue
            count = 2 + math.floor((last - first) / (factor * self._period) + 1e-6)
            t = np.linspace(first, last, count)
            if k in turning:
                between = trajectory.knots[k] + duration * np.array(turning[k])
                t = np.sort(np.concatenate((t, between[(between > first) & (between < last)])))
            u = (t - trajectory.knots[k]) / duration
            times.append(t)
            values.append(u[:, None] ** np.arange(6.0) @ trajectory.rows[k].T)
        if not times:
            still = trajectory.motion(begin)
            return SampledMotion(np.zeros(1), still.q[None], still.qd[None], still.qdd[None])
        all_values = np.concatenate(values)
        return SampledMotion(
            np.concatenate(times) - begin, all_values[:, :n], all_values[:, n : 2 * n], all_values[:, 2 * n :]
        )

    def _check_jumps(
        self, trajectory: Trajectory, dense: SampledMotion, begin: float, start: Motion | None
    ) -> None:
        """Raise DynError, with the name of the joint, for velocities that jump."""
        before = np.zeros(dense.qd.shape[1]) if start is None else start.qd
        speeds = np.concatenate((before[None, :], dense.qd, np.zeros((1, dense.qd.shape[1]))))
        times = np.concatenate(([0.0], dense.times, [trajectory.end - begin]))
        same = np.diff(times) <= 0.0
        jumps = np.abs(np.diff(speeds, axis=0)) * same[:, None]
        jumps[-1] = np.abs(speeds[-2])
        k, j = np.unravel_index(int(jumps.argmax()), jumps.shape)
        if jumps[k, j] > REST:
            name = self.limits.joint_names[j]
            jump = {"before": speeds[k, j], "after": speeds[k + 1, j]}
            if k == 0 and start is None and trajectory.start < begin:
                late = begin - trajectory.start
                raise at_joint(name, "trajectory-joined-moving", late=late, **jump)
            continues = k > 0 or start is not None
            code = "trajectory-velocity-discontinuous" if continues else "trajectory-starts-moving"
            raise at_joint(name, code, time=times[k], **jump)


def _spline_velocities(smooth: Trajectory, at: Array, begin: float) -> Array:
    """Return the velocities of a spline at the times of its points (s), (m, n)."""
    qd = smooth.sample_many(np.clip(at, smooth.start, smooth.end)).qd
    # Past points do not belong to the trajectory, and the last point is at rest.
    qd[at < begin] = 0.0
    qd[-1] = 0.0
    return qd


def _turning_beyond(limits: ActuatorLimits, trajectory: Trajectory) -> dict[int, list[float]]:
    """Return by piece the u of extremes beyond a position or velocity limit, the worst of each joint."""
    n = len(trajectory.first)
    q, qd, qdd = (trajectory.rows[:, i * n : (i + 1) * n] for i in range(3))
    found: dict[int, list[float]] = {}
    for rows, derivatives, least, greatest in (
        (q, qd, limits.lower, limits.upper),
        (qd, qdd, -limits.velocity, limits.velocity),
    ):
        values = hull(rows)
        # Nearly all pieces are within their hulls, and need no roots.
        pieces, joints = np.nonzero((values.min(axis=-1) < least) | (values.max(axis=-1) > greatest))
        if not len(pieces):
            continue
        u = turning_points(derivatives[pieces, joints])
        at = np.einsum("sp,srp->sr", rows[pieces, joints], u[..., None] ** np.arange(float(rows.shape[-1])))
        beyond = np.maximum(at - greatest[joints, None], least[joints, None] - at)
        worst = beyond.argmax(axis=1)[:, None]
        out = np.take_along_axis(beyond, worst, axis=1)[:, 0] > 0.0
        turns = np.take_along_axis(u, worst, axis=1)[:, 0]
        for piece, turn in zip(pieces[out].tolist(), turns[out].tolist(), strict=True):
            found.setdefault(piece, []).append(turn)
    return found


def scaled_points(points: TrajectoryPoints, factor: float) -> TrajectoryPoints:
    """Return the points of the same path in `factor` times the time."""
    return replace(points, times=factor * points.times, qd=points.qd / factor, qdd=points.qdd / factor**2)
