# SPDX-License-Identifier: Apache-2.0
"""Add the loops, actuators, friction and springs of a side file to a robot.

A joint with a spring instead of an actuator keeps its frame and has no actuator (Khalil 2010, sec. 6). A
motor in series with a spring becomes an additional joint after those of the tree: it turns a body without
mass on the antecedent of the joint, about the same axis, so that its position is that of the motor as seen at
the joint. Rotor inertia, friction and greatest effort belong to the motor (SYMORO+ 2003, sec. 3.3.2.5).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dyn_core.core.errors import DynError
from dyn_core.core.findings import Place
from dyn_core.robot.description import UrdfLoop
from dyn_core.robot.joints import Elasticity, Friction, Joint, Limits, Loop, LoopEnd, LoopType
from dyn_core.robot.links import InertialParameters, LinkFrame
from dyn_core.robot.mdh.direct_geometry import lineage
from dyn_core.robot.mdh.frames import placement
from dyn_core.robot.robot import Robot
from dyn_core.robot.side_file.reader import SideFile, SideFriction, SideMotor, SideSpring
from dyn_core.symbolic import vec3
from dyn_core.symbolic.vec3 import Vec3

# The whole side file


def with_side_file(robot: Robot, side: SideFile, driven: Sequence[str] = ()) -> Robot:
    """Return the robot with the contents of a side file; DynError if it lacks a joint or link.

    The URDF gives the names `driven` an actuator.
    """
    _refuse_cut_joints(robot, side)
    for entry in _ENTRIES:
        _refuse_motors(robot, side, entry, getattr(side, entry) or ())
    _check_joints(robot, "rotor_inertia", side.rotor_inertia)
    _check_joints(robot, "friction", side.friction)
    _check_coordinates(robot, "assembly", side.assembly)
    _check_coordinates(robot, "passive", side.passive or ())
    for name, spring in side.elastic.items():
        _check_coordinates(robot, "elastic", (name,), spring.line or None)
    passive = None if side.passive is None else frozenset(side.passive)
    joints = tuple(_joint(joint, side, passive) for joint in robot.joints)
    assembly = tuple((name, side.assembly[name]) for name in robot.joint_names if name in side.assembly)
    robot = replace(robot, joints=joints, assembly=assembly, base=side.base)
    robot = with_loops(robot, side.loops, driven)
    if side.base is not None:
        values: dict[str, Any] = {"base": side.base, "robot": robot.name, "element": "base"}
        if robot.loops:
            raise DynError("loops-beside-moving-base", loops=[loop.name for loop in robot.loops], **values)
        if side.elastic:
            raise DynError("springs-beside-moving-base", joints=list(side.elastic), **values)
    return _with_springs(robot, side.elastic, side.passive or (), driven)


_ENTRIES = {
    "rotor_inertia": "cut-joint-with-rotor-inertia",
    "friction": "cut-joint-with-friction",
    "assembly": "cut-joint-with-position",
    "passive": "cut-joint-passive",
    "elastic": "cut-joint-elastic",
}
"""Entries with names of joints, and the errors if one of these is a cut joint."""


def _refuse_cut_joints(robot: Robot, side: SideFile) -> None:
    cut = {loop.name for loop in robot.loops} | {loop.name for loop in side.loops}
    cut -= {joint.name for joint in robot.joints}
    for entry, code in _ENTRIES.items():
        for name in getattr(side, entry) or ():
            if name in cut:
                raise DynError(code, joint=name, element=f"loop '{name}'")
    for name, count in Counter(side.passive or ()).items():
        if count > 1:
            raise DynError("passive-joint-repeated", joint=name, element=f"joint '{name}'")


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


def _refuse_motors(robot: Robot, side: SideFile, entry: str, names: Iterable[str]) -> None:
    """Raise DynError if a motor is named, which a side file identifies by the joint that it moves."""
    moved = {_motor_name(joint): joint for joint, spring in side.elastic.items() if spring.motor is not None}
    for name in names:
        if name in moved and name not in robot.joint_names:
            element = f"joint '{name}'"
            raise DynError("entry-names-motor", entry=entry, motor=name, joint=moved[name], element=element)


def _check_joints(robot: Robot, entry: str, names: Iterable[str], line: int | None = None) -> None:
    known = {joint.name: None for joint in robot.joints}
    for name in names:
        if name not in known:
            values: dict[str, Any] = {"place": Place(entry, line=line), "element": f"joint '{name}'"}
            parts = [joint for joint in known if joint.startswith(f"{name}/")]
            if parts:  # of a planar or floating joint
                raise DynError("compound-joint-named", joint=name, parts=parts, **values)
            raise DynError("side-file-joint-unknown", joint=name, known=list(known), **values)


def _check_coordinates(robot: Robot, entry: str, names: Iterable[str], line: int | None = None) -> None:
    names = tuple(names)
    _check_joints(robot, entry, names, line)
    for name in names:
        if robot.joint(name).mimic is not None:
            place = Place(entry, line=line)
            raise DynError("entry-joint-mimics", place=place, element=f"joint '{name}'", joint=name)


# Loops


def with_loops(robot: Robot, loops: Sequence[UrdfLoop], driven: Sequence[str] = ()) -> Robot:
    """Return the robot with more loops; DynError if it lacks their links, or one is cut at an actuator.

    The URDF gives the names `driven` an actuator.
    """
    body_of = {frame.name: frame.body for frame in robot.link_frames}
    names = {loop.name for loop in robot.loops}
    joints = {joint.name for joint in robot.joints}
    more = list(robot.loops)
    between: dict[frozenset[str], list[Loop]] = defaultdict(list)
    for known in robot.loops:
        between[_links(known)].append(known)
    for loop in loops:
        for code, taken in (
            ("loop-name-repeated", names),
            ("loop-name-of-joint", joints),
            ("loop-with-actuator", driven),
        ):
            if loop.name in taken:
                raise DynError(code, place=_place(loop))
        names.add(loop.name)
        built = _loop(robot, body_of, loop)
        if built.type is LoopType.UNIVERSAL:
            _check_axes(loop, built)
        for other in between[_links(built)]:
            if _same_cut(built, other):
                raise DynError("loop-repeated", place=_place(loop), other=other.name)
        more.append(built)
        between[_links(built)].append(built)
    return replace(robot, loops=tuple(more))


_PARALLEL = 0.01
"""Sine of the least angle between the axes of a universal joint."""


def _check_axes(described: UrdfLoop, loop: Loop) -> None:
    """Raise DynError if the axes of a universal joint are parallel: their angle would not be constrained."""
    sine = vec3.norm(vec3.cross(loop.axis, loop.child_axis))
    if sine < _PARALLEL:
        first, second = (
            f"[{', '.join(f'{value:.6g}' for value in axis)}]"
            for axis in (described.axis, described.child_axis or loop.child_axis)
        )
        values: dict[str, Any] = {"axis": first, "child_axis": second}
        if sine < 1e-9:
            raise DynError("universal-axes-parallel", place=_place(described), **values)
        raise DynError("universal-axes-nearly-parallel", place=_place(described), angle=sine, **values)


def _links(loop: Loop) -> frozenset[str]:
    return frozenset((loop.parent.link, loop.child.link))


def _same_cut(a: Loop, b: Loop) -> bool:
    """Return whether two loops have one type, the same links and the same places."""
    other = ((b.parent, b.child, b.axis, b.child_axis), (b.child, b.parent, b.child_axis, b.axis))
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
"""Distance (m, or of unit vectors) up to which two places are the same."""


def _loop(robot: Robot, body_of: Mapping[str, int], loop: UrdfLoop) -> Loop:
    for end in (loop.parent, loop.child):
        if end.link not in body_of:
            raise DynError("loop-link-unknown", place=_place(loop), link=end.link, known=list(body_of))
    a, b = body_of[loop.parent.link], body_of[loop.child.link]
    values: dict[str, Any] = {"parent": loop.parent.link, "child": loop.child.link}
    if a == b:
        raise DynError("loop-ends-on-one-body", place=_place(loop), **values)
    between = (robot.joints[j - 1].mimic for j in set(lineage(robot, a)) ^ set(lineage(robot, b)))
    if not any(mimic is None or mimic.leader != 0 for mimic in between):
        raise DynError("loop-ends-immobile", place=_place(loop), **values)
    parent, child = (LoopEnd(end.link, placement(end.origin)) for end in (loop.parent, loop.child))
    axis = vec3.unit(loop.axis)
    child_axis = axis if loop.child_axis is None else vec3.unit(loop.child_axis)
    return Loop(loop.name, LoopType(loop.type), parent, child, axis, child_axis)


def _place(loop: UrdfLoop) -> Place:
    return Place("loop", loop.name, line=loop.line or None)


# Springs


def _with_springs(
    robot: Robot, springs: Mapping[str, SideSpring], passive: Sequence[str], driven: Sequence[str]
) -> Robot:
    """Return the robot with springs, by joint; DynError if a joint cannot have its spring.

    The side file gives the joints `passive` no actuator, and the URDF gives the names `driven` one.
    """
    if not springs:
        return robot
    if robot.loops:
        name, spring = next(iter(springs.items()))
        raise _spring_error("spring-beside-loops", name, spring, loop=robot.loops[0].name)
    joints, frames = list(robot.joints), list(robot.link_frames)
    motors: list[Joint] = []
    for j, joint in enumerate(robot.joints, start=1):
        if joint.name not in springs:
            continue
        spring = springs[joint.name]
        if spring.motor is None:
            if joint.name in driven:
                raise _spring_error("spring-beside-actuator", joint.name, spring)
            if joint.Ia != 0.0:
                raise _spring_error("spring-beside-rotor", joint.name, spring, inertia=joint.Ia)
            joints[j - 1] = replace(joint, mu=0, elastic=_elasticity(spring))
            continue
        if joint.name in passive:
            raise _spring_error("spring-motor-passive", joint.name, spring)
        number = len(robot.joints) + len(motors) + 1
        motor = _motor(robot, joint, spring, spring.motor)
        motors.append(motor)
        placement = next(frame.T_body_link for frame in robot.link_frames if frame.body == j)
        frames.append(LinkFrame(f"{motor.name}_link", number, placement))
        elastic = replace(_elasticity(spring), motor=number, gear=spring.motor.gear)
        limits = replace(joint.limits, effort=None)
        joints[j - 1] = replace(joint, mu=0, Ia=0.0, friction=Friction(), limits=limits, elastic=elastic)
    bodies = (*robot.bodies, *(InertialParameters() for _ in motors))
    return replace(robot, joints=(*joints, *motors), bodies=bodies, link_frames=tuple(frames))


def without_springs(robot: Robot) -> Robot:
    """Return the same robot with rigid joints, which have what belonged to the motors."""
    numbers = {joint.elastic.motor for joint in robot.joints if joint.elastic and joint.elastic.motor}
    joints = []
    for j, joint in enumerate(robot.joints, start=1):
        spring = joint.elastic
        if j in numbers:
            continue
        if spring is not None and spring.motor:
            motor = robot.joints[spring.motor - 1]
            limits = replace(joint.limits, effort=motor.limits.effort)
            joint = replace(joint, mu=1, Ia=motor.Ia, friction=motor.friction, limits=limits)
        joints.append(replace(joint, elastic=None))
    return replace(
        robot,
        joints=tuple(joints),
        bodies=tuple(body for j, body in enumerate(robot.bodies) if j not in numbers),
        link_frames=tuple(frame for frame in robot.link_frames if frame.body not in numbers),
    )


def _elasticity(spring: SideSpring) -> Elasticity:
    return Elasticity(spring.stiffness, spring.rest, spring.damping)


def _motor(robot: Robot, joint: Joint, spring: SideSpring, motor: SideMotor) -> Joint:
    """Return the joint of the motor of a series-elastic joint."""
    name = _motor_name(joint.name)
    if name in {other.name for other in robot.joints} or f"{name}_link" in robot.link_names:
        raise _spring_error("motor-name-taken", joint.name, spring, motor=name)
    Ia = joint.Ia
    if motor.inertia is not None:
        values = {"shaft_inertia": motor.inertia}
        if Ia != 0.0:
            raise _spring_error("motor-inertia-repeated", joint.name, spring, joint_inertia=Ia, **values)
        Ia = motor.inertia * motor.gear * motor.gear
        values |= {"joint_inertia": Ia, "gear": motor.gear}
        if not 0.0 < Ia < math.inf:
            raise _spring_error("motor-inertia-out-of-range", joint.name, spring, **values)
    elif not 0.0 < Ia < math.inf:
        raise _spring_error("motor-inertia-missing", joint.name, spring, joint_inertia=Ia)
    limits = Limits(velocity=joint.limits.velocity, effort=joint.limits.effort)
    return replace(joint, name=name, mu=1, Ia=Ia, limits=limits)


def _motor_name(joint: str) -> str:
    return f"{joint}_motor"


def _spring_error(code: str, joint: str, spring: SideSpring, **values: Any) -> DynError:
    place = Place("elastic of joint", joint, line=spring.line or None)
    return DynError(code, place=place, element=f"joint '{joint}'", **values)
