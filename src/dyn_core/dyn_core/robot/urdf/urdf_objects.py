# SPDX-License-Identifier: Apache-2.0
"""Robots of urdf_parser_py as URDF text, and back.

Its classes have neither the inertia of a rotor nor loops. `Robot` below has both in its attributes and its
XML: ``<dynamics armature="...">`` and ``<constraint>``. `robot_files` imports this module only when it is
needed, because urdf_parser_py is optional and slow to import.
"""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from dyn_core.core.errors import DynError, shortened

try:
    from urdf_parser_py import urdf
    from urdf_parser_py import xml_reflection as reflection
except ImportError as error:
    raise ImportError(
        "urdf_parser_py is not installed: run `python3 -m pip install urdf-parser-py`, or install the ROS "
        "package urdfdom_py"
    ) from error

_NOT_DYNAMICS = {"visual", "collision", "material", "gazebo", "safety_controller", "calibration"}


def _extend(new: Any, old: Any, *params: Any) -> None:
    """Give a class the XML of another, with more or other attributes and elements."""
    known = {**old.XML_REFL.paramMap, **{param.xml_var: param for param in params}}
    reflection.reflect(new, tag=old.XML_REFL.tag, params=list(known.values()))


class JointDynamics(urdf.JointDynamics):  # type: ignore[misc]
    """A <dynamics> with the inertia of the rotor as the joint feels it (kg m^2 or kg)."""

    armature: float | None = None


class Joint(urdf.Joint):  # type: ignore[misc]
    """A <joint> whose <dynamics> may have a rotor inertia."""


class Constraint(reflection.Object):  # type: ignore[misc]
    """A <constraint>: a joint that closes a loop, with the attributes that `joint_elements` reads."""


class Robot(urdf.Robot):  # type: ignore[misc]
    """A <robot> with the joints that close its loops in `constraints`."""

    def __init__(self, *args: Any, **named: Any) -> None:
        """Begin without loops."""
        super().__init__(*args, **named)
        self.constraints: list[Constraint] = []


_extend(JointDynamics, urdf.JointDynamics, reflection.Attribute("armature", float, False))
_extend(Joint, urdf.Joint, reflection.Element("dynamics", JointDynamics, False))
reflection.reflect(
    Constraint,
    tag="constraint",
    params=[
        *(reflection.Attribute(name, str) for name in ("name", "type")),
        *(reflection.Element(side, "urdf.element_link") for side in ("parent", "child")),
        *(reflection.Element(f"{side}_origin", urdf.Pose, False) for side in ("parent", "child")),
        *(reflection.Element(f"{side}_axis", "urdf.element_xyz", False) for side in ("parent", "child")),
    ],
)
_extend(
    Robot,
    urdf.Robot,
    reflection.AggregateElement("joint", Joint),
    reflection.AggregateElement("constraint", Constraint),
)


def objects_of_text(text: str) -> Robot:
    """Return URDF text of `urdf_text` as a robot of urdf_parser_py."""
    robot: Robot = Robot.from_xml_string(text)
    return robot


def text_of_objects(robot: Any) -> str:
    """Return the URDF text of a robot of urdf_parser_py, as far as it concerns dynamics.

    `to_xml_string` is not used. It leaves out links and joints that were appended to their lists, and
    refuses objects whose text `load_robot` reads, such as limits without an effort.

    Raises:
        DynError: an attribute has a value that URDF cannot express, such as a name instead of numbers.
    """
    root = _object_element("robot", robot)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode")


def _object_element(tag: str, thing: Any) -> ElementTree.Element:
    """Return the XML of an object, without attributes whose value is None."""
    element = ElementTree.Element(tag)
    for param in thing.XML_REFL.paramMap.values():
        value = getattr(thing, param.var)
        if value is None or param.xml_var in _NOT_DYNAMICS:
            continue
        try:
            if param.type == "attribute":
                element.set(param.xml_var, param.value_type.to_string(value))
            else:
                for one in value if param.is_aggregate else [value]:
                    element.append(_child(param, one))
        except (AssertionError, AttributeError, TypeError, ValueError) as error:
            name = getattr(thing, "name", None)
            values = {"attribute": param.xml_var, "given": repr(value), "reason": str(error)}
            owner = tag if name is None else f"{tag} '{name}'"
            shown = tag if name is None else f"{tag} '{shortened(str(name), 60)}'"
            raise DynError("urdf-object-value", owner=owner, element=shown, **values) from error
    return element


def _child(param: Any, value: Any) -> ElementTree.Element:
    if isinstance(value, reflection.Object):
        return _object_element(param.xml_var, value)
    child = ElementTree.Element(param.xml_var)
    param.value_type.write_xml(child, value)
    return child
