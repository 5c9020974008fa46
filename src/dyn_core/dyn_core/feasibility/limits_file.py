# SPDX-License-Identifier: Apache-2.0
"""Limits of actuators from YAML.

.. code-block:: yaml

    joints:
      shoulder:
        position: [-1.0, 2.0]             # range (rad or m)
        velocity: 3.5                     # rad/s or m/s
        curve: [[0.0, 320.0], [2.0, 320.0], [3.5, 140.0]]    # speed, effort; or:
        effort: 320.0                     # N m or N, at all speeds
        power: 900.0                      # W
        braking_power: 600.0              # W
        continuous_effort: 110.0          # N m or N

What a joint does not have here is that of the robot's description. ``none``, or ``.inf``, takes a limit away,
``position: [-.inf, 2.0]`` one end of a range. Joints that mimic others have `position` and `velocity`.
"""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from dyn_core.core.errors import DynError, ModelWarning, counted, shortened
from dyn_core.core.text import path_text, read_text
from dyn_core.feasibility.actuator_limits import (
    ActuatorLimit,
    ActuatorLimits,
    actuator_limits,
    described_limit,
    mimicking,
    why_unlimited,
)
from dyn_core.feasibility.torque_speed_curve import TorqueSpeedCurve, checked_curve
from dyn_core.io.number import finite_number
from dyn_core.io.yaml_values import entries, fail, items, number
from dyn_core.robot.robot import Robot
from dyn_core.robot.yaml_text import Node, Scalar, as_node, parse_yaml

OF_MOTION = ("position", "velocity")
OF_ACTUATOR = ("effort", "curve", "power", "braking_power", "continuous_effort")
ENTRIES = (*OF_MOTION, *OF_ACTUATOR)
NONE = ("", "none", "null", "~")
INFINITE = re.compile(r"([+-]?)\.?inf", re.IGNORECASE)

T = TypeVar("T")


def read_limits(source: str | os.PathLike[str] | Mapping[str, object], robot: Robot) -> ActuatorLimits:
    """Answer the limits in a YAML file, or in what it would hold, with those of the robot for the rest.

    Raises:
        DynError: the file cannot be read or used; the message names file, line and joint.

    Warns:
        ModelWarning: nothing is in it, or in what it has of a joint.
    """
    return _in_file(source, lambda root: actuator_limits(robot, _limits(root, robot)))


def given_limits(
    source: str | os.PathLike[str] | Mapping[str, object], robot: Robot
) -> dict[str, ActuatorLimit]:
    """Answer the limits of the joints that a file names, as `actuator_limits` takes them."""
    return _in_file(source, lambda root: _limits(root, robot))


def _in_file(source: str | os.PathLike[str] | Mapping[str, object], made: Callable[[Node], T]) -> T:
    if not isinstance(source, str | os.PathLike):
        return _made(as_node(source), made, "")
    path = path_text(source)
    text = read_text(source, "YAML", "YAML")
    try:
        return _made(parse_yaml(text), made, f"{path}: ")
    except DynError as error:
        raise error.in_file(path) from error


def _made(root: Node, made: Callable[[Node], T], where: str) -> T:
    found = made(root)
    for remark in _remarks(root):
        warnings.warn(f"{where}{remark}", ModelWarning, stacklevel=4)
    return found


def _remarks(root: Node) -> Iterator[str]:
    """Answer what is empty, and so limits nothing."""
    joints = entries("the file", root)["joints"]
    of_joints = entries("joints", joints)
    if not of_joints:
        yield f"joints{_line(joints)}: nothing is in it, and no limit is changed: name joints below it"
    for name, node in of_joints.items():
        if not entries(name, node):
            yield (
                f"joint '{shortened(name, 40)}'{_line(node)}: nothing is in it, and its limits are those of "
                f"the robot's description: give some of {', '.join(ENTRIES)}, or leave the joint out"
            )


def _line(node: Node) -> str:
    return f" (line {node.line})" if node.line else ""


