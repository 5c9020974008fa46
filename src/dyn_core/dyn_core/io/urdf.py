# SPDX-License-Identifier: Apache-2.0
"""URDF text to a `UrdfDescription`.

Read are the <link> and <joint> elements directly under <robot>, and of them what has to do with
motion and mass. Everything else (visual, collision, gazebo, ros2_control, transmission, ...) is
for others and ignored.
"""

from __future__ import annotations

from dyn_core.errors import DynError, shortened
from dyn_core.io.attributes import (
    fail,
    label,
    mass_number,
    not_negative,
    optional_number,
    placement_vector,
    text,
    vector,
)
from dyn_core.io.description import (
    Triple,
    UrdfDescription,
    UrdfInertial,
    UrdfJoint,
    UrdfLimit,
    UrdfLink,
    UrdfOrigin,
)
from dyn_core.io.tree_check import root_of_tree
from dyn_core.io.xml import Element, parse_xml

MOVING_TYPES = ("revolute", "continuous", "prismatic")
LATER_TYPES = ("floating", "planar")


def parse_urdf(urdf: str) -> UrdfDescription:
    """Answer what URDF text says; DynError, with element and line, where it cannot be a robot."""
    robot = parse_xml(urdf)
    if robot.tag != "robot":
        raise DynError(
            f"the root element (line {robot.line}) is <{shortened(robot.tag, 40)}>, where a URDF has <robot>",
            element=shortened(robot.tag, 40),
            line=robot.line,
        )
    name = text("robot", robot, "name")
    links = tuple(_link(element) for element in robot.all("link"))
    joints = tuple(_joint(element) for element in robot.all("joint"))
    return UrdfDescription(name, root_of_tree(links, joints), links, joints)


def _link(element: Element) -> UrdfLink:
    owner = label(element)
    name = text(owner, element, "name")
    inertial = element.first("inertial")
    return UrdfLink(name, element.line, None if inertial is None else _inertial(owner, inertial))


def _inertial(owner: str, element: Element) -> UrdfInertial:
    mass_element = _required(owner, element, "mass")
    mass = mass_number(owner, mass_element, "value")
    if mass < 0.0:
        raise fail(owner, mass_element, f"the mass is {mass:g} kg: it cannot be negative")
    inertia = _required(owner, element, "inertia")
    ixx, ixy, ixz, iyy, iyz, izz = (
        mass_number(owner, inertia, name) for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    )
    return UrdfInertial(_origin(owner, element), mass, ixx, ixy, ixz, iyy, iyz, izz)


def _joint(element: Element) -> UrdfJoint:
    owner = label(element)
    name = text(owner, element, "name")
    kind = _joint_type(owner, element)
    dynamics = element.first("dynamics") if kind != "fixed" else None
    return UrdfJoint(
        name=name,
        line=element.line,
        type=kind,
        parent=text(owner, _required(owner, element, "parent"), "link"),
        child=text(owner, _required(owner, element, "child"), "link"),
        origin=_origin(owner, element),
        axis=_axis(owner, element.first("axis")) if kind != "fixed" else (1.0, 0.0, 0.0),
        limit=_limit(owner, element.first("limit")) if kind != "fixed" else UrdfLimit(),
        damping=not_negative(owner, dynamics, "damping") or 0.0,
        friction=not_negative(owner, dynamics, "friction") or 0.0,
    )


def _joint_type(owner: str, element: Element) -> str:
    kind = text(owner, element, "type")
    known = (*MOVING_TYPES, "fixed")
    if kind in LATER_TYPES:
        raise fail(owner, element, f"joints of type {kind} are not supported yet")
    if kind not in known:
        shown = shortened(kind, 40)
        raise fail(owner, element, f'type="{shown}" is unknown: use one of {", ".join(known)}')
    mimic = element.first("mimic")
    if mimic is not None and kind != "fixed":
        raise fail(owner, mimic, "mimic joints are not supported yet")
    return kind


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
    return UrdfOrigin(xyz=placement_vector(owner, origin, "xyz"), rpy=placement_vector(owner, origin, "rpy"))


def _required(owner: str, element: Element, tag: str) -> Element:
    child = element.first(tag)
    if child is None:
        raise fail(owner, element, f"it has no <{tag}>: add one")
    return child
