# SPDX-License-Identifier: Apache-2.0
"""Positions outside of the range of their joints."""

from __future__ import annotations

import math

from dyn_core.core.arrays import Array
from dyn_core.robot.robot import Robot

_TOLERANCE = 0.01
"""How far outside a position may be without a word (rad or m): ranges are rounded, and robots calibrated."""


def outside(robot: Robot, q: Array) -> str | None:
    """Answer a sentence about the first joint that is outside of its range, or None.

    Args:
        robot: the robot.
        q: positions (rad or m), (n,).
    """
    for joint, value in zip(robot.independent_joints, q.tolist(), strict=True):
        lower = -math.inf if joint.limits.lower is None else joint.limits.lower
        upper = math.inf if joint.limits.upper is None else joint.limits.upper
        if not lower - _TOLERANCE <= value <= upper + _TOLERANCE:
            return (
                f"joint '{joint.name}' is at {value:.4g} {joint.position_unit}, "
                f"its range is {lower:.4g} to {upper:.4g}"
            )
    return None
