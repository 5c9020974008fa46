# SPDX-License-Identifier: Apache-2.0
"""Whether the legs of a parallel robot reach its platform."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.algorithms.parallel.parallel_robot import ParallelRobot
from dyn_core.parallel.closed_form import beyond_reach
from dyn_core.parallel.leg_closure import CLOSED, does_not_reach
from dyn_core.parallel.platform_motion import platform_motion

REST = (0.0,) * 6


def refuse_unreachable(robot: ParallelRobot, T: Sequence[float]) -> None:
    """Raise DynError where a leg that has a closed form does not reach the platform.

    Args:
        robot: the robot.
        T: the 16 entries of the placement of its platform, by rows.
    """
    motion = platform_motion(T, REST, REST, robot.R_constant)
    for leg in robot.legs:
        if leg.closed_form is not None and (left := beyond_reach(leg, motion)) > CLOSED:
            raise does_not_reach(leg, motion, left)
