# SPDX-License-Identifier: Apache-2.0
"""The rate of samples, and the gaps between them.

Stamps that come late, and samples that are lost, both make long steps. After a late stamp the next ones are
as early again as if nothing had been; after a gap all are late for good. So a gap is a long step after which
the samples stay behind an even pace.
"""

from __future__ import annotations

import itertools

import numpy as np

from dyn_core.core.arrays import Array

GAP = 4.5
"""Steps of more periods than this are gaps, unless the samples catch up."""
CATCHING_UP = 10
"""Samples within which they do."""
BURST = 5000.0
"""Rate (Hz) within bursts: samples that come so fast, and then none for long, were taken evenly before."""


def period_of(time: Array) -> float:
    """Answer the time between two samples (s), in spite of samples that are lost, jitter and gaps.

    Either no sample was lost between two gaps, and late stamps made the long steps; or all steps are whole
    numbers of periods, and samples were lost. That which makes an even pace of it is true.
    """
    steps = np.diff(time)
    median = float(np.median(steps))
    long = steps > GAP * median
    usual = float(np.mean(np.sort(steps)[: max(int(0.99 * len(steps)), 1)]))
    is_burst = median < 1.0 / BURST and steps[long].sum() > 0.5 * steps.sum() and long.mean() > 0.01
    first = usual if is_burst else min(usual, 2.0 * median)
    stretches = [(a, b) for a, b in between_gaps(time, first) if b - a > 1]
    paces = [_pace(time, stretches, np.ones(len(steps)))]
    if not is_burst:
        paces.append(_pace(time, stretches, np.maximum(np.round(steps / median), 1.0)))
    return min(paces, key=lambda pace: pace[1])[0]


def _pace(time: Array, stretches: list[tuple[int, int]], slots: Array) -> tuple[float, float]:
    """Answer the period if steps are so many periods each, and by how many periods stamps are off then."""
    passed_by_time, passed_squared, off = 0.0, 0.0, 0.0
    for a, b in stretches:
        passed = np.concatenate(([0.0], np.cumsum(slots[a : b - 1])))
        passed -= passed.mean()
        own = time[a:b] - time[a:b].mean()
        slope = float(passed @ own) / float(passed @ passed)
        off += float(np.sum((own / slope - passed) ** 2))
        passed_by_time += float(passed @ own)
        passed_squared += float(passed @ passed)
    return passed_by_time / passed_squared, off


def between_gaps(time: Array, period: float) -> tuple[tuple[int, int], ...]:
    """Answer the stretches without gaps as pairs of first sample and the one after the last."""
    steps = np.diff(time)
    behind = time - period * np.arange(len(time))
    gaps = [
        k
        for k in np.flatnonzero(steps > GAP * period).tolist()
        if _median_after(behind, steps, k, period) - _median_before(behind, steps, k, period) > 0.5 * steps[k]
    ]
    edges = np.concatenate(([0], np.array(gaps, dtype=int) + 1, [len(time)]))
    return tuple((int(a), int(b)) for a, b in itertools.pairwise(edges))


def _median_after(behind: Array, steps: Array, k: int, period: float) -> float:
    """Answer how late the samples after step k are, up to the next long step."""
    end = min(k + 1 + CATCHING_UP, len(behind))
    further = np.flatnonzero(steps[k + 1 : end - 1] > GAP * period)
    return float(np.median(behind[k + 1 : k + 2 + int(further[0]) if len(further) else end]))


def _median_before(behind: Array, steps: Array, k: int, period: float) -> float:
    """Answer how late the samples before step k are, from the last long step on."""
    start = max(k + 1 - CATCHING_UP, 0)
    further = np.flatnonzero(steps[start:k] > GAP * period)
    return float(np.median(behind[start + int(further[-1]) + 1 if len(further) else start : k + 1]))
