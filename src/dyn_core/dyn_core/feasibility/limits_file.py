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

Missing entries are those of the robot's description. ``none`` or ``.inf`` removes a limit,
``position: [-.inf, 2.0]`` one end of a range. Joints that mimic others have only `position` and `velocity`.
"""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from dyn_core.core.errors import DynError, ModelWarning, shortened
from dyn_core.core.findings import Place
from dyn_core.core.text import finite_number, path_text, read_text
from dyn_core.feasibility.actuator_limits import (
    ActuatorLimit,
    ActuatorLimits,
    TorqueSpeedCurve,
    actuator_limits,
    checked_curve,
    described_limit,
    mimicking,
    unlimited_reason,
)
from dyn_core.robot.robot import Robot
from dyn_core.robot.yaml_text import Node, Scalar, as_node, entries, items, number, parse_yaml, place_in

OF_MOTION = ("position", "velocity")
OF_ACTUATOR = ("effort", "curve", "power", "braking_power", "continuous_effort")
ENTRIES = (*OF_MOTION, *OF_ACTUATOR)
NONE = ("", "none", "null", "~")
INFINITE = re.compile(r"([+-]?)\.?inf", re.IGNORECASE)

T = TypeVar("T")


def read_limits(source: str | os.PathLike[str] | Mapping[str, object], robot: Robot) -> ActuatorLimits:
    """Return the limits in a YAML file, or in a mapping like it, completed by those of the robot.

    Raise DynError if the file cannot be read or used; the message names file, line and joint.

    Warns:
        ModelWarning: the file, or its entry for a joint, is empty.
    """
    return _in_file(source, lambda root: actuator_limits(robot, _limits(root, robot)))


def given_limits(
    source: str | os.PathLike[str] | Mapping[str, object], robot: Robot
) -> dict[str, ActuatorLimit]:
    """Return the limits of the joints in a file, as `actuator_limits` takes them."""
    return _in_file(source, lambda root: _limits(root, robot))


def _in_file(source: str | os.PathLike[str] | Mapping[str, object], convert: Callable[[Node], T]) -> T:
    """Return the converted content; errors and warnings name the file, if it is one."""
    path = None
    try:
        if isinstance(source, str | os.PathLike):
            path = path_text(source)
            root = parse_yaml(read_text(source, "YAML", "YAML"))
        else:
            root = as_node(source)
        found = convert(root)
    except DynError as error:
        raise error.in_file(path or error.file) from error
    for remark in _remarks(root):
        warnings.warn(remark.in_file(path), stacklevel=3)
    return found


def _remarks(root: Node) -> Iterator[ModelWarning]:
    """Yield a warning for each empty part, which limits nothing."""
    joints = entries("the file", root)["joints"]
    of_joints = entries("joints", joints)
    if not of_joints:
        yield ModelWarning("limits-empty", place=place_in("joints", joints))
    for name, node in of_joints.items():
        if not entries(name, node):
            yield ModelWarning(
                "limits-of-joint-empty", place=place_in(_joint(name), node), known=", ".join(ENTRIES)
            )


def _joint(name: str) -> Place:
    return Place("joint", shortened(name, 40))


def _limits(root: Node, robot: Robot) -> dict[str, ActuatorLimit]:
    given = entries("the file", root, ("joints",))
    if "joints" not in given:
        raise DynError("entry-missing", entry="joints", expected="limits by name of a joint")
    return {
        name: _limit(_joint(name), node, robot, name)
        for name, node in entries("joints", given["joints"]).items()
    }


def _limit(owner: Place, node: Node, robot: Robot, name: str) -> ActuatorLimit:
    if why := unlimited_reason(robot, name):
        raise DynError("limits-unsupported", place=place_in(owner, node), cause=why)
    given = entries(owner, node, ENTRIES)
    limit = described_limit(robot, name)
    of_actuator = [what for what in OF_ACTUATOR if what in given]
    if of_actuator and robot.joint(name).mimic is not None:
        place, relation = place_in(owner, given[of_actuator[0]]), mimicking(robot, name)
        raise DynError("limits-without-actuator", place=place, relation=relation, entry=of_actuator[0])
    if "effort" in given and "curve" in given:
        raise DynError("limits-effort-and-curve", place=place_in(owner, node))
    changes: dict[str, Any] = {}
    if "position" in given:
        changes["lower"], changes["upper"] = _range(f"{owner}, position", given["position"])
    if "effort" in given:
        changes["curve"] = TorqueSpeedCurve.constant(_limit_or(math.inf, f"{owner}, effort", given["effort"]))
    if "curve" in given:
        changes["curve"] = _curve(owner, given["curve"])
    for what in ("velocity", "power", "braking_power", "continuous_effort"):
        if what in given:
            changes[what] = _limit_or(math.inf, f"{owner}, {what}", given[what])
    return replace(limit, **changes)


def _range(owner: str, node: Node) -> tuple[float, float]:
    if _is_none(node):
        return -math.inf, math.inf
    ends = items(owner, node)
    if len(ends) != 2:
        raise DynError("limits-range-count", place=place_in(owner, node), count=len(ends))
    return _limit_or(-math.inf, owner, ends[0]), _limit_or(math.inf, owner, ends[1])


def _curve(owner: Place, node: Node) -> TorqueSpeedCurve:
    if _is_none(node):
        return TorqueSpeedCurve.constant(math.inf)
    return checked_curve(
        owner.element, [_point(f"{owner}, curve", point) for point in items(f"{owner}, curve", node)]
    )


def _limit_or(nothing: float, owner: str, node: Node) -> float:
    """Return a number, or `nothing`, which is infinite, if the node removes the limit."""
    if _is_none(node):
        return nothing
    text = node.text.strip() if isinstance(node, Scalar) else ""
    if found := INFINITE.fullmatch(text):
        value = math.copysign(math.inf, -1.0 if found[1] == "-" else 1.0)
        if value != nothing:
            code = "limits-greatest-infinite" if nothing > 0.0 else "limits-least-infinite"
            raise DynError(code, place=place_in(owner, node), given=value)
        return nothing
    if text and finite_number(text) is None:
        raise DynError("limits-not-number", place=place_in(owner, node), given=text)
    return number(owner, node)


def _is_none(node: Node) -> bool:
    return isinstance(node, Scalar) and node.text.strip().lower() in NONE


def _point(owner: str, node: Node) -> tuple[float, float]:
    values = items(owner, node)
    if len(values) != 2:
        raise DynError("curve-point-count", place=place_in(owner, node), count=len(values))
    speed, effort = (number(owner, value) for value in values)
    return speed, effort
