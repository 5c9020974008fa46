# SPDX-License-Identifier: Apache-2.0
"""Units of the standard dynamic parameters."""

from __future__ import annotations

from dyn_core.identification.friction import unit
from dyn_core.model.joint import Sigma
from dyn_core.model.robot import Robot

_OF_MOTORS = {"Iam": "kg m^2", "Fvm": "N m s/rad", "Fsm": "N m"}


def unit_of(name: str, robot: Robot) -> str:
    """Unit of a parameter, by its name, which ends in the number of its joint."""
    if name not in robot.parameter_names:
        return _OF_MOTORS[name[:3]]
    letters = name.rstrip("0123456789")
    joint = robot.joints[int(name[len(letters) :]) - 1]
    match letters:
        case "M":
            return "kg"
        case "MX" | "MY" | "MZ":
            return "kg m"
        case "Ia":
            return "kg" if joint.sigma is Sigma.PRISMATIC else "kg m^2"
        case "Fv":
            return unit("viscous", joint)
        case "Fs" | "Fo":
            return unit("coulomb", joint)
        case _:
            return "kg m^2"
