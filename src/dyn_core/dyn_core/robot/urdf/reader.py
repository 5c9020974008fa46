# SPDX-License-Identifier: Apache-2.0
"""Read a URDF: XML text to a `UrdfDescription`.

It reads the <link> and <joint> elements directly under <robot>, as far as they concern motion and mass; the
actuators in <transmission> and <ros2_control>; and loops (see `joint_elements`). What concerns neither
(visual, collision, gazebo, ...) is ignored; a warning names every other element that is not read.

Rotor inertias; the first that is given counts:

* ``<dynamics armature="0.1">``, seen at the joint, as exporters for simulators write it;
* ``<ros2_control> <joint name="..."> <param name="rotor_inertia">0.1</param>``, seen at the joint;
* ``<transmission> <joint name="..."/> <actuator> <drake:rotor_inertia value="1e-4"/>
  <drake:gear_ratio value="100"/>``, as Drake reads it: the inertia of the rotor itself, which the
  joint sees multiplied by the square of the ratio. Without a ``drake:gear_ratio``, a
  ``<mechanicalReduction>`` of the actuator or the joint is the ratio, and without both it is 1.

A joint is passive if <ros2_control> lists it without a <command_interface>. The parts of planar and
floating joints are passive unless one is listed, by its own name, with a <command_interface>. In a robot with
a <loop>, so are the joints with ``independent="false"``, with which URDF+ says that they follow the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dyn_core.core.errors import DynError, ModelWarning, shortened
from dyn_core.core.findings import Finding, Place, Severity
from dyn_core.core.messages import Message, nearest
from dyn_core.core.text import finite_number
from dyn_core.robot.description import MOMENTS, UrdfDescription, UrdfInertial, UrdfJoint, UrdfLink
from dyn_core.robot.urdf.joint_elements import (
    dependent_joints,
    is_dependent,
    is_loop,
    remark_on_drives,
    urdf_joints,
    urdf_loops,
)
from dyn_core.robot.xml_text import (
    LARGEST_MASS,
    Element,
    mass_number,
    number,
    origin,
    parse_xml,
    place_in,
    place_of,
    text,
)


def parse_urdf(urdf: str, name_if_none: str = "robot") -> UrdfDescription:
    """Return the description in URDF text; DynError, with element and line, if it cannot be a robot.

    Some defects that other programs accept give only a warning: a robot without a name (`name_if_none` is
    used), an <inertial> without mass or inertia (0 is used), a <mimic> of an unknown joint (ignored), and
    elements that are not read.
    """
    robot = parse_xml(urdf)
    if robot.tag != "robot":
        shown, line = shortened(robot.tag, 40), robot.line
        raise DynError("root-element-unknown", line_number=line, tag=robot.tag, element=shown, line=line)
    remarks: list[ModelWarning] = []
    _refuse_xacro(robot, remarks)
    name = robot.attributes.get("name", "").strip()
    if not name:
        place = Place("robot", line=robot.line)
        remarks.append(ModelWarning("robot-name-missing", place=place, used=name_if_none))
    links = tuple(_link(element, remarks) for element in robot.all("link"))
    rotor_inertia = _rotor_inertias(robot)
    joints = urdf_joints(robot, rotor_inertia, remarks)
    remarks += unread_remarks(robot)
    root = _root_of_tree(links, joints)
    commanded = _commanded_joints(robot)
    remark_on_drives(joints, rotor_inertia, commanded, remarks)
    parts = [name for joint in joints for name in joint.parts]
    listed = {**dict.fromkeys((*parts, *dependent_joints(robot)), False), **commanded}
    return UrdfDescription(
        name=name or name_if_none,
        root=root,
        links=links,
        joints=joints,
        loops=urdf_loops(robot, remarks),
        passive=tuple(name for name, is_commanded in listed.items() if not is_commanded),
        driven=_driven_joints(robot, commanded),
        remarks=tuple(remarks),
        part_rotor_inertias=tuple((name, rotor_inertia[name]) for name in parts if name in rotor_inertia),
    )


UNSEEN = ("visual", "collision", "sensor", "material", "gazebo")
"""Elements that change no motion, whatever xacro may put into them."""


def _refuse_xacro(robot: Element, remarks: list[ModelWarning]) -> None:
    """Raise DynError at the first element that is left for xacro, which may expand to parts of the robot.

    What is left inside of `UNSEEN` elements gives a warning at the first.
    """
    ahead = [(robot, False)]
    while ahead:
        element, unseen = ahead.pop()
        if element.tag.startswith("xacro:"):
            tag, line = element.tag, element.line
            named: dict[str, Any] = {"tag": tag, "line_number": line}
            named |= {"element": shortened(tag, 40), "line": line}
            if not unseen:
                raise DynError("xacro-not-expanded", **named)
            if all(remark.code != "xacro-left-over" for remark in remarks):
                remarks.append(ModelWarning("xacro-left-over", **named))
        unseen = unseen or element.tag in UNSEEN
        ahead.extend((child, unseen) for child in reversed(element.children))


def _link(element: Element, remarks: list[ModelWarning]) -> UrdfLink:
    owner = place_of(element)
    name = text(owner, element, "name")
    inertial = element.first("inertial")
    return UrdfLink(name, element.line, None if inertial is None else _inertial(owner, inertial, remarks))


def _inertial(owner: Place, element: Element, remarks: list[ModelWarning]) -> UrdfInertial:
    mass, inertia = element.first("mass"), element.first("inertia")
    for tag, child in (("mass", mass), ("inertia", inertia)):
        if child is None:
            remarks.append(ModelWarning("inertial-part-missing", place=place_in(owner, element), tag=tag))
    kilograms = 0.0 if mass is None else mass_number(owner, mass, "value")
    if mass is not None and kilograms < 0.0:
        raise DynError("link-mass-negative", place=place_in(owner, mass), mass=kilograms)
    at = origin(owner, element)
    moments = (0.0 if inertia is None else mass_number(owner, inertia, name) for name in MOMENTS)
    return UrdfInertial(at, kilograms, *moments)


# The tree that links and joints must form


def _root_of_tree(links: Sequence[UrdfLink], joints: Sequence[UrdfJoint]) -> str:
    """Return the name of the root link; DynError if links and joints are not one tree with clear names."""
    if not links:
        raise DynError("robot-without-links", element="robot")
    lines = {"link": _lines_by_name("link", links), "joint": _lines_by_name("joint", joints)}
    for joint in joints:
        for end, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in lines["link"]:
                raise DynError("joint-end-unknown", place=_place(joint), end=end, link=name)
        if joint.parent == joint.child:
            raise DynError("joint-ends-equal", place=_place(joint), link=joint.child)
    carrier: dict[str, UrdfJoint] = {}
    for joint in joints:
        other = carrier.setdefault(joint.child, joint)
        if other is not joint:
            values: dict[str, Any] = {"other_joint": other.name, "other_line": other.line}
            raise DynError("link-parents-several", place=_place(joint), link=joint.child, **values)
    roots = [link for link in links if link.name not in carrier]
    if len(roots) > 1:
        names, second = [link.name for link in roots], roots[1]
        element = f"link '{second.name}'"
        raise DynError("root-links-several", count=len(roots), links=names, element=element, line=second.line)
    _refuse_cycles(links, carrier)
    _refuse_part_names(joints, lines)
    return roots[0].name


def _lines_by_name(kind: str, items: Sequence[UrdfLink] | Sequence[UrdfJoint]) -> dict[str, int]:
    lines: dict[str, int] = {}
    for item in items:
        if item.name in lines:
            values: dict[str, Any] = {"kind": kind, "given": item.name, "line_number": item.line}
            element, first = f"{kind} '{item.name}'", lines[item.name]
            raise DynError("name-repeated", first_line=first, element=element, line=item.line, **values)
        lines[item.name] = item.line
    return lines


def _refuse_cycles(links: Sequence[UrdfLink], carrier: Mapping[str, UrdfJoint]) -> None:
    """Walk from every link to its root; DynError for a walk that comes back to one of its links."""
    known_good: set[str] = set()
    for link in links:
        walk: dict[str, None] = {}
        name = link.name
        while name in carrier and name not in known_good:
            if name in walk:
                cycle = [name]
                while (above := carrier[cycle[-1]].parent) != name:
                    cycle.append(above)
                raise DynError("links-form-cycle", place=_place(carrier[name]), links=cycle[::-1])
            walk[name] = None
            name = carrier[name].parent
        known_good.update(walk)


def _refuse_part_names(joints: Sequence[UrdfJoint], lines: Mapping[str, Mapping[str, int]]) -> None:
    """Raise DynError if a link or joint has the name of a part of a planar or floating joint."""
    for joint in joints:
        for kind, parts in (("joint", joint.parts), ("link", joint.part_links)):
            for part in parts:
                if part in lines[kind]:
                    values: dict[str, Any] = {"kind": kind, "part": part, "other_line": lines[kind][part]}
                    raise DynError(
                        "compound-part-name-clash", place=_place(joint), joint_type=joint.type, **values
                    )


def _place(joint: UrdfJoint) -> Place:
    return Place("joint", joint.name, line=joint.line)


# Actuators: rotor inertias, and joints with a command interface


def _rotor_inertias(robot: Element) -> dict[str, float]:
    """Return the rotor inertias outside <dynamics>, seen at the joints (kg m^2 or kg), by joint."""
    inertias: dict[str, float] = {}
    for transmission in robot.all("transmission"):
        joint, actuator = transmission.first("joint"), transmission.first("actuator")
        rotor = None if actuator is None else actuator.first("drake:rotor_inertia")
        if joint is not None and actuator is not None and rotor is not None:
            owner = place_of(transmission)
            ratio = _gear_ratio(owner, actuator, joint)
            inertia = mass_number(owner, rotor, "value") * ratio * ratio
            inertias[joint.attributes.get("name", "")] = _checked(owner, rotor, inertia)
    for joint in _controlled_joints(robot):
        for param in joint.all("param"):
            if param.attributes.get("name") == "rotor_inertia":
                owner = replace(place_of(joint), kind=f"ros2_control, {joint.tag}")
                inertia = _text_number(owner, param)
                inertias[joint.attributes.get("name", "")] = _checked(owner, param, inertia)
    return inertias


def _commanded_joints(robot: Element) -> dict[str, bool]:
    """Return whether each joint that <ros2_control> lists has a <command_interface>, by name."""
    commanded: dict[str, bool] = {}
    for joint in _controlled_joints(robot):
        name = joint.attributes.get("name", "")
        commanded[name] = commanded.get(name, False) or joint.first("command_interface") is not None
    return commanded


def _driven_joints(robot: Element, commanded: Mapping[str, bool]) -> tuple[str, ...]:
    """Return the names with an actuator in <ros2_control> or a <transmission>, also of unknown joints."""
    names = [name for name, is_commanded in commanded.items() if is_commanded]
    for transmission in robot.all("transmission"):
        if transmission.first("actuator") is not None:
            names += [joint.attributes.get("name", "") for joint in transmission.all("joint")]
    return tuple(dict.fromkeys(names))


def _controlled_joints(robot: Element) -> Iterator[Element]:
    """Yield the joints of each <ros2_control> that is not only a sensor."""
    for control in robot.all("ros2_control"):
        if control.attributes.get("type") != "sensor":
            yield from control.all("joint")


def _gear_ratio(owner: Place, actuator: Element, joint: Element) -> float:
    drake = actuator.first("drake:gear_ratio")
    if drake is not None:
        return number(owner, drake, "value")
    for carrier in (actuator, joint):
        for tag in ("mechanicalReduction", "mechanical_reduction"):
            reduction = carrier.first(tag)
            if reduction is not None:
                return _text_number(owner, reduction)
    return 1.0


def _text_number(owner: Place, element: Element) -> float:
    value = finite_number(element.text)
    if value is None:
        raise DynError("element-not-finite", place=place_in(owner, element), given=element.text)
    return value


def _checked(owner: Place, element: Element, inertia: float) -> float:
    if not 0.0 <= inertia <= LARGEST_MASS:
        place = place_in(owner, element)
        raise DynError("rotor-inertia-out-of-range", place=place, given=inertia, limit=LARGEST_MASS)
    return inertia


# Elements and attributes that are not read and could change the dynamics: `load_robot` warns of them, and
# `dyn check` has a finding for each. Those with a namespace, as for one simulator, are left out.

ONCE = {
    "link": ("inertial",),
    "joint": ("parent", "child", "origin", "axis", "limit", "dynamics", "mimic"),
    "inertial": ("origin", "mass", "inertia"),
}
"""Children that an element should have at most once."""

ATTRIBUTES = {
    "dynamics": ("damping", "friction", "armature"),
    "mimic": ("joint", "multiplier", "offset"),
    "axis": ("xyz",),
    "origin": ("xyz", "rpy"),
    "mass": ("value",),
    "inertia": ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"),
}
"""Attributes that are read, of elements that affect the dynamics."""

CHILDREN = {
    "link": (
        *("inertial", "visual", "collision", "material", "sensor", "contact", "surface", "self_filter"),
        *("collision_checking", "self_collision_checking", "verbose"),
    ),
    "joint": (*ONCE["joint"], "calibration", "safety_controller"),
    "inertial": ONCE["inertial"],
}
"""Children that are read, or do not affect the dynamics."""

TOP = (
    *("link", "joint", "constraint", "loop_joint", "loop", "transmission", "ros2_control", "gazebo"),
    *("material", "sensor", "group", "group_state", "end_effector", "virtual_joint", "disable_collisions"),
    *("frame", "plugin", "mujoco", "author", "version", "verbose", "light", "camera"),
)
"""Elements under <robot> that are read, or do not affect the dynamics."""

UNREAD_CODES = (
    *("element-repeated", "attributes-unread", "child-outside-inertial", "child-misspelt", "child-unread"),
    *("element-misspelt", "element-unread", "joint-dependence-unread"),
)
"""Codes of what is found here."""


def unread_findings(robot: Element) -> Iterator[Finding]:
    """Find all that is not read, or only in part."""
    for find in (_repeated, _unread_attributes, _unread_children, _unread_top, _unread_dependence):
        yield from find(robot)


def unread_remarks(robot: Element) -> Iterator[ModelWarning]:
    """Return the same as warnings, each at the first of the elements that it is about."""
    for finding in unread_findings(robot):
        place = Place(finding.kind, finding.names[0] if finding.names else "")
        yield ModelWarning(finding.code, place=place, **finding.values)


def _repeated(robot: Element) -> Iterator[Finding]:
    """Find repeated elements; only the first one is read."""
    for owner, element in _parts(robot):
        tags = [child.tag for child in element.children]
        for tag in ONCE.get(element.tag, ()):
            if (count := tags.count(tag)) > 1:
                yield _of_all(Severity.WARNING, [owner], Message("element-repeated", tag=tag, count=count))


def _unread_attributes(robot: Element) -> Iterator[Finding]:
    """Find attributes that are not read and not 0, in elements that affect the dynamics."""
    found: dict[tuple[str, str, tuple[str, ...]], list[Element]] = {}
    for owner, element in _parts(robot):
        given = element.attributes
        known = ATTRIBUTES.get(element.tag, tuple(given))
        if unread := tuple(name for name in given if name not in known and not _is_zero(given[name])):
            found.setdefault((owner.tag, element.tag, unread), []).append(owner)
    for (_, tag, unread), owners in found.items():
        message = Message("attributes-unread", tag=tag, unread=unread, known=ATTRIBUTES[tag])
        yield _of_all(Severity.WARNING, owners, message)


def _is_zero(text: str) -> bool:
    return bool(re.fullmatch(r"\s*[-+]?0*\.?0*\s*", text)) and "0" in text


def _unread_children(robot: Element) -> Iterator[Finding]:
    """Find elements without a namespace that are not read, in elements that affect the dynamics."""
    found: dict[tuple[str, str, str], list[Element]] = {}
    for owner, element in _parts(robot):
        for child in element.children:
            if child.tag not in CHILDREN.get(element.tag, (child.tag,)) and ":" not in child.tag:
                found.setdefault((owner.tag, element.tag, child.tag), []).append(owner)
    for (_, tag, unread), owners in found.items():
        severity, message = Severity.WARNING, Message("child-outside-inertial", tag=tag, unread=unread)
        if tag != "link" or unread not in ONCE["inertial"][1:]:
            if meant := nearest(unread, CHILDREN[tag]):
                message = Message("child-misspelt", tag=tag, unread=unread, meant=meant)
            else:
                severity, message = Severity.NOTE, Message("child-unread", tag=tag, unread=unread)
        yield _of_all(severity, owners, message)


def _unread_top(robot: Element) -> Iterator[Finding]:
    """Find unknown elements under <robot>; ignore those with a namespace."""
    lines: dict[str, list[int]] = {}
    for child in robot.children:
        is_known = child.tag in TOP and (child.tag != "loop" or is_loop(child))
        if not is_known and ":" not in child.tag:
            lines.setdefault(child.tag, []).append(child.line)
    for tag, of_tag in lines.items():
        code = "place-several" if len(of_tag) > 1 else "place-once"
        place = Message(code, count=len(of_tag), first_line=of_tag[0])
        if meant := nearest(tag, ("link", "joint")):
            message = Message("element-misspelt", tag=tag, occurrence=place, meant=meant)
            yield Finding(Severity.WARNING, "robot", (), message)
        else:
            yield Finding(Severity.NOTE, "robot", (), Message("element-unread", tag=tag, occurrence=place))


def _unread_dependence(robot: Element) -> Iterator[Finding]:
    """Find joints that depend on others in URDF+, in a robot without the loop that would say how."""
    dependent = [joint for joint in robot.all("joint") if is_dependent(joint)]
    if dependent and not any(map(is_loop, robot.all("loop"))):
        yield _of_all(Severity.WARNING, dependent, Message("joint-dependence-unread"))


def _parts(robot: Element) -> Iterator[tuple[Element, Element]]:
    """Yield links, joints and the elements in them that affect the dynamics, each with its link or joint."""
    for owner in (*robot.all("link"), *robot.all("joint")):
        yield owner, owner
        for child in owner.children:
            if child.tag in ONCE[owner.tag]:
                yield owner, child
                if child.tag == "inertial":
                    yield from ((owner, part) for part in child.children if part.tag in ONCE["inertial"])


def _of_all(severity: Severity, owners: list[Element], message: Message) -> Finding:
    names = dict.fromkeys(owner.attributes.get("name", "").strip() for owner in owners)
    return Finding(severity, owners[0].tag, tuple(names), message)
