# SPDX-License-Identifier: Apache-2.0
"""Samples with irregular time stamps at even times.

Stamps are irregular for one of two reasons: the samples were taken at irregular times, and the stamps say
when; or they were taken evenly, and the stamps came late. What it was shows in the positions, which are
smooth: the wrong times make them rough. The roughness is how far each position is off the cubic through the
two before and the two after.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_core.facade.arrays import Array
from dyn_core.logs.log import Log

EVEN = 0.02
"""Stamps that are at most so many periods off even times are even."""
SMOOTHER = 0.7
"""Stamps are not believed where even times make the positions at least this much smoother."""


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
    """Answer a stretch of a log at even times, `period` (s) apart."""
    a, b = segment
    time = log.time[a:b]
    parts = tuple(array[a:b] for array in arrays)
    index = np.arange(b - a)
    if abs(period / log.period - 1.0) < 1e-12:
        slots = _slots(time, period)
        start = float(np.mean(time - slots * period))
        off = np.abs(time - slots * period - start).max()
        if slots[-1] == index[-1] and off <= EVEN * period:
            return EvenSegment(start + period * index.astype(np.float64), parts, "even")
        if off > EVEN * period and _roughness(slots.astype(float), log.q[a:b]) < SMOOTHER * _roughness(
            (time - time[0]) / period, log.q[a:b]
        ):
            wanted = np.arange(slots[-1] + 1)
            spaced = tuple(_at(wanted.astype(float), slots.astype(float), part) for part in parts)
            return EvenSegment(start + wanted * period, spaced, "stamps ignored")
    wanted = time[0] + np.arange(int((time[-1] - time[0]) / period + 1e-9) + 1) * period
    return EvenSegment(wanted, tuple(_at(wanted, time, part) for part in parts), "resampled")


def _slots(time: Array, period: float) -> np.ndarray:
    """Answer which even time each stamp belongs to: each to one of its own, none where samples are lost."""
    count = len(time)
    position = (time - time[0]) / period
    index = np.arange(count)
    # Where nothing was lost, the number of the sample is all there is to know.
    if (
        abs(position[-1] - (count - 1)) < 0.5
        and np.abs(position - index - np.mean(position - index)).max() < 3.0
    ):
        return index
    # Each gets a place after the one before: as early as its stamp and theirs allow.
    return np.asarray(np.maximum.accumulate(np.round(position).astype(int) - index) + index)


def _roughness(at: Array, q: Array) -> float:
    """Answer how far positions are off the cubic through their four neighbours."""
    if len(at) < 9:
        return 0.0
    x = [at[k : len(at) - 4 + k] - at[2:-2] for k in (0, 1, 3, 4)]
    y = [q[k : len(at) - 4 + k] for k in (0, 1, 3, 4)]
    expected = np.zeros_like(q[2:-2])
    for i in range(4):
        weight = np.ones(len(x[0]))
        for j in range(4):
            if j != i:
                weight = weight * x[j] / (x[j] - x[i])
        expected += weight[:, None] * y[i]
    off = q[2:-2] - expected
    scale = np.maximum(np.ptp(q, axis=0), 1e-9)
    return float(np.sqrt(np.mean((off / scale) ** 2)))


def _at(wanted: Array, time: Array, values: Array) -> Array:
    """Answer values at other times by the cubic spline through them; columns without values stay without."""
    from scipy.interpolate import CubicSpline

    known = np.isfinite(values).all(axis=0)
    result = np.full((len(wanted), values.shape[1]), np.nan)
    if known.any():
        result[:, known] = CubicSpline(time, values[:, known])(wanted)
    return result
