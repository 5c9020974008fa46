# SPDX-License-Identifier: Apache-2.0
"""The rate of samples, and the gaps between them."""

from __future__ import annotations

import itertools

import numpy as np

from dyn_core.facade.arrays import Array

GAP = 4.5
"""Steps of more periods than this are gaps."""
IN_STEP = 0.7
"""Mean cosine of the steps, a turn for a period, from which on steps are whole numbers of periods."""


def period_of(time: Array) -> float:
    """Answer the time between two samples (s), in spite of samples that are lost, jitter and gaps.

    Where steps are whole numbers of the median step, all but a little, that is the period, and samples are
    lost; otherwise, as where samples come in bursts or their stamps jitter, it is the mean step.
    """
    steps = np.diff(time)
    median = float(np.median(steps))
    beside_gaps = steps[steps <= GAP * median]
    if len(beside_gaps) < 0.9 * len(steps):
        # Bursts: what counts is how many samples there are in a while, beside a few gaps.
        return float(np.mean(np.sort(steps)[: max(int(0.99 * len(steps)), 1)]))
    if float(np.mean(np.cos(2.0 * np.pi * beside_gaps / median))) > IN_STEP:
        return float(beside_gaps.sum() / np.maximum(np.round(beside_gaps / median), 1.0).sum())
    return float(beside_gaps.mean())


def between_gaps(time: Array, period: float) -> tuple[tuple[int, int], ...]:
    """Answer the stretches without gaps as pairs of first sample and the one after the last."""
    edges = np.concatenate(([0], np.flatnonzero(np.diff(time) > GAP * period) + 1, [len(time)]))
    return tuple((int(a), int(b)) for a, b in itertools.pairwise(edges))
