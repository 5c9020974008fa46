# SPDX-License-Identifier: Apache-2.0
"""URDF text to a `UrdfDescription`.

Read are the <link> and <joint> elements directly under <robot>, and of them what has to do with
motion and mass; of <transmission> and <ros2_control> what `actuation` says, and the loops that
`urdf_loops` describes. Everything else (visual, collision, gazebo, ...) is for others and ignored.
"""

from __future__ import annotations

from dyn_core.core.errors import DynError, shortened
from dyn_core.io.attributes import fail, label, mass_number, origin, text
from dyn_core.io.compound_joints import joint_names, refuse_name_clashes
from dyn_core.io.tree_check import root_of_tree
from dyn_core.io.urdf_loops import urdf_loops
from dyn_core.robot.description import UrdfDescription, UrdfInertial, UrdfLink
from dyn_core.robot.urdf.joint_elements import remark_on_drives, urdf_joints
from dyn_core.robot.urdf.reader import commanded_joints, driven_joints, passive_joints, transmission_inertias
from dyn_core.robot.xml_text import Element, parse_xml


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
    _refuse_xacro(robot)
    remarks: list[str] = []
    name = robot.attributes.get("name", "").strip()
    if not name:
        remarks.append(f"robot (line {robot.line}): it has no name: it is called '{name_if_none}' here")
    links = tuple(_link(element, remarks) for element in robot.all("link"))
    rotor_inertia = transmission_inertias(robot)
    joints = urdf_joints(robot, rotor_inertia, remarks)
    root = root_of_tree(links, joints)
    refuse_name_clashes(links, joints)
    commanded = commanded_joints(robot)
    remark_on_drives(joints, rotor_inertia, commanded, remarks)
    parts = tuple(name for joint in joints for name in joint_names(joint))
    return UrdfDescription(
        name=name or name_if_none,
        root=root,
        links=links,
        joints=joints,
        loops=urdf_loops(robot, remarks),
        passive=passive_joints(commanded, parts),
        driven=driven_joints(robot, commanded),
        remarks=tuple(remarks),
        part_rotor_inertias=tuple((name, rotor_inertia[name]) for name in parts if name in rotor_inertia),
    )


def _refuse_xacro(robot: Element) -> None:
    """Raise DynError where an element is left for xacro, which may make parts of the robot of it."""
    ahead = [robot]
    while ahead:
        element = ahead.pop()
        if element.tag.startswith("xacro:"):
            shown = shortened(element.tag, 40)
            raise DynError(
                f"<{shown}> (line {element.line}): this is xacro, not yet URDF: run xacro on the file first",
                element=shown,
                line=element.line,
            )
        ahead.extend(reversed(element.children))


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
    return UrdfInertial(origin(owner, element), mass, *_inertia(owner, element.first("inertia")))


def _mass(owner: str, element: Element | None) -> float:
    mass = 0.0 if element is None else mass_number(owner, element, "value")
    if element is not None and mass < 0.0:
        raise fail(owner, element, f"the mass is {mass:g} kg: it cannot be negative")
    return mass


def _inertia(owner: str, element: Element | None) -> tuple[float, ...]:
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    return tuple(0.0 if element is None else mass_number(owner, element, name) for name in names)
