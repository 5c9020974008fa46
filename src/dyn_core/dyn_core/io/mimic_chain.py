# SPDX-License-Identifier: Apache-2.0
"""What each mimic joint follows in the end, where mimic joints mimic mimic joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dyn_core.core.errors import DynError, listed
from dyn_core.io.attributes import LARGEST_LENGTH
from dyn_core.robot.description import UrdfJoint, UrdfMimic


class Followed(NamedTuple):
    """``q = multiplier q_leader + offset``; `leader` is None where the joint stands still."""

    leader: str | None
    multiplier: float
    offset: float


def followed_joints(joints: Sequence[UrdfJoint]) -> dict[str, Followed]:
    """Answer by mimic joint which joint it follows that moves by itself.

    A joint that mimics with a multiplier of 0, or mimics a fixed joint, whose position is always 0,
    stands still at its offset. DynError where a joint mimics itself, be it by way of others.
    """
    by_name = {joint.name: joint for joint in joints}
    known: dict[str, Followed] = {
        joint.name: Followed(joint.name, 1.0, 0.0) if joint.type != "fixed" else Followed(None, 0.0, 0.0)
        for joint in joints
        if joint.mimic is None
    }
    for joint in joints:
        for follower, mimic in reversed(_chain(joint, by_name, known)):
            known[follower.name] = _through(follower, mimic, known[mimic.joint])
    return {joint.name: known[joint.name] for joint in joints if joint.mimic}


def _chain(
    joint: UrdfJoint, by_name: Mapping[str, UrdfJoint], known: Mapping[str, Followed]
) -> list[tuple[UrdfJoint, UrdfMimic]]:
    """Walk from mimic joint to mimic joint up to one of which it is known what it follows."""
    walk: dict[str, tuple[UrdfJoint, UrdfMimic]] = {}
    while joint.name not in known and joint.mimic is not None:
        mimic = joint.mimic
        walk[joint.name] = (joint, mimic)
        if mimic.joint in walk:
            names = list(walk)
            others = listed(names[names.index(mimic.joint) : -1])
            chain = f"itself by way of {others}" if others else "itself"
            raise _at(joint, mimic, f"it mimics {chain}: let one of them move by itself")
        joint = by_name[mimic.joint]
    return list(walk.values())


def _through(joint: UrdfJoint, mimic: UrdfMimic, followed: Followed) -> Followed:
    """Answer what a joint follows that mimics a joint that follows `followed`."""
    multiplier = mimic.multiplier * followed.multiplier
    offset = mimic.multiplier * followed.offset + mimic.offset
    if not max(abs(multiplier), abs(offset)) <= LARGEST_LENGTH:
        raise _at(joint, mimic, f"multiplier or offset exceeds {LARGEST_LENGTH:g} along the chain of mimics")
    return Followed(followed.leader if multiplier != 0.0 else None, multiplier, offset)


def _at(joint: UrdfJoint, mimic: UrdfMimic, what: str) -> DynError:
    owner = f"joint '{joint.name}'"
    return DynError(f"{owner}, <mimic> (line {mimic.line}): {what}", element=owner, line=mimic.line)
