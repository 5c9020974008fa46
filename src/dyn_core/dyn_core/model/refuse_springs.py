# SPDX-License-Identifier: Apache-2.0
"""What is not made for robots with elastic joints says so."""

from __future__ import annotations

from dyn_core.core.errors import DynError
from dyn_core.robot.robot import Robot


def refuse_springs(robot: Robot, what: str) -> None:
    """Raise a DynError where a robot has elastic joints.

    Args:
        robot: the robot.
        what: what knows no springs, as it begins a sentence.
    """
    for name in robot.elastic_joint_names:
        raise DynError(
            f"{what} knows no springs, but joint '{name}' of robot '{robot.name}' is elastic: load the robot "
            "without 'elastic' in its side file",
            element=f"joint '{name}'",
        )
