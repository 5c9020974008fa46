# SPDX-License-Identifier: Apache-2.0
"""A node that takes the base of a robot as standing still refuses one that moves."""

from __future__ import annotations

from dyn_core import DynError, Robot


def refuse_moving_base(robot: Robot, what: str, instead: str = "") -> None:
    """Raise DynError where the side file of a robot says that its base moves.

    Args:
        robot: the robot.
        what: what takes it as standing still.
        instead: what else can be done, as it goes on after a colon; "" where there is nothing.
    """
    if robot.base is not None:
        raise DynError(
            f"parameter side_file: it says that the base of robot '{robot.name}' moves (base: {robot.base}), "
            f"but {what} takes it as standing still: {instead and f'{instead}, or '}leave 'base' out of it",
            element="base",
        )
