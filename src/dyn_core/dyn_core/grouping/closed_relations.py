# SPDX-License-Identifier: Apache-2.0
"""Base parameters of robots with loops by rules (SYMORO+ 2003, sec. 4.5.3), and by numbers what they leave.

The rules for trees come first, with the loops cut. What bodies of a loop have in common groups some of
the parameters that are left. How loops restrict the motion of their links groups more in particular
robots, as in planar ones; that is found among the columns of the regressor.
"""

from __future__ import annotations

import numpy as np

from dyn_core.algorithms.base_parameters.independent_columns import dependent_columns
from dyn_core.algorithms.base_parameters.loop_relations import loop_relations
from dyn_core.algorithms.base_parameters.numeric_relations import random_regressor
from dyn_core.grouping.chosen import without_rounding
from dyn_core.grouping.closed_regressor import random_closed_states
from dyn_core.grouping.effects import Mount
from dyn_core.grouping.inertial_maps import Matrix
from dyn_core.grouping.relations import Relations, settled, size_of, units_of
from dyn_core.grouping.tidied import tidied
from dyn_core.robot.robot import Robot

_DEPENDENT = 1e-10
"""Singular value of relations of length 1 between columns of length 1 below which one says nothing new."""


def closed_relations(robot: Robot, mount: Mount, of_tree: Relations, seed: int) -> Relations:
    """Answer the grouping relations of a robot with loops.

    Args:
        robot: the robot.
        mount: how the base is mounted.
        of_tree: relations where all joints of the tree move by themselves.
        seed: of the random states.
    """
    units = units_of(robot.joints, size_of(robot))
    of_rules = np.array(of_tree.kept, dtype=int)
    matrix = of_tree.matrix * units / units[of_rules, None]
    q = random_closed_states(robot, seed).q
    rules = dependent_columns(_left_by(matrix @ loop_relations(robot, mount, q).T))
    of_rules, matrix = of_rules[list(rules.columns)], rules.relations @ matrix
    found = dependent_columns((random_regressor(robot, mount, seed) * units)[:, of_rules])
    left = of_rules[list(found.columns)]
    kept, matrix, _ = settled(Relations(tuple(left.tolist()), found.relations @ matrix), units)
    places = list(kept)
    exact = without_rounding(matrix * units / units[places, None])
    numbers = np.setdiff1d(of_rules, left).tolist()
    relations = Relations(kept, units[places, None] * exact / units, tuple(numbers))
    return tidied(robot, relations) if numbers else relations


def _left_by(changes: Matrix) -> Matrix:
    """Answer rows that span what is orthogonal to changes of parameters: what torques may still show.

    Args:
        changes: changes of the parameters that no torque shows, one in each column.
    """
    if changes.shape[1] == 0:
        return np.eye(len(changes))
    lengths = np.linalg.norm(changes, axis=0)
    changes = changes[:, lengths > _DEPENDENT]
    directions, values, _ = np.linalg.svd(changes / np.linalg.norm(changes, axis=0))
    rank = int(np.sum(values > _DEPENDENT))
    left: Matrix = directions[:, rank:].T
    return left
