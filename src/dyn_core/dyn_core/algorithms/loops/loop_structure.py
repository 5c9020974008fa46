# SPDX-License-Identifier: Apache-2.0
"""What the loops of a robot determine, and how: found once, by numbers, before anything is traced.

Configurations around the assembly tell how many degrees of freedom the robot has, which constraints
say nothing new, which passive joints are a constant linear combination of actuated ones (those of
parallelograms are), and in which order the others follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dyn_core.algorithms.loops.closed_configurations import around, ranks
from dyn_core.loops.actuation import check_actuation, check_regular
from dyn_core.loops.block_triangular import Block, block_triangular
from dyn_core.loops.numbers import Array, Numbers
from dyn_core.loops.reference import closed_reference
from dyn_core.robot.joints import Friction
from dyn_core.robot.links import InertialParameters
from dyn_core.robot.mdh.cut_frames import CutJoint
from dyn_core.robot.robot import Robot

Pattern = npt.NDArray[np.bool_]

SAMPLES = 24
_SAME = 1e-8
"""Differences below this are those of rounding."""


@dataclass(frozen=True)
class LinearPassive:
    """A passive joint with ``q = constant + sum of coefficients q_a``, whatever the configuration.

    Attributes:
        joint: its number.
        coefficients: by actuated joint, its coefficient; those that are 0 are left out.
        constant: position (rad or m) where the actuated joints are at 0.
    """

    joint: int
    coefficients: tuple[tuple[int, float], ...]
    constant: float


@dataclass(frozen=True)
class Structure:
    """How the passive joints follow from the actuated ones.

    Attributes:
        cuts: the cut joints.
        reference: positions of the independent joints (rad or m) in which the loops are closed.
        size: length (m) that compares with an angle of 1 rad.
        linear: the passive joints that follow by a constant linear relation.
        unknown: numbers of the other passive joints.
        rows: numbers of the constraints that determine them, of those of all loops in a row.
        blocks: in which order: places in `rows` and in `unknown`.
    """

    cuts: tuple[CutJoint, ...]
    reference: tuple[float, ...]
    size: float
    linear: tuple[LinearPassive, ...]
    unknown: tuple[int, ...]
    rows: tuple[int, ...]
    blocks: tuple[Block, ...]


def structure(robot: Robot) -> Structure:
    """Answer how the loops of a robot determine its passive joints.

    Raises:
        DynError: the loops cannot be closed, or the actuated joints are too few, too many, or the wrong ones.
    """
    return _structure(geometry_of(robot), True)


def whole_structure(robot: Robot) -> Structure:
    """Answer the same with constraints for all passive joints, also those that follow by a linear relation.

    They are what the forces in the cut joints and the distance to singularities depend on.
    """
    return _structure(geometry_of(robot), False)


def geometry_of(robot: Robot) -> Robot:
    """Answer the robot without what its loops do not depend on: masses, friction, rotors, gravity."""
    joints = tuple(replace(joint, friction=Friction(), Ia=0.0) for joint in robot.joints)
    bodies = (InertialParameters(),) * len(robot.bodies)
    return replace(robot, joints=joints, bodies=bodies, gravity=(0.0, 0.0, 0.0))


@lru_cache(maxsize=32)
def _structure(robot: Robot, linear_relations: bool) -> Structure:
    numbers = Numbers(robot)
    reference = closed_reference(numbers)
    active = _places(robot, 1)
    passive = _places(robot, 0)
    samples = around(numbers, reference, SAMPLES, passive)
    W = numbers.rates(samples)
    check_actuation(numbers, W, reference)
    check_regular(numbers, reference)
    regular = ranks(W[:, :, passive]) == len(passive)
    linear = []
    if linear_relations:
        G = -np.linalg.pinv(W[regular][:, :, passive]) @ W[regular][:, :, active]
        linear = _linear(numbers, samples[regular], G, active, passive)
    known = {found.joint for found in linear}
    unknown = [k for k in passive if robot.independent[k] not in known]
    rows = _kept_rows(W, unknown) if unknown else []
    pattern: Pattern = np.any(np.abs(W[:, :, unknown][:, rows]) > _SAME, axis=0)
    blocks = block_triangular([list(map(bool, row)) for row in pattern], len(unknown)) or ()
    return Structure(
        numbers.cuts,
        tuple(reference.tolist()),
        numbers.size,
        tuple(linear),
        tuple(robot.independent[k] for k in unknown),
        tuple(rows),
        tuple(_sparse_first(block, pattern) for block in blocks),
    )


def _places(robot: Robot, mu: int) -> list[int]:
    return [k for k, j in enumerate(robot.independent) if robot.joints[j - 1].mu == mu]


def _linear(
    numbers: Numbers, q: Array, G: Array, active: Sequence[int], passive: Sequence[int]
) -> list[LinearPassive]:
    """Passive joints of which the rates are the same multiples of those of the actuated ones everywhere."""
    robot, found = numbers.robot, []
    units = numbers.column_units
    for row, k in enumerate(passive):
        g = G[:, row] * units[k] / units[active]
        mean = _rounded(g.mean(axis=0))
        if np.abs(g - mean).max() > _SAME * max(1.0, float(np.abs(mean).max(initial=0.0))):
            continue
        rest = q[:, k] - q[:, active] @ mean
        constant = float(rest[0])
        if np.abs(rest - constant).max() > _SAME * units[k]:
            continue
        pairs = zip(active, mean.tolist(), strict=True)
        coefficients = tuple((robot.independent[i], value) for i, value in pairs if value != 0.0)
        found.append(LinearPassive(robot.independent[k], coefficients, _snapped(float(rest.mean()))))
    return found


def _rounded(values: Array) -> Array:
    """Answer the values, those that are whole numbers but for rounding as these."""
    whole = np.round(values)
    return np.where(np.abs(values - whole) < _SAME, whole, values)


def _snapped(angle: float) -> float:
    """Answer a constant; a multiple of pi/4 but for rounding as that."""
    multiple = round(angle / (0.25 * np.pi)) * 0.25 * np.pi
    return float(multiple) if abs(angle - multiple) < 1e-12 else angle


def _kept_rows(W: Array, unknown: Sequence[int]) -> list[int]:
    """Constraints of the unknown joints that are no constant combination of others.

    Rows that say the same in all samples are dependent with constant coefficients: of a planar loop
    those across its plane, and where loops share links those of one that the others close.
    """
    own = W[:, :, unknown]
    stacked = np.moveaxis(own, 1, 0).reshape(W.shape[1], -1)
    scale = float(np.abs(stacked).max(initial=0.0))
    kept: list[int] = []
    basis: list[Array] = []
    # Those with the fewest joints first: what they say is cheapest.
    order = sorted(
        range(len(stacked)), key=lambda row: (int((np.abs(own[:, row]) > _SAME).any(axis=0).sum()), row)
    )
    for row in order:
        rest = stacked[row].copy()
        for _ in range(2):
            for direction in basis:
                rest -= (direction @ rest) * direction
        length = float(np.linalg.norm(rest))
        if length > 1e-7 * scale * np.sqrt(stacked.shape[1]):
            kept.append(row)
            basis.append(rest / length)
    return sorted(kept)


def _sparse_first(block: Block, pattern: Pattern) -> Block:
    """Answer a block with its unknowns in the order in which elimination fills least."""
    rows = list(block.rows)
    columns = sorted(block.columns, key=lambda c: (int(pattern[rows, c].sum()), c))
    return Block(block.rows, tuple(columns))
