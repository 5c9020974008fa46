# SPDX-License-Identifier: Apache-2.0
"""Closed configurations far from one, and what moves in them: states that show what loops let a robot do.

Each sample goes its own way from the reference, as straight as the constraints let it. Where these lose
rank, ways of moving meet that have nothing to do with one another, such as those of a parallelogram
and of an antiparallelogram: samples stop before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyn_core.algorithms.loops.closed_configurations import ranks
from dyn_core.algorithms.loops.constraints import all_rests
from dyn_core.loops.numbers import Array, Numbers
from dyn_core.robot.joint_coupling import joint_positions, joint_rates

STEPS = 12
STEP = 0.2
"""Length of a step (rad, or units of the size of the loops)."""

_CLOSED = 1e-3
"""How far loops may be open on the way."""

_REGULAR = 0.2
"""Part of the least singular value in the reference that constraints keep."""


class ClosedStates(NamedTuple):
    """States of a robot with loops that keep them closed.

    Attributes:
        q: positions of the independent joints (rad or m), (K, independent joints).
        motions: K bases of the velocities that are possible, (K, independent joints, dof).
        qd: velocities of the independent joints (rad/s or m/s).
        qdd: accelerations of them (rad/s^2 or m/s^2).
    """

    q: Array
    motions: Array
    qd: Array
    qdd: Array


def wander(numbers: Numbers, reference: Array, count: int, random: np.random.Generator) -> Array:
    """Answer closed configurations, near a reference and far from it, (count, independent joints).

    Args:
        numbers: the constraints.
        reference: positions that close the loops (rad or m).
        count: how many.
        random: random numbers for the directions and lengths of their ways.
    """
    units = numbers.column_units
    samples = np.repeat(reference[np.newaxis], count, axis=0)
    W = numbers.rates(samples)
    rank = int(ranks(W[:1])[0])
    least = _REGULAR * _least(W[:1], rank)[0]
    direction = random.normal(size=samples.shape)
    steps = random.integers(1, STEPS + 1, count)
    for k in range(STEPS):
        free = direction - _solved(W, (W @ direction[:, :, np.newaxis])[:, :, 0])
        length = np.abs(free).max(axis=1, keepdims=True)
        tried = samples + np.where(length > 1e-9, STEP / np.maximum(length, 1e-300), 0.0) * free * units
        W_tried = numbers.rates(tried)
        for _ in range(2):
            tried = tried - _solved(W_tried, numbers.openings(tried)[0]) * units
        near = np.abs((tried - samples) / units).max(axis=1) < 1.5 * STEP
        closed = np.abs(numbers.openings(tried)[0]).max(axis=1, initial=0.0) < _CLOSED
        taken = closed & near & (_least(W_tried, rank) > least) & (k < steps)
        samples[taken], W[taken] = tried[taken], W_tried[taken]
    return _polished(numbers, samples)


def closed_states(numbers: Numbers, q: Array, random: np.random.Generator) -> ClosedStates:
    """Answer random velocities and accelerations that keep loops closed.

    They are combinations of all motions that are possible, whichever joints have actuators: that is well
    conditioned also where the actuated ones hardly determine the others.

    Args:
        numbers: the constraints.
        q: (K, independent joints) positions that close the loops (rad or m).
        random: the random numbers.
    """
    robot, units = numbers.robot, numbers.column_units
    W = numbers.rates(q)
    rank = int(ranks(W).max(initial=0))
    motions = np.linalg.svd(W)[2][:, rank:].swapaxes(1, 2)
    speeds, changes = random.uniform(-1.0, 1.0, (2, len(q), motions.shape[2], 1))
    qd = (motions @ speeds)[:, :, 0] * units
    rates = joint_rates(robot, list(qd.T))
    rests = all_rests(robot, numbers.cuts, joint_positions(robot, list(q.T)), rates)
    psi = np.stack([np.broadcast_to(rest, (len(q),)) for rest in rests], axis=1) / numbers.row_units
    qdd = ((motions @ changes)[:, :, 0] - _solved(W, psi)) * units
    return ClosedStates(q, motions * units[:, np.newaxis], qd, qdd)


def _solved(W: Array, b: Array) -> Array:
    """Shortest x of ``W x = b``."""
    found: Array = (np.linalg.pinv(W, rcond=1e-7) @ b[:, :, np.newaxis])[:, :, 0]
    return found


def _least(W: Array, rank: int) -> Array:
    """Least singular value of the constraints that say something, relative to the greatest."""
    if rank == 0:
        return np.ones(len(W))
    values = np.linalg.svd(W, compute_uv=False)
    return np.asarray(values[:, rank - 1] / np.maximum(values[:, 0], 1e-300))


def _polished(numbers: Numbers, q: Array) -> Array:
    """Answer configurations closed to the last digit: relations are looked for in what is left."""
    for _ in range(3):
        q = q - _solved(numbers.rates(q), numbers.openings(q)[0]) * numbers.column_units
    return q
