# SPDX-License-Identifier: Apache-2.0
"""Positions of the passive joints, by numbers: what compiled programs are compared with."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from dyn_core.algorithms.loops.continuation import Numbers, Scales, Step
from dyn_core.algorithms.loops.loop_structure import Structure, structure
from dyn_core.algorithms.loops.passive_joint_motion import Passive
from dyn_core.loops.branches import branches
from dyn_core.loops.search import does_not_close
from dyn_core.loops.turns import followed_far
from dyn_core.robot.joints import Sigma
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.scalar import Scalar

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


@dataclass(frozen=True)
class Closing:
    """A robot whose loops are to be closed.

    Attributes:
        robot: a robot as `geometry_of` answers it.
        step: answers Newton's step for its unknown joints; None where these formulas do that, slowly.
    """

    robot: Robot
    step: Callable[[], Step] | None = field(default=None, compare=False)


@lru_cache(maxsize=64)
def position_nearby(closing: Closing, sign: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Answer a position near the assembly, of no symmetry, in which the loops close.

    Args:
        closing: the robot.
        sign: 1.0 or -1.0: on which side of the assembly.

    Returns:
        positions of the actuated joints and of the unknown ones (rad or m).
    """
    robot = closing.robot
    found = structure(robot)
    step = closing.step() if closing.step and found.unknown else _step(robot, found)
    q_a, x = start(robot, found)
    units = scales(robot, found)
    for k in range(12):
        part = sign * 0.3 * 0.5**k
        tried = [
            value + part * unit * ((_GOLDEN * i) % 1.0 - 0.4)
            for i, (unit, value) in enumerate(zip(_finite(units.given), q_a, strict=True), start=1)
        ]
        reached = followed_far(step, (q_a, x), tried, units)
        if reached is not None:
            return tuple(tried), tuple(reached)
    return tuple(q_a), tuple(x)


def _finite(units: Sequence[float]) -> list[float]:
    return [unit if unit < math.inf else 1.0 for unit in units]


def _one(robot: Robot, found: Structure, q_a: list[float]) -> list[float]:
    x = _followed(robot, found, q_a)
    if x is None:
        raise does_not_close(robot, q_a, None)
    return x


def _followed(robot: Robot, found: Structure, q_a: list[float]) -> list[float] | None:
    return followed_far(_step(robot, found), start(robot, found), q_a, scales(robot, found))


def _step(robot: Robot, found: Structure) -> Step:
    def step(given: Numbers, x: Numbers) -> tuple[Numbers, Numbers]:
        passive = Passive(robot, found, given, x)
        return passive.newton_step(), passive.openings()[1]

    return step
