# SPDX-License-Identifier: Apache-2.0
"""What a robot consists of: joints, links, mass, reach, degrees of freedom."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from dyn_core.robot.joints import Joint, Limits, Sigma, position_range
from dyn_core.robot.links import LinkFrame
from dyn_core.robot.mdh.direct_geometry import joint_transform, lineage
from dyn_core.robot.moving_base import DeclaredBase, declared_base
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.transform import IDENTITY, Transform, apply, compose
from dyn_core.symbolic.vec3 import Vec3


@dataclass(frozen=True)
class JointDescription:
    """A joint of the tree.

    Attributes:
        name: name in the description.
        index: place in every joint vector, from 0; None where the joint is passive or follows another.
        type: ``revolute``, ``continuous`` (a revolute joint without limits of position) or ``prismatic``.
        role: ``actuated``, ``passive``, ``elastic`` or ``mimic``.
        parent: name of the joint before it; None where the base carries it.
        axis: unit vector in the frame of the child link, along or about which it moves.
        child: name of its child link.
        limits: its limits.
        unit: unit of its position.
        effort_unit: unit of its effort.
        follows: name of the joint that it mimics; None for none.
        multiplier, offset: its position is ``multiplier`` times that of the other plus ``offset`` (rad or m).
    """

    name: str
    index: int | None
    type: str
    role: str
    parent: str | None
    axis: Vec3
    child: str
    limits: Limits
    unit: str
    effort_unit: str
    follows: str | None = None
    multiplier: float | None = None
    offset: float | None = None


@dataclass(frozen=True)
class LinkDescription:
    """A link: `joint` moves it (None: it is part of the base).

    `fixed_to` is the first link of the same body, to which fixed joints hold it; None where it is the first
    itself, and then `mass` (kg) is that of the whole body.
    """

    name: str
    joint: str | None
    fixed_to: str | None
    mass: float | None


@dataclass(frozen=True)
class Reach:
    """The greatest distance between the origins of a joint and of a link, over all positions of the joints.

    The joint is the first one on the way from the base to the link, without sliding joints that have no end.
    The distance is searched for within the limits, joint by joint, from several positions.

    Attributes:
        distance: the distance (m); 0 where nothing moves.
        joint: name of the joint; None where nothing moves.
        link: name of the link.
        is_bound: whether this is an upper bound, because joints that loops or mimicry couple were moved
            one by one.
    """

    distance: float
    joint: str | None
    link: str
    is_bound: bool


@dataclass(frozen=True)
class RobotReport:
    """What a robot consists of.

    Attributes:
        robot: its name.
        dof: number of degrees of freedom of its joints, the length of every joint vector.
        joints: its joints in tree order.
        links: its links in tree order.
        mass: total mass, with that of the base (kg).
        moving_mass: mass that the joints move (kg).
        reach: its reach.
        base: how its base moves; None where it is fixed.
        locked: positions of joints that are locked (rad or m), by name.
        loops: name, type and the two links of each joint that closes a loop.
        gravity: acceleration of gravity in the frame of the root link (m/s^2).
    """

    robot: str
    dof: int
    joints: tuple[JointDescription, ...]
    links: tuple[LinkDescription, ...]
    mass: float
    moving_mass: float
    reach: Reach
    base: DeclaredBase | None
    locked: tuple[tuple[str, float], ...]
    loops: tuple[tuple[str, str, str, str], ...]
    gravity: Vec3


def robot_report(robot: Robot) -> RobotReport:
    """Return what a robot consists of."""
    masses = [float(body.M) for body in robot.bodies]
    return RobotReport(
        robot=robot.name,
        dof=robot.dof,
        joints=tuple(_joint(robot, j) for j in range(1, len(robot.joints) + 1)),
        links=tuple(_links(robot, masses)),
        mass=math.fsum(masses),
        moving_mass=math.fsum(masses[1:]),
        reach=reach(robot),
        base=declared_base(robot),
        locked=robot.locked,
        loops=tuple((x.name, x.type.value, x.parent.link, x.child.link) for x in robot.loops),
        gravity=robot.gravity,
    )


def _joint(robot: Robot, j: int) -> JointDescription:
    joint, child = robot.joints[j - 1], robot.child_links[j - 1]
    mimic = joint.mimic
    x, y, z = child.T_body_link.R[2]  # z_j in the frame of the link
    return JointDescription(
        name=joint.name,
        index=robot.coordinates.index(j) if j in robot.coordinates else None,
        type=_type(joint),
        role=_role(joint),
        parent=robot.joints[joint.antecedent - 1].name if joint.antecedent else None,
        axis=(float(x), float(y), float(z)),
        child=child.name,
        limits=joint.limits,
        unit=joint.position_unit,
        effort_unit=joint.effort_unit,
        follows=robot.joints[mimic.leader - 1].name if mimic and mimic.leader else None,
        multiplier=mimic.multiplier if mimic else None,
        offset=mimic.offset if mimic else None,
    )


def _type(joint: Joint) -> str:
    if joint.sigma is Sigma.PRISMATIC:
        return "prismatic"
    return "continuous" if joint.limits.lower is None and joint.limits.upper is None else "revolute"


def _role(joint: Joint) -> str:
    if joint.mimic is not None:
        return "mimic"
    if joint.elastic is not None:
        return "elastic"
    return "actuated" if joint.mu == 1 else "passive"


def _links(robot: Robot, masses: Sequence[float]) -> list[LinkDescription]:
    first: dict[int, str] = {}
    links = []
    for frame in robot.link_frames:
        before = first.setdefault(frame.body, frame.name)
        joint = robot.joints[frame.body - 1].name if frame.body else None
        is_first = before == frame.name
        links.append(
            LinkDescription(
                frame.name, joint, None if is_first else before, masses[frame.body] if is_first else None
            )
        )
    return links


# Reach: the squared distance of the tip is a sine of each revolute joint, and convex in each sliding one. So
# the best position of one joint is known exactly; one after the other is moved there until nothing changes.

_STARTS = 6
"""Positions from which the search begins: the middle of the ranges, and random ones."""
_SWEEPS = 100
_GAIN = 1e-9
"""Gain of a sweep over all joints below which the search ends (m)."""


def reach(robot: Robot) -> Reach:
    """Return the reach of a robot."""
    best = Reach(0.0, None, robot.link_frames[0].name, False)
    chains = [(_chain(robot, frame.body), frame) for frame in robot.link_frames]
    moving = [(chain, frame) for chain, frame in chains if chain]
    for chain, tip in sorted(moving, key=lambda pair: -_length(robot, *pair)):
        if _length(robot, chain, tip) <= best.distance:
            break
        distance = _greatest_distance(robot, chain, tip)
        if distance > best.distance:
            name = robot.joints[chain[0] - 1].name
            best = Reach(distance, name, tip.name, _is_coupled(robot, chain))
    return best


def _chain(robot: Robot, body: int) -> list[int]:
    """Return the numbers of the joints that move a body, after the last sliding joint without an end."""
    chain: list[int] = []
    for j in lineage(robot, body):
        joint = robot.joints[j - 1]
        if joint.sigma is Sigma.PRISMATIC and not all(map(math.isfinite, _range(joint))):
            break
        chain.insert(0, j)
    return chain


def _range(joint: Joint) -> tuple[float, float]:
    if joint.mimic is not None and not joint.mimic.leader:
        return (joint.mimic.offset, joint.mimic.offset)
    return position_range(joint.limits)


def _is_coupled(robot: Robot, chain: Sequence[int]) -> bool:
    """Return whether joints of a chain cannot be moved one by one."""
    mimics = {j: robot.joints[j - 1].mimic for j in chain}
    leaders = [mimic.leader if mimic else j for j, mimic in mimics.items()]
    return bool(robot.loops) or len(set(leaders)) < len(leaders)


def _length(robot: Robot, chain: Sequence[int], tip: LinkFrame) -> float:
    """Return an upper bound of the reach of a chain (m): the sum of the distances between its origins."""
    lengths = [vec3.norm(robot.joints[j - 1].origin) for j in chain[1:]]
    strokes = [
        max(map(abs, _range(robot.joints[j - 1])))
        for j in chain
        if robot.joints[j - 1].sigma is Sigma.PRISMATIC
    ]
    ends = [vec3.norm(frame.T_body_link.p) for frame in (robot.child_links[chain[0] - 1], tip)]
    return math.fsum((*lengths, *strokes, *ends))


def _greatest_distance(robot: Robot, chain: Sequence[int], tip: LinkFrame) -> float:
    joints = [robot.joints[j - 1] for j in chain]
    ranges = [_range(joint) for joint in joints]
    usual = [(max(a, -math.pi), min(b, math.pi)) for a, b in ranges]
    numbers = random.Random(0)
    starts = [[0.5 * (a + b) for a, b in usual]]
    starts += [[numbers.uniform(a, b) for a, b in usual] for _ in range(_STARTS - 1)]
    child = robot.child_links[chain[0] - 1]
    first = apply(joint_transform(joints[0], 0.0), child.T_body_link.p)  # origin of the first joint
    return max(_climbed(joints, ranges, q, first, tip.T_body_link.p) for q in starts)


def _climbed(
    joints: Sequence[Joint], ranges: Sequence[tuple[float, float]], q: list[float], first: Vec3, end: Vec3
) -> float:
    """Return the distance at the end of one search, which begins at q and changes it (m).

    `end` is the tip in the frame of the last joint.
    """
    distance = -math.inf
    for _ in range(_SWEEPS):
        frames, T = [], IDENTITY
        for joint, position in zip(joints, q, strict=True):
            T = compose(T, joint_transform(joint, position))
            frames.append(T)
        tip = apply(T, end)
        for k in reversed(range(len(joints))):
            q[k], tip = _moved(joints[k], ranges[k], q[k], frames[k], tip, first)
        new = vec3.norm(vec3.sub(tip, first))
        if new <= distance + _GAIN:
            break
        distance = new
    return max(distance, new)


def _moved(
    joint: Joint, limits: tuple[float, float], q: float, T: Transform, tip: Vec3, first: Vec3
) -> tuple[float, Vec3]:
    """Return the position of a joint at which the tip is farthest from the first joint, and the tip there."""
    lower, upper = limits
    z = mat3.mul_vec(T.R, (0.0, 0.0, 1.0))
    if joint.sigma is Sigma.PRISMATIC:
        moved = [(x, vec3.add(tip, vec3.scale(x - q, z))) for x in (q, lower, upper)]
    else:
        arm = vec3.sub(tip, T.p)
        along = vec3.scale(vec3.dot(z, arm), z)
        across = vec3.sub(arm, along)
        turned = vec3.cross(z, across)
        way = vec3.sub(T.p, first)
        best = q + math.atan2(float(vec3.dot(way, turned)), float(vec3.dot(way, across)))
        turns = (best + 2.0 * math.pi * n for n in range(-2, 3))
        candidates = [x for x in (q, *turns, lower, upper) if lower <= x <= upper and math.isfinite(x)]
        moved = []
        for x in candidates:
            c, s = math.cos(x - q), math.sin(x - q)
            arm = vec3.add(along, vec3.add(vec3.scale(c, across), vec3.scale(s, turned)))
            moved.append((x, vec3.add(T.p, arm)))
    return max(moved, key=lambda pair: vec3.norm(vec3.sub(pair[1], first)))
