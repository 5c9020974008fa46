# SPDX-License-Identifier: Apache-2.0
"""A URDF with new inertia and friction; everything else in its text stays.

The link that a joint moves gets the inertia of all bodies that move with it. Links on fixed joints lose their
<inertial>: a log does not divide a body among them. Simulators merge such links anyway, and each remaining
link is a possible body.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dyn_core.core.messages import Message
from dyn_core.robot.description import UrdfInertial
from dyn_core.robot.joints import Joint
from dyn_core.robot.links import LinkFrame
from dyn_core.robot.robot import Robot
from dyn_core.robot.robot_files import Loaded, write_urdf
from dyn_core.robot.urdf.writer import inertial_lines, link_inertial, number_text, quoted
from dyn_core.robot.xml_text import Edit, Element, edited, indentation, parse_xml, span

_STEP = "  "


@dataclass(frozen=True)
class IdentifiedUrdf:
    """A URDF, and remarks about what it does not contain."""

    text: str
    remarks: tuple[Message, ...]


def identified_urdf(loaded: Loaded, robot: Robot) -> IdentifiedUrdf:
    """Return the description of a robot with the parameters of `robot`."""
    remarks = tuple(_remarks(robot))
    sentences = ("inertia and friction identified by dyn identify", *map(str, remarks))
    comment = "; ".join(sentences).replace("--", "-")
    if loaded.description is None:
        text = write_urdf(robot)
        head, tag, rest = text.partition("<robot")
        return IdentifiedUrdf(f"{head}<!-- {comment} -->\n{tag}{rest}", remarks)
    body = loaded.text.removeprefix("\ufeff").lstrip()
    data = body.encode()
    root = parse_xml(body)
    inside = span(data, root).inside
    edits = [Edit(inside, inside, f"\n{_STEP}<!-- {comment} -->".encode())]
    edits += _of_links(data, root, robot)
    edits += _of_joints(data, root, robot)
    return IdentifiedUrdf(edited(data, edits).decode(), remarks)


def _remarks(robot: Robot) -> Iterator[Message]:
    offsets = [joint for joint in robot.joints if joint.friction.Fo]
    if offsets:
        of_joints = tuple(
            Message("offset-of-joint", joint=joint.name, offset=joint.friction.Fo, unit=joint.effort_unit)
            for joint in offsets
        )
        yield Message("urdf-without-offsets", offsets=of_joints)
    linked = {frame.body for frame in robot.link_frames}
    lost = [joint for j, joint in enumerate(robot.joints, start=1) if j not in linked and robot.bodies[j].M]
    if lost:
        yield Message("urdf-without-link", joints=tuple(joint.name for joint in lost))
    if any(joint.Ia for joint in robot.joints):
        yield Message("urdf-with-armature")


def _of_links(data: bytes, root: Element, robot: Robot) -> Iterator[Edit]:
    carriers: dict[int, LinkFrame] = {}
    for frame in robot.link_frames:
        if frame.body:
            carriers.setdefault(frame.body, frame)
    inertials = {frame.name: link_inertial(robot, frame) for frame in carriers.values()}
    moving = {frame.name for frame in robot.link_frames if frame.body}
    for link in root.all("link"):
        name = link.attributes.get("name", "").strip()
        if name not in moving:
            continue
        old, inertial = link.first("inertial"), inertials.get(name)
        if inertial is not None:
            yield _with_inertial(data, link, old, inertial)
        elif old is not None:
            new = "<!-- the inertial parameters are those of the link that this one is fixed to -->"
            yield Edit(old.start, span(data, old).end, new.encode())


def _with_inertial(data: bytes, link: Element, old: Element | None, inertial: UrdfInertial) -> Edit:
    lines = inertial_lines(inertial)
    if old is not None:
        own = indentation(data, old.start) or ""
        return Edit(old.start, span(data, old).end, f"\n{own}".join(lines).encode())
    outer = indentation(data, link.start) or ""
    text = "".join(f"\n{outer}{_STEP}{line}" for line in lines)
    place = span(data, link)
    if place.is_empty_tag:
        return Edit(place.inside - 2, place.inside, f">{text}\n{outer}</link>".encode())
    return Edit(place.inside, place.inside, text.encode())


def _of_joints(data: bytes, root: Element, robot: Robot) -> Iterator[Edit]:
    by_name = {joint.name: joint for joint in robot.joints}
    for element in root.all("joint"):
        joint = by_name.get(element.attributes.get("name", "").strip())
        if joint is None:
            continue  # fixed, or one that is made of several
        old = element.first("dynamics")
        if old is not None:
            place = span(data, old)
            end = "/>" if place.is_empty_tag else ">"
            yield Edit(old.start, place.inside, f"{_dynamics(joint, old.attributes)}{end}".encode())
        else:
            inner = indentation(data, element.children[0].start)
            before = f"\n{inner}" if inner is not None else ""
            after = span(data, element.children[-1]).end
            yield Edit(after, after, f"{before}{_dynamics(joint, {})}/>".encode())


def _dynamics(joint: Joint, old: dict[str, str]) -> str:
    """Return a start tag, without its end."""
    new = {"damping": joint.friction.Fv, "friction": joint.friction.Fs}
    if joint.Ia or "armature" in old:
        new["armature"] = joint.Ia
    attributes = {**old, **{name: number_text(value) for name, value in new.items()}}
    return f"<dynamics {' '.join(f'{name}={quoted(value)}' for name, value in attributes.items())}"
