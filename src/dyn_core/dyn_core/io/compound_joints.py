# SPDX-License-Identifier: Apache-2.0
"""Planar and floating joints as chains of simple joints between links without mass.

==========  ==================================================================================
type        motion of the child in the frame of joint ``j``, and its joints in their order
==========  ==================================================================================
planar      ``Trans(x x' + y y') Rot(axis, theta)``: ``j/x``, ``j/y``, ``j/theta``
floating    ``Trans(x, y, z) Rot(z, yaw) Rot(y, pitch) Rot(x, roll)``: ``j/trans_x``,
            ``j/trans_y``, ``j/trans_z``, ``j/yaw``, ``j/pitch``, ``j/roll``
==========  ==================================================================================

x' and y' are the x and y of the joint's frame after the smallest rotation that takes its z to the
axis; where the axis is -z, after half a turn about x. Each joint but the last carries a link without
mass, called as the joint with ``_link`` after it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from dyn_core.core.errors import DynError, shortened
from dyn_core.robot.description import Triple, UrdfDescription, UrdfJoint, UrdfLink, UrdfOrigin
from dyn_core.symbolic import vec3

PART_NAMES: Mapping[str, tuple[str, ...]] = {
    "planar": ("x", "y", "theta"),
    "floating": ("trans_x", "trans_y", "trans_z", "yaw", "pitch", "roll"),
}
"""What the joints of a chain are called after the name of the compound joint, by its type."""

_PLANAR_TYPES = ("prismatic",) * 2 + ("continuous",)
_FLOATING_TYPES = ("prismatic",) * 3 + ("continuous",) * 3
_X, _Y, _Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
_OPPOSITE = 64 * sys.float_info.epsilon
"""Angle from -z (rad) within which an axis is -z, up to rounding."""


class _Part(NamedTuple):
    """A simple joint of a chain."""

    name: str
    type: str
    axis: Triple


def joint_names(joint: UrdfJoint) -> tuple[str, ...]:
    """Answer the names of the joints that a planar or floating joint becomes; none for others."""
    return tuple(f"{joint.name}/{part}" for part in PART_NAMES.get(joint.type, ()))


def refuse_name_clashes(links: Sequence[UrdfLink], joints: Sequence[UrdfJoint]) -> None:
    """Raise DynError where a link or joint has the name of one that a compound joint will be made of."""
    link_lines = {link.name: link.line for link in links}
    joint_lines = {joint.name: joint.line for joint in joints}
    for joint in joints:
        names = joint_names(joint)
        for kind, parts, lines in (("joint", names, joint_lines), ("link", _link_names(names), link_lines)):
            for part in parts:
                if part in lines:
                    raise _clash(joint, kind, part, lines[part])


def _clash(joint: UrdfJoint, kind: str, part: str, line: int) -> DynError:
    owner = f"joint '{shortened(joint.name, 60)}'"
    return DynError(
        f"{owner} (line {joint.line}): as a {joint.type} joint it makes a {kind} '{shortened(part, 60)}', "
        f"but another {kind} has this name (line {line}): rename one",
        element=owner,
        line=joint.line,
    )


def with_simple_joints(description: UrdfDescription) -> UrdfDescription:
    """Answer the description with chains of simple joints for its planar and floating joints."""
    if not any(joint.type in PART_NAMES for joint in description.joints):
        return description
    rotor_inertias = dict(description.part_rotor_inertias)
    joints: list[UrdfJoint] = []
    links = list(description.links)
    for joint in description.joints:
        if joint.type not in PART_NAMES:
            joints.append(joint)
            continue
        joints += _chain(joint, rotor_inertias)
        links += (UrdfLink(name, joint.line) for name in _link_names(joint_names(joint)))
    return replace(description, links=tuple(links), joints=tuple(joints))


def _chain(joint: UrdfJoint, rotor_inertias: Mapping[str, float]) -> Iterator[UrdfJoint]:
    names = joint_names(joint)
    ends = (joint.parent, *_link_names(names), joint.child)
    for k, (name, part) in enumerate(zip(names, _parts(joint), strict=True)):
        yield UrdfJoint(
            name=name,
            line=joint.line,
            type=part.type,
            parent=ends[k],
            child=ends[k + 1],
            origin=joint.origin if k == 0 else UrdfOrigin(),
            axis=part.axis,
            rotor_inertia=rotor_inertias.get(name, 0.0),
        )


def _link_names(names: Sequence[str]) -> tuple[str, ...]:
    """Answer the names of the links within a chain: of all joints but the last."""
    return tuple(f"{name}_link" for name in names[:-1])


def _parts(joint: UrdfJoint) -> tuple[_Part, ...]:
    if joint.type == "floating":
        return tuple(map(_Part, PART_NAMES["floating"], _FLOATING_TYPES, (_X, _Y, _Z, _Z, _Y, _X)))
    axes = (*_plane(vec3.unit(joint.axis)), joint.axis)
    return tuple(map(_Part, PART_NAMES["planar"], _PLANAR_TYPES, axes))


def _plane(normal: Triple) -> tuple[Triple, Triple]:
    """Answer x' and y' of the plane normal to a unit vector, by Rodrigues' formula.

    With the sine h and the cosine c of the angle from z to the normal, the axis of the smallest rotation
    is ``z x normal / h``.
    """
    a, b, c = normal
    h = math.hypot(a, b)
    if h == 0.0 or (h <= _OPPOSITE and c < 0.0):
        return _X, (_Y if c > 0.0 else (0.0, -1.0, 0.0))
    u, v = a / h, b / h
    k = 1.0 - c
    return (1.0 - k * u * u, -k * u * v, -a), (-k * u * v, 1.0 - k * v * v, -b)
