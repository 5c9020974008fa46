# SPDX-License-Identifier: Apache-2.0
"""A `UrdfDescription` as URDF text, from which `parse_urdf` gets the same description."""

from __future__ import annotations

from collections.abc import Iterator

from dyn_core.robot.description import (
    Triple,
    UrdfDescription,
    UrdfInertial,
    UrdfJoint,
    UrdfLink,
    UrdfLoop,
    UrdfOrigin,
)

_ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
)


def urdf_text(description: UrdfDescription) -> str:
    """Answer URDF text: every number with all its digits, one element a line."""
    lines = ['<?xml version="1.0"?>', f"<robot name={quoted(description.name)}>"]
    for link in description.links:
        lines += _link(link)
    for joint in description.joints:
        lines += _joint(joint)
    for loop in description.loops:
        lines += _loop(loop)
    return "\n".join([*lines, "</robot>", ""])


def quoted(text: str) -> str:
    """Answer a text as the value of an attribute, in quotation marks."""
    return f'"{text.translate(_ESCAPES)}"'


def number_text(x: float) -> str:
    """Answer a number with all its digits."""
    return repr(x + 0.0).removesuffix(".0")


def _link(link: UrdfLink) -> Iterator[str]:
    if link.inertial is None:
        yield f"  <link name={quoted(link.name)}/>"
        return
    yield f"  <link name={quoted(link.name)}>"
    yield from _inertial(link.inertial)
    yield "  </link>"


def _inertial(m: UrdfInertial) -> Iterator[str]:
    moments = {"ixx": m.ixx, "ixy": m.ixy, "ixz": m.ixz, "iyy": m.iyy, "iyz": m.iyz, "izz": m.izz}
    entries = " ".join(f'{name}="{number_text(value)}"' for name, value in moments.items())
    yield "    <inertial>"
    yield f"      {_origin('origin', m.origin)}"
    yield f'      <mass value="{number_text(m.mass)}"/>'
    yield f"      <inertia {entries}/>"
    yield "    </inertial>"


def _joint(joint: UrdfJoint) -> Iterator[str]:
    yield f'  <joint name={quoted(joint.name)} type="{joint.type}">'
    yield f"    <parent link={quoted(joint.parent)}/>"
    yield f"    <child link={quoted(joint.child)}/>"
    yield f"    {_origin('origin', joint.origin)}"
    if joint.type != "fixed":
        yield f"    {_xyz('axis', joint.axis)}"
        limit = joint.limit
        bounds = {
            "lower": limit.lower,
            "upper": limit.upper,
            "effort": limit.effort,
            "velocity": limit.velocity,
        }
        yield from _element("limit", bounds)
        drive = {
            "damping": joint.damping,
            "friction": joint.friction,
            "armature": joint.rotor_inertia or None,
        }
        if any(drive.values()):
            yield from _element("dynamics", drive)
        if joint.mimic is not None:
            mimic = joint.mimic
            yield (
                f"    <mimic joint={quoted(mimic.joint)} "
                f'multiplier="{number_text(mimic.multiplier)}" offset="{number_text(mimic.offset)}"/>'
            )
    yield "  </joint>"


def _loop(loop: UrdfLoop) -> Iterator[str]:
    yield f'  <constraint name={quoted(loop.name)} type="{loop.type}">'
    for side, end, axis in (
        ("parent", loop.parent, loop.axis),
        ("child", loop.child, loop.child_axis or loop.axis),
    ):
        yield f"    <{side} link={quoted(end.link)}/>"
        yield f"    {_origin(f'{side}_origin', end.origin)}"
        yield f"    {_xyz(f'{side}_axis', axis)}"
    yield "  </constraint>"


def _element(tag: str, attributes: dict[str, float | None]) -> Iterator[str]:
    given = [f'{name}="{number_text(value)}"' for name, value in attributes.items() if value is not None]
    if given:
        yield f"    <{tag} {' '.join(given)}/>"


def _origin(tag: str, origin: UrdfOrigin) -> str:
    return f'<{tag} xyz="{_words(origin.xyz)}" rpy="{_words(origin.rpy)}"/>'


def _xyz(tag: str, vector: Triple) -> str:
    return f'<{tag} xyz="{_words(vector)}"/>'


def _words(vector: Triple) -> str:
    return " ".join(map(number_text, vector))
