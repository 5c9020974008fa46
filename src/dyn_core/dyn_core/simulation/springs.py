# SPDX-License-Identifier: Apache-2.0
"""Where the springs of a robot are at rest, and whether they are too stiff for an explicit method."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping

import numpy as np

from dyn_core.dynamics.oscillations import oscillations
from dyn_core.errors import ModelWarning
from dyn_core.facade.arrays import Array
from dyn_core.model.robot import Robot

STABLE = 2.5
"""Angle within a step of the Runge-Kutta method that it can follow, somewhat less than its limit of 2.828."""


def at_rest(robot: Robot, given: Mapping[str, float]) -> Array:
    """Answer positions in which springs are at rest, as far as they are not given, and 0 for other joints.

    A motor follows its joint, where that is given, and the joint its motor elsewhere.
    """
    positions = {name: given.get(name, 0.0) for name in robot.coordinate_names}
    for joint in robot.joints:
        spring = joint.elastic
        if spring is None:
            continue
        if spring.motor == 0:
            positions[joint.name] = given.get(joint.name, spring.rest)
            continue
        motor = robot.joints[spring.motor - 1].name
        if joint.name in given:
            positions[motor] = given.get(motor, given[joint.name] - spring.rest)
        elif motor in given:
            positions[joint.name] = given[motor] + spring.rest
        else:
            positions[motor] = -spring.rest
    return np.array(list(positions.values()), dtype=np.float64)


def warn_of_swinging(robot: Robot, step: float, substeps: int) -> None:
    """Warn where springs make a robot swing too fast for the Runge-Kutta method with such steps (s)."""
    if not robot.elastic_joint_names:
        return
    fastest = oscillations(robot, at_rest(robot, {}).tolist())[0]
    needed = math.ceil(fastest * step / STABLE)
    if needed > substeps:
        warnings.warn(
            f"robot '{robot.name}': on its springs it swings at {fastest / (2.0 * math.pi):.3g} Hz, too "
            f"fast for rk4 with steps of {step / substeps:g} s: take {needed} substeps, or the integrator "
            "implicit_midpoint",
            ModelWarning,
            stacklevel=4,
        )
