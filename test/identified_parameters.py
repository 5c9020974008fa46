# SPDX-License-Identifier: Apache-2.0
"""Files of dynamic parameters as written by `dyn identify`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import dyn_core
from dyn_core.identification.output.parameter_file import parameter_text
from dyn_core.identification.output.parameter_set import Reason, SetValue, kinematics_hash
from dyn_core.identification.regressor.base_columns import unit_of


def heavier(description: str, factor: float = 1.25) -> dyn_core.Robot:
    """Return the robot of a description with increased parameters."""
    robot = dyn_core.load_robot(description)
    return robot.with_parameters([factor * value for value in robot.parameters])


BAD = Reason("result-worse-than-description", "robot: it is worse than the description")


def parameter_file(
    path: Path,
    robot: dyn_core.Robot,
    coulomb_velocity: Mapping[str, float] = MappingProxyType({}),
    reasons: tuple[Reason, ...] = (),
) -> Path:
    """Write the parameters of a robot to a file, with these reasons against them; return its path."""
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
        reasons=reasons,
    )
    path.write_text(parameter_text(robot, parameters), encoding="utf-8")
    return path
