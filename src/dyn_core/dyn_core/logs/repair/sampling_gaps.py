# SPDX-License-Identifier: Apache-2.0
"""Sampling period of a log, and gaps between samples.

Late stamps and lost samples both make long steps. After a late stamp the next ones are on time again; after a
gap all stamps are late. A gap is therefore a long step after which the samples stay behind an even rate.

Short gaps are filled: a log of 1 kHz that loses ten samples now and then still has more of the motion than a
log of 100 Hz, but hardly any samples if it is cut into pieces whose ends are lost to the filter. Gaps that a
slower log would not show are filled by polynomials that fit many samples on both sides, because the noise of
few samples is as steep as the motion.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.logs.repair.column_anomalies import resolution

GAP = 4.5
"""Longest step that is not a gap, in periods."""
CATCHING_UP = 10
"""Samples within which stamps after a late one are on time again."""
BURST = 5000.0
"""Rate (Hz) within bursts of samples that were taken evenly before."""
LONGEST = 0.025
"""Longest gap (s) that is filled: a log of 180 Hz has no shorter ones."""
NEAR = 10
"""Periods on each side of a gap whose samples are used; more if the gap is longer."""
FEWEST = 2
"""Least number of samples on each side."""
SMOOTH, ROUGH = 5, 3
"""Degrees of the polynomials of positions, and of velocities and efforts."""
APART = 4.0
"""Ratio of deviations: samples on both sides belong to different motions if the positions deviate from one
polynomial by more than this many times the deviation from one on each side, and times their steps."""


def period_of(time: Array) -> float:
    """Return the sampling period (s), in spite of lost samples, jitter and gaps.

    Either no sample was lost between two gaps, and late stamps made the long steps; or samples were lost, and
    all steps are multiples of the period. The more even of the two explanations is used.
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
    """Return the period if the steps are multiples `slots` of it, and the squared deviations in periods."""
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
    """Return the stretches without gaps as pairs of first sample and the one after the last."""
    steps = np.diff(time)
    late = time - period * np.arange(len(time))
    long = np.flatnonzero(steps > GAP * period)
    edges = [0]
    for i, k in enumerate(long.tolist()):
        # Up to the neighbouring long steps.
        first = max(k + 1 - CATCHING_UP, int(long[i - 1]) + 1 if i else 0)
        last = min(k + 1 + CATCHING_UP, int(long[i + 1]) + 1 if i + 1 < len(long) else len(time))
        if np.median(late[k + 1 : last]) - np.median(late[first : k + 1]) > 0.5 * steps[k]:
            edges.append(k + 1)
    return tuple(itertools.pairwise([*edges, len(time)]))


@dataclass(frozen=True, eq=False)
class Filled:
    """Samples without short gaps.

    Attributes:
        time: increasing (s), (N,).
        q: positions (rad or m), (N, n).
        others: velocities, efforts, each (N, n).
        gaps: number of gaps that were filled.
        longest: the longest of them (s).
        made_up: number of samples that were inserted.
    """

    time: Array
    q: Array
    others: tuple[Array, ...]
    gaps: int = 0
    longest: float = 0.0
    made_up: int = 0


def fill_short_gaps(time: Array, q: Array, others: tuple[Array, ...], period: float) -> Filled:
    """Return samples without short gaps.

    Args:
        time: increasing (s), (N,).
        q: finite (rad or m), (N, n).
        others: velocities, efforts, each (N, n); a column of NaN stays so.
        period: sampling period (s).
    """
    longest = 0.0
    pieces: list[tuple[Array, ...]] = []
    after = [a for _, a in between_gaps(time, period)[:-1] if time[a] - time[a - 1] <= LONGEST]
    if not after:
        return Filled(time, q, others)
    steps = np.array([resolution(column) for column in q.T])
    for a in after:
        length = float(time[a] - time[a - 1])
        missing = max(round(length / period) - 1, 1)
        # No further than the longest gap that is filled: beyond it there may be another motion.
        side = max(length, min(NEAR * period, LONGEST))
        near = slice(*np.searchsorted(time, (time[a - 1] - side, time[a] + side)).tolist())
        times = time[a - 1] + length * np.arange(1, missing + 1) / (missing + 1)
        if min(a - near.start, near.stop - a) < FEWEST or _apart(time, q, near, a, steps):
            continue
        columns = [_fitted(times, time[near], q[near], SMOOTH)]
        columns += [_fitted(times, time[near], column[near], ROUGH) for column in others]
        pieces.append((np.full(missing, a), times, *columns))
        longest = max(longest, length)
    if not pieces:
        return Filled(time, q, others)
    places, *new = (np.concatenate(columns) for columns in zip(*pieces, strict=True))
    time, q, *rest = (
        np.insert(old, places, made, axis=0) for old, made in zip((time, q, *others), new, strict=True)
    )
    return Filled(time, q, tuple(rest), len(pieces), longest, len(places))


def _apart(time: Array, q: Array, near: slice, a: int, steps: Array) -> bool:
    """Return whether the samples `near` a gap, before and from sample a, belong to different motions.

    `steps` are the resolutions of the positions.
    """

    def deviation(side: slice, degree: int) -> Array:
        fitted = _fitted(time[side], time[side], q[side], degree)
        return np.asarray(np.abs(fitted - q[side]).max(axis=0), dtype=np.float64)

    sides = slice(near.start, a), slice(a, near.stop)
    usual = [deviation(side, ROUGH) for side in sides]
    usual += [np.abs(np.diff(q[side], axis=0)).max(axis=0) for side in sides]
    return bool(np.any(deviation(near, SMOOTH) > APART * np.maximum.reduce([*usual, steps])))


def _fitted(times: Array, time: Array, values: Array, degree: int) -> Array:
    """Return the polynomials that fit values (N, n) best, at other times."""
    middle, half = 0.5 * (time[0] + time[-1]), 0.5 * (time[-1] - time[0])
    degree = min(degree, max(len(time) // 2 - 1, 1))
    known, other = (np.vander((t - middle) / half, degree + 1) for t in (time, times))
    return np.asarray(other @ (np.linalg.pinv(known) @ values), dtype=np.float64)
