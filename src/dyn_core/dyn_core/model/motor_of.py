# SPDX-License-Identifier: Apache-2.0
"""Which motor moves a joint through its spring."""

from __future__ import annotations

from dyn_core.robot.robot import Robot


def motor_of(robot: Robot) -> dict[str, str]:
    """Names of the motors behind springs, by the names of the joints that they move."""
    return {
        joint.name: robot.joints[joint.elastic.motor - 1].name
        for joint in robot.joints
        if joint.elastic is not None and joint.elastic.motor
    }
