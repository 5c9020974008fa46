# SPDX-License-Identifier: Apache-2.0
"""Relations that came of random states, without what is rounding of these."""

from __future__ import annotations

import numpy as np

from dyn_core.grouping.inertial_maps import Matrix
from dyn_core.grouping.relations import Relations, units_of
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import vec3

_NOTHING = 1e-12
"""Part of the largest coefficient of a row, at least of 1, below which one is rounding."""

_SHORT = 2e-11
"""Part of a coefficient within which a number of a few digits is taken for it."""

_FEW = 6


def tidied(robot: Robot, found: Relations) -> Relations:
    """Answer relations whose coefficients are 0 where they are next to nothing, or numbers of a few digits.

    Args:
        robot: the robot.
        found: its relations (SI units), of which random states gave at least some.
    """
    # Lengths are compared with those of the robot, however small it is.
    longest = max((vec3.norm(joint.origin) for joint in robot.joints), default=0.0)
    units = units_of(robot.joints, longest or 1.0)
    matrix = found.matrix
    sizes = np.abs(matrix * units / units[list(found.kept), None])
    largest = np.maximum(sizes.max(axis=1, initial=0.0, keepdims=True), 1.0)
    matrix = np.where(sizes <= _NOTHING * largest, 0.0, matrix)
    short = np.array([float(f"{x:.{_FEW}g}") for x in matrix.flat]).reshape(matrix.shape)
    exact: Matrix = np.where(np.abs(matrix - short) <= _SHORT * np.abs(matrix), short, matrix) + 0.0
    return found._replace(matrix=exact)
