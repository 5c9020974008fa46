# SPDX-License-Identifier: Apache-2.0
"""The points of a trajectory, from lists by joint name, checked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError, listed
from dyn_core.robot.joints import Limits

REST = 1e-6
"""Greatest velocity (rad/s or m/s) that counts as none at the last point; messages carry roundings."""
SLACK = 1e-6
"""How far a point may be beyond a limit (rad, m, rad/s or m/s): both are printed with some digits only."""


@dataclass(frozen=True, eq=False)
class TrajectoryPoints:
    """Where the joints should be, and when; m points of n joints.

    Attributes:
        joint_names: the joints, in the order of the columns.
        times: time from the start of the trajectory (s), at least 0, strictly increasing, (m,).
        q: positions (rad or m), (m, n).
        qd: velocities (rad/s or m/s), (m, n); a row of NaN where they are not given.
        qdd: accelerations (rad/s^2 or m/s^2), (m, n); a row of NaN where they are not given.
    """

    joint_names: tuple[str, ...]
    times: Array
    q: Array
    qd: Array
    qdd: Array


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
) -> TrajectoryPoints:
    """Answer the points of a trajectory with the joints in the order of the model.

    Points are counted from 0 in messages, as in the fields of ROS messages.

    Args:
        joint_names: the joints of the model, in order.
        names: the same joints in the order of the lists below.
        times: one for each point: time from the start of the trajectory (s).
        positions: one list for each point (rad or m).
        velocities: one list for each point, empty where the point has none (rad/s or m/s).
        accelerations: one list for each point, empty where the point has none (rad/s^2 or m/s^2); a
            point with accelerations has velocities too.
        limits: ranges by joint name that the points, though not the motion between them, have to keep.
        may_end_moving: whether the velocity at the last point may be other than zero; it falls to zero
            there at once.

    Raises:
        DynError: the lists do not describe a trajectory of these joints.
    """
    order = _order(joint_names, names)
    t = _times(times)
    q = _rows("positions", names, positions, len(t))[:, order]
    qd = _rows("velocities", names, velocities, len(t))[:, order]
    qdd = _rows("accelerations", names, accelerations, len(t))[:, order]
    points = TrajectoryPoints(tuple(joint_names), t, q, qd, qdd)
    if len(names):
        _check_given(points)
        _check_end(points, may_end_moving=may_end_moving)
        if limits is not None:
            _check_limits(points, limits)
    return points


def _order(joint_names: Sequence[str], names: Sequence[str]) -> list[int]:
    """Where in `names` the joints of the model are."""
    index = {name: k for k, name in enumerate(names)}
    if len(index) < len(names):
        repeated = next(name for k, name in enumerate(names) if index[name] != k)
        raise DynError(f"the trajectory names joint '{repeated}' twice", element=f"joint '{repeated}'")
    unknown = [name for name in names if name not in joint_names]
    if unknown:
        raise DynError(
            f"the trajectory moves {listed(unknown)}: the joints are {listed(joint_names)}",
            element=f"joint '{unknown[0]}'",
        )
    missing = [name for name in joint_names if name not in index]
    if missing:
        raise DynError(
            f"the trajectory lacks joint {listed(missing)}: it has to say where every joint goes",
            element=f"joint '{missing[0]}'",
        )
    return [index[name] for name in joint_names]


def _times(times: Iterable[float]) -> Array:
    t = np.array([float(time) for time in times], dtype=np.float64)
    if not len(t):
        raise DynError("the trajectory has no points")
    bad = np.flatnonzero(~np.isfinite(t))
    if len(bad):
        raise DynError(f"the time of trajectory point {bad[0]} is {t[bad[0]]} s: give a finite number")
    if t[0] < 0.0:
        raise DynError(f"the time of trajectory point 0 is {t[0]:g} s: it cannot be before the start")
    late = np.flatnonzero(np.diff(t) <= 0.0)
    if len(late):
        k = int(late[0])
        raise DynError(
            f"trajectory point {k + 1} is at {t[k + 1]:g} s, not after point {k} at {t[k]:g} s: "
            "times have to increase"
        )
    return t


def _rows(what: str, names: Sequence[str], rows: Sequence[Sequence[float]] | None, count: int) -> Array:
    """Answer lists as an array with one row for each point, of NaN where its list is empty."""
    width = len(names)
    if rows is None:
        return np.full((count, width), math.nan)
    if len(rows) != count:
        raise DynError(f"the trajectory has {count} times, but {what} for {len(rows)} points")
    absent = [math.nan] * width
    optional = what != "positions"
    for k, row in enumerate(rows):
        if len(row) != width and not (optional and len(row) == 0):
            raise DynError(
                f"trajectory point {k} has {len(row)} {what}, but the trajectory has {width} joints"
            )
    array = np.array([row if len(row) else absent for row in rows], dtype=np.float64).reshape(count, width)
    given = np.array([len(row) > 0 for row in rows])
    bad = np.argwhere(~np.isfinite(array) & given[:, None])
    if len(bad):
        k, j = bad[0]
        raise DynError(
            f"trajectory point {k} has the value {array[k, j]} in {what} for joint '{names[j]}': "
            "give a finite number",
            element=f"joint '{names[j]}'",
        )
    return array


def _check_given(points: TrajectoryPoints) -> None:
    """Refuse points with accelerations and without velocities."""
    alone = np.flatnonzero(np.isnan(points.qd[:, 0]) & ~np.isnan(points.qdd[:, 0]))
    if len(alone):
        raise DynError(f"trajectory point {alone[0]} has accelerations but no velocities: give both")


def _check_end(points: TrajectoryPoints, *, may_end_moving: bool) -> None:
    speed = np.abs(points.qd[-1])
    j = int(np.argmax(speed))
    if speed[j] > REST and not may_end_moving:
        name = points.joint_names[j]
        raise DynError(
            f"the velocity of joint '{name}' at the last trajectory point is {points.qd[-1, j]:g}: "
            "a trajectory has to end at rest",
            element=f"joint '{name}'",
        )


def _check_limits(points: TrajectoryPoints, limits: Mapping[str, Limits]) -> None:
    for j, name in enumerate(points.joint_names):
        limit = limits.get(name, Limits())
        lower = -math.inf if limit.lower is None else limit.lower
        upper = math.inf if limit.upper is None else limit.upper
        fastest = math.inf if limit.velocity is None else limit.velocity
        q, qd = points.q[:, j], points.qd[:, j]
        out = np.flatnonzero((q < lower - SLACK) | (q > upper + SLACK))
        if len(out):
            raise DynError(
                f"trajectory point {out[0]} takes joint '{name}' to {q[out[0]]:g}, "
                f"its range is {lower:g} to {upper:g}",
                element=f"joint '{name}'",
            )
        fast = np.flatnonzero(np.abs(qd) > fastest + SLACK)
        if len(fast):
            raise DynError(
                f"trajectory point {fast[0]} gives joint '{name}' the velocity {qd[fast[0]]:g}, "
                f"its limit is {fastest:g}",
                element=f"joint '{name}'",
            )
