# SPDX-License-Identifier: Apache-2.0
"""Margins of a motion to its limits, and the rest position before and after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dyn_core.control.trajectories.fourier_motion import FourierMotion
from dyn_core.control.trajectories.piecewise_polynomials import Motion
from dyn_core.core.arrays import Array
from dyn_core.core.errors import ArgumentError, DynError
from dyn_core.core.messages import Message
from dyn_core.excitation.excitation_settings import CLEARANCE, CoordinateBox
from dyn_core.excitation.motion_limits import (
    DriveTorques,
    Function,
    LoopLimits,
    MotionLimits,
    refuse_unknown_joint,
)

RATE = 1009.0
"""Sample rate of the margins (Hz): finer than the grid of the search, and no multiple of another rate."""
MOST_SAMPLES = 500_000
PIECE = 20_000
"""Samples that are computed at a time, so that memory stays bounded."""
TOLERANCE = 1e-9
"""Part of a limit by which rounding may exceed it."""
ATTEMPTS = 1000
"""Random positions that are tried where no position is given."""
EASY = 0.9
"""Greatest part of the effort limits that a chosen rest position may need."""

Kind = Literal["position", "velocity", "acceleration", "effort", "box", "passive position"]


@dataclass(frozen=True)
class Margin:
    """The smallest distance of a motion to the limits of one kind.

    Attributes:
        kind: kind of the limits.
        name: the joint that is nearest to its limit, or the box.
        reached: its value there; for a box, the distance along the joint that is farthest outside (rad or m).
        limit: the limit that is kept; for a box, the clearance.
        unit: unit of both.
        room: distance to the limit, as a part of it (of half the range for positions; in `unit` for a box).
        time: time of the sample (s).
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
    efforts: Function,
    loops: LoopLimits | None = None,
) -> tuple[Margin, ...]:
    """Return the tightest joint for each kind of limit, and the nearest box.

    Args:
        motion: the motion.
        limits: limits of the joints.
        boxes: boxes that it must not enter.
        efforts: function of q, qd, qdd (N, n) that returns the torques (N, n).
        loops: limits of loops; None if the robot has none.
    """
    count = min(MOST_SAMPLES, max(2000, round(RATE * motion.duration)))
    times = np.linspace(0.0, motion.duration, count)
    best: dict[Kind, Margin] = {}
    for begin in range(0, count, PIECE):
        t = times[begin : begin + PIECE]
        for margin in _margins_at(t, motion.at_many(t), limits, boxes, efforts, loops):
            if margin.kind not in best or margin.room < best[margin.kind].room:
                best[margin.kind] = margin
    return tuple(best.values())


def _margins_at(
    t: Array,
    motion: Motion,
    limits: MotionLimits,
    boxes: Sequence[CoordinateBox],
    efforts: Function,
    loops: LoopLimits | None,
) -> Iterator[Margin]:
    """Yield the margins at N times (s)."""
    names, units = limits.joint_names, limits.position_units
    yield _in_range("position", t, motion.q, limits.lower, limits.upper, names, units)
    speed_units, acceleration_units = ([f"{unit}/{time}" for unit in units] for time in ("s", "s^2"))
    yield _within("velocity", t, motion.qd, limits.velocity, names, speed_units)
    yield _within("acceleration", t, motion.qdd, limits.acceleration, names, acceleration_units)
    if np.isfinite(limits.effort).any():
        yield _within("effort", t, efforts(*motion), limits.effort, names, limits.effort_units)
    for box in boxes:
        yield _outside(t, motion.q, box, limits)
    passive = None if loops is None else loops.passive(motion.q)
    if loops is not None and passive is not None:
        k = np.flatnonzero(np.isfinite(loops.upper - loops.lower)).tolist()
        if k:
            names, units = (tuple(words[i] for i in k) for words in (loops.names, loops.units))
            yield _in_range(
                "passive position", t, passive[:, k], loops.lower[k], loops.upper[k], names, units
            )


def refuse_beyond(found: Sequence[Margin]) -> None:
    """Raise an error if a motion exceeds a limit."""
    for margin in found:
        if margin.room < -TOLERANCE:
            name = margin.name
            at: dict[str, Any] = {key: getattr(margin, key) for key in ("limit", "unit", "reached", "time")}
            if margin.kind == "box":
                raise DynError("trajectory-box-clearance", element=f"box '{name}'", box=name, **at)
            element, quantity = f"joint '{name}'", margin.kind
            raise DynError("trajectory-limit-exceeded", element=element, joint=name, quantity=quantity, **at)


def _margin(
    kind: Kind, t: Array, values: Array, room: Array, limit: Array, names: Sequence[str], units: Sequence[str]
) -> Margin:
    """Return the margin at the least of `room` (N, n), with the limits (N, n) or (n,) of the values."""
    i, j = (int(k) for k in np.unravel_index(int(room.argmin()), room.shape))
    limit = np.broadcast_to(limit, room.shape)
    return Margin(
        kind, names[j], float(values[i, j]), float(limit[i, j]), units[j], float(room[i, j]), float(t[i])
    )


def _in_range(
    kind: Kind, t: Array, q: Array, lower: Array, upper: Array, names: Sequence[str], units: Sequence[str]
) -> Margin:
    half = 0.5 * (upper - lower)
    room = np.minimum(upper - q, q - lower) / half
    return _margin(kind, t, q, room, np.where(q > lower + half, upper, lower), names, units)


def _within(
    kind: Kind, t: Array, values: Array, limit: Array, names: Sequence[str], units: Sequence[str]
) -> Margin:
    return _margin(kind, t, values, 1.0 - np.abs(values) / limit, limit, names, units)


