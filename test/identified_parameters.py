# SPDX-License-Identifier: Apache-2.0
"""Files of dynamic parameters, as dyn identify writes them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import dyn_core
from dyn_core.identification.output.parameter_set import SetValue
from dyn_core.identification.units import unit_of
from dyn_core.results.kinematics_hash import kinematics_hash
from dyn_core.results.parameter_text import parameter_text


def heavier(description: str, factor: float = 1.25) -> dyn_core.Robot:
    """Answer the robot of a description with greater parameters."""
    robot = dyn_core.load_robot(description)
    return robot.with_parameters([factor * value for value in robot.parameters])


def parameter_file(
    path: Path, robot: dyn_core.Robot, coulomb_velocity: Mapping[str, float] = MappingProxyType({})
) -> Path:
    """Write the parameters of a robot to a file, and answer its path."""
    values = tuple(
        SetValue(name, value, None, unit_of(name, robot))
        for name, value in zip(robot.parameter_names, robot.parameters, strict=True)
    )
    parameters = dyn_core.ParameterSet(
        robot.name,
        (robot.description_hash,),
        kinematics_hash(robot),
        values,
        made={"by": "a test"},
        coulomb_velocity=coulomb_velocity,
    )
    path.write_text(parameter_text(robot, parameters), encoding="utf-8")
    return path
