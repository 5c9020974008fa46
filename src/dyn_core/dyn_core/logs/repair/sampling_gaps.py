# SPDX-License-Identifier: Apache-2.0
"""Gaps that are short in time are filled, not cut out.

A log of 1 kHz that loses ten samples now and then has still more of the motion than one of 100 Hz; cut into
pieces of a second, of which each end is lost to the filter, it has next to nothing. So gaps that a slower log
would not notice are filled, each by polynomials that fit the samples on both sides best: many samples, for
the noise of two would be as steep as the motion.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.logs.pace import between_gaps
from dyn_core.logs.repair.column_anomalies import resolution

LONGEST = 0.025
"""Gaps up to here (s) are filled: a log of 180 Hz has none that are shorter."""
NEAR = 10
"""Periods on each side of which samples tell what was in a gap, or its own length where that is more."""
FEWEST = 2
"""Samples on each side that there have to be."""
SMOOTH, ROUGH = 5, 3
"""Degrees of the polynomials: of positions, and of velocities and efforts."""
APART = 4.0
"""Positions are of two motions that are further off one polynomial than this many times what they are off one
on each side, or step by from sample to sample."""


@dataclass(frozen=True, eq=False)
class Filled:
    """Samples, and those that were made up.

    Attributes:
        time: increasing (s), (N,).
        q: positions (rad or m), (N, n).
        others: velocities, efforts, each (N, n).
        gaps: number of gaps that were filled.
        longest: of them (s).
        made_up: number of samples.
    """

    time: Array
    q: Array
    others: tuple[Array, ...]
    gaps: int = 0
    longest: float = 0.0
    made_up: int = 0


def fill_short_gaps(time: Array, q: Array, others: tuple[Array, ...], period: float) -> Filled:
    """Answer samples without gaps that are short.

    Args:
        time: increasing (s), (N,).
        q: finite (rad or m), (N, n).
        others: velocities, efforts, each (N, n); columns without values stay without.
        period: time between two samples (s).
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
        # No more than the shortest gap that is not filled, for what is behind that may be another motion.
        side = max(length, min(NEAR * period, LONGEST))
        near = slice(*np.searchsorted(time, (time[a - 1] - side, time[a] + side)).tolist())
        wanted = time[a - 1] + length * np.arange(1, missing + 1) / (missing + 1)
        if min(a - near.start, near.stop - a) < FEWEST or _apart(time, q, near, a, steps):
            continue
        columns = [_at(wanted, time[near], q[near], SMOOTH)]
        columns += [_at(wanted, time[near], column[near], ROUGH) for column in others]
        pieces.append((np.full(missing, a), wanted, *columns))
        longest = max(longest, length)
    if not pieces:
        return Filled(time, q, others)
    places, *new = (np.concatenate(columns) for columns in zip(*pieces, strict=True))
    time, q, *rest = (
        np.insert(old, places, made, axis=0) for old, made in zip((time, q, *others), new, strict=True)
    )
    return Filled(time, q, tuple(rest), len(pieces), longest, len(places))


def _apart(time: Array, q: Array, near: slice, a: int, steps: Array) -> bool:
    """Tell samples that another motion, or another zero, is behind those before sample a.

    Args:
        time: (s), (N,).
        q: (rad or m), (N, n).
        near: samples on both sides.
        a: first of those behind.
        steps: resolution of each position.
    """
    both = _off(time[near], q[near], SMOOTH)
    before, after = slice(near.start, a), slice(a, near.stop)
    usual = [_off(time[side], q[side], ROUGH) for side in (before, after)]
    usual += [np.abs(np.diff(q[side], axis=0)).max(axis=0) for side in (before, after)]
    return bool(np.any(both > APART * np.maximum.reduce([*usual, steps])))


def _off(time: Array, values: Array, degree: int) -> Array:
    """Answer how far values are off the polynomials that fit them best."""
    return np.asarray(np.abs(_at(time, time, values, degree) - values).max(axis=0), dtype=np.float64)


def _at(wanted: Array, time: Array, values: Array, degree: int) -> Array:
    """Answer the polynomials that fit values (N, n) best, at other times."""
    middle, half = 0.5 * (time[0] + time[-1]), 0.5 * (time[-1] - time[0])
    degree = min(degree, max(len(time) // 2 - 1, 1))
    known, asked = (np.vander((t - middle) / half, degree + 1) for t in (time, wanted))
    return np.asarray(asked @ (np.linalg.pinv(known) @ values), dtype=np.float64)
