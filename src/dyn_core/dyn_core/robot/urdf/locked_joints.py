# SPDX-License-Identifier: Apache-2.0
"""Joints that a user locks: they become fixed joints, and their links are parts of the body before them.

Joints that mimic a locked joint stand still, too, and are locked where they follow it to. A user names the
locked joints with their positions (`locked_joints`), the joints that move (`joints`), or both: then
`locked_joints` says where some of the others stand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from dyn_core.core.errors import ArgumentError, DynError
from dyn_core.robot.description import UrdfDescription
from dyn_core.robot.joints import Limits, position_range
from dyn_core.robot.side_file.reader import SideFile
from dyn_core.robot.urdf.conversion import Followed, followed_joints, known_limits
from dyn_core.robot.xml_text import LARGEST_LENGTH

T = TypeVar("T")


@dataclass(frozen=True)
class Locking:
    """Which joints stand still.

    Attributes:
        positions: where joints are locked, by name (rad or m).
        moving: names of the joints that move; None for all that are not in `positions`.
    """

    positions: Mapping[str, float]
    moving: tuple[str, ...] | None = None


def checked_locking(locked_joints: Mapping[str, float] | None, joints: Sequence[str] | None) -> Locking:
    """Return the two arguments of `load_robot`, checked."""
    if isinstance(joints, str):
        raise ArgumentError(
            "argument-type", argument="joints", expected="a sequence of names", given=f"the text {joints!r}"
        )
    positions = {}
    for name, given in (locked_joints or {}).items():
        try:
            position = float(given)
        except (TypeError, ValueError):
            position = math.nan
        if not abs(position) <= LARGEST_LENGTH:
            raise DynError("locked-position-invalid", joint=name, given=given, limit=LARGEST_LENGTH)
        positions[name] = position
    for name in joints or ():
        if name in positions:
            raise DynError("locked-joint-moves", joint=name)
        if list(joints or ()).count(name) > 1:
            raise DynError("locked-joint-repeated", joint=name)
    return Locking(positions, None if joints is None else tuple(joints))


def standing_position(limits: Limits) -> float:
    """Return where a joint is locked that no position is given for: at 0, or else the middle of its range."""
    lower, upper = position_range(limits)
    if lower <= 0.0 <= upper:
        return 0.0
    middle = 0.5 * (lower + upper)
    # With one limit only, 0 is beyond it.
    return middle if math.isfinite(middle) else (lower if math.isfinite(lower) else upper)


def locked_positions(
    locking: Locking, limits: Mapping[str, Limits], followed: Mapping[str, Followed]
) -> dict[str, float]:
    """Return the positions of the locked joints and of the joints that mimic them, by name (rad or m).

    Args:
        locking: the joints that the user locks.
        limits: the joints that can be locked, with their limits.
        followed: by mimic joint, the joint that it follows.

    Raises:
        DynError: a name is that of no joint, or of one that follows another.
    """
    for name in (*locking.positions, *(locking.moving or ())):
        if name in followed:
            raise DynError("locked-joint-mimics", joint=name, leader=followed[name].leader or "")
        if name not in limits:
            raise DynError("locked-joint-unknown", joint=name, known=list(limits))
    moving = limits if locking.moving is None else locking.moving
    positions = {
        name: locking.positions.get(name, standing_position(of_joint))
        for name, of_joint in limits.items()
        if name in locking.positions or name not in moving
    }
    return positions | {
        name: to.multiplier * positions[to.leader] + to.offset
        for name, to in followed.items()
        if to.leader in positions
    }


def locked_description(
    description: UrdfDescription, locking: Locking, mimic: bool
) -> tuple[UrdfDescription, dict[str, float]]:
    """Return a description in which joints are locked, and where they stand.

    The description has no planar and floating joints. Without `mimic`, joints with <mimic> do not follow.
    """
    followed = followed_joints(description.joints) if mimic else {}
    moving = [joint for joint in description.joints if joint.type != "fixed"]
    limits = {joint.name: known_limits(joint) for joint in moving if joint.name not in followed}
    at = locked_positions(locking, limits, followed)
    joints = (
        replace(joint, mimic=None, locked=at[joint.name]) if joint.name in at else joint
        for joint in description.joints
    )
    return replace(description, joints=tuple(joints)), at


def without_joints(side: SideFile, names: Mapping[str, float]) -> SideFile:
    """Return a side file without what it says of locked joints: nothing of it acts on a joint at rest."""

    def of_others(entry: Mapping[str, T]) -> dict[str, T]:
        return {name: value for name, value in entry.items() if name not in names}

    return replace(
        side,
        passive=None if side.passive is None else tuple(name for name in side.passive if name not in names),
        assembly=of_others(side.assembly),
        rotor_inertia=of_others(side.rotor_inertia),
        friction=of_others(side.friction),
        elastic=of_others(side.elastic),
    )
