# SPDX-License-Identifier: Apache-2.0
"""Relations between the standard inertial parameters of a robot, and the units that they are found in."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dyn_core.grouping.inertial_maps import Matrix
from dyn_core.linalg import vec3
from dyn_core.model.joint import Joint, Sigma
from dyn_core.model.robot import Robot


class Relations(NamedTuple):
    """Relations between standard parameters.

    Attributes:
        kept: places of the standard parameters that stay, ascending.
        matrix: ``base = matrix @ standard``, the unit matrix in those columns.
    """

    kept: tuple[int, ...]
    matrix: Matrix


def size_of(robot: Robot) -> float:
    """Length (m) that lengths of a robot are compared to: 1 m, or the power of 2 next to its longest."""
    longest = max((vec3.norm(joint.origin) for joint in robot.joints), default=0.0)
    return float(2.0 ** round(math.log2(max(longest, 1.0))))


def units_of(joints: tuple[Joint, ...], size: float) -> Matrix:
    """Units of the standard parameters where lengths are divided by a size (m)."""
    of_body = [*[size**2] * 6, *[size] * 3, 1.0]
    rotors = (1.0 if joint.sigma is Sigma.PRISMATIC else size**2 for joint in joints)
    return np.array([unit for rotor in rotors for unit in (*of_body, rotor)])
