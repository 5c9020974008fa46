# SPDX-License-Identifier: Apache-2.0
"""What takes a base as standing still says so of a robot whose side file says that it moves."""

from __future__ import annotations

from dyn_core.core.errors import DynError
from dyn_core.robot.robot import Robot


def refuse_moving_base(robot: Robot, what: str, instead: str = "") -> None:
    """Raise a DynError where the side file of a robot says that its base moves.

    Args:
        robot: the robot.
        what: what takes its base as standing still, as it begins a sentence.
        instead: what to use in its place, as it goes on after "use"; "" where there is nothing.
    """
    if robot.base is not None:
        remedy = f"use {instead}, or" if instead else "for a base that is held,"
        raise DynError(
            f"{what} takes the base of a robot as standing still, but the side file of robot '{robot.name}' "
            f"says that it moves (base: {robot.base}): {remedy} give it robot.with_fixed_base()",
            element="base",
        )