def _limits(root: Node, robot: Robot) -> dict[str, ActuatorLimit]:
    given = entries("the file", root, ("joints",))
    if "joints" not in given:
        raise DynError("there is no entry 'joints': give limits by name of a joint there")
    return {
        name: _limit(f"joint '{shortened(name, 40)}'", node, robot, name)
        for name, node in entries("joints", given["joints"]).items()
    }


def _limit(owner: str, node: Node, robot: Robot, name: str) -> ActuatorLimit:
    if why := why_unlimited(robot, name):
        raise fail(owner, node, f"it {why}")
    given = entries(owner, node, ENTRIES)
    limit = described_limit(robot, name)
    if robot.joint(name).mimic is not None:
        for what in OF_ACTUATOR:
            if what in given:
                raise fail(
                    owner,
                    given[what],
                    f"it {mimicking(robot, name)} and has no actuator of its own, so it has no '{what}': "
                    "give 'position' and 'velocity' alone",
                )
    if "effort" in given and "curve" in given:
        raise fail(owner, node, "it has both 'effort' and 'curve': give one of them")
    if "position" in given:
        lower, upper = _range(f"{owner}, position", given["position"])
        limit = replace(limit, lower=lower, upper=upper)
    if "effort" in given:
        limit = replace(
            limit, curve=TorqueSpeedCurve.constant(_greatest(f"{owner}, effort", given["effort"]))
        )
    if "curve" in given:
        limit = replace(limit, curve=_curve(owner, given["curve"]))
    numbers = {
        what: _greatest(f"{owner}, {what}", given[what])
        for what in ("velocity", "power", "braking_power", "continuous_effort")
        if what in given
    }
    return replace(
        limit,
        velocity=numbers.get("velocity", limit.velocity),
        power=numbers.get("power", limit.power),
        braking_power=numbers.get("braking_power", limit.braking_power),
        continuous_effort=numbers.get("continuous_effort", limit.continuous_effort),
    )


def _range(owner: str, node: Node) -> tuple[float, float]:
    if _is_none(node):
        return -math.inf, math.inf
    ends = items(owner, node)
    if len(ends) != 2:
        raise fail(
            owner,
            node,
            f"it has {counted(len(ends), 'number')}: give least and greatest, none where there is no limit",
        )
    return _limit_or(-math.inf, owner, ends[0]), _limit_or(math.inf, owner, ends[1])


def _curve(owner: str, node: Node) -> TorqueSpeedCurve:
    if _is_none(node):
        return TorqueSpeedCurve.constant(math.inf)
    return checked_curve(
        owner, [_point(f"{owner}, curve", point) for point in items(f"{owner}, curve", node)]
    )


def _greatest(owner: str, node: Node) -> float:
    return _limit_or(math.inf, owner, node)


def _limit_or(nothing: float, owner: str, node: Node) -> float:
    """Answer a number, and `nothing`, which is infinite, where the node says that there is no limit."""
    if _is_none(node):
        return nothing
    text = node.text.strip() if isinstance(node, Scalar) else ""
    if found := INFINITE.fullmatch(text):
        value = math.copysign(math.inf, -1.0 if found[1] == "-" else 1.0)
        if value != nothing:
            end = "greatest" if nothing > 0.0 else "least"
            raise fail(owner, node, f"its {end} value is {value:g}: give a number, or none for no limit")
        return nothing
    if text and finite_number(text) is None:
        shown = shortened(text, 40)
        raise fail(owner, node, f"it is '{shown}': write a finite number, or none where there is no limit")
    return number(owner, node)


def _is_none(node: Node) -> bool:
    return isinstance(node, Scalar) and node.text.strip().lower() in NONE


def _point(owner: str, node: Node) -> tuple[float, float]:
    values = items(owner, node)
    if len(values) != 2:
        raise fail(owner, node, f"a point has {counted(len(values), 'number')}: give [speed, effort]")
    speed, effort = (number(owner, value) for value in values)
    return speed, effort