def _outside(t: Array, q: Array, box: CoordinateBox, limits: MotionLimits) -> Margin:
    own = q[:, box.joints]
    distances = np.maximum(box.lower - own, own - box.upper)
    farthest = distances.argmax(axis=1)
    distance = distances[np.arange(len(own)), farthest]
    i = int(distance.argmin())
    unit, room = limits.position_units[int(box.joints[farthest[i]])], float(distance[i])
    return Margin("box", box.name, room + CLEARANCE, CLEARANCE, unit, room, float(t[i]))


def rest_position(
    given: Sequence[float] | Mapping[str, float] | None,
    limits: MotionLimits,
    torques: DriveTorques,
    boxes: Sequence[CoordinateBox],
    seed: int,
) -> tuple[Array, Message | None]:
    """Return the position at rest (rad or m), (n,), and a note about it if it was chosen.

    If none is given, it is the middle of all ranges or 0 of all joints, where these need little effort;
    otherwise the random position that is farthest from the limits of positions and efforts.

    Raises:
        DynError: the given position, or every position that was tried, is not allowed.
    """
    middle = 0.5 * (limits.lower + limits.upper)
    if given is not None:
        position = _vector(given, limits, middle)
        error = _error_at(position, limits, torques, boxes)
        if error is not None:
            raise error
        return position, None
    for box in boxes:
        _refuse_box_of_everything(box, limits)
    zero = np.zeros(len(middle))
    for position, code in ((middle, "start-in-middle"), (zero, "start-at-zero")):
        if _allowed(position, limits, boxes) and _load(position, limits, torques) <= EASY:
            return position, Message(code)
    half = 0.5 * (limits.upper - limits.lower)
    ways = np.random.default_rng(seed).uniform(-1.0, 1.0, (ATTEMPTS, len(middle)))
    found = []
    for k, way in enumerate((zero, *ways)):
        load = _load(middle + half * way, limits, torques)
        if load < 1.0 and _allowed(middle + half * way, limits, boxes):
            found.append((max(load, float(np.abs(way).max())), k))
    if not found:
        error = _error_at(middle, limits, torques, boxes)
        element = None if error is None else error.element
        raise DynError("rest-position-not-found", count=ATTEMPTS, cause=error, element=element)
    k = min(found)[1]
    if k == 0:
        return middle, Message("start-in-middle")
    return middle + half * ways[k - 1], Message("start-at-random")


def _refuse_box_of_everything(box: CoordinateBox, limits: MotionLimits) -> None:
    if ((box.lower < limits.lower[box.joints]) & (box.upper > limits.upper[box.joints])).all():
        element = f"box '{box.name}'"
        raise DynError(
            "box-covers-range", element=element, box=box.name, **_range(limits, int(box.joints[0]))
        )


def _range(limits: MotionLimits, k: int) -> dict[str, Any]:
    """Return joint k and its range as values of a message."""
    lower, upper, unit = limits.lower[k], limits.upper[k], limits.position_units[k]
    return {"joint": limits.joint_names[k], "lower": lower, "upper": upper, "unit": unit}


def _error_at(
    q: Array, limits: MotionLimits, torques: DriveTorques, boxes: Sequence[CoordinateBox]
) -> DynError | None:
    """Return the error for a position (n,) at which the robot may not rest; None if it may."""
    k = limits.outside(q)
    if k is not None:
        element = f"joint '{limits.joint_names[k]}'"
        return DynError("start-out-of-range", element=element, position=q[k], **_range(limits, k))
    for box in boxes:
        _refuse_box_of_everything(box, limits)
        if box.holds(q):
            names, units = limits.joint_names, limits.position_units
            positions = ", ".join(f"'{names[j]}' at {q[j]:.4g} {units[j]}" for j in box.joints)
            return DynError("start-in-box", element=f"box '{box.name}'", box=box.name, positions=positions)
    needed = _needed(q, torques)
    if not (needed < limits.effort).all():
        k = int(np.argmax(needed / limits.effort))
        joint, unit, limit = limits.joint_names[k], limits.effort_units[k], limits.effort[k]
        element = f"joint '{joint}'"
        return DynError(
            "start-effort-exceeded", element=element, joint=joint, needed=needed[k], unit=unit, limit=limit
        )
    return None


def _allowed(q: Array, limits: MotionLimits, boxes: Sequence[CoordinateBox]) -> bool:
    return limits.outside(q) is None and not any(box.holds(q) for box in boxes)


def _load(q: Array, limits: MotionLimits, torques: DriveTorques) -> float:
    """Return the greatest part of its effort limit that a joint needs to rest at a position (n,)."""
    return float((_needed(q, torques) / limits.effort).max())


def _needed(q: Array, torques: DriveTorques) -> Array:
    zero = np.zeros((1, len(q)))
    needed: Array = torques.needed(q[None, :].copy(), zero, zero)[0]
    return needed


def _vector(given: Sequence[float] | Mapping[str, float], limits: MotionLimits, middle: Array) -> Array:
    names = limits.joint_names
    if isinstance(given, Mapping):
        for name in given:
            refuse_unknown_joint("a start", name, names)
        positions = [given.get(name, x) for name, x in zip(names, middle, strict=True)]
        values = np.array(positions, dtype=np.float64)
    else:
        values = np.array(given, dtype=np.float64)
        if values.shape != (len(names),):
            raise ArgumentError("start-shape", expected=len(names), given=values.shape)
    if not np.isfinite(values).all():
        k = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ArgumentError("start-not-finite", joint=names[k], given=values[k])
    return values
