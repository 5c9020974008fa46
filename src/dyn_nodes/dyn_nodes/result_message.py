# SPDX-License-Identifier: Apache-2.0
"""The outcome of an identification as a message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from builtin_interfaces.msg import Time
from std_msgs.msg import Header

from dyn_core import Robot
from dyn_msgs.msg import DynamicParameters, IdentificationResult


def result_message(
    robot: Robot, answer: Mapping[str, Any], stamp: Time, directory: str
) -> IdentificationResult:
    """Answer the message of what `identification_work.Estimate` answers."""
    fields = dict(answer)
    names, values, deviations = (fields.pop(key) for key in ("name", "value", "standard_deviation"))
    return IdentificationResult(
        parameters=parameter_message(robot, names, values, deviations, stamp), directory=directory, **fields
    )


def parameter_message(
    robot: Robot, names: list[str], values: list[float], deviations: list[float], stamp: Time
) -> DynamicParameters:
    """Answer values of parameters of a robot with their standard deviations."""
    return DynamicParameters(
        header=Header(stamp=stamp),
        robot_name=robot.name,
        description_hash=robot.description_hash,
        name=names,
        value=values,
        standard_deviation=deviations,
    )
