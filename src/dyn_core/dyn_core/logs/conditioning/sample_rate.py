# SPDX-License-Identifier: Apache-2.0
"""Samples with irregular time stamps at even times.

Stamps are irregular for one of two reasons: the samples were taken at irregular times, and the stamps say
when; or they were taken evenly, and the stamps came late, one by one or in bursts. What it was shows in the
positions, which are smooth: the wrong times make them rough. The roughness is how far each position is off
the cubic through the two before and the two after, where stamps of these five are irregular: one stamp that
came late among thousands would else not be seen, and a spline through it swings far out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.logs.log import Log

EVEN = 1e-3
"""Stamps that are at most so many periods off even times are even."""
SMOOTHER = 0.7
"""Stamps are not believed where even times make the positions rougher by at most this factor."""
ENDS = 10
"""Samples at an end that say how late it is."""
WINDOW = 5
"""Positions of which the middle one is compared with the others."""
IRREGULAR = 0.02
"""A step of stamps is irregular where it is off that of even times by more of a period."""
CLOSE = 0.25
"""Samples that are closer (periods) are replaced by their mean: a spline through both would overshoot."""


@dataclass(frozen=True, eq=False)
class EvenSegment:
    """A stretch of a log at even times.

    Attributes:
        time: (s), (N,).
        arrays: as they were given, at these times.
        how: what was done: ``even``, ``resampled`` or ``stamps ignored``.
    """

    time: Array
    arrays: tuple[Array, ...]
    how: str


def even_segment(log: Log, segment: tuple[int, int], arrays: tuple[Array, ...], period: float) -> EvenSegment:
    """Answer a stretch of a log at even times, `period` (s) apart.

    Args:
        log: the log.
        segment: first sample and the one after the last.
        arrays: columns of the log, each (N, ...), of all samples.
        period: time between two samples of the answer (s).
    """
    a, b = segment
    time = log.time[a:b]
    parts = tuple(array[a:b] for array in arrays)
    slots = _slots(time, log.period)
    start = float(np.mean(time - slots * log.period))
    even = start + log.period * slots
    how = "even" if np.abs(time - even).max() <= EVEN * log.period else "resampled"
    if how == "resampled" and _is_smoother(even, time, log.q[a:b]):
        how, time = "stamps ignored", even
    if how == "even" and abs(period / log.period - 1.0) < 1e-12 and slots[-1] == b - a - 1:
        return EvenSegment(even, parts, how)
    first, last = float(time[0]), float(time[-1])
    wanted = first + period * np.arange(int((last - first) / period + 1e-6) + 1, dtype=np.float64)
    thinned = _thinned(time, parts, CLOSE * log.period)
    resampled = tuple(_at(wanted, thinned[0], part) for part in thinned[1])
    return EvenSegment(wanted, resampled, "resampled" if how == "even" else how)


def _slots(time: Array, period: float) -> np.ndarray:
    """Answer which even time each sample belongs to, if they were taken evenly: each to one of its own."""
    position = (time - time[0]) / period
    index = np.arange(len(time))
    late = position - index
    # Where none was lost, the number of the sample is all there is to know.
    if abs(np.median(late[-ENDS:]) - np.median(late[:ENDS])) < 0.5:
        return index
    return np.asarray(np.maximum.accumulate(np.round(position).astype(int) - index) + index)


def _is_smoother(even: Array, stamps: Array, q: Array) -> bool:
    """Tell whether even times make the positions smoother, of the joint to which it matters most."""
    if len(even) < WINDOW:
        return False
    apart = np.abs(np.diff(stamps - even)) > IRREGULAR * float(np.median(np.diff(even)))
    near = np.convolve(apart, np.ones(WINDOW - 1), "valid") > 0.5
    where = np.flatnonzero(near) if near.any() else np.arange(len(near))
    ratio = _roughness(even, q, where) / _roughness(stamps, q, where)
    return bool(ratio[np.argmax(np.abs(np.log(ratio)))] < SMOOTHER)


def _roughness(at: Array, q: Array, where: np.ndarray) -> Array:
    """Answer how far positions of each joint are off the cubic through their four neighbours, there."""
    x = [at[k : len(at) - 4 + k] - at[2:-2] for k in (0, 1, 3, 4)]
    y = [q[k : len(at) - 4 + k] for k in (0, 1, 3, 4)]
    expected = np.zeros_like(q[2:-2])
    for i in range(4):
        weight = np.ones(len(x[0]))
        for j in range(4):
            if j != i:
                weight = weight * x[j] / (x[j] - x[i])
        expected += weight[:, None] * y[i]
    # Not the mean: where two stamps are all but the same, the cubic is anywhere.
    rough = np.quantile(np.abs(q[2:-2] - expected)[where], 0.9, axis=0)
    return np.asarray(rough + 1e-12 * (1.0 + np.abs(q).max(axis=0)))


def _thinned(time: Array, parts: tuple[Array, ...], close: float) -> tuple[Array, tuple[Array, ...]]:
    """Answer samples of which those that are too close are replaced by their mean."""
    if np.diff(time).min() >= close:
        return time, parts
    # Samples of one cell of a grid make a group.
    cell = np.floor((time - time[0]) / (2.0 * close)).astype(int)
    group = np.concatenate(([0], np.cumsum(np.diff(cell) > 0)))
    count = np.bincount(group)

    def mean(values: Array) -> Array:
        columns = values.reshape(len(values), -1)
        sums = [np.bincount(group, weights=columns[:, k]) / count for k in range(columns.shape[1])]
        return np.column_stack(sums).reshape(len(count), *values.shape[1:])

    middle = mean(time)
    keep = np.concatenate(([True], np.diff(middle) >= 0.5 * close))
    return middle[keep], tuple(mean(part)[keep] for part in parts)


def _at(wanted: Array, time: Array, values: Array) -> Array:
    """Answer values at other times by the cubic spline through them; columns without values stay without."""
    from scipy.interpolate import CubicSpline

    known = np.isfinite(values).all(axis=0)
    result = np.full((len(wanted), values.shape[1]), np.nan)
    if known.any():
        result[:, known] = CubicSpline(time, values[:, known])(wanted)
    return result
