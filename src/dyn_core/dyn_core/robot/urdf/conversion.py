# SPDX-License-Identifier: Apache-2.0
"""Convert a `UrdfDescription` to a robot in MDH notation.

First, angles and axes that are roundings are made exact. Then, planar and floating joints become chains of
simple joints, and each mimic joint gets the joint that it follows in the end. `frames` places the frames.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from dyn_core.core.errors import DynError
from dyn_core.core.findings import Place
from dyn_core.core.text import printed_digits
from dyn_core.robot.description import (
    PART_NAMES,
    Triple,
    UrdfDescription,
    UrdfJoint,
    UrdfLink,
    UrdfLoop,
    UrdfMimic,
    UrdfOrigin,
)
from dyn_core.robot.joints import Friction, Joint, Limits, Mimic, Sigma
from dyn_core.robot.links import InertialParameters, LinkFrame, in_frame, merge
from dyn_core.robot.mdh.frames import JointFrame, MovingJoint, joint_frames, joint_tree, placement
from dyn_core.robot.robot import Robot, Snapped
from dyn_core.robot.side_file.conversion import with_loops
from dyn_core.robot.xml_text import LARGEST_LENGTH
from dyn_core.symbolic import vec3
from dyn_core.symbolic.transform import Transform, compose, inverse
from dyn_core.symbolic.vec3 import Vec3


def build_robot(
    description: UrdfDescription,
    gravity: Vec3,
    description_hash: str,
    mimic: bool = True,
    more_loops: Sequence[UrdfLoop] = (),
) -> Robot:
    """Return the robot of a description.

    Args:
        description: contents of the URDF, without planar and floating joints (see `with_simple_joints`).
        gravity: acceleration of gravity in the frame of the root link (m/s^2).
        description_hash: SHA-256 of the URDF text.
        mimic: True if mimic joints follow their leaders, False if they move freely.
        more_loops: loops that the robot will be given, for the choice of its frames.
    """
    tree = joint_tree(description)
    T_root_0, frames = joint_frames(tree, (*description.loops, *more_loops))
    T_body_urdf = [inverse(T_root_0), *(inverse(frame.T_urdf_frame) for frame in frames)]

    bodies = [InertialParameters()] * len(T_body_urdf)
    link_frames = []
    for link in tree.links:
        T_body_link = compose(T_body_urdf[link.body], link.T_joint_link)
        link_frames.append(LinkFrame(link.urdf.name, link.body, T_body_link))
        bodies[link.body] = merge(bodies[link.body], _link_inertia(link.urdf, T_body_link))
    number: dict[str | None, int] = {joint.urdf.name: j for j, joint in enumerate(tree.joints, start=1)}
    followed = followed_joints(description.joints) if mimic else {}
    mimics = {
        name: Mimic(number.get(to.leader, 0), to.multiplier, to.offset) for name, to in followed.items()
    }
    passive = set(description.passive)
    joints = (
        _joint(joint, frame, mimics.get(joint.urdf.name), joint.urdf.name in passive)
        for joint, frame in zip(tree.joints, frames, strict=True)
    )
    robot = Robot(
        name=description.name,
        joints=tuple(joints),
        bodies=tuple(bodies),
        link_frames=tuple(link_frames),
        gravity=gravity,
        T_root_0=T_root_0,
        description_hash=description_hash,
    )
    return with_loops(robot, description.loops, description.driven) if description.loops else robot


def _joint(joint: MovingJoint, frame: JointFrame, mimic: Mimic | None, passive: bool) -> Joint:
    urdf = joint.urdf
    return Joint(
        name=urdf.name,
        antecedent=joint.antecedent,
        sigma=Sigma.PRISMATIC if urdf.type == "prismatic" else Sigma.REVOLUTE,
        mdh=frame.mdh,
        origin=frame.origin,
        mu=0 if mimic or passive else 1,
        friction=Friction(Fv=urdf.damping, Fs=urdf.friction),
        Ia=urdf.rotor_inertia,
        limits=known_limits(urdf),
        mimic=mimic,
    )


def known_limits(joint: UrdfJoint) -> Limits:
    """Return the limits of a joint, without what exporters write for "not known"."""
    limit = joint.limit
    # 0 effort, 0 velocity and a range from 0 to 0
    bounded = joint.type != "continuous" and (limit.lower, limit.upper) != (0.0, 0.0)
    lower, upper = (limit.lower, limit.upper) if bounded else (None, None)
    return Limits(lower, upper, limit.velocity or None, limit.effort or None)


def _link_inertia(link: UrdfLink, T_body_link: Transform) -> InertialParameters:
    """Return the parameters of a link in the frame of its body; zeros without an <inertial>."""
    if link.inertial is None:
        return InertialParameters()
    central = InertialParameters(*link.inertial.moments, *vec3.ZERO, link.inertial.mass)
    return in_frame(compose(T_body_link, placement(link.inertial.origin)), central)


# Snapping: angles and axes that are roundings of multiples of pi/4 and of zero are made exact
#
# A ``1.5708`` costs a robot its structure: two axes that are parallel become nearly parallel, and no product
# with their angle vanishes. But a robot may also be calibrated, and then its digits count. So by default a
# value is snapped only where the digits of the text show that it is a rounding:
#
# * an angle, to k pi/4 up to two turns, if that, rounded to the digits printed, is what is printed, and there
#   are at least 4 of them (``0.7854``, ``3.142``, ``-1.570796``, but not ``1.57``);
# * likewise if that, cut off after the digits printed, is what is printed, and there are at least 5 of them
#   (``1.5707``, ``3.14159265358979``);
# * an angle to 0, if it is at most half the last digit of an angle beside it that was snapped (the -3.67e-06
#   in ``1.5708 -3.67e-06 0`` is what a program makes of its own rounding);
# * a component of an axis to 0, if it is at most half the last digit of another component that has at least 4
#   digits (``0.7071 0.7071 1e-05``);
# * any value that is exact up to the rounding of double precision (``6.1e-17``).
#
# So no angle moves by more than the last digit that the author of the description wrote for it or beside it.
# With a tolerance (rad; for axes, relative to the greatest component) all values within it are snapped, and
# none with 0.

Snap = float | Literal["digits"]

EIGHTH = math.pi / 4
_LARGEST = 4.0 * math.pi
_NOISE = 64 * sys.float_info.epsilon
_ROUNDED, _CUT_OFF = 4, 5  # significant digits that make a rounding credible


def checked_snap(snap: Snap) -> Snap:
    """Return a setting of `snap`; DynError if it is invalid."""
    if snap == "digits":
        return snap
    try:
        tolerance = float(snap)
    except (TypeError, ValueError):
        tolerance = math.nan
    if not 0.0 <= tolerance < EIGHTH / 2:
        expected = '"digits", 0, or a tolerance in rad less than pi/8'
        raise DynError("setting-range", setting="snap", given=snap, expected=expected)
    return tolerance


def snapped_description(
    description: UrdfDescription, snap: Snap
) -> tuple[UrdfDescription, tuple[Snapped, ...]]:
    """Return the description with its angles and axes snapped, and the changes."""
    if snap == 0.0:
        return description, ()
    changes: list[Snapped] = []
    joints = tuple(_snapped_joint(joint, snap, changes) for joint in description.joints)
    links = tuple(_snapped_link(link, snap, changes) for link in description.links)
    loops, of_loops = snapped_loops(description.loops, snap)
    return replace(description, joints=joints, links=links, loops=loops), (*changes, *of_loops)


def snapped_loops(loops: Sequence[UrdfLoop], snap: Snap) -> tuple[tuple[UrdfLoop, ...], tuple[Snapped, ...]]:
    """Return loops with the angles of their cut frames snapped, and the changes."""
    if snap == 0.0:
        return tuple(loops), ()
    changes: list[Snapped] = []
    return tuple(_snapped_loop(loop, snap, changes) for loop in loops), tuple(changes)


def snapped_angles(angles: Triple, words: Sequence[str], snap: Snap) -> Triple:
    """Return angles (rad), which are printed as `words`, snapped."""
    if snap != "digits":
        return _triple(_nearest(angle) if abs(angle - _nearest(angle)) <= snap else angle for angle in angles)
    rounding = 0.0
    result = []
    for angle, word in zip(angles, words, strict=True):  # the word of an expression is empty
        result.append(_by_digits(angle, word))
        if result[-1] != angle:
            rounding = max(rounding, printed_digits(word).unit)
    return _triple(0.0 if abs(angle) <= max(_NOISE, 0.5 * rounding) else angle for angle in result)


def snapped_axis(axis: Triple, words: Sequence[str], snap: Snap) -> Triple:
    """Return an axis, which is printed as `words`, with exact zeros."""
    largest = max(map(abs, axis))
    if snap != "digits":
        return _triple(0.0 if abs(x) <= snap * largest else x for x in axis)
    digits = map(printed_digits, words)
    halves = (0.5 * unit for figures, unit in digits if figures >= _ROUNDED and unit < 1.0)
    least = max(_NOISE * largest, max(halves, default=0.0))
    return _triple(0.0 if abs(x) <= least else x for x in axis)


def _by_digits(angle: float, word: str) -> float:
    nearest = _nearest(angle)
    if nearest == 0.0 or abs(angle) > _LARGEST:
        return angle
    figures, unit = printed_digits(word)
    error = abs(nearest) - abs(angle)
    rounded = figures >= _ROUNDED and abs(error) <= 0.500001 * unit
    cut_off = figures >= _CUT_OFF and 0.0 < error < unit
    return nearest if rounded or cut_off or abs(error) <= _NOISE else angle


def _nearest(angle: float) -> float:
    """Return the multiple of pi/4 that is nearest to an angle (rad)."""
    return round(angle / EIGHTH) * EIGHTH


def _triple(values: Iterable[float]) -> Triple:
    x, y, z = values
    return (x, y, z)


def _snapped_joint(joint: UrdfJoint, snap: Snap, changes: list[Snapped]) -> UrdfJoint:
    owner = Place("joint", joint.name)
    origin = _snapped_origin(joint.origin, snap, changes, owner, "origin rpy", joint.line)
    axis = snapped_axis(joint.axis, joint.axis_words, snap) if joint.axis_words else joint.axis
    changes.extend(_changes(owner, "axis xyz", joint.line, joint.axis, axis))
    return replace(joint, origin=origin, axis=axis)


def _snapped_link(link: UrdfLink, snap: Snap, changes: list[Snapped]) -> UrdfLink:
    if link.inertial is None:
        return link
    owner, given = Place("link", link.name), link.inertial.origin
    origin = _snapped_origin(given, snap, changes, owner, "inertial rpy", link.line)
    return replace(link, inertial=replace(link.inertial, origin=origin))


def _snapped_loop(loop: UrdfLoop, snap: Snap, changes: list[Snapped]) -> UrdfLoop:
    owner = Place("loop", loop.name)
    parent, child = (
        replace(end, origin=_snapped_origin(end.origin, snap, changes, owner, f"{side} rpy", loop.line))
        for side, end in (("parent", loop.parent), ("child", loop.child))
    )
    return replace(loop, parent=parent, child=child)


def _snapped_origin(
    origin: UrdfOrigin, snap: Snap, changes: list[Snapped], owner: Place, parameter: str, line: int
) -> UrdfOrigin:
    if not origin.rpy_words:
        return origin
    rpy = snapped_angles(origin.rpy, origin.rpy_words, snap)
    changes.extend(_changes(owner, parameter, line, origin.rpy, rpy))
    return replace(origin, rpy=rpy)


def _changes(owner: Place, parameter: str, line: int, given: Triple, used: Triple) -> Iterator[Snapped]:
    for k, (a, b) in enumerate(zip(given, used, strict=True)):
        if a != b:
            yield Snapped(owner.element, f"{parameter}[{k}]", line, a, b, owner)


# Planar and floating joints as chains of simple joints between links without mass
#
# ==========  ================================================================================
# type        motion of the child in the frame of joint ``j``, and its joints in their order
# ==========  ================================================================================
# planar      ``Trans(x x' + y y') Rot(axis, theta)``: ``j/x``, ``j/y``, ``j/theta``
# floating    ``Trans(x, y, z) Rot(z, yaw) Rot(y, pitch) Rot(x, roll)``: ``j/trans_x``,
#             ``j/trans_y``, ``j/trans_z``, ``j/yaw``, ``j/pitch``, ``j/roll``
# ==========  ================================================================================
#
# x' and y' are the x and y of the joint's frame after the smallest rotation that takes its z to the axis; if
# the axis is -z, after half a turn about x. Each joint but the last carries a link without mass, with the
# name of the joint and ``_link`` after it.

_TYPES = {
    "planar": ("prismatic",) * 2 + ("continuous",),
    "floating": ("prismatic",) * 3 + ("continuous",) * 3,
}
_X, _Y, _Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
_OPPOSITE = 64 * sys.float_info.epsilon
"""Angle from -z (rad) within which an axis is -z, up to rounding."""


def with_simple_joints(description: UrdfDescription) -> UrdfDescription:
    """Return the description with chains of simple joints for its planar and floating joints."""
    rotor_inertias = dict(description.part_rotor_inertias)
    joints: list[UrdfJoint] = []
    links = list(description.links)
    for joint in description.joints:
        joints += _chain(joint, rotor_inertias) if joint.type in PART_NAMES else [joint]
        links += (UrdfLink(name, joint.line) for name in joint.part_links)
    return replace(description, links=tuple(links), joints=tuple(joints))


def _chain(joint: UrdfJoint, rotor_inertias: Mapping[str, float]) -> Iterator[UrdfJoint]:
    ends = (joint.parent, *joint.part_links, joint.child)
    is_floating = joint.type == "floating"
    axes = (_X, _Y, _Z, _Z, _Y, _X) if is_floating else (*_plane(vec3.unit(joint.axis)), joint.axis)
    for k, (name, kind, axis) in enumerate(zip(joint.parts, _TYPES[joint.type], axes, strict=True)):
        yield UrdfJoint(
            name=name,
            line=joint.line,
            type=kind,
            parent=ends[k],
            child=ends[k + 1],
            origin=joint.origin if k == 0 else UrdfOrigin(),
            axis=axis,
            rotor_inertia=rotor_inertias.get(name, 0.0),
        )


def _plane(normal: Triple) -> tuple[Triple, Triple]:
    """Return x' and y' of the plane normal to a unit vector, by Rodrigues' formula.

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


