# SPDX-License-Identifier: Apache-2.0
"""The regressor of a robot with loops in random states that keep them closed.

The torques of the tree act on the motions that the loops allow: ``N^T Y``, where the columns of N are a
basis of these. Its columns depend on one another as those of the torques of the actuated joints do, which
are other combinations of the same rows (SYMORO+ 2003, sec. 4.5 and appendix 4.3).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dyn_core.algorithms.loops.loop_structure import geometry_of, structure
from dyn_core.grouping.base_parameters import PER_BODY
from dyn_core.grouping.inertial_maps import Matrix
from dyn_core.loops.numbers import Numbers
from dyn_core.loops.wander import ClosedStates, closed_states, wander
from dyn_core.robot.robot import Robot

SAMPLES = 40


def random_closed_states(robot: Robot, seed: int) -> ClosedStates:
    """Answer random states of a robot with loops, near its assembly and far from it.

    There are enough for a regressor with twice as many rows as columns.

    Args:
        robot: the robot.
        seed: of the random numbers.

    Raises:
        DynError: the loops cannot be closed, or the actuated joints are too few, too many, or the wrong ones.
    """
    return _states(geometry_of(robot), seed)


@lru_cache(maxsize=16)
def _states(robot: Robot, seed: int) -> ClosedStates:
    reference = np.array(structure(robot).reference)
    numbers = Numbers(robot)
    columns = len(PER_BODY) * len(robot.joints)
    count = max(SAMPLES, math.ceil(2 * columns / max(robot.dof, 1)))
    random = np.random.default_rng(seed)
    states = closed_states(numbers, wander(numbers, reference, count, random), random)
    for values in states:
        values.flags.writeable = False
    return states


def on_motions(states: ClosedStates, of_joints: Matrix) -> Matrix:
    """Answer columns of the independent joints on the motions that are possible, one below the other.

    Args:
        states: K states.
        of_joints: by column, independent joint and state, (p, independent joints, K).
    """
    found: Matrix = np.einsum("kid,pik->dkp", states.motions, of_joints)
    return found.reshape(-1, of_joints.shape[0])
