# SPDX-License-Identifier: Apache-2.0
"""Signals that look as no sensor of a moving robot does: stuck, clipped, coarse, with spikes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.logs.holes import runs

STEEP = 3.0
"""Usual steps that a spike is high at least."""
LONGEST_SPIKE = 3
"""Samples of a spike at most."""
MOST_SPIKES = 0.02
"""Part of the samples that may be spikes."""
STEPS = 4.0
"""Steps of its resolution that a signal may go up and down without a spike."""
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


def spikes(values: Array, share: float) -> list[tuple[int, int]]:
    """Answer where a signal leaves its course for at most `LONGEST_SPIKE` samples and comes back.

    All samples of a spike are far from the straight line between the samples before and after, which are
    about as far apart as those of the course are.

    Args:
        values: finite, (N,).
        share: least height of a spike, in parts of the usual range of the values.

    Returns:
        first sample of each spike, and the one after its last.
    """
    if len(values) < 10:
        return []
    low, high = np.quantile(values, (0.005, 0.995))
    step = float(np.quantile(np.abs(np.diff(values)), 0.95))
    least = max(share * float(high - low), STEEP * step, STEPS * resolution(values))
    found: list[tuple[int, int]] = []
    taken = np.zeros(len(values), dtype=bool)
    for length in range(LONGEST_SPIKE, 0, -1):
        before, after = values[: -length - 1], values[length + 1 :]
        slope = (after - before) / (length + 1)
        inner = [values[k : len(values) - length - 1 + k] - before - k * slope for k in range(1, length + 1)]
        off = np.abs(inner).min(axis=0)
        is_course = np.abs(after - before) < 0.3 * off + 1.5 * (length + 1) * step
        for a in (np.flatnonzero((off > least) & is_course) + 1).tolist():
            if not taken[a - 1 : a + length + 1].any():
                taken[a : a + length] = True
                found.append((a, a + length))
    # What leaves its course all the time has none.
    return sorted(found) if taken.mean() < MOST_SPIKES else []


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
