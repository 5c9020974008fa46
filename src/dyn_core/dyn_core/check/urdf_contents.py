# SPDX-License-Identifier: Apache-2.0
"""Check the URDF itself: elements that are not read, guesses of the reader, names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dyn_core.check.subject import Subject, finding_of_warning
from dyn_core.core.findings import Finding, Severity
from dyn_core.core.messages import Message
from dyn_core.robot.urdf.reader import UNREAD_CODES, unread_findings

# Elements that are not read

FALSE = ("0", "false", "")


def unread(subject: Subject) -> Iterator[Finding]:
    """Find elements and attributes that are not read, or only in part, and could change the dynamics."""
    if subject.xml is not None:
        yield from unread_findings(subject.xml)


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


def remarks(subject: Subject) -> Iterator[Finding]:
    """Return a finding for each remark of the readers, but for those that `unread` finds."""
    return (finding_of_warning(each) for each in subject.remarks if each.code not in UNREAD_CODES)


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
