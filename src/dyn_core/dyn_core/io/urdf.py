# SPDX-License-Identifier: Apache-2.0
"""URDF text to a `UrdfDescription`.

Read are the <link> and <joint> elements directly under <robot>, and of them what has to do with
motion and mass; of <transmission> and <ros2_control> what `actuation` says, and the loops that
`urdf_loops` describes. Everything else (visual, collision, gazebo, ...) is for others and ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dyn_core.errors import DynError, shortened
from dyn_core.io.actuation import transmission_inertias, uncommanded_joints
from dyn_core.io.attributes import (
    fail,
    label,
    mass_number,
    not_negative,
    optional_number,
    placement_number,
    placement_vector,
    text,
    vector,
    words,
)
from dyn_core.io.description import (
    Triple,
    UrdfDescription,
    UrdfInertial,
    UrdfJoint,
    UrdfLimit,
    UrdfLink,
    UrdfMimic,
    UrdfOrigin,
)
from dyn_core.io.tree_check import root_of_tree
from dyn_core.io.urdf_loops import urdf_loops
from dyn_core.io.xml import Element, parse_xml

MOVING_TYPES = ("revolute", "continuous", "prismatic")
LATER_TYPES = ("floating", "planar")


def parse_urdf(urdf: str, name_if_none: str = "robot") -> UrdfDescription:
    """Answer what URDF text says; DynError, with element and line, where it cannot be a robot.

    What others load is not refused: a robot without a name, an <inertial> without mass or inertia
    and a <mimic> of no joint are remarked on, and read as `name_if_none`, zero and no mimic.
    """
    robot = parse_xml(urdf)
    if robot.tag != "robot":
        raise DynError(
            f"the root element (line {robot.line}) is <{shortened(robot.tag, 40)}>, where a URDF has <robot>",
            element=shortened(robot.tag, 40),
            line=robot.line,
        )
    remarks: list[str] = []
    name = robot.attributes.get("name", "").strip()
    if not name:
        remarks.append(f"robot (line {robot.line}): it has no name: it is called '{name_if_none}' here")
    links = tuple(_link(element, remarks) for element in robot.all("link"))
    rotor_inertia = transmission_inertias(robot)
    joints = _known_leaders(tuple(_joint(e, rotor_inertia) for e in robot.all("joint")), remarks)
    root = root_of_tree(links, joints)
    return UrdfDescription(
        name=name or name_if_none,
        root=root,
        links=links,
        joints=joints,
        loops=urdf_loops(robot),
        passive=uncommanded_joints(robot),
        remarks=tuple(remarks),
    )


def _link(element: Element, remarks: list[str]) -> UrdfLink:
    owner = label(element)
    name = text(owner, element, "name")
    inertial = element.first("inertial")
    return UrdfLink(name, element.line, None if inertial is None else _inertial(owner, inertial, remarks))


def _inertial(owner: str, element: Element, remarks: list[str]) -> UrdfInertial:
    remarks.extend(
        f"{owner}, <inertial> (line {element.line}): it has no <{tag}>: zero is used"
        for tag in ("mass", "inertia")
        if element.first(tag) is None
    )
    mass = _mass(owner, element.first("mass"))
    return UrdfInertial(_origin(owner, element), mass, *_inertia(owner, element.first("inertia")))


def _mass(owner: str, element: Element | None) -> float:
    mass = 0.0 if element is None else mass_number(owner, element, "value")
    if element is not None and mass < 0.0:
        raise fail(owner, element, f"the mass is {mass:g} kg: it cannot be negative")
    return mass


def _inertia(owner: str, element: Element | None) -> tuple[float, ...]:
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    return tuple(0.0 if element is None else mass_number(owner, element, name) for name in names)


def _joint(element: Element, rotor_inertia: Mapping[str, float]) -> UrdfJoint:
    owner = label(element)
    name = text(owner, element, "name")
    kind = _joint_type(owner, element)
    dynamics = element.first("dynamics") if kind != "fixed" else None
    armature = not_negative(owner, dynamics, "armature")
    return UrdfJoint(
        name=name,
        line=element.line,
        type=kind,
        parent=text(owner, _required(owner, element, "parent"), "link"),
        child=text(owner, _required(owner, element, "child"), "link"),
        origin=_origin(owner, element),
        axis=_axis(owner, element.first("axis")) if kind != "fixed" else (1.0, 0.0, 0.0),
        axis_words=words(element.first("axis"), "xyz") if kind != "fixed" else (),
        limit=_limit(owner, element.first("limit")) if kind != "fixed" else UrdfLimit(),
        damping=not_negative(owner, dynamics, "damping") or 0.0,
        friction=not_negative(owner, dynamics, "friction") or 0.0,
        rotor_inertia=rotor_inertia.get(name, 0.0) if armature is None else armature,
        mimic=_mimic(owner, element.first("mimic")) if kind != "fixed" else None,
    )


def _joint_type(owner: str, element: Element) -> str:
    kind = text(owner, element, "type")
    known = (*MOVING_TYPES, "fixed")
    if kind in LATER_TYPES:
        raise fail(owner, element, f"joints of type {kind} are not supported yet")
    if kind not in known:
        shown = shortened(kind, 40)
        raise fail(owner, element, f'type="{shown}" is unknown: use one of {", ".join(known)}')
    return kind


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


def _known_leaders(joints: tuple[UrdfJoint, ...], remarks: list[str]) -> tuple[UrdfJoint, ...]:
    """Answer the joints, without the mimics of joints that do not exist."""
    names = {joint.name for joint in joints}
    return tuple(_known_leader(joint, names, remarks) for joint in joints)


def _known_leader(joint: UrdfJoint, names: set[str], remarks: list[str]) -> UrdfJoint:
    mimic = joint.mimic
    if mimic is None or mimic.joint in names:
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


def _limit(owner: str, element: Element | None) -> UrdfLimit:
    lower = optional_number(owner, element, "lower")
    upper = optional_number(owner, element, "upper")
    if lower is not None or upper is not None:
        lower, upper = lower or 0.0, upper or 0.0  # URDF's default for the one not given
        if element is not None and lower > upper:
            raise fail(owner, element, f"lower={lower:g} is greater than upper={upper:g}")
    return UrdfLimit(
        lower=lower,
        upper=upper,
        effort=not_negative(owner, element, "effort"),
        velocity=not_negative(owner, element, "velocity"),
    )


def _origin(owner: str, element: Element) -> UrdfOrigin:
    origin = element.first("origin")
    if origin is not None and "quat_xyzw" in origin.attributes:
        raise fail(owner, origin, "quat_xyzw is not supported: give the rotation as rpy")
    return UrdfOrigin(
        xyz=placement_vector(owner, origin, "xyz"),
        rpy=placement_vector(owner, origin, "rpy"),
        rpy_words=words(origin, "rpy"),
    )


def _required(owner: str, element: Element, tag: str) -> Element:
    child = element.first(tag)
    if child is None:
        raise fail(owner, element, f"it has no <{tag}>: add one")
    return child
