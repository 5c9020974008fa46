# SPDX-License-Identifier: Apache-2.0
"""Joints and loops of a URDF: <joint>, <constraint>, <loop_joint> and <loop>.

Loops are <constraint>, as proposed to urdfdom, <loop_joint>, as in Drake and Isaac Sim, and <loop>, as in
URDF+ (arXiv 2411.19753).

.. code-block:: xml

    <constraint name="closure" type="revolute">
      <parent link="a"/> <parent_origin xyz="0.1 0 0" rpy="0 0 0"/> <parent_axis xyz="0 0 1"/>
      <child link="b"/>  <child_origin xyz="0.3 0 0"/>             <child_axis xyz="0 0 1"/>
    </constraint>
    <loop_joint name="closure" type="revolute">
      <link1 link="a" xyz="0.1 0 0" rpy="0 0 0"/> <link2 link="b" xyz="0.3 0 0"/> <axis xyz="0 0 1"/>
    </loop_joint>
    <loop name="closure" type="revolute">
      <predecessor link="a"> <origin xyz="0.1 0 0" rpy="0 0 0"/> </predecessor>
      <successor link="b"> <origin xyz="0.3 0 0"/> </successor> <axis xyz="0 0 1"/>
    </loop>

An axis is given in the cut frame of its side, and is z by default, or x in a <loop>; that of the child is by
default that of the parent. A <loop_joint> may also have the children of a <constraint>, and a second <link1>
stands for <link2> (so it is printed in the manual of Isaac Sim). The origins of a <loop> may also be its own
children, <predecessor_origin> and <successor_origin>. Other children are not read, and give a warning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dyn_core.core.errors import DynError, ModelWarning
from dyn_core.core.findings import Place
from dyn_core.core.text import finite_number
from dyn_core.robot.description import PART_NAMES, Triple, UrdfJoint, UrdfLoop, UrdfLoopEnd, UrdfMimic
from dyn_core.robot.joints import Limits
from dyn_core.robot.side_file.reader import LOOP_TYPES
from dyn_core.robot.xml_text import (
    Element,
    not_negative,
    optional_number,
    origin,
    place_in,
    place_of,
    placement,
    placement_number,
    text,
    vector,
    words,
)

MOVING_TYPES = ("revolute", "continuous", "prismatic")
KNOWN_TYPES = (*MOVING_TYPES, "fixed", *PART_NAMES)
_X, _Z = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)


def urdf_joints(
    robot: Element, rotor_inertia: Mapping[str, float], remarks: list[ModelWarning]
) -> tuple[UrdfJoint, ...]:
    """Return the joints in document order.

    Args:
        robot: the <robot>.
        rotor_inertia: rotor inertias by joint (kg m^2 or kg), for joints whose <dynamics> has none.
        remarks: list to which warnings about unused elements are added.
    """
    joints = [_joint(element, rotor_inertia, remarks) for element in robot.all("joint")]
    types = {joint.name: joint.type for joint in joints}
    return tuple(_with_leader(joint, types, remarks) for joint in joints)


def dependent_joints(robot: Element) -> list[str]:
    """Return the names of the joints that follow the others by a <loop> of URDF+."""
    if not any(map(is_loop, robot.all("loop"))):
        return []
    return [joint.attributes.get("name", "") for joint in robot.all("joint") if is_dependent(joint)]


def is_dependent(joint: Element) -> bool:
    """Whether a joint follows others, which URDF+ says."""
    return joint.attributes.get("independent", "").strip().lower() == "false"


def remark_on_drives(
    joints: tuple[UrdfJoint, ...],
    rotor_inertia: Mapping[str, float],
    commanded: Mapping[str, bool],
    remarks: list[ModelWarning],
) -> None:
    """Add warnings about rotors and command interfaces of planar and floating joints as a whole."""
    for joint in joints:
        if joint.type in PART_NAMES:
            if rotor_inertia.get(joint.name):
                remarks.append(_unused("compound-rotor-inertia-unused", joint))
            if commanded.get(joint.name):
                remarks.append(_unused("compound-command-interface-unused", joint))


def _joint(element: Element, rotor_inertia: Mapping[str, float], remarks: list[ModelWarning]) -> UrdfJoint:
    owner = place_of(element)
    name, kind = text(owner, element, "name"), text(owner, element, "type")
    if kind not in KNOWN_TYPES:
        known = ", ".join(KNOWN_TYPES)
        raise DynError("joint-type-unknown", place=place_in(owner, element), given=kind, known=known)
    parent, child = (text(owner, _required(owner, element, tag), "link") for tag in ("parent", "child"))
    joint = UrdfJoint(name, element.line, kind, parent, child, origin(owner, element))
    if kind in PART_NAMES:
        _check_unused(owner, element, joint, remarks)
    if kind in (*MOVING_TYPES, "planar"):
        axis = element.first("axis")
        joint = replace(joint, axis=_axis(owner, axis, _X), axis_words=words(axis, "xyz"))
    if kind not in MOVING_TYPES:
        return joint
    dynamics = element.first("dynamics")
    armature = not_negative(owner, dynamics, "armature")
    return replace(
        joint,
        limit=_limit(owner, element.first("limit"), kind != "continuous", remarks),
        damping=not_negative(owner, dynamics, "damping") or 0.0,
        friction=not_negative(owner, dynamics, "friction") or 0.0,
        rotor_inertia=rotor_inertia.get(name, 0.0) if armature is None else armature,
        mimic=_mimic(owner, element.first("mimic")),
    )


def _check_unused(owner: Place, element: Element, joint: UrdfJoint, remarks: list[ModelWarning]) -> None:
    """Refuse a <mimic> of a planar or floating joint, and warn about elements that URDF does not define."""
    mimic = element.first("mimic")
    if mimic is not None:
        raise DynError("compound-joint-mimics", place=place_in(owner, mimic), joint_type=joint.type)
    given = [child for tag in ("limit", "dynamics") if (child := element.first(tag))]
    unused = [e.tag for e in given if any(finite_number(value) != 0.0 for value in e.attributes.values())]
    if len(unused) > 1:
        remarks.append(_unused("compound-limit-and-dynamics-unused", joint))
    elif unused:
        remarks.append(_unused("compound-element-unused", joint, tag=unused[0]))


def _unused(code: str, joint: UrdfJoint, **values: Any) -> ModelWarning:
    place = Place("joint", joint.name, line=joint.line)
    return ModelWarning(code, place=place, joint_type=joint.type, parts=joint.parts, **values)


def _mimic(owner: Place, element: Element | None) -> UrdfMimic | None:
    if element is None:
        return None
    multiplier = placement_number(owner, element, "multiplier")
    return UrdfMimic(
        joint=text(owner, element, "joint"),
        line=element.line,
        multiplier=1.0 if multiplier is None else multiplier,
        offset=placement_number(owner, element, "offset") or 0.0,
    )


def _with_leader(joint: UrdfJoint, types: Mapping[str, str], remarks: list[ModelWarning]) -> UrdfJoint:
    """Return the joint, without a mimic of an unknown joint."""
    if joint.mimic is None:
        return joint
    leader, place = joint.mimic.joint, Place("joint", joint.name, "mimic", joint.mimic.line)
    if leader not in types:
        remarks.append(ModelWarning("mimic-leader-unknown", place=place, leader=leader))
        return replace(joint, mimic=None)
    if types[leader] in PART_NAMES:
        raise DynError("mimic-of-compound-joint", place=place, leader=leader, joint_type=types[leader])
    return joint


def _axis(owner: Place, element: Element | None, default: Triple) -> Triple:
    axis = vector(owner, element, "xyz", default)
    if element is not None and axis == (0.0, 0.0, 0.0):
        raise DynError("axis-zero", place=place_in(owner, element), example='xyz="0 0 1"')
    return axis


def _limit(owner: Place, element: Element | None, bounded: bool, remarks: list[ModelWarning]) -> Limits:
    """Return the limits, without positions where lower is above upper: some simulators mean a free joint."""
    lower = optional_number(owner, element, "lower")
    upper = optional_number(owner, element, "upper")
    if lower is not None or upper is not None:
        lower, upper = lower or 0.0, upper or 0.0  # URDF's default for the one not given
        if element is not None and bounded and lower > upper:
            place = place_in(owner, element)
            remarks.append(ModelWarning("joint-range-inverted", place=place, lower=lower, upper=upper))
            lower = upper = None
    effort = not_negative(owner, element, "effort")
    return Limits(lower, upper, effort=effort, velocity=not_negative(owner, element, "velocity"))


def _required(owner: Place, element: Element, tag: str) -> Element:
    child = element.first(tag)
    if child is None:
        raise DynError("child-element-missing", place=place_in(owner, element), tag=tag)
    return child


# Loops

_READ = (
    *("parent", "child", "parent_origin", "child_origin", "parent_axis", "child_axis"),
    *("link1", "link2", "axis", "axis2"),
    *("predecessor", "successor", "predecessor_origin", "successor_origin"),
)

_SIDES = {"loop": ("predecessor", "successor")}
"""Tags of the two sides; those of other loops are parent and child."""

_NOT_READ = {"dynamics": "loop-dynamics-not-read", "limit": "loop-limit-not-read"}


def urdf_loops(robot: Element, remarks: list[ModelWarning]) -> tuple[UrdfLoop, ...]:
    """Return the loops of a <robot> in document order, and add warnings about children that are not read."""
    elements = [element for element in robot.children if is_loop(element)]
    loops = tuple(_loop(element) for element in elements)
    for element in elements:
        for child in element.children:
            values = child.attributes.values()
            is_no_friction = child.tag == "dynamics" and not any(value.strip(" +-0.") for value in values)
            if child.tag not in _READ and not is_no_friction:
                code, line = _NOT_READ.get(child.tag, "loop-element-not-read"), child.line
                place = replace(place_of(element), line=None)
                remarks.append(ModelWarning(code, place=place, tag=child.tag, child_line=line, line=line))
    return loops


def is_loop(element: Element) -> bool:
    """Whether a child of <robot> closes a loop; a <loop> without the sides of URDF+ is not known."""
    sides = _SIDES.get(element.tag, ())
    return element.tag in ("constraint", "loop_joint") or any(element.first(side) for side in sides)


def _loop(element: Element) -> UrdfLoop:
    owner = place_of(element)
    name, kind = text(owner, element, "name"), text(owner, element, "type")
    kind = "revolute" if kind == "continuous" else kind
    if kind not in LOOP_TYPES:
        raise DynError("loop-type-unknown", place=place_in(owner, element), given=kind, known=LOOP_TYPES)
    links = [child for child in element.children if child.tag in ("link1", "link2")]
    if links and len(links) != 2:
        raise DynError("loop-links-count", place=place_in(owner, element), count=len(links))
    parent, child = (
        _end(owner, links[k], links[k]) if links else _side(owner, element, side)
        for k, side in enumerate(_SIDES.get(element.tag, ("parent", "child")))
    )
    axis = _loop_axis(owner, element, "axis", "parent_axis")
    child_axis = _loop_axis(owner, element, "axis2", "child_axis")
    if kind == "universal" and child_axis is None:
        raise DynError("universal-child-axis-missing", place=place_in(owner, element))
    default = _X if element.tag in _SIDES else _Z
    return UrdfLoop(name, element.line, kind, parent, child, axis or default, child_axis)


def _side(owner: Place, element: Element, side: str) -> UrdfLoopEnd:
    link = _required(owner, element, side)
    inside = link.first("origin") if element.tag in _SIDES else None
    return _end(owner, link, inside or element.first(f"{side}_origin"))


def _end(owner: Place, link: Element, origin: Element | None) -> UrdfLoopEnd:
    at = placement(owner, origin)
    return UrdfLoopEnd(text(owner, link, "link"), at)


def _loop_axis(owner: Place, element: Element, *tags: str) -> Triple | None:
    child = next((child for child in element.children if child.tag in tags), None)
    return None if child is None else _axis(owner, child, _Z)
