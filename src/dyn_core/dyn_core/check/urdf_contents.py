# SPDX-License-Identifier: Apache-2.0
"""Check the URDF itself: elements that are not read, guesses of the reader, names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator

from dyn_core.check.subject import Subject, finding_of_warning
from dyn_core.core.findings import Finding, Severity
from dyn_core.core.messages import Message
from dyn_core.robot.xml_text import Element

# Elements and attributes that are not read

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
    *("link", "joint", "constraint", "loop_joint", "transmission", "ros2_control", "gazebo"),
    *("material", "sensor", "group", "group_state", "end_effector", "virtual_joint", "disable_collisions"),
    *("frame", "plugin", "mujoco", "author", "version", "verbose", "light", "camera"),
)
"""Elements under <robot> that are read, or do not affect the dynamics."""

ALIKE = 0.7
"""Similarity of two names from which one is taken as a misspelling of the other."""

FALSE = ("0", "false", "")


def repeated(subject: Subject) -> Iterator[Finding]:
    """Find repeated elements; only the first one is read."""
    for owner, element in _parts(subject):
        tags = [child.tag for child in element.children]
        for tag in ONCE.get(element.tag, ()):
            if (count := tags.count(tag)) > 1:
                yield _of_all(Severity.WARNING, [owner], Message("element-repeated", tag=tag, count=count))


def unread_attributes(subject: Subject) -> Iterator[Finding]:
    """Find attributes that are not read, in elements that affect the dynamics."""
    found: dict[tuple[str, str, tuple[str, ...]], list[Element]] = {}
    for owner, element in _parts(subject):
        known = ATTRIBUTES.get(element.tag, tuple(element.attributes))
        if unread := tuple(attribute for attribute in element.attributes if attribute not in known):
            found.setdefault((owner.tag, element.tag, unread), []).append(owner)
    for (_, tag, unread), owners in found.items():
        message = Message("attributes-unread", tag=tag, unread=unread, known=ATTRIBUTES[tag])
        yield _of_all(Severity.WARNING, owners, message)


def unread_children(subject: Subject) -> Iterator[Finding]:
    """Find elements without a namespace that are not read, in elements that affect the dynamics."""
    found: dict[tuple[str, str, str], list[Element]] = {}
    for owner, element in _parts(subject):
        for child in element.children:
            if child.tag not in CHILDREN.get(element.tag, (child.tag,)) and ":" not in child.tag:
                found.setdefault((owner.tag, element.tag, child.tag), []).append(owner)
    for (_, tag, unread), owners in found.items():
        severity, message = Severity.WARNING, Message("child-outside-inertial", tag=tag, unread=unread)
        if tag != "link" or unread not in ONCE["inertial"][1:]:
            if meant := _meant(unread, CHILDREN[tag]):
                message = Message("child-misspelt", tag=tag, unread=unread, meant=meant)
            else:
                severity, message = Severity.NOTE, Message("child-unread", tag=tag, unread=unread)
        yield _of_all(severity, owners, message)


def unread_top(subject: Subject) -> Iterator[Finding]:
    """Find unknown elements under <robot>; ignore those with a namespace."""
    if subject.xml is None:
        return
    lines: dict[str, list[int]] = {}
    for child in subject.xml.children:
        if child.tag not in TOP and ":" not in child.tag:
            lines.setdefault(child.tag, []).append(child.line)
    for tag, of_tag in lines.items():
        code = "place-several" if len(of_tag) > 1 else "place-once"
        place = Message(code, count=len(of_tag), first_line=of_tag[0])
        if meant := _meant(tag, ("link", "joint")):
            message = Message("element-misspelt", tag=tag, place=place, meant=meant)
            yield Finding(Severity.WARNING, "robot", (), message)
        else:
            yield Finding(Severity.NOTE, "robot", (), Message("element-unread", tag=tag, place=place))


def _meant(tag: str, known: Iterable[str]) -> str | None:
    """Return the probable name of a misspelt element; None if no name is similar."""
    return next(iter(difflib.get_close_matches(tag.lower(), known, 1, ALIKE)), None)


def unread_gazebo(subject: Subject) -> Iterator[Finding]:
    """Find springs, links without gravity, and loops that a URDF has only for Gazebo."""
    springs: dict[str, None] = {}
    weightless: dict[str, None] = {}
    joints: list[str] = []
    for gazebo in subject.elements("gazebo"):
        reference = gazebo.attributes.get("reference", "")
        for child in gazebo.children:
            if child.tag == "springStiffness" and child.text not in FALSE:
                springs[reference] = None
            elif (child.tag == "turnGravityOff" and child.text.lower() not in FALSE) or (
                child.tag == "gravity" and child.text.lower() in FALSE[:2]
            ):
                weightless[reference] = None
            elif child.tag == "joint" or child.tag.startswith("joint:"):
                joints.append(child.attributes.get("name", ""))
    if joints:
        message = Message("gazebo-joints-unread", joints=tuple(joints))
        yield Finding(Severity.WARNING, "robot", (), message)
    if springs:
        yield Finding(Severity.WARNING, "joint", tuple(springs), Message("gazebo-spring-unread"))
    if weightless:
        yield Finding(Severity.NOTE, "link", tuple(weightless), Message("gazebo-gravity-off"))


def unknown_joints(subject: Subject) -> Iterator[Finding]:
    """Find transmissions and ros2_control joints that name joints which the robot does not have."""
    joints = {joint.name for joint in subject.urdf_joints()}
    for tag in ("transmission", "ros2_control"):
        named = dict.fromkeys(
            joint.attributes.get("name", "")
            for element in subject.elements(tag)
            if element.attributes.get("type") != "sensor"
            for joint in element.all("joint")
        )
        if names := [name for name in named if name and name not in joints]:
            message = Message("hardware-joint-unknown", tag=tag, unknown=names)
            yield Finding(Severity.WARNING, "robot", (), message)


def _parts(subject: Subject) -> Iterator[tuple[Element, Element]]:
    """Yield links, joints and the elements in them that affect the dynamics, each with its link or joint."""
    for owner in (*subject.elements("link"), *subject.elements("joint")):
        yield owner, owner
        for child in owner.children:
            if child.tag in ONCE[owner.tag]:
                yield owner, child
                if child.tag == "inertial":
                    yield from ((owner, part) for part in child.children if part.tag in ONCE["inertial"])


def _of_all(severity: Severity, owners: list[Element], message: Message) -> Finding:
    names = dict.fromkeys(owner.attributes.get("name", "").strip() for owner in owners)
    return Finding(severity, owners[0].tag, tuple(names), message)


def remarks(subject: Subject) -> Iterator[Finding]:
    """Return a finding for each remark of the readers."""
    return map(finding_of_warning, subject.remarks)


# Names

_PLAIN = re.compile(r"[A-Za-z0-9_\-]+")


def names(subject: Subject) -> Iterator[Finding]:
    """Find names that differ in case only, and names that ROS parameters, topics or tf2 do not accept."""
    links = [frame.name for frame in subject.robot.link_frames]
    joints = [joint.name for joint in subject.urdf_joints() or subject.robot.joints]
    for kind, given in (("joint", joints), ("link", links)):
        by_case: dict[str, list[str]] = {}
        for name in given:
            by_case.setdefault(name.casefold(), []).append(name)
        for alike in by_case.values():
            if len(alike) > 1:
                yield Finding(Severity.WARNING, kind, tuple(alike), Message("names-alike"))
        spaced = tuple(name for name in given if any(c.isspace() for c in name))
        if spaced:
            yield Finding(Severity.WARNING, kind, spaced, Message("name-with-space"))
    chained = {name for joint in subject.urdf_joints() for name in joint.parts}
    moving = (joint.name for joint in subject.robot.joints if joint.name not in chained)
    odd = tuple(name for name in moving if not _PLAIN.fullmatch(name) and " " not in name)
    if odd:
        yield Finding(Severity.NOTE, "joint", odd, Message("name-with-odd-characters"))
    slashed = tuple(name for name in links if name.startswith("/"))
    if slashed:
        yield Finding(Severity.WARNING, "link", slashed, Message("name-with-leading-slash"))
