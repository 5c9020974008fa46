# SPDX-License-Identifier: Apache-2.0
"""Units of the parameters that are identified."""

from __future__ import annotations

from dyn_core.model.parameter_unit import parameter_unit
from dyn_core.robot.robot import Robot

_OF_MOTORS = {"Iam": "kg m^2", "Fvm": "N m s/rad", "Fsm": "N m"}


def unit_of(name: str, robot: Robot) -> str:
    """Unit of a standard parameter, or of one of motors that move several joints, by its name."""
    return parameter_unit(name, robot) if name in robot.parameter_names else _OF_MOTORS[name[:3]]
