# SPDX-License-Identifier: Apache-2.0
"""Signals that look as no sensor of a moving robot does: stuck, clipped, coarse, with spikes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_core.facade.arrays import Array
from dyn_core.logs.holes import runs

SPIKE = 30.0
"""A single sample is a spike where it is this many usual second differences away from its neighbours."""
FLAT = 3
"""Samples in a row at the greatest value from which on they are a flat top."""
CLIPPED = 0.002
"""Part of the samples on flat tops from which on a signal is clipped."""


WHOLE = 0.05
"""Distance from whole numbers, in the mean, up to which steps are multiples of the smallest."""


@dataclass(frozen=True)
class Clipping:
    """A signal that has a flat top, or bottom.

    Attributes:
        level: the value there.
        count: how many samples are there.
        tops: how many stretches they make.
    """

    level: float
    count: int
    tops: int


def without_spikes(time: Array, values: Array) -> tuple[Array, np.ndarray]:
    """Answer values without single samples off a smooth course: they get what is between their neighbours.

    A spike of height h shows in the distances d from the straight lines between neighbours: h where it is,
    and beside it, where it is a neighbour itself, -h times its weight, which is 1/2 at even times.

    Args:
        time: increasing (s), (N,).
        values: finite, (N,).

    Returns:
        the values, and which samples were spikes.
    """
    none = np.empty(0, dtype=int)
    if len(values) < 7:
        return values, none
    # Weights of the neighbours before and after, for samples 1 to N - 2.
    after = (time[1:-1] - time[:-2]) / (time[2:] - time[:-2])
    between = (1.0 - after) * values[:-2] + after * values[2:]
    d = np.concatenate(([0.0], values[1:-1] - between, [0.0]))
    least = max(SPIKE * 1.4826 * float(np.median(np.abs(d[1:-1]))), 1e-3 * float(np.ptp(values)))
    high = np.flatnonzero(np.abs(d) > least)
    high = high[(high > 1) & (high < len(values) - 2)]
    # Sample k is the neighbour after of k - 1, whose weight is after[k - 2], and the one before of k + 1.
    spikes = high[
        (np.abs(d[high - 1] / d[high] + after[high - 2]) < 0.2)
        & (np.abs(d[high + 1] / d[high] + 1.0 - after[high]) < 0.2)
    ]
    if not len(spikes):
        return values, none
    repaired = values.copy()
    repaired[spikes] = between[spikes - 1]
    return repaired, spikes


def clipping(values: Array) -> Clipping | None:
    """Answer where a signal is cut off at its greatest or least value; None where it is not.

    A top is flat where the value stays the same, to 1e-6 of the range, for at least `FLAT` samples; a signal
    at rest, which stays the same at values that are not its extremes too, and one of few values are none.
    """
    span = float(values.max() - values.min())
    if span == 0.0:
        return None
    still = np.abs(np.diff(values)) <= 1e-6 * span
    for level, sign in ((float(values.max()), 1.0), (float(values.min()), -1.0)):
        at = sign * (level - values) <= 1e-6 * span
        tops = [(a, b) for a, b in runs(at) if b - a >= FLAT]
        count = sum(b - a for a, b in tops)
        if count < max(CLIPPED * len(values), 2 * FLAT):
            continue
        # How often the signal stands still where it is not at its extremes.
        inside = ~(at[1:] | at[:-1])
        usual = float(still[inside].mean()) if inside.any() else 1.0
        here = float(still[at[1:] & at[:-1]].mean())
        if usual < 0.5 * here and count > 5.0 * _expected(values, level, span):
            return Clipping(level, count, len(tops))
    return None


def _expected(values: Array, level: float, span: float) -> float:
    """Answer how many samples the next level below the extreme has, in steps of the resolution."""
    step = max(resolution(values), 1e-3 * span)
    near = (np.abs(values - level) > 1e-6 * span) & (np.abs(values - level) <= step * 1.5)
    return float(near.sum()) / 1.5


def resolution(values: Array) -> float:
    """Answer the step of which all values of a signal are multiples; 0 where there is none."""
    greatest = max(float(np.abs(values).max()), 1e-300)
    levels = np.unique(np.round(values / greatest, 10))
    if len(levels) < 2 or len(levels) > 0.7 * len(values):
        return 0.0
    steps = np.diff(levels)
    step = float(steps.min())
    whole = steps / step
    return step * greatest if float(np.abs(whole - np.round(whole)).mean()) < WHOLE else 0.0


def longest_still(values: Array) -> tuple[int, int]:
    """Answer the longest stretch of one and the same value."""
    found = runs(np.concatenate((np.diff(values) == 0.0, [False])))
    a, b = max(found, key=lambda run: run[1] - run[0], default=(0, 0))
    return a, b + 1 if b > a else b
