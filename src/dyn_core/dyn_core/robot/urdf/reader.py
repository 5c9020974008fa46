# SPDX-License-Identifier: Apache-2.0
"""What a URDF says beside its joints about their actuators: rotor inertias, and which have none.

Rotor inertias, of which the first that is there counts:

* ``<dynamics armature="0.1">``, seen at the joint, as exporters for simulators write it;
* ``<ros2_control> <joint name="..."> <param name="rotor_inertia">0.1</param>``, seen at the joint;
* ``<transmission> <joint name="..."/> <actuator> <drake:rotor_inertia value="1e-4"/>
  <drake:gear_ratio value="100"/>``, as Drake reads it: the inertia of the rotor itself, which the
  joint sees multiplied by the square of the ratio. Where there is no ``drake:gear_ratio``, a
  ``<mechanicalReduction>`` of the actuator or the joint is the ratio, and 1 where there is none.

A joint is passive where <ros2_control> lists it without a <command_interface>. What planar and
floating joints are made of is passive unless it is listed with one, by its own name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dyn_core.core.errors import shortened
from dyn_core.io.attributes import LARGEST_MASS, fail, label, mass_number, number
from dyn_core.io.number import finite_number
from dyn_core.robot.xml_text import Element


def transmission_inertias(robot: Element) -> dict[str, float]:
    """Answer the rotor inertias seen at the joints (kg m^2 or kg), by joint, that are not <dynamics>."""
    inertias: dict[str, float] = {}
    for transmission in robot.all("transmission"):
        joint, actuator = transmission.first("joint"), transmission.first("actuator")
        rotor = None if actuator is None else actuator.first("drake:rotor_inertia")
        if joint is not None and actuator is not None and rotor is not None:
            owner = label(transmission)
            ratio = _ratio(owner, actuator, joint)
            inertia = mass_number(owner, rotor, "value") * ratio * ratio
            inertias[joint.attributes.get("name", "")] = _checked(owner, rotor, inertia)
    for joint in _controlled(robot):
        for param in joint.all("param"):
            if param.attributes.get("name") == "rotor_inertia":
                owner = f"ros2_control, {label(joint)}"
                inertia = _text_number(owner, param)
                inertias[joint.attributes.get("name", "")] = _checked(owner, param, inertia)
    return inertias


def commanded_joints(robot: Element) -> dict[str, bool]:
    """Answer by name of joint that <ros2_control> lists whether it has a <command_interface>."""
    commanded: dict[str, bool] = {}
    for joint in _controlled(robot):
        name = joint.attributes.get("name", "")
        commanded[name] = commanded.get(name, False) or joint.first("command_interface") is not None
    return commanded


def driven_joints(robot: Element, commanded: Mapping[str, bool]) -> tuple[str, ...]:
    """Answer the names that <ros2_control> or a <transmission> gives an actuator, whatever they are of."""
    names = [name for name, is_commanded in commanded.items() if is_commanded]
    for transmission in robot.all("transmission"):
        if transmission.first("actuator") is not None:
            names += [joint.attributes.get("name", "") for joint in transmission.all("joint")]
    return tuple(dict.fromkeys(names))


def passive_joints(commanded: Mapping[str, bool], parts: Sequence[str]) -> tuple[str, ...]:
    """Answer the names of the joints without an actuator.

    Args:
        commanded: what `commanded_joints` answers.
        parts: the joints that planar and floating joints will be made of.
    """
    listed = {**dict.fromkeys(parts, False), **commanded}
    return tuple(name for name, is_commanded in listed.items() if not is_commanded)


def _controlled(robot: Element) -> Iterator[Element]:
    """Answer the joints of all <ros2_control> that drive joints."""
    for control in robot.all("ros2_control"):
        if control.attributes.get("type") != "sensor":
            yield from control.all("joint")


def _ratio(owner: str, actuator: Element, joint: Element) -> float:
    drake = actuator.first("drake:gear_ratio")
    if drake is not None:
        return number(owner, drake, "value")
    for carrier in (actuator, joint):
        for tag in ("mechanicalReduction", "mechanical_reduction"):
            reduction = carrier.first(tag)
            if reduction is not None:
                return _text_number(owner, reduction)
    return 1.0


def _text_number(owner: str, element: Element) -> float:
    value = finite_number(element.text)
    if value is None:
        raise fail(owner, element, f'it holds "{shortened(element.text, 40)}": write a finite number')
    return value


def _checked(owner: str, element: Element, inertia: float) -> float:
    if not 0.0 <= inertia <= LARGEST_MASS:
        raise fail(owner, element, f"the rotor inertia is {inertia:g}: give 0 to {LARGEST_MASS:g}")
    return inertia
