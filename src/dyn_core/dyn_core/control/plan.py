# SPDX-License-Identifier: Apache-2.0
"""From points to a trajectory, on its own or in the place of one that runs.

The rules are those of joint_trajectory_controller: https://control.ros.org, "Trajectory Representation" and
"Trajectory Replacement".
"""

from __future__ import annotations

import math

import numpy as np

from dyn_core.control.hermite import hermite_rows
from dyn_core.control.motion import Motion
from dyn_core.control.smooth_motion import SmoothMotion
from dyn_core.control.spline_velocities import spline_velocities
from dyn_core.control.trajectories.piecewise_polynomials import completed, smooth_rows
from dyn_core.control.trajectories.trajectory import Trajectory
from dyn_core.control.trajectories.trajectory_planning import TrajectoryPoints
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError


def planned(
    points: TrajectoryPoints,
    now: float,
    stamp: float | None = None,
    start: Motion | SmoothMotion | None = None,
    *,
    smooth: bool = False,
    for_springs: bool = False,
) -> Trajectory:
    """Answer the trajectory through points.

    A piece is linear where one of its ends has only a position, with velocities that jump and
    accelerations of zero; cubic where both have velocities; quintic where both have accelerations too.

    Args:
        points: the points.
        now: the present (s).
        stamp: start of the trajectory (s), from which the times of the points count; None for now. It may
            be past: the trajectory then begins in the middle.
        start: the motion at the later of `now` and `stamp`, from which the first point that is still to come
            is reached; points that are past by then are dropped. None for points that are all kept
            as they are: the trajectory begins at the first of them.
        smooth: whether points that all have positions only are given the velocities of the cubic spline
            that begins with the velocity of `start`, or at rest, and ends at rest: all accelerations are
            continuous between its ends.
        for_springs: whether all pieces are polynomials of degree 9, with derivatives up to the fourth that
            are continuous, as motors behind springs need them: see `completed`. They go on from those of
            `start`, where it has them.

    Raises:
        DynError: no point is still to come; or, for springs, not all points have velocities but some.
    """
    begin = _begin(now, stamp)
    times = points.times + (now if stamp is None else stamp)
    q, qd, qdd = points.q, points.qd, points.qdd
    if start is not None and points.times[-1] == 0.0 and times[-1] >= now:
        raise DynError(
            "no point of the trajectory is still to come when it begins: the last is due at its start, "
            "give it a time from there (time_from_start) in which the joints can reach it"
        )
    if times[-1] < now or (start is not None and times[-1] <= begin):
        raise DynError(
            "no point of the trajectory is still to come: "
            f"the last was due {begin - times[-1]:g} s before it could begin"
        )
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
        raise DynError(
            f"points of the trajectory are nearer to each other than the clock resolves at {begin:g} s"
        )
    if for_springs:
        given = (
            start
            if start is None or isinstance(start, SmoothMotion)
            else SmoothMotion(*start, np.zeros(q.shape[1]), np.zeros(q.shape[1]))
        )
        rows = smooth_rows(durations, completed(times, q, qd, qdd, given))
    else:
        rows = hermite_rows(durations, q, qd, qdd)
    return Trajectory(tuple(times.tolist()), tuple(durations.tolist()), rows, _fixed(q[0]), _fixed(q[-1]))


def replaced(
    running: Trajectory,
    points: TrajectoryPoints,
    now: float,
    stamp: float | None = None,
    *,
    smooth: bool = False,
    for_springs: bool = False,
) -> Trajectory:
    """Answer the trajectory that follows `running` until the new one starts, and goes through its points.

    The first point that is still to come is reached from the motion that `running` has when the new
    trajectory begins: position and velocity are continuous there where the point has velocities, and the
    acceleration too where it has accelerations.

    Args:
        running: the trajectory that runs, or has run.
        points: points of the new one.
        now: the present (s).
        stamp: start of the new trajectory (s); None for now.
        smooth: as for `planned`.
        for_springs: as for `planned`; `running` is such a trajectory, too.

    Raises:
        DynError: no point is still to come; `running` goes on.
    """
    begin = _begin(now, stamp)
    present = running.smooth_motion(begin) if for_springs else running.motion(begin)
    new = planned(points, now, stamp, present, smooth=smooth, for_springs=for_springs)
    kept = [
        i for i in range(len(running.durations)) if running.knots[i] < begin and running.knots[i + 1] > now
    ]
    if not kept or begin <= now:
        return new
    knots = [running.knots[i] for i in kept]
    durations = [running.durations[i] for i in kept]
    rows = [running.rows[kept]]
    if running.end < begin:  # it stands still in between
        knots.append(running.end)
        durations.append(begin - running.end)
        still = np.zeros((1, *running.rows.shape[1:]))
        still[0, : len(running.last), 0] = running.last
        rows.append(still)
    first = _fixed(rows[0][0, : len(new.last), 0])
    return Trajectory(
        (*knots, *new.knots),
        (*durations, *new.durations),
        np.concatenate((*rows, new.rows)),
        first,
        new.last,
    )


def _begin(now: float, stamp: float | None) -> float:
    for name, time in (("now", now), ("stamp", stamp)):
        if time is not None and not math.isfinite(time):
            raise ValueError(f"{name}: expected a finite time, but it is {time}")
    return now if stamp is None else max(now, stamp)


def _checked(given: Array, values: Array) -> Array:
    if given.shape != values.shape[1:] or not np.isfinite(given).all():
        raise ValueError(f"start: expected {values.shape[1]} finite numbers, but they are {given}")
    return given


def _fixed(vector: Array) -> Array:
    vector = vector.copy()
    vector.flags.writeable = False
    return vector
