# SPDX-License-Identifier: Apache-2.0
"""Where the springs of a robot are at rest, and whether they are too stiff for an explicit method."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import ModelWarning
from dyn_core.dynamics.oscillations import oscillations
from dyn_core.model.motor_of import motor_of
from dyn_core.robot.robot import Robot

STABLE = 2.5
"""Angle within a step of the Runge-Kutta method that it can follow, somewhat less than its limit of 2.828."""


def at_rest(
    robot: Robot,
    given: Mapping[str, float],
    lower: Sequence[float] | None = None,
    upper: Sequence[float] | None = None,
) -> Array:
    """Answer positions in which springs are at rest, as far as they are not given, and 0 for other joints.

    A motor follows its joint, where that is given, and the joint its motor elsewhere. What follows nothing is
    nearest to there between its limits.

    Args:
        robot: the robot.
        given: positions by name (rad or m).
        lower: least positions of the coordinates (rad or m); None for none.
        upper: greatest positions; None for none.
    """
    positions = with_both_ends(robot, given)
    motors = set(motor_of(robot).values())
    for k, joint in enumerate(robot.independent_joints):
        if joint.name not in positions and joint.name not in motors:
            spring = joint.elastic
            wanted = spring.rest if spring is not None and spring.motor == 0 else 0.0
            low = -math.inf if lower is None else lower[k]
            high = math.inf if upper is None else upper[k]
            positions[joint.name] = min(max(wanted, low), high)
    positions = with_both_ends(robot, positions)
    return np.array([positions[name] for name in robot.coordinate_names], dtype=np.float64)


def with_both_ends(robot: Robot, given: Mapping[str, float], *, velocities: bool = False) -> dict[str, float]:
    """Answer values by name with those of motors whose joint is named, and of joints whose motor is.

    Args:
        robot: the robot.
        given: positions (rad or m), which let springs rest; or velocities (rad/s or m/s), which keep them as
            long as they are.
        velocities: whether they are velocities.
    """
    values = dict(given)
    for joint, motor in motor_of(robot).items():
        spring = robot.joint(joint).elastic
        assert spring is not None
        rest = 0.0 if velocities else spring.rest
        if joint in given:
            values.setdefault(motor, given[joint] - rest)
        elif motor in given:
            values[joint] = given[motor] + rest
    return values


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
