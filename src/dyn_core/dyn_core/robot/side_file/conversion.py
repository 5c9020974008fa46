# SPDX-License-Identifier: Apache-2.0
"""Loops and actuators of a side file, given to the robot that they belong to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from dyn_core.core.errors import DynError, listed, shortened
from dyn_core.geometry.build_elastic import motor_name, with_springs
from dyn_core.geometry.path import lineage
from dyn_core.model.loop import Loop, LoopEnd, LoopType
from dyn_core.robot.description import UrdfLoop, UrdfLoopEnd
from dyn_core.robot.joints import Friction, Joint
from dyn_core.robot.robot import Robot
from dyn_core.robot.side_file.reader import SideFile, SideFriction
from dyn_core.symbolic import vec3
from dyn_core.symbolic.transform import placement
from dyn_core.symbolic.vec3 import Vec3


def with_loops(robot: Robot, loops: Sequence[UrdfLoop], driven: Sequence[str] = ()) -> Robot:
    """Answer the robot with more loops; DynError where it lacks their links, or one is cut at an actuator.

    Args:
        robot: the robot.
        loops: the loops.
        driven: names that the URDF gives an actuator.
    """
    body_of = {frame.name: frame.body for frame in robot.link_frames}
    names = {loop.name for loop in robot.loops}
    joints = {joint.name for joint in robot.joints}
    more: list[Loop] = []
    for loop in loops:
        if loop.name in names:
            raise _fail(loop, "another loop has its name: rename one")
        if loop.name in joints:
            raise _fail(loop, "a joint of the tree has its name: rename one, a loop is a joint of its own")
        if loop.name in driven:
            raise _fail(loop, f"the URDF gives it an actuator: {_NO_ACTUATOR}")
        names.add(loop.name)
        built = _loop(robot, body_of, loop)
        _turns_about_two_axes(loop, built)
        for other in (*robot.loops, *more):
            if _same_cut(built, other):
                raise _fail(loop, f"loop '{shortened(other.name, 40)}' is the same cut joint: leave one out")
        more.append(built)
    return replace(robot, loops=(*robot.loops, *more))


_PARALLEL = 0.01
"""Sine of the least angle between the axes of a universal joint."""


def _turns_about_two_axes(described: UrdfLoop, loop: Loop) -> None:
    """DynError where the axes of a universal joint are parallel: it would be no constraint of their angle."""
    if loop.type is not LoopType.UNIVERSAL:
        return
    sine = vec3.norm(vec3.cross(loop.axis, loop.child_axis))
    if sine < _PARALLEL:
        first, second = (
            f"[{', '.join(f'{value:.6g}' for value in axis)}]"
            for axis in (described.axis, described.child_axis or loop.child_axis)
        )
        how = "parallel" if sine < 1e-9 else f"{sine:.1g} rad from parallel"
        raise _fail(
            described,
            f"its axis {first} and its second axis {second} are {how}, so that nothing keeps their angle: "
            "give axes that cross, or type spherical or revolute if that is what it is",
        )


def _same_cut(a: Loop, b: Loop) -> bool:
    """Whether two loops are of one type, between the same links, at the same places."""
    other = (
        (b.parent, b.child, b.axis, b.child_axis),
        (b.child, b.parent, b.child_axis, b.axis),
    )
    return a.type is b.type and any(
        _same_end(a.parent, parent)
        and _same_end(a.child, child)
        and _near(a.axis, axis)
        and _near(a.child_axis, child_axis)
        for parent, child, axis, child_axis in other
    )


def _same_end(a: LoopEnd, b: LoopEnd) -> bool:
    R, other = a.T_link_cut.R, b.T_link_cut.R
    same_place = _near(a.T_link_cut.p, b.T_link_cut.p)
    return a.link == b.link and same_place and all(map(_near, R, other))


def _near(a: Vec3, b: Vec3) -> bool:
    return vec3.norm(vec3.sub(a, b)) <= _SAME


_SAME = 1e-9
"""Distance (m, or of unit vectors) below which two places are the same."""


def with_side_file(robot: Robot, side: SideFile, driven: Sequence[str] = ()) -> Robot:
    """Answer the robot with what a side file says about it; DynError where it lacks a joint or link.

    Args:
        robot: the robot.
        side: what the side file says.
        driven: names that the URDF gives an actuator.
    """
    _are_not_cut(robot, side)
    for entry in ("rotor_inertia", "friction", "assembly", "passive", "elastic"):
        _are_no_motors(robot, side, entry, getattr(side, entry) or ())
    _are_joints(robot, "rotor_inertia", side.rotor_inertia)
    _are_joints(robot, "friction", side.friction)
    _are_coordinates(robot, "assembly", side.assembly)
    _are_coordinates(robot, "passive", side.passive or ())
    for name, spring in side.elastic.items():
        _are_coordinates(robot, f"elastic (line {spring.line})" if spring.line else "elastic", (name,))
    passive = None if side.passive is None else frozenset(side.passive)
    joints = tuple(_joint(joint, side, passive) for joint in robot.joints)
    assembly = tuple((name, side.assembly[name]) for name in robot.joint_names if name in side.assembly)
    robot = replace(robot, joints=joints, assembly=assembly, base=side.base)
    robot = with_loops(robot, side.loops, driven)
    _refuse_beside_base(robot, side)
    return with_springs(robot, side.elastic, side.passive or (), driven)


def _refuse_beside_base(robot: Robot, side: SideFile) -> None:
    """DynError where the base moves, and loops or springs are there, which is not modelled together."""
    for names, what in (
        ([loop.name for loop in robot.loops], "closes loop"),
        (list(side.elastic), "has the elastic joint"),
    ):
        if side.base is not None and names:
            raise DynError(
                f"base: it says that the base moves ({side.base}), but robot '{robot.name}' {what} "
                f"{listed(names)}, and the two are not modelled together: leave out one of them",
                element="base",
            )


_NO_ACTUATOR = (
    "a cut joint can have none, as it is no joint of the tree: cut the loop at a passive joint, and make "
    "this one a joint of the URDF"
)


def _are_not_cut(robot: Robot, side: SideFile) -> None:
    """DynError where the side file says of a cut joint what only a joint of the tree can have."""
    remedies = {
        "rotor_inertia": f"is the joint that a loop is cut at: {_NO_ACTUATOR}",
        "friction": "is the joint that a loop is cut at, whose friction no equation has: cut the loop at a "
        "joint with less friction, and make this one a joint of the URDF",
        "assembly": "is the joint that a loop is cut at, and has no position: leave it out",
        "passive": "is the joint that a loop is cut at, and passive anyhow: leave it out",
        "elastic": "is the joint that a loop is cut at, and elastic joints of robots with loops are not "
        "modelled: leave it out",
    }
    cut = {loop.name for loop in robot.loops} | {loop.name for loop in side.loops}
    cut -= {joint.name for joint in robot.joints}
    named: dict[str, Iterable[str]] = {
        "rotor_inertia": side.rotor_inertia,
        "friction": side.friction,
        "assembly": side.assembly,
        "passive": side.passive or (),
        "elastic": side.elastic,
    }
    for entry, names in named.items():
        for name in names:
            if name in cut:
                raise DynError(f"{entry}: '{name}' {remedies[entry]}", element=f"loop '{name}'")
    for name in side.passive or ():
        if (side.passive or ()).count(name) > 1:
            raise DynError(f"passive: joint '{name}' is named twice: keep one", element=f"joint '{name}'")


def _joint(joint: Joint, side: SideFile, passive: frozenset[str] | None) -> Joint:
    return replace(
        joint,
        mu=joint.mu if joint.mimic or passive is None else int(joint.name not in passive),
        Ia=side.rotor_inertia.get(joint.name, joint.Ia),
        friction=_friction(joint.friction, side.friction.get(joint.name, SideFriction())),
    )


def _friction(friction: Friction, side: SideFriction) -> Friction:
    return Friction(
        Fv=friction.Fv if side.viscous is None else side.viscous,
        Fs=friction.Fs if side.coulomb is None else side.coulomb,
        Fo=friction.Fo if side.offset is None else side.offset,
    )


def _are_no_motors(robot: Robot, side: SideFile, entry: str, names: Iterable[str]) -> None:
    """DynError where a motor is named, which a side file knows by the joint that it moves."""
    moved = {motor_name(joint): joint for joint, spring in side.elastic.items() if spring.motor is not None}
    for name in names:
        if name in moved and name not in robot.joint_names:
            raise DynError(
                f"{entry}: '{name}' is the motor behind the spring of joint '{moved[name]}', which a side "
                "file "
                f"calls by the name of the joint: what is given for '{moved[name]}' goes over to its motor",
                element=f"joint '{name}'",
            )


def _are_joints(robot: Robot, entry: str, names: Iterable[str]) -> None:
    known = {joint.name: None for joint in robot.joints}
    for name in names:
        if name not in known:
            shown = shortened(name, 40)
            parts = [
                joint for joint in known if joint.startswith(f"{name}/")
            ]  # of a planar or floating joint
            which = f"name {listed(parts)}" if parts else f"its joints are {listed(known)}"
            raise DynError(
                f"{entry}: the robot has no moving joint '{shown}': {which}",
                element=f"joint '{name}'",
            )


def _are_coordinates(robot: Robot, entry: str, names: Iterable[str]) -> None:
    names = tuple(names)
    _are_joints(robot, entry, names)
    mimics = {joint.name for joint in robot.joints if joint.mimic is not None}
    for name in names:
        if name in mimics:
            raise DynError(
                f"{entry}: joint '{name}' mimics another and has no position of its own: name that one",
                element=f"joint '{name}'",
            )


def _moves(robot: Robot, a: int, b: int) -> bool:
    """Whether any joint between two bodies can move."""
    between = set(lineage(robot, a)) ^ set(lineage(robot, b))
    mimics = (robot.joints[j - 1].mimic for j in between)
    return any(mimic is None or mimic.leader != 0 for mimic in mimics)


def _loop(robot: Robot, body_of: Mapping[str, int], loop: UrdfLoop) -> Loop:
    bodies = [_body(body_of, loop, end) for end in (loop.parent, loop.child)]
    if bodies[0] == bodies[1]:
        raise _fail(
            loop,
            f"'{loop.parent.link}' and '{loop.child.link}' do not move on each other: name links on either "
            "side of a joint",
        )
    if not _moves(robot, *bodies):
        raise _fail(
            loop,
            f"'{loop.parent.link}' and '{loop.child.link}' do not move on each other, as all joints between "
            "them stand still: take the loop out, or let a joint move",
        )
    axis = vec3.unit(loop.axis)
    return Loop(
        name=loop.name,
        type=LoopType(loop.type),
        parent=_end(loop.parent),
        child=_end(loop.child),
        axis=axis,
        child_axis=axis if loop.child_axis is None else vec3.unit(loop.child_axis),
    )


def _body(body_of: Mapping[str, int], loop: UrdfLoop, end: UrdfLoopEnd) -> int:
    if end.link not in body_of:
        raise _fail(
            loop, f"the robot has no link '{shortened(end.link, 40)}': its links are {listed(body_of)}"
        )
    return body_of[end.link]


def _end(end: UrdfLoopEnd) -> LoopEnd:
    return LoopEnd(end.link, placement(end.origin))


def _fail(loop: UrdfLoop, what: str) -> DynError:
    owner = f"loop '{loop.name}'"
    place = f"{owner} (line {loop.line})" if loop.line else owner
    return DynError(f"{place}: {what}", element=owner, line=loop.line or None)
