# SPDX-License-Identifier: Apache-2.0
"""What a URDF says about dynamics and is not read: of it nobody would know otherwise."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

from dyn_core.check.subject import Subject
from dyn_core.core.errors import listed
from dyn_core.core.findings import Finding, Severity
from dyn_core.robot.xml_text import Element

ONCE = {
    "link": ("inertial",),
    "joint": ("parent", "child", "origin", "axis", "limit", "dynamics", "mimic"),
    "inertial": ("origin", "mass", "inertia"),
}
"""Children of which there should be one."""

ATTRIBUTES = {
    "dynamics": ("damping", "friction", "armature"),
    "mimic": ("joint", "multiplier", "offset"),
    "axis": ("xyz",),
    "origin": ("xyz", "rpy"),
    "mass": ("value",),
    "inertia": ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"),
}
"""Attributes that are read, of elements that dynamics depend on."""

CHILDREN = {
    "link": (
        *("inertial", "visual", "collision", "material", "sensor", "contact", "surface", "self_filter"),
        *("collision_checking", "self_collision_checking", "verbose"),
    ),
    "joint": (*ONCE["joint"], "calibration", "safety_controller"),
    "inertial": ONCE["inertial"],
}
"""Children that are read, or have nothing to do with dynamics."""

TOP = (
    *("link", "joint", "constraint", "loop_joint", "transmission", "ros2_control", "gazebo"),
    *("material", "sensor", "group", "group_state", "end_effector", "virtual_joint", "disable_collisions"),
    *("frame", "plugin", "mujoco", "author", "version", "verbose", "light", "camera"),
)
"""Elements under <robot> that are read, or have nothing to do with dynamics."""

ALIKE = 0.7
"""Part of two names that is the same where one of them is a misspelling of the other."""

FALSE = ("0", "false", "")


def repeated(subject: Subject) -> Iterator[Finding]:
    """Find elements that are there twice, of which only the first is read."""
    for owner, element in _parts(subject):
        tags = [child.tag for child in element.children]
        for tag in ONCE.get(element.tag, ()):
            if tags.count(tag) > 1:
                what = f"there are {tags.count(tag)} <{tag}>, of which only the first is read: merge them"
                yield _of(Severity.WARNING, owner, what)


def unread_attributes(subject: Subject) -> Iterator[Finding]:
    """Find attributes that are not read, in elements that matter."""
    found: dict[tuple[str, str, tuple[str, ...]], list[Element]] = {}
    for owner, element in _parts(subject):
        known = ATTRIBUTES.get(element.tag, tuple(element.attributes))
        if unread := tuple(attribute for attribute in element.attributes if attribute not in known):
            found.setdefault((owner.tag, element.tag, unread), []).append(owner)
    for (_, tag, unread), owners in found.items():
        what = f"of <{tag}> {listed(unread)} is not read, only {listed(ATTRIBUTES[tag])}"
        yield _of_all(Severity.WARNING, owners, what)


def unread_children(subject: Subject) -> Iterator[Finding]:
    """Find elements that are not read, in elements that matter; with a namespace they are for others."""
    found: dict[tuple[str, str, str], list[Element]] = {}
    for owner, element in _parts(subject):
        for child in element.children:
            if child.tag not in CHILDREN.get(element.tag, (child.tag,)) and ":" not in child.tag:
                found.setdefault((owner.tag, element.tag, child.tag), []).append(owner)
    for (_, tag, unread), owners in found.items():
        what = f"<{unread}> in <{tag}> is not read"
        if tag == "link" and unread in ONCE["inertial"][1:]:
            yield _of_all(Severity.WARNING, owners, f"{what}: put it into <inertial>")
        elif meant := _meant(unread, CHILDREN[tag]):
            yield _of_all(Severity.WARNING, owners, f"{what}: write <{meant}>")
        else:
            yield _of_all(Severity.NOTE, owners, what)


def unread_top(subject: Subject) -> Iterator[Finding]:
    """Find elements under <robot> that nobody knows; with a namespace they are for others."""
    if subject.xml is None:
        return
    lines: dict[str, list[int]] = {}
    for child in subject.xml.children:
        if child.tag not in TOP and ":" not in child.tag:
            lines.setdefault(child.tag, []).append(child.line)
    for tag, of_tag in lines.items():
        count = f"{len(of_tag)} times, first in line {of_tag[0]}" if len(of_tag) > 1 else f"line {of_tag[0]}"
        what = f"<{tag}> ({count}) is not read"
        if meant := _meant(tag, ("link", "joint")):
            yield Finding(Severity.WARNING, "robot", (), f"{what}: write <{meant}>")
        else:
            yield Finding(Severity.NOTE, "robot", (), what)


def _meant(tag: str, known: Iterable[str]) -> str | None:
    """Answer the element that a misspelt one probably is."""
    return next(iter(difflib.get_close_matches(tag.lower(), known, 1, ALIKE)), None)


def unread_gazebo(subject: Subject) -> Iterator[Finding]:
    """Find springs, links without weight, and loops that a URDF has for Gazebo alone."""
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
        what = (
            f"the joints {listed(joints)} in <gazebo> are not read: where they close loops, say so in "
            "<constraint> or a side file"
        )
        yield Finding(Severity.WARNING, "robot", (), what)
    if springs:
        what = "a spring in <gazebo> is not read: the dynamics here have none"
        yield Finding(Severity.WARNING, "joint", tuple(springs), what)
    if weightless:
        what = "gravity is switched off in <gazebo>, but not here"
        yield Finding(Severity.NOTE, "link", tuple(weightless), what)


def unknown_joints(subject: Subject) -> Iterator[Finding]:
    """Find transmissions and ros2_control joints that are for no joint of the robot."""
    joints = {joint.name for joint in subject.urdf_joints()}
    unknown = {
        "transmission": _unknown(subject, "transmission", joints),
        "ros2_control": _unknown(subject, "ros2_control", joints),
    }
    for tag, names in unknown.items():
        if names:
            what = f"<{tag}> is for {listed(names)}, which the robot does not have: correct the name"
            yield Finding(Severity.WARNING, "robot", (), what)


def _unknown(subject: Subject, tag: str, joints: set[str]) -> list[str]:
    named = (
        joint.attributes.get("name", "")
        for element in subject.elements(tag)
        if element.attributes.get("type") != "sensor"
        for joint in element.all("joint")
    )
    return [name for name in dict.fromkeys(named) if name and name not in joints]


def _parts(subject: Subject) -> Iterator[tuple[Element, Element]]:
    """Answer links and joints, and the elements in them that matter, each with its link or joint."""
    for owner in (*subject.elements("link"), *subject.elements("joint")):
        yield owner, owner
        for child in owner.children:
            if child.tag in ONCE[owner.tag]:
                yield owner, child
                if child.tag == "inertial":
                    yield from ((owner, part) for part in child.children if part.tag in ONCE["inertial"])


def _of(severity: Severity, owner: Element, what: str) -> Finding:
    return Finding(severity, owner.tag, (owner.attributes.get("name", "").strip(),), what)


def _of_all(severity: Severity, owners: list[Element], what: str) -> Finding:
    names = dict.fromkeys(owner.attributes.get("name", "").strip() for owner in owners)
    return Finding(severity, owners[0].tag, tuple(names), what)