# Leaders of mimic joints, which may mimic mimic joints


class Followed(NamedTuple):
    """``q = multiplier q_leader + offset``; `leader` is None for a joint that stands still."""

    leader: str | None
    multiplier: float
    offset: float


def followed_joints(joints: Sequence[UrdfJoint]) -> dict[str, Followed]:
    """Return the joint that each mimic joint follows and that moves by itself, by mimic joint.

    A joint stands still at its offset if it mimics with a multiplier of 0, or mimics a fixed joint, whose
    position is always 0. DynError if a joint mimics itself, directly or through others.
    """
    by_name = {joint.name: joint for joint in joints}
    known: dict[str, Followed] = {
        joint.name: Followed(joint.name, 1.0, 0.0) if joint.type != "fixed" else Followed(None, 0.0, 0.0)
        for joint in joints
        if joint.mimic is None
    }
    for joint in joints:
        for follower, mimic in reversed(_mimic_chain(joint, by_name, known)):
            known[follower.name] = _through(follower, mimic, known[mimic.joint])
    return {joint.name: known[joint.name] for joint in joints if joint.mimic}


def _mimic_chain(
    joint: UrdfJoint, by_name: Mapping[str, UrdfJoint], known: Mapping[str, Followed]
) -> list[tuple[UrdfJoint, UrdfMimic]]:
    """Walk from mimic joint to mimic joint, up to one whose leader is known."""
    walk: dict[str, tuple[UrdfJoint, UrdfMimic]] = {}
    while joint.name not in known and joint.mimic is not None:
        mimic = joint.mimic
        walk[joint.name] = (joint, mimic)
        if mimic.joint in walk:
            names = list(walk)
            others = names[names.index(mimic.joint) : -1]
            if others:
                raise DynError("mimic-cycle", place=_mimic_place(joint, mimic), others=others)
            raise DynError("mimic-of-itself", place=_mimic_place(joint, mimic))
        joint = by_name[mimic.joint]
    return list(walk.values())


def _through(joint: UrdfJoint, mimic: UrdfMimic, followed: Followed) -> Followed:
    """Return the leader of a joint that mimics a joint with the leader `followed`."""
    multiplier = mimic.multiplier * followed.multiplier
    offset = mimic.multiplier * followed.offset + mimic.offset
    if not max(abs(multiplier), abs(offset)) <= LARGEST_LENGTH:
        raise DynError("mimic-chain-too-large", place=_mimic_place(joint, mimic), limit=LARGEST_LENGTH)
    return Followed(followed.leader if multiplier != 0.0 else None, multiplier, offset)


def _mimic_place(joint: UrdfJoint, mimic: UrdfMimic) -> Place:
    return Place("joint", joint.name, "mimic", mimic.line)
