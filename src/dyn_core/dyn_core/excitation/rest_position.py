# SPDX-License-Identifier: Apache-2.0
"""Where the robot stands before and after: a position that is allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError, listed
from dyn_core.excitation.drive_torques import DriveTorques
from dyn_core.excitation.excitation_settings import CoordinateBox
from dyn_core.excitation.motion_limits import MotionLimits

ATTEMPTS = 1000
"""Random positions that are looked at where no position is given."""
MIDDLE = "in the middle of all ranges"
EASY = 0.9
"""Part of the effort that may be used with which the robot may stand where no position is given."""


def rest_position(
    given: Sequence[float] | Mapping[str, float] | None,
    limits: MotionLimits,
    torques: DriveTorques,
    boxes: Sequence[CoordinateBox],
    seed: int,
) -> tuple[Array, str]:
    """Answer the position at rest (rad or m), (n,), and a sentence about it where it was chosen.

    It is the given one; else the middle of all ranges, 0 of all joints, where these need little effort; else
    of random ones that which is farthest from limits of positions and efforts.

    Raises:
        DynError: the given position, or all of those, are not allowed; the message says why.
    """
    middle = 0.5 * (limits.lower + limits.upper)
    if given is not None:
        position = _vector(given, limits, middle)
        objection = _objection(position, limits, torques, boxes)
        if objection is not None:
            raise objection
        return position, ""
    for box in boxes:
        refuse_box_of_everything(box, limits)
    zero = np.zeros(len(middle))
    for position, where in (
        (middle, MIDDLE),
        (zero, "at 0 of all joints, as not in the middle of all ranges"),
    ):
        if _allowed(position, limits, boxes) and _load(position, limits, torques) <= EASY:
            return position, f"the motion begins and ends {where}"
    half = 0.5 * (limits.upper - limits.lower)
    ways = np.random.default_rng(seed).uniform(-1.0, 1.0, (ATTEMPTS, len(middle)))
    found = []
    for k, way in enumerate((zero, *ways)):
        load = _load(middle + half * way, limits, torques)
        if load < 1.0 and _allowed(middle + half * way, limits, boxes):
            found.append((max(load, float(np.abs(way).max())), k))
    if not found:
        objection = _objection(middle, limits, torques, boxes)
        raise DynError(
            f"of {ATTEMPTS} positions the robot may stand at none; in the middle of all ranges, {objection}",
            element=None if objection is None else objection.element,
        )
    k = min(found)[1]
    if k == 0:
        return middle, f"the motion begins and ends {MIDDLE}"
    where = "at a random position: not in the middle of all ranges, nor at 0"
    return middle + half * ways[k - 1], f"the motion begins and ends {where}"


def refuse_box_of_everything(box: CoordinateBox, limits: MotionLimits) -> None:
    """Raise the error for a box that leaves no position within the limits."""
    if ((box.lower < limits.lower[box.joints]) & (box.upper > limits.upper[box.joints])).all():
        k = int(box.joints[0])
        raise DynError(
            f"box '{box.name}' holds all positions within the limits, as of joint '{limits.joint_names[k]}' "
            "those from "
            f"{limits.lower[k]:.4g} to {limits.upper[k]:.4g} {limits.position_units[k]}: make it smaller",
            element=f"box '{box.name}'",
        )


def _objection(
    q: Array, limits: MotionLimits, torques: DriveTorques, boxes: Sequence[CoordinateBox]
) -> DynError | None:
    """Answer the error for a position (n,) at which the robot may not stand; None where it may."""
    k = limits.outside(q)
    if k is not None:
        return DynError(
            f"joint '{limits.joint_names[k]}' would stand at {q[k]:.4g} {limits.position_units[k]}, and the "
            "range that "
            f"is used is {limits.lower[k]:.4g} to {limits.upper[k]:.4g}: give another start, "
            "or use more of the range",
            element=f"joint '{limits.joint_names[k]}'",
        )
    for box in boxes:
        refuse_box_of_everything(box, limits)
        if box.holds(q):
            shown = ", ".join(
                f"'{limits.joint_names[j]}' at {q[j]:.4g} {limits.position_units[j]}" for j in box.joints
            )
            return DynError(
                f"the start is within box '{box.name}', with {shown}: give another start, or make the box "
                "smaller",
                element=f"box '{box.name}'",
            )
    needed = _needed(q, torques)
    if not (needed < limits.effort).all():
        k = int(np.argmax(needed / limits.effort))
        return DynError(
            f"joint '{limits.joint_names[k]}' needs {needed[k]:.4g} {limits.effort_units[k]} to stand at "
            "the start, and "
            f"{limits.effort[k]:.4g} {limits.effort_units[k]} of its limit are used: give another start, or "
            "use more of "
            "the effort limits",
            element=f"joint '{limits.joint_names[k]}'",
        )
    return None


def _allowed(q: Array, limits: MotionLimits, boxes: Sequence[CoordinateBox]) -> bool:
    return limits.outside(q) is None and not any(box.holds(q) for box in boxes)


def _load(q: Array, limits: MotionLimits, torques: DriveTorques) -> float:
    """Answer the greatest part of its effort that a joint needs to stand at a position (n,)."""
    return float((_needed(q, torques) / limits.effort).max())


def _needed(q: Array, torques: DriveTorques) -> Array:
    zero = np.zeros((1, len(q)))
    needed: Array = torques.needed(q[None, :].copy(), zero, zero)[0]
    return needed


def _vector(given: Sequence[float] | Mapping[str, float], limits: MotionLimits, middle: Array) -> Array:
    names = limits.joint_names
    if isinstance(given, Mapping):
        for name in given:
            if name not in names:
                raise DynError(
                    f"a start is given for joint '{name}', which is not one of those that move by "
                    "themselves: "
                    f"{listed(names)}",
                    element=f"joint '{name}'",
                )
        values = np.array(
            [given.get(name, x) for name, x in zip(names, middle, strict=True)], dtype=np.float64
        )
    else:
        values = np.array(given, dtype=np.float64)
        if values.shape != (len(names),):
            raise ValueError(
                f"start: expected {len(names)} positions, one for each joint, but it has the shape "
                f"{values.shape}"
            )
    if not np.isfinite(values).all():
        k = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(f"start: the position of joint '{names[k]}' is {values[k]}: give a finite number")
    return values
