# SPDX-License-Identifier: Apache-2.0
"""Write a robot as a `UrdfDescription`, and that as URDF text.

Links, their frames and the positions of the joints are those that the robot was loaded with. The first link
of a body carries the inertia of the whole body; its other links are attached to it by fixed joints.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dyn_core.core.errors import DynError
from dyn_core.robot.description import (
    MOMENTS,
    Triple,
    UrdfDescription,
    UrdfInertial,
    UrdfJoint,
    UrdfLink,
    UrdfLoop,
    UrdfLoopEnd,
    UrdfMimic,
    UrdfOrigin,
)
from dyn_core.robot.joints import Limits, Loop, Sigma
from dyn_core.robot.links import InertialParameters, LinkFrame, in_frame
from dyn_core.robot.mdh.direct_geometry import joint_transform
from dyn_core.robot.mdh.frames import clean_angle, clean_vector
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.transform import Transform, compose, inverse, rpy_from_rotation

# A robot as a description


def describe_robot(robot: Robot) -> UrdfDescription:
    """Return a URDF description of a robot; DynError if URDF cannot describe it."""
    first = {frame.body: frame for frame in reversed(robot.link_frames)}
    links = tuple(
        UrdfLink(frame.name, 0, link_inertial(robot, frame) if frame is first[frame.body] else None)
        for frame in robot.link_frames
    )
    joints = [_describe_joint(robot, j, first) for j in range(1, len(robot.joints) + 1)]
    names = {joint.name for joint in joints}
    for frame in robot.link_frames:
        carrier = first[frame.body]
        if frame is not carrier:
            name = f"{frame.name}_fixed"
            while name in names:
                name += "_"
            names.add(name)
            origin = _describe_origin(compose(inverse(carrier.T_body_link), frame.T_body_link))
            joints.append(UrdfJoint(name, 0, "fixed", carrier.name, frame.name, origin))
    return UrdfDescription(
        name=robot.name,
        root=first[0].name,
        links=links,
        joints=tuple(joints),
        loops=tuple(map(_describe_loop, robot.loops)),
        passive=robot.passive_joint_names,
    )


def _describe_joint(robot: Robot, j: int, first: dict[int, LinkFrame]) -> UrdfJoint:
    joint = robot.joints[j - 1]
    parent, child = first[joint.antecedent], first[j]
    any_leader = next(iter(robot.coordinates), 0)
    still = any_leader == 0  # there is no joint that could be mimicked
    iTj = joint_transform(joint, joint.mimic.offset if still and joint.mimic else 0.0)
    T_parent_child = compose(inverse(parent.T_body_link), compose(iTj, child.T_body_link))
    limits, mimic = joint.limits, None
    kind = "continuous" if limits.lower is None else "revolute"
    kind = "prismatic" if joint.sigma is Sigma.PRISMATIC else kind
    if kind != "continuous" or limits != Limits():  # URDF requires all limits: 0 is "not known"
        limits = replace(limits, velocity=limits.velocity or 0.0, effort=limits.effort or 0.0)
    if joint.mimic and not still:
        leader = robot.joints[(joint.mimic.leader or any_leader) - 1]  # times 0 without a leader
        mimic = UrdfMimic(leader.name, 0, joint.mimic.multiplier, joint.mimic.offset)
    return UrdfJoint(
        name=joint.name,
        line=0,
        type="fixed" if still else kind,
        parent=parent.name,
        child=child.name,
        origin=_describe_origin(T_parent_child),
        axis=clean_vector(child.T_body_link.R[2], 1.0),
        limit=limits,
        damping=joint.friction.Fv,
        friction=joint.friction.Fs,
        rotor_inertia=joint.Ia,
        mimic=mimic,
    )


def link_inertial(robot: Robot, frame: LinkFrame) -> UrdfInertial | None:
    """Return the inertia of a whole body, in the frame of one of its links."""
    body = in_frame(inverse(frame.T_body_link), robot.bodies[frame.body])
    if body == InertialParameters():
        return None
    if body.M == 0.0 and body.MS != vec3.ZERO:
        raise DynError("urdf-mass-missing", link=frame.name, element=f"link '{frame.name}'")
    return inertial_about_centre(body)


def inertial_about_centre(body: InertialParameters) -> UrdfInertial:
    """Return parameters about the origin of a frame as those of an <inertial>; unchanged if the mass is 0."""
    centre = vec3.scale(1.0 / body.M, body.MS) if body.M != 0.0 else vec3.ZERO
    central = in_frame(Transform(mat3.IDENTITY, vec3.neg(centre)), body)
    return UrdfInertial(UrdfOrigin(xyz=centre), body.M, *central.values[:6])


def _describe_loop(loop: Loop) -> UrdfLoop:
    parent, child = (
        UrdfLoopEnd(end.link, _describe_origin(end.T_link_cut)) for end in (loop.parent, loop.child)
    )
    return UrdfLoop(loop.name, 0, loop.type.value, parent, child, loop.axis, loop.child_axis)


def _describe_origin(T: Transform) -> UrdfOrigin:
    roll, pitch, yaw = map(clean_angle, rpy_from_rotation(T.R))
    return UrdfOrigin(clean_vector(T.p, max(map(abs, T.p))), (roll, pitch, yaw))


# A description as text

_ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
)


def urdf_text(description: UrdfDescription) -> str:
    """Return URDF text: every number with all its digits, one element a line."""
    lines = ['<?xml version="1.0"?>', f"<robot name={quoted(description.name)}>"]
    for link in description.links:
        lines += _link(link)
    for joint in description.joints:
        lines += _joint(joint)
    for loop in description.loops:
        lines += _loop(loop)
    return "\n".join([*lines, "</robot>", ""])


def quoted(text: str) -> str:
    """Return a text as the value of an attribute, in quotation marks."""
    return f'"{text.translate(_ESCAPES)}"'


def number_text(x: float) -> str:
    """Return a number with all its digits."""
    return repr(x + 0.0).removesuffix(".0")


def inertial_lines(m: UrdfInertial) -> Iterator[str]:
    """Yield the lines of an <inertial>; the first line is not indented."""
    yield "<inertial>"
    yield f"  {_origin('origin', m.origin)}"
    yield f'  <mass value="{number_text(m.mass)}"/>'
    yield f"  {_element('inertia', dict(zip(MOMENTS, m.moments, strict=True)))}"
    yield "</inertial>"


def _link(link: UrdfLink) -> Iterator[str]:
    if link.inertial is None:
        yield f"  <link name={quoted(link.name)}/>"
        return
    yield f"  <link name={quoted(link.name)}>"
    yield from (f"    {line}" for line in inertial_lines(link.inertial))
    yield "  </link>"


def _joint(joint: UrdfJoint) -> Iterator[str]:
    yield f'  <joint name={quoted(joint.name)} type="{joint.type}">'
    yield f"    <parent link={quoted(joint.parent)}/>"
    yield f"    <child link={quoted(joint.child)}/>"
    yield f"    {_origin('origin', joint.origin)}"
    if joint.type != "fixed":
        yield f"    {_xyz('axis', joint.axis)}"
        limit, armature = joint.limit, joint.rotor_inertia or None
        bounds = {name: getattr(limit, name) for name in ("lower", "upper", "effort", "velocity")}
        if limit != Limits():
            yield f"    {_element('limit', bounds)}"
        drive = {"damping": joint.damping, "friction": joint.friction, "armature": armature}
        if any(drive.values()):
            yield f"    {_element('dynamics', drive)}"
        if joint.mimic is not None:
            factors = _attributes({"multiplier": joint.mimic.multiplier, "offset": joint.mimic.offset})
            yield f"    <mimic joint={quoted(joint.mimic.joint)} {factors}/>"
    yield "  </joint>"


def _loop(loop: UrdfLoop) -> Iterator[str]:
    yield f'  <constraint name={quoted(loop.name)} type="{loop.type}">'
    child_axis = loop.child_axis or loop.axis
    for side, end, axis in (("parent", loop.parent, loop.axis), ("child", loop.child, child_axis)):
        yield f"    <{side} link={quoted(end.link)}/>"
        yield f"    {_origin(f'{side}_origin', end.origin)}"
        yield f"    {_xyz(f'{side}_axis', axis)}"
    yield "  </constraint>"


def _element(tag: str, attributes: dict[str, float | None]) -> str:
    return f"<{tag} {_attributes(attributes)}/>"


def _attributes(values: dict[str, float | None]) -> str:
    given = ((name, value) for name, value in values.items() if value is not None)
    return " ".join(f'{name}="{number_text(value)}"' for name, value in given)


def _origin(tag: str, origin: UrdfOrigin) -> str:
    return f'<{tag} xyz="{_words(origin.xyz)}" rpy="{_words(origin.rpy)}"/>'


def _xyz(tag: str, vector: Triple) -> str:
    return f'<{tag} xyz="{_words(vector)}"/>'


def _words(vector: Triple) -> str:
    return " ".join(map(number_text, vector))
