# SPDX-License-Identifier: Apache-2.0
"""Positions of the passive joints, by numbers: what compiled programs are compared with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dyn_core.errors import DynError
from dyn_core.linalg.scalar import Scalar
from dyn_core.loops.follow import Numbers, follow
from dyn_core.loops.passive import Passive
from dyn_core.loops.structure import Structure, structure
from dyn_core.model.joint import Sigma
from dyn_core.model.robot import Robot


def start(robot: Robot, found: Structure) -> tuple[list[float], list[float]]:
    """Answer positions of the actuated joints, and of the unknown ones, in the reference (rad or m)."""
    by_joint = dict(zip(robot.independent, found.reference, strict=True))
    return [by_joint[j] for j in robot.coordinates], [by_joint[j] for j in found.unknown]


def assembled(robot: Robot) -> list[float]:
    """Answer positions of the actuated joints (rad or m) in the configuration near the assembly."""
    return start(robot, structure(robot))[0]


def scales(robot: Robot, found: Structure) -> list[float]:
    """Answer by unknown joint what is about as much as 1 rad."""
    sliding = (robot.joints[j - 1].sigma is Sigma.PRISMATIC for j in found.unknown)
    return [found.size if slides else 1.0 for slides in sliding]


def solution(robot: Robot, found: Structure, q_a: Sequence[Scalar]) -> list[Scalar]:
    """Positions of the unknown joints (rad or m), on the branch of the assembly.

    Args:
        robot: the robot.
        found: how its passive joints follow.
        q_a: positions of the actuated joints (rad or m): numbers, or arrays with one number a sample.

    Raises:
        DynError: the loops do not close there, or another branch would have to be taken.
    """
    samples = np.stack(np.broadcast_arrays(*q_a), axis=-1)
    if samples.ndim == 1:
        return list(_one(robot, found, samples.tolist()))
    return list(np.array([_one(robot, found, sample.tolist()) for sample in samples]).T)


def _one(robot: Robot, found: Structure, q_a: list[float]) -> list[float]:
    def step(given: Numbers, x: Numbers) -> tuple[Numbers, Numbers]:
        passive = Passive(robot, found, given, x)
        return passive.newton_step(), passive.openings()[1]

    x = follow(step, start(robot, found), q_a, scales(robot, found))
    if x is None:
        raise DynError(f"the loops of robot '{robot.name}' do not close at {q_a}")
    return x
