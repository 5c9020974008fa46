# SPDX-License-Identifier: Apache-2.0
"""The <joint> elements of a URDF."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dyn_core.core.errors import DynError, listed, shortened
from dyn_core.io.attributes import (
    fail,
    label,
    not_negative,
    optional_number,
    origin,
    placement_number,
    text,
    vector,
    words,
)
from dyn_core.io.compound_joints import PART_NAMES, joint_names
from dyn_core.io.number import finite_number
from dyn_core.robot.description import Triple, UrdfJoint, UrdfLimit, UrdfMimic
from dyn_core.robot.xml_text import Element

MOVING_TYPES = ("revolute", "continuous", "prismatic")
KNOWN_TYPES = (*MOVING_TYPES, "fixed", *PART_NAMES)


def urdf_joints(
    robot: Element, rotor_inertia: Mapping[str, float], remarks: list[str]
) -> tuple[UrdfJoint, ...]:
    """Answer the joints in document order.

    Args:
        robot: the <robot>.
        rotor_inertia: rotor inertias by joint (kg m^2 or kg), for joints whose <dynamics> has none.
        remarks: where sentences go about what is not used.
    """
    return _with_leaders(tuple(_joint(e, rotor_inertia, remarks) for e in robot.all("joint")), remarks)


def remark_on_drives(
    joints: tuple[UrdfJoint, ...],
    rotor_inertia: Mapping[str, float],
    commanded: Mapping[str, bool],
    remarks: list[str],
) -> None:
    """Remark on rotors and command interfaces that planar and floating joints have as a whole."""
    for joint in joints:
        if joint.type in PART_NAMES:
            if rotor_inertia.get(joint.name):
                remarks.append(_unused(joint, "a rotor inertia", "give one to"))
            if commanded.get(joint.name):
                remarks.append(
                    _unused(joint, "<command_interface>", "give one to those with an actuator among")
                )


def _joint(element: Element, rotor_inertia: Mapping[str, float], remarks: list[str]) -> UrdfJoint:
    owner = label(element)
    joint = UrdfJoint(
        name=text(owner, element, "name"),
        line=element.line,
        type=_joint_type(owner, element),
        parent=text(owner, _required(owner, element, "parent"), "link"),
        child=text(owner, _required(owner, element, "child"), "link"),
        origin=origin(owner, element),
    )
    if joint.type in MOVING_TYPES:
        return _driven(owner, element, _with_axis(owner, element, joint), rotor_inertia.get(joint.name, 0.0))
    if joint.type in PART_NAMES:
        _check_unused(owner, element, joint, remarks)
    return _with_axis(owner, element, joint) if joint.type == "planar" else joint


def _with_axis(owner: str, element: Element, joint: UrdfJoint) -> UrdfJoint:
    axis = element.first("axis")
    return replace(joint, axis=_axis(owner, axis), axis_words=words(axis, "xyz"))


def _driven(owner: str, element: Element, joint: UrdfJoint, rotor_inertia: float) -> UrdfJoint:
    dynamics = element.first("dynamics")
    armature = not_negative(owner, dynamics, "armature")
    return replace(
        joint,
        limit=_limit(owner, element.first("limit"), joint.type != "continuous"),
        damping=not_negative(owner, dynamics, "damping") or 0.0,
        friction=not_negative(owner, dynamics, "friction") or 0.0,
        rotor_inertia=rotor_inertia if armature is None else armature,
        mimic=_mimic(owner, element.first("mimic")),
    )


def _joint_type(owner: str, element: Element) -> str:
    kind = text(owner, element, "type")
    if kind not in KNOWN_TYPES:
        shown = shortened(kind, 40)
        raise fail(owner, element, f'type="{shown}" is unknown: use one of {", ".join(KNOWN_TYPES)}')
    return kind


def _check_unused(owner: str, element: Element, joint: UrdfJoint, remarks: list[str]) -> None:
    """Refuse what a planar or floating joint cannot have, and remark on what URDF does not define for it."""
    mimic = element.first("mimic")
    if mimic is not None:
        raise fail(owner, mimic, f"a {joint.type} joint has several positions and can mimic none: remove it")
    unused = [f"<{tag}>" for tag in ("limit", "dynamics") if _says_something(element.first(tag))]
    if unused:
        remarks.append(
            _unused(joint, " and ".join(unused), "in a side file, give friction and rotor inertia to")
        )


def _says_something(element: Element | None) -> bool:
    return element is not None and any(finite_number(value) != 0.0 for value in element.attributes.values())


def _unused(joint: UrdfJoint, what: str, remedy: str) -> str:
    return (
        f"joint '{shortened(joint.name, 60)}' (line {joint.line}): what {what} says is not used, since URDF "
        f"does not define it for a {joint.type} joint: {remedy} {listed(joint_names(joint))}"
    )


def _mimic(owner: str, element: Element | None) -> UrdfMimic | None:
    if element is None:
        return None
    multiplier = placement_number(owner, element, "multiplier")
    return UrdfMimic(
        joint=text(owner, element, "joint"),
        line=element.line,
        multiplier=1.0 if multiplier is None else multiplier,
        offset=placement_number(owner, element, "offset") or 0.0,
    )


def _with_leaders(joints: tuple[UrdfJoint, ...], remarks: list[str]) -> tuple[UrdfJoint, ...]:
    """Answer the joints, without the mimics of joints that do not exist."""
    types = {joint.name: joint.type for joint in joints}
    return tuple(_with_leader(joint, types, remarks) for joint in joints)


def _with_leader(joint: UrdfJoint, types: Mapping[str, str], remarks: list[str]) -> UrdfJoint:
    mimic = joint.mimic
    if mimic is None:
        return joint
    if types.get(mimic.joint) in PART_NAMES:
        owner = f"joint '{joint.name}'"
        raise DynError(
            f"{owner}, <mimic> (line {mimic.line}): '{shortened(mimic.joint, 40)}' is a {types[mimic.joint]} "
            "joint and has several positions: mimic a joint that has one",
            element=owner,
            line=mimic.line,
        )
    if mimic.joint in types:
        return joint
    remarks.append(
        f"joint '{joint.name}', <mimic> (line {mimic.line}): it mimics '{shortened(mimic.joint, 40)}', "
        "which is no joint: it moves by itself"
    )
    return replace(joint, mimic=None)


def _axis(owner: str, element: Element | None) -> Triple:
    axis = vector(owner, element, "xyz", (1.0, 0.0, 0.0))
    if element is not None and axis == (0.0, 0.0, 0.0):
        raise fail(owner, element, 'the axis is zero: give a direction such as xyz="0 0 1"')
    return axis


def _limit(owner: str, element: Element | None, bounded: bool) -> UrdfLimit:
    lower = optional_number(owner, element, "lower")
    upper = optional_number(owner, element, "upper")
    if lower is not None or upper is not None:
        lower, upper = lower or 0.0, upper or 0.0  # URDF's default for the one not given
        if element is not None and bounded and lower > upper:
            raise fail(owner, element, f"lower={lower:g} is greater than upper={upper:g}")
    return UrdfLimit(
        lower=lower,
        upper=upper,
        effort=not_negative(owner, element, "effort"),
        velocity=not_negative(owner, element, "velocity"),
    )


def _required(owner: str, element: Element, tag: str) -> Element:
    child = element.first(tag)
    if child is None:
        raise fail(owner, element, f"it has no <{tag}>: add one")
    return child
