# SPDX-License-Identifier: Apache-2.0
"""A robot whose inertial parameters are the base parameters: the same torques from fewer numbers."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np

from dyn_core.algorithms.base_parameters.determination import relations
from dyn_core.grouping.base_parameters import PER_BODY
from dyn_core.grouping.effects import Mount
from dyn_core.model.refuse_moving_base import refuse_moving_base
from dyn_core.model.standard_parameters import PER_JOINT, parameter_values, parametrised
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.scalar import Scalar


def with_base_parameters(robot: Robot, mount: Mount = "fixed") -> Robot:
    """Answer a robot with the base parameters in the place of those that they stand for, and zeros.

    Its joint torques are the same for the same motion, and its functions take fewer operations. Its bodies
    can be none that exist: masses and moments of inertia that are negative, first moments without a
    mass. Wrenches through joints and on the ground, which depend on all parameters, are not the same.

    Args:
        robot: the robot.
        mount: as for `base_parameters`: ``"tilted"`` where the direction of gravity is to change.
    """
    refuse_moving_base(robot, "grouping of parameters, which keeps no forces on a base,")
    found = relations(robot, "symbolic", mount)
    values = parameter_values(robot.joints, robot.bodies[1:])
    grouped: list[Scalar] = list(values)
    for k in range(len(values)):
        if k % PER_JOINT < len(PER_BODY):
            grouped[k] = 0.0
    for k, row in zip(found.kept, found.matrix, strict=True):
        others = [c for c in np.flatnonzero(row).tolist() if c != k]
        terms = [values[_place(k)], *(float(row[c]) * values[_place(c)] for c in others)]
        grouped[_place(k)] = _sum(terms)
    joints, bodies = parametrised(robot.joints, grouped)
    return replace(robot, joints=joints, bodies=(robot.bodies[0], *bodies))


def _sum(terms: Sequence[Scalar]) -> Scalar:
    """Answer the sum; 0, which costs no operation, where the sum of numbers is 0 up to rounding."""
    total = reduce(add, terms)
    if isinstance(total, float) and abs(total) <= sys.float_info.epsilon * sum(map(abs, terms)):
        return 0.0
    return total


def _place(k: int) -> int:
    """Place among all parameters of a joint, friction included, of one of the inertial parameters."""
    joint, place = divmod(k, len(PER_BODY))
    return PER_JOINT * joint + place
