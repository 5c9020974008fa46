# SPDX-License-Identifier: Apache-2.0
"""Relations between the standard inertial parameters of a robot, and the units that they are found in."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dyn_core.grouping.base_parameters import PER_BODY
from dyn_core.grouping.chosen import first_independent
from dyn_core.grouping.inertial_maps import Matrix
from dyn_core.robot.joints import Joint, Sigma
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import vec3


class Relations(NamedTuple):
    """Relations between standard parameters.

    Attributes:
        kept: places of the standard parameters that stay, ascending.
        matrix: ``base = matrix @ standard``, the unit matrix in those columns.
        by_numbers: places of parameters that no rule groups: what they group in is found in random states.
    """

    kept: tuple[int, ...]
    matrix: Matrix
    by_numbers: tuple[int, ...] = ()


def settled(found: Relations, units: Matrix) -> Relations:
    """Answer relations in which the columns of each body are chosen by what its own rows say of it.

    Where a column is just clear of those before, the lengths of the columns of a regressor decide, which
    depend on the states; what the torques show of a body does not.

    Args:
        found: relations in which no row of a body has an entry for the bodies before, without units.
        units: units of the standard parameters, which the answer has.
    """
    kept, matrix = np.array(found.kept, dtype=int), found.matrix.copy()
    width = len(PER_BODY)
    for j in range(len(units) // width):
        rows = np.flatnonzero((kept // width == j) & (kept % width < width - 1))
        own = matrix[rows, width * j : width * j + width - 1]
        columns = width * j + np.array(first_independent(np.linalg.qr(own.T)[0].T).columns, dtype=int)
        if not np.array_equal(columns, kept[rows]):
            kept[rows] = columns
            matrix[rows] = np.linalg.solve(matrix[np.ix_(rows, columns)], matrix[rows])
            others = np.setdiff1d(np.arange(len(kept)), rows)
            matrix[others] -= matrix[np.ix_(others, columns)] @ matrix[rows]
            matrix[:, kept] = np.eye(len(kept))
    return Relations(tuple(kept.tolist()), units[kept, None] * matrix / units)


def size_of(robot: Robot) -> float:
    """Length (m) that lengths of a robot are compared to: 1 m, or the power of 2 next to its longest."""
    longest = max((vec3.norm(joint.origin) for joint in robot.joints), default=0.0)
    return float(2.0 ** round(math.log2(max(longest, 1.0))))


def units_of(joints: tuple[Joint, ...], size: float) -> Matrix:
    """Units of the standard parameters where lengths are divided by a size (m)."""
    of_body = [*[size**2] * 6, *[size] * 3, 1.0]
    rotors = (1.0 if joint.sigma is Sigma.PRISMATIC else size**2 for joint in joints)
    return np.array([unit for rotor in rotors for unit in (*of_body, rotor)])
