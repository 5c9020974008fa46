# SPDX-License-Identifier: Apache-2.0
"""Positions of the passive joints, by numbers: what compiled programs are compared with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from dyn_core.linalg.scalar import Scalar
from dyn_core.loops.branches import branches
from dyn_core.loops.follow import Numbers, Scales
from dyn_core.loops.passive import Passive
from dyn_core.loops.search import does_not_close
from dyn_core.loops.structure import Structure, structure
from dyn_core.loops.turns import followed_far
from dyn_core.model.joint import Sigma
from dyn_core.model.robot import Robot

_GOLDEN = 0.6180339887498949  # its multiples are spread evenly, and in no simple relation to pi


def start(robot: Robot, found: Structure) -> tuple[list[float], list[float]]:
    """Answer positions of the actuated joints, and of the unknown ones, in the reference (rad or m)."""
    by_joint = dict(zip(robot.independent, found.reference, strict=True))
    return [by_joint[j] for j in robot.coordinates], [by_joint[j] for j in found.unknown]


def assembled(robot: Robot) -> list[float]:
    """Answer positions of the actuated joints (rad or m) in the configuration near the assembly."""
    return start(robot, structure(robot))[0]


def scales(robot: Robot, found: Structure) -> Scales:
    """Answer what is about as much as 1 rad, of the actuated and of the unknown joints, and which turn."""
    actuated, unknown = (
        tuple(found.size if robot.joints[j - 1].sigma is Sigma.PRISMATIC else 1.0 for j in numbers)
        for numbers in (robot.coordinates, found.unknown)
    )
    moving = _in_loops(robot, found)
    return Scales(
        tuple(
            scale if j in moving else math.inf for j, scale in zip(robot.coordinates, actuated, strict=True)
        ),
        unknown,
        tuple(_turn(robot, found, j) for j in robot.coordinates),
        tuple(_turn(robot, found, j) for j in found.unknown),
    )


def _in_loops(robot: Robot, found: Structure) -> set[int]:
    """Answer the independent joints that the constraints depend on: those of the branches of the loops."""
    moving = set()
    for cut in found.cuts:
        around = branches(robot, cut)
        for j in (*around.parent, *around.child):
            mimic = robot.joints[j - 1].mimic
            moving.add(j if mimic is None else mimic.leader)
    for linear in found.linear:
        if linear.joint in moving:
            moving.update(j for j, _ in linear.coefficients)
    return {j for j in moving if j is not None}


def _turn(robot: Robot, found: Structure, joint: int) -> float:
    """Answer after what change of a joint, and of those that follow it, all links are where they were."""
    follows = [(joint, 1.0)]
    follows += [(each.joint, c) for each in found.linear for j, c in each.coefficients if j == joint]
    for j, factor in tuple(follows):
        for number, other in enumerate(robot.joints, start=1):
            if other.mimic is not None and other.mimic.leader == j:
                follows.append((number, factor * other.mimic.multiplier))
    whole = all(
        robot.joints[j - 1].sigma is Sigma.REVOLUTE and float(factor).is_integer() for j, factor in follows
    )
    return 2.0 * math.pi if whole else 0.0


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


@lru_cache(maxsize=32)
def two_positions(robot: Robot) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Answer two positions of the actuated joints (rad or m) near the assembly, of no symmetry.

    Args:
        robot: a robot as `geometry_of` answers it.
    """
    found = structure(robot)
    q_a, _ = start(robot, found)
    here, there = (_nearby(robot, found, q_a, sign) for sign in (1.0, -1.0))
    return tuple(here), tuple(there)


def _nearby(robot: Robot, found: Structure, q_a: list[float], sign: float) -> list[float]:
    """Answer positions some way from where the loops are known to close, where they close, too."""
    units = scales(robot, found).given
    for k in range(12):
        part = sign * 0.3 * 0.5**k
        tried = [
            value + part * unit * ((_GOLDEN * i) % 1.0 - 0.4)
            for i, (unit, value) in enumerate(zip(units, q_a, strict=True), start=1)
        ]
        if _followed(robot, found, tried) is not None:
            return tried
    return q_a


def _one(robot: Robot, found: Structure, q_a: list[float]) -> list[float]:
    x = _followed(robot, found, q_a)
    if x is None:
        raise does_not_close(robot, q_a, None)
    return x


def _followed(robot: Robot, found: Structure, q_a: list[float]) -> list[float] | None:
    def step(given: Numbers, x: Numbers) -> tuple[Numbers, Numbers]:
        passive = Passive(robot, found, given, x)
        return passive.newton_step(), passive.openings()[1]

    return followed_far(step, start(robot, found), q_a, scales(robot, found))
