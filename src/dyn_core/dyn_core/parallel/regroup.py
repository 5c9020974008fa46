# SPDX-License-Identifier: Apache-2.0
"""A parallel robot whose inertial parameters are the base parameters: the same efforts from fewer numbers."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np

from dyn_core.algorithms.parallel.parallel_base_parameters import parallel_base_parameters
from dyn_core.algorithms.parallel.parallel_robot import ParallelRobot
from dyn_core.grouping.effects import Mount
from dyn_core.model.standard_parameters import parameter_values, parametrised
from dyn_core.symbolic.scalar import Scalar


def with_parallel_base_parameters(robot: ParallelRobot, mount: Mount = "fixed") -> ParallelRobot:
    """Answer a robot with the base parameters in the place of those that they stand for, and zeros.

    Efforts, accelerations and inertia matrices of the platform are the same; wrenches through joints are not.

    Args:
        robot: the robot.
        mount: as for `parallel_base_parameters`.
    """
    found = parallel_base_parameters(robot, mount=mount)
    tree = robot.robot
    place = {name: k for k, name in enumerate(tree.parameter_names)}
    values: tuple[Scalar, ...] = parameter_values(tree.joints, tree.bodies[1:])
    grouped = list(values)
    for name in found.standard_names:
        grouped[place[name]] = 0.0
    for name, row in zip(found.kept, found.matrix, strict=True):
        others = [found.standard_names[k] for k in np.flatnonzero(row).tolist()]
        factors = dict(zip(found.standard_names, row.tolist(), strict=True))
        terms = [
            values[place[other]] if other == name else factors[other] * values[place[other]]
            for other in others
        ]
        grouped[place[name]] = _sum(terms)
    joints, bodies = parametrised(tree.joints, grouped)
    return robot.with_robot(replace(tree, joints=joints, bodies=(tree.bodies[0], *bodies)))


def _sum(terms: Sequence[Scalar]) -> Scalar:
    """Answer the sum; 0, which costs no operation, where the sum of numbers is 0 up to rounding."""
    total = reduce(add, terms)
    if isinstance(total, float) and abs(total) <= sys.float_info.epsilon * sum(map(abs, terms)):
        return 0.0
    return total
