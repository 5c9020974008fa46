# SPDX-License-Identifier: Apache-2.0
"""A URDF with new inertia and friction; everything else in its text stays as it is.

The link that a joint moves gets the inertia of all that moves with it: links that fixed joints hold on it
lose their <inertial>, as what a log says of a body cannot be divided among them. Simulators merge such links
in any case, and what is left of each is a possible body.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dyn_core.facade.write import write_urdf
from dyn_core.geometry.describe_robot import link_inertial
from dyn_core.io.xml_spans import Edit, Span, edited, indentation, xml_spans
from dyn_core.model.link_frame import LinkFrame
from dyn_core.robot.description import UrdfInertial
from dyn_core.robot.joints import Joint
from dyn_core.robot.robot import Robot
from dyn_core.robot.robot_files import Loaded
from dyn_core.robot.urdf.writer import number_text, quoted

_STEP = "  "


@dataclass(frozen=True)
class IdentifiedUrdf:
    """A URDF, and what it does not say.

    Attributes:
        text: the URDF.
        remarks: what is to be known of it, in sentences.
    """

    text: str
    remarks: tuple[str, ...]


def identified_urdf(loaded: Loaded, robot: Robot) -> IdentifiedUrdf:
    """Answer the description of a robot with other parameters.

    Args:
        loaded: what the description says.
        robot: the same robot, with the parameters that the new one is to have.
    """
    remarks = tuple(_remarks(robot))
    comment = "; ".join(("inertia and friction identified by dyn identify", *remarks)).replace("--", "-")
    if loaded.description is None:
        text = write_urdf(robot)
        head, root, rest = text.partition("<robot")
        return IdentifiedUrdf(f"{head}<!-- {comment} -->\n{root}{rest}", remarks)
    body = loaded.text.removeprefix("\ufeff").lstrip()
    data = body.encode()
    root_span = xml_spans(data)
    edits = [Edit(root_span.inside, root_span.inside, f"\n{_STEP}<!-- {comment} -->".encode())]
    edits += _of_links(data, root_span, robot)
    edits += _of_joints(data, root_span, robot)
    return IdentifiedUrdf(edited(data, edits).decode(), remarks)


def _remarks(robot: Robot) -> Iterator[str]:
    offsets = [joint for joint in robot.joints if joint.friction.Fo]
    if offsets:
        said = ", ".join(f"{joint.name} {joint.friction.Fo:.4g} {joint.effort_unit}" for joint in offsets)
        yield f"offset torques, for which URDF has no place, are in parameters.yaml: {said}"
    linked = {frame.body for frame in robot.link_frames}
    lost = [joint for j, joint in enumerate(robot.joints, start=1) if j not in linked and robot.bodies[j].M]
    if lost:
        names = ", ".join(joint.name for joint in lost)
        yield f"what moves with {names} has no link in the URDF: its inertia is in parameters.yaml alone"
    if any(joint.Ia for joint in robot.joints):
        yield "armature is the inertia of the rotor seen at the joint, which dyn reads and many others do not"


def _of_links(data: bytes, root: Span, robot: Robot) -> Iterator[Edit]:
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
            yield Edit(old.start, old.end, new.encode())


def _with_inertial(data: bytes, link: Span, old: Span | None, inertial: UrdfInertial) -> Edit:
    if old is not None:
        own = indentation(data, old.start)
        return Edit(old.start, old.end, _inertial(inertial, own or "").encode())
    outer = indentation(data, link.start) or ""
    text = f"\n{outer}{_STEP}{_inertial(inertial, outer + _STEP)}"
    if link.is_empty_tag:
        return Edit(link.inside - 2, link.inside, f">{text}\n{outer}</link>".encode())
    return Edit(link.inside, link.inside, text.encode())


def _inertial(inertial: UrdfInertial, indent: str) -> str:
    """Answer the element, of which the first line is where it belongs."""
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    moments = " ".join(f'{name}="{number_text(getattr(inertial, name))}"' for name in names)
    centre = " ".join(map(number_text, inertial.origin.xyz))
    inner = f"\n{indent}{_STEP}"
    return (
        f'<inertial>{inner}<origin xyz="{centre}" rpy="0 0 0"/>{inner}'
        f'<mass value="{number_text(inertial.mass)}"/>{inner}<inertia {moments}/>\n{indent}</inertial>'
    )


def _of_joints(data: bytes, root: Span, robot: Robot) -> Iterator[Edit]:
    by_name = {joint.name: joint for joint in robot.joints}
    for span in root.all("joint"):
        joint = by_name.get(span.attributes.get("name", "").strip())
        if joint is None:
            continue  # fixed, or one that is made of several
        old = span.first("dynamics")
        if old is not None:
            end = "/>" if old.is_empty_tag else ">"
            yield Edit(old.start, old.inside, f"{_dynamics(joint, old.attributes)}{end}".encode())
        else:
            inner = indentation(data, span.children[0].start)
            before = f"\n{inner}" if inner is not None else ""
            place = span.children[-1].end
            yield Edit(place, place, f"{before}{_dynamics(joint, {})}/>".encode())


def _dynamics(joint: Joint, old: dict[str, str]) -> str:
    """Answer a start tag, without its end."""
    new = {"damping": joint.friction.Fv, "friction": joint.friction.Fs}
    if joint.Ia or "armature" in old:
        new["armature"] = joint.Ia
    attributes = {**old, **{name: number_text(value) for name, value in new.items()}}
    return f"<dynamics {' '.join(f'{name}={quoted(value)}' for name, value in attributes.items())}"
