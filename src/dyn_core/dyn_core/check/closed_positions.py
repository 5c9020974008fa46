# SPDX-License-Identifier: Apache-2.0
"""Positions of a robot with loops to try: closed ones around the assembly, within its limits."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dyn_core.algorithms.loops.closed_configurations import around
from dyn_core.algorithms.loops.loop_structure import geometry_of, structure
from dyn_core.algorithms.loops.passive_joint_motion import Passive
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.loops.numbers import Numbers
from dyn_core.robot.robot import Robot

COUNT = 200


class ClosedPositions(NamedTuple):
    """Positions of the actuated joints (N, dof), and all joints there, with arrays of N numbers."""

    q: Array
    at: Passive


def closed_positions(robot: Robot) -> ClosedPositions | None:
    """Answer closed configurations, the same in every call; None where the loops do not close or determine.

    They are on the branch of the assembly, no further from it than steps of a small fraction of a turn
    lead, and where all joints are within their limits, if any are.
    """
    try:
        found = structure(robot)
    except DynError:
        return None
    samples = _samples(geometry_of(robot), found.reference)
    inside = _inside(robot, samples, robot.independent)
    used = samples[inside] if inside.any() else samples
    column = {j: used[:, k] for k, j in enumerate(robot.independent)}
    q = [column[j] for j in robot.coordinates]
    at = Passive(robot, found, q, [column[j] for j in found.unknown])
    return ClosedPositions(np.stack(q, axis=1) if q else np.zeros((len(used), 0)), at)


def passive_ranges(robot: Robot) -> dict[str, tuple[float, float]]:
    """Answer where passive joints come to (rad or m) while the actuated ones are within their limits.

    It is what `closed_positions` tries; the robot is one of which the loops close.
    """
    samples = _samples(geometry_of(robot), structure(robot).reference)
    used = samples[_inside(robot, samples, robot.coordinates)]
    return {
        robot.joints[j - 1].name: (float(used[:, k].min()), float(used[:, k].max()))
        for k, j in enumerate(robot.independent)
        if len(used) and robot.joints[j - 1].mu == 0
    }


def _inside(robot: Robot, samples: Array, joints: Sequence[int]) -> npt.NDArray[np.bool_]:
    """Which samples have these joints within their limits."""
    inside = np.ones(len(samples), dtype=bool)
    for j in joints:
        limits, positions = robot.joints[j - 1].limits, samples[:, robot.independent.index(j)]
        inside &= positions >= (-np.inf if limits.lower is None else limits.lower)
        inside &= positions <= (np.inf if limits.upper is None else limits.upper)
    return inside


@lru_cache(maxsize=4)
def _samples(robot: Robot, reference: tuple[float, ...]) -> Array:
    passive = [k for k, j in enumerate(robot.independent) if robot.joints[j - 1].mu == 0]
    return around(Numbers(robot), np.array(reference), COUNT, passive)
