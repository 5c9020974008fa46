# SPDX-License-Identifier: Apache-2.0
"""How near a motion comes to its limits, looked at more closely than any search does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dyn_core.control.trajectories.fourier_motion import FourierMotion
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.excitation.excitation_settings import CLEARANCE, CoordinateBox
from dyn_core.excitation.loop_limits import LoopLimits
from dyn_core.excitation.motion_limits import MotionLimits

RATE = 1009.0
"""Samples in a second, which are no multiple of those of any other grid (1/s)."""
MOST_SAMPLES = 500_000
PIECE = 20_000
"""Samples that are computed at a time, so that memory stays bounded."""
TOLERANCE = 1e-9
"""Part of a limit that rounding may be beyond it."""

Kind = Literal["position", "velocity", "acceleration", "effort", "box", "passive position"]


@dataclass(frozen=True)
class Margin:
    """The nearest that a motion comes to the limits of one kind.

    Attributes:
        kind: of which kind.
        name: the joint that comes nearest, or the box.
        reached: its value there; of a box, the distance along the joint that is farthest outside (rad or m).
        limit: the limit that is kept; of a box, the clearance.
        unit: unit of both.
        room: what is left, as a part of the limit (of positions, of half the range; of a box, in its unit).
        time: when (s).
    """

    kind: Kind
    name: str
    reached: float
    limit: float
    unit: str
    room: float
    time: float


def margins(
    motion: FourierMotion,
    limits: MotionLimits,
    boxes: Sequence[CoordinateBox],
    efforts: Callable[[Array, Array, Array], Array],
    loops: LoopLimits | None = None,
) -> tuple[Margin, ...]:
    """Answer the tightest joint for each kind of limit, and the nearest box.

    Args:
        motion: the motion.
        limits: what it should keep.
        boxes: what it should not enter.
        efforts: the torques (N, n) of positions, velocities and accelerations (N, n).
        loops: what loops allow; None where there are none.
    """
    count = min(MOST_SAMPLES, max(2000, round(RATE * motion.duration)))
    times = np.linspace(0.0, motion.duration, count)
    best: dict[Kind, Margin] = {}
    for begin in range(0, count, PIECE):
        t = times[begin : begin + PIECE]
        q, qd, qdd = motion.at_many(t)
        for margin in (
            _position(t, q, limits),
            _size("velocity", t, qd, limits.velocity, limits, "/s"),
            _size("acceleration", t, qdd, limits.acceleration, limits, "/s^2"),
            _effort(t, efforts(q, qd, qdd), limits),
            *(_box(t, q, box, limits) for box in boxes),
            None if loops is None else _passive(t, q, loops),
        ):
            if margin is not None and (margin.kind not in best or margin.room < best[margin.kind].room):
                best[margin.kind] = margin
    return tuple(best.values())


def refuse_beyond(found: Sequence[Margin]) -> None:
    """Raise the error for a motion that is beyond a limit, if it is one."""
    for margin in found:
        if margin.room < -TOLERANCE:
            what = "box" if margin.kind == "box" else "joint"
            raise DynError(
                f"{what} '{margin.name}': the trajectory does not keep the {margin.kind} limit "
                f"{margin.limit:.6g} "
                f"{margin.unit}, {margin.reached:.6g} at {margin.time:.4g} s: use less of the limits",
                element=f"{what} '{margin.name}'",
            )


def _position(t: Array, q: Array, limits: MotionLimits) -> Margin:
    half = 0.5 * (limits.upper - limits.lower)
    room = np.minimum(limits.upper - q, q - limits.lower) / half
    i, j = np.unravel_index(int(room.argmin()), room.shape)
    upward = q[i, j] > 0.5 * (limits.upper[j] + limits.lower[j])
    limit = limits.upper[j] if upward else limits.lower[j]
    return Margin(
        "position",
        limits.joint_names[j],
        float(q[i, j]),
        float(limit),
        limits.position_units[j],
        float(room[i, j]),
        float(t[i]),
    )


def _passive(t: Array, q: Array, loops: LoopLimits) -> Margin | None:
    """Answer the tightest range of the passive joints that have one."""
    half = 0.5 * (loops.upper - loops.lower)
    ranged = np.flatnonzero(np.isfinite(half))
    passive = loops.passive(q)
    if not ranged.size or passive is None:
        return None
    p, lower, upper = passive[:, ranged], loops.lower[ranged], loops.upper[ranged]
    room = np.minimum(upper - p, p - lower) / half[ranged]
    i, j = np.unravel_index(int(room.argmin()), room.shape)
    limit = upper[j] if p[i, j] > 0.5 * (upper[j] + lower[j]) else lower[j]
    return Margin(
        "passive position",
        loops.names[ranged[j]],
        float(p[i, j]),
        float(limit),
        loops.units[ranged[j]],
        float(room[i, j]),
        float(t[i]),
    )


def _size(kind: Kind, t: Array, values: Array, limit: Array, limits: MotionLimits, per: str) -> Margin:
    room = 1.0 - np.abs(values) / limit
    i, j = np.unravel_index(int(room.argmin()), room.shape)
    unit = limits.effort_units[j] if kind == "effort" else f"{limits.position_units[j]}{per}"
    return Margin(
        kind,
        limits.joint_names[j],
        float(values[i, j]),
        float(limit[j]),
        unit,
        float(room[i, j]),
        float(t[i]),
    )


def _effort(t: Array, efforts: Array, limits: MotionLimits) -> Margin | None:
    if not np.isfinite(limits.effort).any():
        return None
    return _size("effort", t, efforts, limits.effort, limits, "")


def _box(t: Array, q: Array, box: CoordinateBox, limits: MotionLimits) -> Margin:
    own = q[:, box.joints]
    distances = np.maximum(box.lower - own, own - box.upper)
    farthest = distances.argmax(axis=1)
    distance = distances[np.arange(len(own)), farthest]
    i = int(distance.argmin())
    unit = limits.position_units[int(box.joints[farthest[i]])]
    return Margin(
        "box", box.name, float(distance[i]) + CLEARANCE, CLEARANCE, unit, float(distance[i]), float(t[i])
    )
