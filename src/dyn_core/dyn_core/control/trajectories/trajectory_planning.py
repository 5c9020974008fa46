# SPDX-License-Identifier: Apache-2.0
"""Points of a trajectory, planning from them, replacement of a running trajectory, and stops on its path.

The rules are those of joint_trajectory_controller: https://control.ros.org, "Trajectory Representation" and
"Trajectory Replacement".
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dyn_core.control.trajectories.piecewise_polynomials import (
    Motion,
    SmoothMotion,
    completed,
    hermite_rows,
    smooth_rows,
    spline_velocities,
)
from dyn_core.control.trajectories.trajectory import Trajectory
from dyn_core.core.arrays import Array
from dyn_core.core.errors import ArgumentError, DynError, at_joint
from dyn_core.robot.joints import Limits, position_range

REST = 1e-6
"""Greatest velocity (rad/s or m/s) at the last point that counts as 0, because messages are rounded."""
SLACK = 1e-6  # Distance (rad, m, rad/s or m/s) by which a point may exceed a limit, because both are rounded


@dataclass(frozen=True, eq=False)
class TrajectoryPoints:
    """Desired positions of the joints over time: m points of n joints."""

    joint_names: tuple[str, ...]  # the joints, in the order of the columns
    times: Array  # time from the start of the trajectory (s), at least 0, strictly increasing, (m,)
    q: Array  # positions (rad or m), (m, n)
    qd: Array  # velocities (rad/s or m/s), (m, n); a row of NaN if they are not given
    qdd: Array  # accelerations (rad/s^2 or m/s^2), (m, n); a row of NaN if they are not given


def trajectory_points(
    joint_names: Sequence[str],
    names: Sequence[str],
    times: Iterable[float],
    positions: Sequence[Sequence[float]],
    velocities: Sequence[Sequence[float]] | None = None,
    accelerations: Sequence[Sequence[float]] | None = None,
    limits: Mapping[str, Limits] | None = None,
    *,
    may_end_moving: bool = False,
    efforts: Sequence[Sequence[float]] | None = None,
) -> TrajectoryPoints:
    """Return the points of a trajectory with the joints in the order of the model.

    Points are counted from 0 in messages, as in the fields of ROS messages. Raise DynError if the lists are
    not a trajectory of these joints.

    Args:
        joint_names: the joints of the model, in order.
        names: the same joints in the order of the lists below.
        times: time of each point from the start of the trajectory (s).
        positions: one list for each point (rad or m).
        velocities: one list for each point, empty if the point has none (rad/s or m/s).
        accelerations: one list for each point, empty if the point has none (rad/s^2 or m/s^2); a point with
            accelerations must have velocities.
        limits: ranges by joint name, checked at the points but not between them.
        may_end_moving: whether the velocity at the last point may differ from zero; it then drops to zero
            there.
        efforts: one list for each point, empty if the point has none (N m or N); they are checked, not used.
    """
    order = _order(joint_names, names)
    t = _times(times)
    q = _rows("positions", names, positions, len(t))[:, order]
    qd = _rows("velocities", names, velocities, len(t))[:, order]
    qdd = _rows("accelerations", names, accelerations, len(t))[:, order]
    _rows("efforts", names, efforts, len(t))
    points = TrajectoryPoints(tuple(joint_names), t, q, qd, qdd)
    if len(names):
        _check_given(points)
        _check_end(points, may_end_moving=may_end_moving)
        if limits is not None:
            _check_limits(points, limits)
    return points


def _order(joint_names: Sequence[str], names: Sequence[str]) -> list[int]:
    """Indices in `names` of the joints of the model."""
    index = {name: k for k, name in enumerate(names)}
    if len(index) < len(names):
        repeated = next(name for k, name in enumerate(names) if index[name] != k)
        raise at_joint(repeated, "trajectory-joint-repeated")
    unknown = [name for name in names if name not in joint_names]
    if unknown:
        raise DynError(
            "trajectory-joint-unknown", unknown=unknown, known=joint_names, element=f"joint '{unknown[0]}'"
        )
    missing = [name for name in joint_names if name not in index]
    if missing:
        raise DynError("trajectory-joint-missing", missing=missing, element=f"joint '{missing[0]}'")
    return [index[name] for name in joint_names]


def _times(times: Iterable[float]) -> Array:
    t = np.array([float(time) for time in times], dtype=np.float64)
    if not len(t):
        raise DynError("trajectory-empty")
    bad = np.flatnonzero(~np.isfinite(t))
    if len(bad):
        raise DynError("trajectory-time-not-finite", point=bad[0], time=t[bad[0]])
    if t[0] < 0.0:
        raise DynError("trajectory-time-negative", time=t[0])
    late = np.flatnonzero(np.diff(t) <= 0.0)
    if len(late):
        k = int(late[0])
        raise DynError(
            "trajectory-times-not-increasing", point=k + 1, time=t[k + 1], previous=k, previous_time=t[k]
        )
    return t


def _rows(what: str, names: Sequence[str], rows: Sequence[Sequence[float]] | None, count: int) -> Array:
    """Return lists as an array with one row for each point, NaN if its list is empty."""
    width = len(names)
    if rows is None:
        return np.full((count, width), math.nan)
    if len(rows) != count:
        raise DynError("trajectory-lengths-unequal", times=count, quantity=what, given=len(rows))
    absent = [math.nan] * width
    optional = what != "positions"
    for k, row in enumerate(rows):
        if len(row) != width and not (optional and len(row) == 0):
            raise DynError("trajectory-point-length", point=k, given=len(row), quantity=what, expected=width)
    array = np.empty((count, width))
    for begin in range(0, count, _ROWS):
        array[begin : begin + _ROWS] = [row if len(row) else absent for row in rows[begin : begin + _ROWS]]
    given = np.array([len(row) > 0 for row in rows])
    bad = np.argwhere(~np.isfinite(array) & given[:, None])
    if len(bad):
        k, j = bad[0]
        code = "trajectory-value-not-finite"
        raise at_joint(names[j], code, point=k, given=array[k, j], quantity=what)
    return array


def _check_given(points: TrajectoryPoints) -> None:
    """Raise DynError for points with accelerations but without velocities."""
    alone = np.flatnonzero(np.isnan(points.qd[:, 0]) & ~np.isnan(points.qdd[:, 0]))
    if len(alone):
        raise DynError("trajectory-point-without-velocities", point=alone[0])


def _check_end(points: TrajectoryPoints, *, may_end_moving: bool) -> None:
    speed = np.abs(points.qd[-1])
    j = int(np.argmax(speed))
    if speed[j] > REST and not may_end_moving:
        raise at_joint(points.joint_names[j], "trajectory-ends-moving", velocity=points.qd[-1, j])


def _check_limits(points: TrajectoryPoints, limits: Mapping[str, Limits]) -> None:
    for j, name in enumerate(points.joint_names):
        limit = limits.get(name, Limits())
        lower, upper = position_range(limit)
        fastest = math.inf if limit.velocity is None else limit.velocity
        q, qd = points.q[:, j], points.qd[:, j]
        if len(out := np.flatnonzero((q < lower - SLACK) | (q > upper + SLACK))):
            k, code = out[0], "trajectory-point-out-of-range"
            raise at_joint(name, code, point=k, position=q[k], lower=lower, upper=upper)
        if len(fast := np.flatnonzero(np.abs(qd) > fastest + SLACK)):
            k, code = fast[0], "trajectory-point-too-fast"
            raise at_joint(name, code, point=k, velocity=qd[k], limit=fastest)


def planned(
    points: TrajectoryPoints,
    now: float,
    stamp: float | None = None,
    start: Motion | SmoothMotion | None = None,
    *,
    smooth: bool = False,
    for_springs: bool = False,
) -> Trajectory:
    """Return the trajectory through points.

    A piece is linear, with velocities that jump and accelerations of zero, if one of its ends has only a
    position; cubic if both ends have velocities; quintic if both also have accelerations. Raise DynError if
    no point is in the future; or, for springs, only some points have velocities.

    Args:
        now: current time (s).
        stamp: start of the trajectory (s), from which the times of the points count; None for now. It may
            be in the past: the trajectory then begins in the middle.
        start: the motion at the later of `now` and `stamp`, from which the first future point is reached;
            past points are dropped. None to keep all points: the trajectory begins at the first one.
        smooth: whether points without any velocities get the velocities of a cubic spline, which begins with
            the velocity of `start`, or at rest, and ends at rest. Accelerations are then continuous between
            the ends.
        for_springs: whether all pieces are polynomials of degree 9 with continuous derivatives up to the
            fourth, as motors behind springs need them: see `completed`. They continue those of `start` if it
            has them.
    """
    begin = _begin(now, stamp)
    times = points.times + (now if stamp is None else stamp)
    q, qd, qdd = points.q, points.qd, points.qdd
    if start is not None and points.times[-1] == 0.0 and times[-1] >= now:
        raise DynError("trajectory-due-at-start")
    if times[-1] < now or (start is not None and times[-1] <= begin):
        raise DynError("trajectory-past", late=begin - times[-1])
    if start is not None:
        coming = times > begin
        times = np.concatenate(([begin], times[coming]))
        q, qd, qdd = (
            np.concatenate(([_checked(given, q)], values[coming]))
            for given, values in zip(start[:3], (q, qd, qdd), strict=True)
        )
    if smooth and not for_springs and np.isnan(points.qd).all():
        rest = np.zeros(q.shape[1])
        qd = spline_velocities(times, q, rest if start is None else start.qd, rest)
    durations = np.diff(times)
    if not (durations > 0.0).all():
        raise DynError("trajectory-points-too-close", time=begin)
    if for_springs:
        if start is not None and not isinstance(start, SmoothMotion):
            start = SmoothMotion(*start, *np.zeros((2, q.shape[1])))
        rows = smooth_rows(durations, completed(times, q, qd, qdd, start))
    else:
        rows = hermite_rows(durations, q, qd, qdd)
    return Trajectory(tuple(times.tolist()), tuple(durations.tolist()), rows, _fixed(q[0]), _fixed(q[-1]))


@dataclass(frozen=True, eq=False)
class PlannedPoints:
    """Points, and the trajectory through them alone, from which trajectories from any motion follow quickly.

    Only the last of these trajectories may be used: it shares its pieces with `alone`, because to copy
    thousands of points takes some ms. Springs need all pieces anew.
    """

    points: TrajectoryPoints
    alone: Trajectory  # ``planned(points, 0.0, 0.0)``
    _rows: Array  # a row for the way to a point, and those of `alone`

    @staticmethod
    def of(points: TrajectoryPoints) -> PlannedPoints:
        """Return the planned points; DynError as of `planned`."""
        alone = planned(points, 0.0, 0.0)
        rows = np.concatenate((np.zeros((1, *alone.rows.shape[1:])), alone.rows))
        return PlannedPoints(points, replace(alone, rows=rows[1:]), rows)

    def entered(self, now: float, stamp: float | None, start: Motion | None) -> tuple[Trajectory, Trajectory]:
        """Return what `planned` returns, and of this the way to the first future point; in about 1 ms.

        The arguments are those of `planned`.
        """
        points, zero = self.points, now if stamp is None else stamp
        coming = 0
        if start is not None:
            coming = int(np.searchsorted(points.times + zero, _begin(now, stamp), side="right"))
        k = min(coming, len(points.times) - 1) if start is not None else len(points.times) - 1
        rows = (values[k : k + 1] for values in (points.times, points.q, points.qd, points.qdd))
        way = planned(TrajectoryPoints(points.joint_names, *rows), now, stamp, start)
        times = (points.times + zero).tolist()
        if start is None:
            return replace(self.alone, knots=tuple(times)), way
        self._rows[k] = way.rows[0]
        knots, durations = (way.start, *times[k:]), (*way.durations, *self.alone.durations[k:])
        return Trajectory(knots, durations, self._rows[k:], way.first, self.alone.last), way


def replaced(
    running: Trajectory,
    points: TrajectoryPoints,
    now: float,
    stamp: float | None = None,
    *,
    smooth: bool = False,
    for_springs: bool = False,
) -> Trajectory:
    """Return the trajectory that follows `running` until the new one starts, then its points.

    The first future point is reached from the motion of `running` at the start of the new trajectory.
    Position and velocity are continuous there if the point has velocities, and the acceleration if it has
    accelerations. The other arguments are those of `planned`; for springs, `running` must be for springs too.
    Raise DynError if no point is in the future; `running` continues.
    """
    begin = _begin(now, stamp)
    present = running.smooth_motion(begin) if for_springs else running.motion(begin)
    new = planned(points, now, stamp, present, smooth=smooth, for_springs=for_springs)
    return following(running, new, now)


def following(running: Trajectory, new: Trajectory, now: float) -> Trajectory:
    """Return the trajectory that follows `running` from `now` (s) until a new one starts, and then that."""
    begin, pieces = new.start, len(running.durations)
    first, end = bisect_right(running.knots, now) - 1, bisect_left(running.knots, begin)
    kept = list(range(max(first, 0), min(end, pieces)))
    if not kept or begin <= now or running.end <= now:
        return new
    knots = [running.knots[i] for i in kept]
    durations = [running.durations[i] for i in kept]
    rows = [running.rows[kept]]
    if running.end < begin:  # at rest in between
        knots.append(running.end)
        durations.append(begin - running.end)
        still = np.zeros((1, *running.rows.shape[1:]))
        still[0, : len(running.last), 0] = running.last
        rows.append(still)
    place = _fixed(rows[0][0, : len(new.last), 0])
    knots, durations = [*knots, *new.knots], [*durations, *new.durations]
    return Trajectory(tuple(knots), tuple(durations), np.concatenate((*rows, new.rows)), place, new.last)


def _begin(now: float, stamp: float | None) -> float:
    for name, time in (("now", now), ("stamp", stamp)):
        if time is not None and not math.isfinite(time):
            raise ArgumentError("argument-time-not-finite", argument=name, given=time)
    return now if stamp is None else max(now, stamp)


def _checked(given: Array, values: Array) -> Array:
    if given.shape != values.shape[1:] or not np.isfinite(given).all():
        raise ArgumentError("argument-vector-invalid", argument="start", count=values.shape[1], given=given)
    return given


def _fixed(vector: Array) -> Array:
    vector = vector.copy()
    vector.flags.writeable = False
    return vector


POINT_S = 0.01  # Time between the points of a stop (s)
_ROWS = 500  # Lists that become an array at once: 0.3 ms, in which no other thread runs
_GROWTH = 1.4  # Ratio of the durations of two successive stops that are tried


def stopping(
    trajectory: Trajectory,
    t: float,
    joint_names: tuple[str, ...],
    allowed: Callable[[Motion], bool],
    shortest: float = 0.2,
    longest: float = 2.0,
) -> TrajectoryPoints:
    """Return the points from the motion at time t (s) to rest, on the path; their times count from t.

    `allowed` returns whether the robot can follow a motion of N samples (N, n). Stops of increasing duration
    (s) are tried; the longest is returned if no shorter one is allowed.
    """
    duration = shortest
    while duration < longest:
        times, motion = stopped(trajectory, t, duration)
        if allowed(motion):
            break
        duration *= _GROWTH
    else:
        times, motion = stopped(trajectory, t, longest)
    return TrajectoryPoints(joint_names, times, *motion)


def stopped(trajectory: Trajectory, t: float, duration: float) -> tuple[Array, Motion]:
    """Return times after t (s), (N,), and the motion (N, n) that comes to rest in `duration` (s).

    It stays on the planned path, whose checks remain valid. The time s on the path advances at a rate that
    falls from 1 to 0:

        q(tau) = p(t + s(tau)),   ds/dtau = 1 - w(tau / T),   w(u) = u^3 (10 - 15 u + 6 u^2).

    Positions, velocities and accelerations are continuous, and no joint moves faster than planned.
    """
    count = max(2, round(duration / POINT_S))
    u = np.arange(1.0, count + 1.0) / count
    # s is the integral of 1 - w.
    s = duration * (u - u**4 * (2.5 + u * (u - 3.0)))
    rate = 1.0 - u**3 * (10.0 + u * (6.0 * u - 15.0))
    change = -30.0 * (u * (1.0 - u)) ** 2 / duration
    samples = trajectory.sample_many(t + s)
    qd = samples.qd * rate[:, None]
    qdd = samples.qdd * rate[:, None] ** 2 + samples.qd * change[:, None]
    qd[-1], qdd[-1] = 0.0, 0.0
    return u * duration, Motion(samples.q, qd, qdd)
