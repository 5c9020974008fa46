# SPDX-License-Identifier: Apache-2.0
"""Trajectories that actuators can make: as they are where they are feasible, else slower on the same path."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dyn_core.control.motion import Motion
from dyn_core.control.piece_extremes import hull, turning_points
from dyn_core.control.plan import planned, replaced
from dyn_core.control.trajectories.trajectory import Trajectory
from dyn_core.control.trajectories.trajectory_planning import REST, TrajectoryPoints
from dyn_core.control.trajectory_ranges import OVERSHOOT
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.feasibility.actuator_limits import ActuatorLimits
from dyn_core.feasibility.drive_torques import DriveTorques
from dyn_core.feasibility.failures import Failure, failures
from dyn_core.feasibility.limit_violations import greatest_rate

MORE = 1.02
"""How much slower a trajectory is made at least, where one that begins in motion is not feasible yet."""
ROUNDS = 200
ALL_OR_NONE = "give all points velocities, and the last one 0, or none of them"
"""What helps where velocities jump between points."""


@dataclass(frozen=True, eq=False)
class Governed:
    """A trajectory that is feasible.

    Attributes:
        points: its points.
        trajectory: the trajectory through them.
        factor: how many times as long as the wished one it takes; 1 for one that is as it was wished.
        filled: whether points with positions only were given velocities.
        failures: where the wished one is beyond limits, at times from its beginning.
    """

    points: TrajectoryPoints
    trajectory: Trajectory
    factor: float
    filled: bool
    failures: tuple[Failure, ...]

    @property
    def unchanged(self) -> bool:
        """Whether it is as it was wished."""
        return self.factor == 1.0 and not self.filled


@dataclass(frozen=True, eq=False)
class _Dense:
    """A trajectory at many times, at both ends of each piece: there accelerations jump."""

    times: Array
    q: Array
    qd: Array
    qdd: Array


class TrajectoryGovernor:
    """Makes trajectories feasible by uniform time scaling.

    Attributes:
        limits: what they keep.
    """

    def __init__(
        self, drives: DriveTorques, limits: ActuatorLimits, *, period: float = 0.005, most: float = 100.0
    ) -> None:
        """Look at trajectories every `period` (s), and make them at most `most` times as slow.

        Raises:
            ValueError: the period is not above 0, or `most` is below 1.
        """
        if not (math.isfinite(period) and period > 0.0):
            raise ValueError(f"period: expected a finite time > 0, but it is {period}")
        if not (math.isfinite(most) and most >= 1.0):
            raise ValueError(f"most: expected a finite number of 1 or more, but it is {most}")
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
        """Answer the fastest feasible trajectory on the path through points, no faster than they say.

        Where it begins in motion, that motion is what it is: then the way to the first point is another one
        for each time that it takes.

        Args:
            points: the points; of those with positions only, velocities are those of a spline.
            now: the present (s).
            stamp: start of the trajectory (s), from which the times of the points count; None for now.
            start: the motion at the later of `now` and `stamp`; None to keep all points as they are.
            running: the trajectory that it takes the place of, from whose motion it begins; None for `start`.

        Raises:
            DynError: velocities jump, or no time scaling will do; the message names the joint.
        """
        filled = bool(np.isnan(points.qd).all())
        if filled:
            points = self._filled(points, now, stamp, start, running)
        wished = _plan(points, now, stamp, start, running)
        begin = now if stamp is None else max(now, stamp)
        limits = self.limits.widened(wished.motion(begin).q, OVERSHOOT)
        dense = self._dense(limits, wished, begin)
        self._check_jumps(wished, dense, begin, start if running is None else running.motion(begin))
        found = self._failures(limits, dense)
        factor, trajectory, slower = 1.0, wished, points
        present = found
        for _ in range(ROUNDS):
            if not present:
                return Governed(slower, trajectory, factor, filled, found)
            out = next((one for one in present if one.excess.quantity == "position"), None)
            if out is not None:
                raise DynError(
                    f"{out.sentence}: slower it would be so, too, give other points",
                    element=f"joint '{out.excess.joint}'",
                )
            scaling = greatest_rate(limits, dense.qd, self._drives.rated(dense.q, dense.qd, dense.qdd))
            if not scaling.rate:
                name = limits.joint_names[scaling.joint or 0]
                raise DynError(
                    f"joint '{name}' cannot hold itself on the way: {present[0].sentence}, and slower "
                    "it would be so, too",
                    element=f"joint '{name}'",
                )
            moving = start is not None or running is not None
            factor *= max(scaling.factor, MORE if moving and factor > 1.0 else 1.0 + 1e-12)
            if factor > self._most:
                break
            slower = scaled_points(points, factor)
            trajectory = _plan(slower, now, stamp, start, running)
            dense = self._dense(limits, trajectory, begin, factor)
            present = self._failures(limits, dense)
        raise DynError(
            f"{present[0].sentence}, even in {self._most:g} times the time: give other points",
            element=f"joint '{present[0].excess.joint}'",
        )

    def _failures(self, let_pass: ActuatorLimits, dense: _Dense) -> tuple[Failure, ...]:
        torques = self._drives.rated(dense.q, dense.qd, dense.qdd).at(1.0)
        return failures(self.limits, dense.times, dense.q, dense.qd, torques, let_pass)

    def _dense(
        self, limits: ActuatorLimits, trajectory: Trajectory, begin: float, factor: float = 1.0
    ) -> _Dense:
        """Answer samples from `begin` (s) on, as many in each piece whatever the factor.

        Where positions or velocities turn beyond limits between them, there is one more.
        """
        n = len(trajectory.first)
        times, values = [], []
        turning = _turning_beyond(limits, trajectory)
        for k, duration in enumerate(trajectory.durations):
            first, last = max(trajectory.knots[k], begin), trajectory.knots[k + 1]
            if last <= first:
                continue
            # As many whatever rounding the factor brings.
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
            return _Dense(np.array([0.0]), *(vector[None, :] for vector in still))
        all_values = np.concatenate(values)
        return _Dense(
            np.concatenate(times) - begin,
            all_values[:, :n],
            all_values[:, n : 2 * n],
            all_values[:, 2 * n :],
        )

    def _check_jumps(self, trajectory: Trajectory, dense: _Dense, begin: float, start: Motion | None) -> None:
        """Refuse velocities that jump, which no actuator can give; DynError names the joint."""
        before = np.zeros(dense.qd.shape[1]) if start is None else start.qd
        speeds = np.concatenate((before[None, :], dense.qd, np.zeros((1, dense.qd.shape[1]))))
        times = np.concatenate(([0.0], dense.times, [trajectory.end - begin]))
        same = np.diff(times) <= 0.0
        jumps = np.abs(np.diff(speeds, axis=0)) * same[:, None]
        jumps[-1] = np.abs(speeds[-2])
        k, j = np.unravel_index(int(jumps.argmax()), jumps.shape)
        if jumps[k, j] > REST:
            name = self.limits.joint_names[j]
            where, remedy = f"{times[k]:.4g} s after the trajectory begins", ALL_OR_NONE
            if k == 0 and start is None:
                remedy = (
                    "give the motion that the joints have then (start), or let the first point be at rest"
                )
                if trajectory.start < begin:
                    where = f"at present, {begin - trajectory.start:.4g} s after its first point was due"
                    remedy = "give the motion that the joints have now (start), or a stamp that is not past"
            raise DynError(
                f"the velocity of joint '{name}' jumps from {speeds[k, j]:.4g} to {speeds[k + 1, j]:.4g} "
                f"{where}, which no actuator can do: {remedy}",
                element=f"joint '{name}'",
            )

    def _filled(
        self,
        points: TrajectoryPoints,
        now: float,
        stamp: float | None,
        start: Motion | None,
        running: Trajectory | None,
    ) -> TrajectoryPoints:
        """Answer points with the velocities of the spline through their positions."""
        begin = now if stamp is None else max(now, stamp)
        if running is None:
            smooth = planned(points, now, stamp, start, smooth=True)
        else:
            smooth = replaced(running, points, now, stamp, smooth=True)
        at = points.times + (now if stamp is None else stamp)
        qd = smooth.sample_many(np.clip(at, smooth.start, smooth.end)).qd
        # What is past takes no part in the trajectory, and what it rests at has no velocity.
        qd[at < begin] = 0.0
        qd[-1] = 0.0
        return replace(points, qd=qd)


def _turning_beyond(limits: ActuatorLimits, trajectory: Trajectory) -> dict[int, list[float]]:
    """Answer by piece the u at which a position or velocity turns beyond a limit, the worst of each joint."""
    n = len(trajectory.first)
    q, qd, qdd = (trajectory.rows[:, i * n : (i + 1) * n] for i in range(3))
    found: dict[int, list[float]] = {}
    for rows, derivatives, least, greatest in (
        (q, qd, limits.lower, limits.upper),
        (qd, qdd, -limits.velocity, limits.velocity),
    ):
        values = hull(rows)
        # Whatever keeps within these, as nearly all pieces do, needs no roots.
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
    """Answer the points of the same path, run through in `factor` times the time."""
    return replace(points, times=factor * points.times, qd=points.qd / factor, qdd=points.qdd / factor**2)


def _plan(
    points: TrajectoryPoints,
    now: float,
    stamp: float | None,
    start: Motion | None,
    running: Trajectory | None,
) -> Trajectory:
    if running is not None:
        return replaced(running, points, now, stamp)
    return planned(points, now, stamp, start)
