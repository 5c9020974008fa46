# SPDX-License-Identifier: Apache-2.0
"""Configurations in which the loops are closed, found by numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dyn_core.loops.numbers import Array, Numbers

CLOSED = 1e-10
"""How far a loop that counts as closed is open, in units of its size, and rad."""

_ITERATIONS = 60
_LARGEST_STEP = 0.3
_PROGRESS = 0.9
_STEPS = 8
_STEP = 0.08
_REGULAR = 0.1
_RANK = 1e-7
"""Singular values below this part of the largest are those of a matrix of lower rank."""


def closed_by(numbers: Numbers, q: Array, movable: Sequence[int]) -> tuple[Array, Array]:
    """Close loops by moving some joints, each sample for itself, by damped Gauss-Newton steps.

    Args:
        numbers: the constraints.
        q: (K, independent joints) positions to begin with (rad or m).
        movable: places of the joints that move.

    Returns:
        the positions that were reached, and by sample the largest opening that is left.
    """
    columns = list(movable)
    q = q.copy()
    gap = _largest(numbers, q)
    moving = np.ones(len(q), dtype=bool)
    for _ in range(_ITERATIONS):
        active = moving & (gap > 1e-4 * CLOSED)
        if not active.any():
            break
        here = q[active]
        openings, _ = numbers.openings(here)
        step = -_solved(numbers.rates(here)[:, :, columns], openings)
        length = np.abs(step).max(axis=1, initial=0.0)
        step *= np.minimum(1.0, _LARGEST_STEP / np.maximum(length, 1e-300))[:, np.newaxis]
        before = gap[active]
        best, best_gap = here, before
        damping = np.ones(len(here))
        for _ in range(8):  # halved where the opening does not become smaller
            tried = here.copy()
            tried[:, columns] += damping[:, np.newaxis] * step * numbers.column_units[columns]
            left = _largest(numbers, tried)
            better = left < best_gap
            best = np.where(better[:, np.newaxis], tried, best)
            best_gap = np.where(better, left, best_gap)
            if (best_gap < before).all():
                break
            damping = np.where(best_gap < before, damping, 0.5 * damping)
        q[active], gap[active] = best, best_gap
        # Far from a solution steps are cut short; beside one the gap falls fast.
        moving[active] = (best_gap < _PROGRESS * before) | (length > _LARGEST_STEP) & (best_gap < before)
    return q, gap


def _largest(numbers: Numbers, q: Array) -> Array:
    """What is open of each sample, and what else has to be 0, as one number; infinite where one is not."""
    openings, others = numbers.openings(q)
    gap = np.sqrt((openings**2).sum(axis=1)) + np.abs(others).sum(axis=1)
    return np.where(np.isfinite(gap), gap, np.inf)


def _solved(W: Array, b: Array) -> Array:
    return (np.linalg.pinv(W, rcond=_RANK) @ b[:, :, np.newaxis])[:, :, 0]


def ranks(W: Array) -> Array:
    """Ranks of matrices (K, rows, columns)."""
    if 0 in W.shape[1:]:
        return np.zeros(len(W), dtype=int)
    values = np.linalg.svd(W, compute_uv=False)
    return np.asarray((values > _RANK * np.maximum(values[:, :1], 1e-300)).sum(axis=1))


def around(numbers: Numbers, q: Array, count: int, passive: Sequence[int]) -> Array:
    """Answer closed configurations around one, by steps along what the constraints leave free.

    A sample stays where it is before a singularity of the passive joints: beyond it is another assembly mode.

    Args:
        numbers: the constraints.
        q: (independent joints,) positions that close the loops.
        count: how many.
        passive: places of the passive joints.
    """
    random = np.random.default_rng(0)
    least = _REGULAR * _regularity(numbers.rates(q[np.newaxis])[:, :, passive])
    samples = np.repeat(q[np.newaxis], count, axis=0)
    joints = range(len(q))
    direction = random.normal(size=samples.shape)
    for _ in range(_STEPS):
        W = numbers.rates(samples)
        free = direction - (np.linalg.pinv(W, rcond=_RANK) @ (W @ direction[:, :, np.newaxis]))[:, :, 0]
        length = np.abs(free).max(axis=1, keepdims=True)
        step = np.where(length > 1e-9, _STEP * free / np.maximum(length, 1e-300), 0.0)
        moved, gap = closed_by(numbers, samples + step * numbers.column_units, joints)
        regular = _regularity(numbers.rates(moved)[:, :, passive]) >= least
        samples = np.where((regular & (gap < CLOSED))[:, np.newaxis], moved, samples)
    return samples


def _regularity(W: Array) -> Array:
    """Smallest over largest singular value; 0 for matrices without columns."""
    if 0 in W.shape[1:]:
        return np.zeros(len(W))
    values = np.linalg.svd(W, compute_uv=False)
    return np.asarray(values[:, -1] / np.maximum(values[:, 0], 1e-300))
