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

What a joint does not have here is that of the robot's description.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from dyn_core.errors import DynError, listed, shortened
from dyn_core.feasibility.actuator_limits import (
    ActuatorLimit,
    ActuatorLimits,
    actuator_limits,
    described_limit,
)
from dyn_core.feasibility.torque_speed_curve import TorqueSpeedCurve, checked_curve
from dyn_core.io.source import path_text, read_text
from dyn_core.io.yaml_text import Node, as_node, parse_yaml
from dyn_core.io.yaml_values import entries, fail, items, number
from dyn_core.model.robot import Robot

ENTRIES = ("position", "velocity", "effort", "curve", "power", "braking_power", "continuous_effort")


def read_limits(source: str | os.PathLike[str] | Mapping[str, object], robot: Robot) -> ActuatorLimits:
    """Answer the limits in a YAML file, or in what it would hold, with those of the robot for the rest.

    Raises:
        DynError: the file cannot be read or used; the message names file, line and joint.
    """
    if not isinstance(source, str | os.PathLike):
        return _limits(as_node(source), robot)
    path = path_text(source)
    text = read_text(source, "YAML", "YAML")
    try:
        return _limits(parse_yaml(text), robot)
    except DynError as error:
        raise error.in_file(path) from error


def _limits(root: Node, robot: Robot) -> ActuatorLimits:
    given = entries("the file", root, ("joints",))
    if "joints" not in given:
        raise DynError("there is no entry 'joints': give limits by name of a joint there")
    limits = {}
    for name, node in entries("joints", given["joints"]).items():
        owner = f"joint '{shortened(name, 40)}'"
        if name not in robot.coordinate_names:
            raise fail(
                owner,
                node,
                f"it is no joint with an actuator: the joints are {listed(robot.coordinate_names)}",
            )
        limits[name] = _limit(owner, node, described_limit(robot, name))
    return actuator_limits(robot, limits)


def _limit(owner: str, node: Node, limit: ActuatorLimit) -> ActuatorLimit:
    given = entries(owner, node, ENTRIES)
    if "effort" in given and "curve" in given:
        raise fail(owner, node, "it has both 'effort' and 'curve': give one of them")
    if "position" in given:
        ends = [number(f"{owner}, position", end) for end in items(f"{owner}, position", given["position"])]
        if len(ends) != 2:
            raise fail(
                owner, given["position"], f"its position has {len(ends)} numbers: give least and greatest"
            )
        limit = replace(limit, lower=ends[0], upper=ends[1])
    if "effort" in given:
        effort = number(f"{owner}, effort", given["effort"])
        limit = replace(limit, curve=TorqueSpeedCurve.constant(effort))
    if "curve" in given:
        points = [_point(f"{owner}, curve", point) for point in items(f"{owner}, curve", given["curve"])]
        limit = replace(limit, curve=checked_curve(owner, points))
    numbers = {
        name: number(f"{owner}, {name}", given[name])
        for name in ("velocity", "power", "braking_power", "continuous_effort")
        if name in given
    }
    return replace(
        limit,
        velocity=numbers.get("velocity", limit.velocity),
        power=numbers.get("power", limit.power),
        braking_power=numbers.get("braking_power", limit.braking_power),
        continuous_effort=numbers.get("continuous_effort", limit.continuous_effort),
    )


def _point(owner: str, node: Node) -> tuple[float, float]:
    values = items(owner, node)
    if len(values) != 2:
        raise fail(owner, node, f"a point has {len(values)} numbers: give [speed, effort]")
    speed, effort = (number(owner, value) for value in values)
    return speed, effort
