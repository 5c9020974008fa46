# SPDX-License-Identifier: Apache-2.0
"""Units of the standard dynamic parameters."""

from __future__ import annotations

from dyn_core.robot.joints import Sigma
from dyn_core.robot.robot import Robot


def parameter_unit(name: str, robot: Robot) -> str:
    """Answer the unit of a parameter of `Robot.parameter_names`, which ends in the number of its joint."""
    letters = name.rstrip("0123456789")
    joint = robot.joints[int(name[len(letters) :]) - 1]
    prismatic = joint.sigma is Sigma.PRISMATIC
    match letters:
        case "M":
            return "kg"
        case "MX" | "MY" | "MZ":
            return "kg m"
        case "Ia":
            return "kg" if prismatic else "kg m^2"
        case "Fv":
            return "N s/m" if prismatic else "N m s/rad"
        case "Fs" | "Fo":
            return "N" if prismatic else "N m"
        case _:
            return "kg m^2"
