# SPDX-License-Identifier: Apache-2.0
"""What is said of an effort for a joint that has no actuator to exert it."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.core.errors import DynError
from dyn_core.model.motor_of import motor_of
from dyn_core.robot.robot import Robot


def no_actuator(robot: Robot, joint: str) -> str:
    """Answer why no actuator moves a passive joint, and which effort to give, as the end of a sentence."""
    if joint in motor_of(robot):
        return f"only its spring moves the joint: give the effort of its motor, '{motor_of(robot)[joint]}'"
    if joint in robot.elastic_joint_names:
        return "only its spring moves the joint, it has no actuator: give 0, or leave it out"
    return "the joint is passive, it has no actuator: give 0, or leave it out"


def refuse_efforts(robot: Robot, effort: Sequence[float]) -> None:
    """Raise a DynError where a passive joint is given an effort that is not 0.

    Args:
        robot: the robot.
        effort: by coordinate (N m or N).
    """
    for joint, value in zip(robot.independent_joints, effort, strict=True):
        if value != 0.0 and joint.mu != 1:
            raise DynError(
                f"effort: joint '{joint.name}' is given {value:g} {joint.effort_unit}, but "
                f"{no_actuator(robot, joint.name)}",
                element=f"joint '{joint.name}'",
            )
