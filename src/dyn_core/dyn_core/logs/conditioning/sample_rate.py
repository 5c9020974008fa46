# SPDX-License-Identifier: Apache-2.0
"""Change of the sample rate: even resampling, and decimation by parallel filtering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import ArgumentError
from dyn_core.logs.log import Log

EVEN = 1e-3
"""Greatest deviation of stamps from even times, in periods."""
SMOOTHER = 0.7
"""Stamps are ignored if even times multiply the roughness of the positions by at most this factor."""
ENDS = 10
"""Number of samples at an end; their median is the delay of that end."""
WINDOW = 5
"""Number of neighbouring positions; the middle one is compared with the others."""
IRREGULAR = 0.02
"""Greatest deviation of a step from that of even times, in periods."""
CLOSE = 0.25
"""Samples that are closer (periods) are replaced by their mean: a spline through both would overshoot."""
EDGE = 0.8
"""Frequency where the gain of the decimation filter is 1/2, in parts of the new Nyquist frequency; at that
frequency itself, the gain is nearly 0."""
_PERIODS = 6
"""Half the length of the filter, in samples that are kept."""
_WIDTH = 3
"""Half the width of the differences."""
_BLOCK = 4
"""Samples of one product with a matrix: few, so that BLAS uses one thread."""


@dataclass(frozen=True, eq=False)
class EvenSegment:
    """A stretch of a log at even times.

    Attributes:
        time: times (s), (N,).
        arrays: the given arrays at these times.
        how: treatment of the stamps: ``even``, ``resampled`` or ``stamps-ignored``.
    """

    time: Array
    arrays: tuple[Array, ...]
    how: str


def even_segment(log: Log, segment: tuple[int, int], arrays: tuple[Array, ...], period: float) -> EvenSegment:
    """Return a stretch of a log at even times, `period` (s) apart.

    Irregular stamps have one of two causes: the samples were taken at these times, or they were taken evenly
    and the stamps were late, one by one or in bursts. The positions, which are smooth, tell which: wrong
    times make them rough. The roughness is the deviation of each position from the cubic through the two
    before and the two after it, where stamps of these five are irregular: otherwise a single late stamp among
    thousands would not be detected, and a spline through it overshoots.

    Args:
        log: the log.
        segment: first sample and the one after the last.
        arrays: columns of the log, each (N, ...), of all samples.
        period: time between two samples of the result (s).
    """
    a, b = segment
    time = log.time[a:b]
    parts = tuple(array[a:b] for array in arrays)
    slots = _slots(time, log.period)
    start = float(np.mean(time - slots * log.period))
    even = start + log.period * slots
    how = "even" if np.abs(time - even).max() <= EVEN * log.period else "resampled"
    if how == "resampled" and _is_smoother(even, time, log.q[a:b]):
        how, time = "stamps-ignored", even
    if how == "even" and abs(period / log.period - 1.0) < 1e-12 and slots[-1] == b - a - 1:
        return EvenSegment(even, parts, how)
    first, last = float(time[0]), float(time[-1])
    times = first + period * np.arange(int((last - first) / period + 1e-6) + 1, dtype=np.float64)
    time, parts = _thinned(time, parts, CLOSE * log.period)
    resampled = tuple(_at(times, time, part) for part in parts)
    return EvenSegment(times, resampled, "resampled" if how == "even" else how)


def _slots(time: Array, period: float) -> np.ndarray:
    """Return the index of the even time of each sample, all different."""
    position = (time - time[0]) / period
    index = np.arange(len(time))
    late = position - index
    # If no sample was lost, it is the index of the sample.
    if abs(np.median(late[-ENDS:]) - np.median(late[:ENDS])) < 0.5:
        return index
    return np.asarray(np.maximum.accumulate(np.round(position).astype(int) - index) + index)


def _is_smoother(even: Array, stamps: Array, q: Array) -> bool:
    """Return whether even times make the positions smoother, for the joint with the greatest effect."""
    if len(even) < WINDOW:
        return False
    apart = np.abs(np.diff(stamps - even)) > IRREGULAR * float(np.median(np.diff(even)))
    near = np.convolve(apart, np.ones(WINDOW - 1), "valid") > 0.5
    where = np.flatnonzero(near) if near.any() else np.arange(len(near))
    ratio = _roughness(even, q, where) / _roughness(stamps, q, where)
    return bool(ratio[np.argmax(np.abs(np.log(ratio)))] < SMOOTHER)


def _roughness(time: Array, q: Array, where: np.ndarray) -> Array:
    """Return the deviation of the positions `where` from the cubic through their neighbours, (n,)."""
    x = [time[k : len(time) - 4 + k] - time[2:-2] for k in (0, 1, 3, 4)]
    y = [q[k : len(time) - 4 + k] for k in (0, 1, 3, 4)]
    expected = np.zeros_like(q[2:-2])
    for i in range(4):
        weight = np.ones(len(x[0]))
        for j in range(4):
            if j != i:
                weight = weight * x[j] / (x[j] - x[i])
        expected += weight[:, None] * y[i]
    # A quantile, not the mean: where two stamps are nearly equal, the cubic is arbitrary.
    rough = np.quantile(np.abs(q[2:-2] - expected)[where], 0.9, axis=0)
    return np.asarray(rough + 1e-12 * (1.0 + np.abs(q).max(axis=0)))


def _thinned(time: Array, parts: tuple[Array, ...], close: float) -> tuple[Array, tuple[Array, ...]]:
    """Return samples in which those that are too close are replaced by their mean."""
    if np.diff(time).min() >= close:
        return time, parts
    # The samples in one cell of a grid are a group.
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


def _at(times: Array, time: Array, values: Array) -> Array:
    """Return values at other times by cubic splines; columns of NaN stay so."""
    from scipy.interpolate import CubicSpline

    known = np.isfinite(values).all(axis=0)
    result = np.full((len(times), values.shape[1]), np.nan)
    if known.any():
        result[:, known] = CubicSpline(time, values[:, known])(times)
    return result


@dataclass(frozen=True)
class Decimation:
    """Parallel filtering: a symmetric (zero-phase) low-pass filter of both sides of ``W K = tau``.

    A linear filter F over time leaves the equation valid, ``F W K = F tau``, because the parameters K are
    constant (SYMORO+ 2003, eq. (3.117)): it removes only noise and unmodelled effects. The result varies no
    faster than the edge of the filter, so that one equation in `factor` has all the information. The filter
    is applied after all products of positions, velocities and accelerations have been formed. It is finite,
    so that it works segment by segment, without samples beyond the ends.

    Attributes:
        factor: one sample in so many is kept; 1 filters nothing.
    """

    factor: int = 1

    def __post_init__(self) -> None:
        """Refuse a factor that is not a whole number from 1."""
        if self.factor != int(self.factor) or self.factor < 1:
            expected = "a whole number from 1"
            raise ArgumentError("argument-range", argument="decimation", expected=expected, given=self.factor)

    @property
    def reach(self) -> int:
        """Number of samples on each side on which a filtered sample depends."""
        return 0 if self.factor == 1 else _PERIODS * self.factor + _WIDTH

    @property
    def shortest(self) -> int:
        """Least number of samples of a segment that leave at least one sample after the filter."""
        return 2 * self.reach + 1

    @cached_property
    def weights(self) -> Array:
        """Weights of the samples around one: a sinc in a Hamming window, with the sum 1."""
        if self.factor == 1:
            return np.ones(1)
        reach = self.reach - _WIDTH
        place = np.arange(-reach, reach + 1)
        weights: Array = np.sinc(EDGE * place / self.factor) * (0.54 + 0.46 * np.cos(np.pi * place / reach))
        return np.pad(weights / weights.sum(), _WIDTH)

    @cached_property
    def slopes(self) -> Array:
        """Weights of the samples around one for the filtered derivative by sample.

        They filter central differences of seven samples, which are exact up to the sixth power of the
        frequency; no unfiltered signal is differentiated.
        """
        filtered = self.weights[_WIDTH:-_WIDTH]
        slopes: Array = np.convolve(filtered, [-1 / 60, 3 / 20, -3 / 4, 0.0, 3 / 4, -3 / 20, 1 / 60])
        return slopes

    @cached_property
    def memory(self) -> float:
        """Number of kept samples of white noise per independent one: the sum of `autocorrelation`."""
        return float(1.0 + 2.0 * self.autocorrelation[1:].sum())

    @cached_property
    def autocorrelation(self) -> Array:
        """Autocorrelation of filtered white noise, by lag from 0 in kept samples, up to the last nonzero."""
        both = np.convolve(self.weights, self.weights[::-1])
        lags = both[len(self.weights) - 1 :: self.factor]
        return np.asarray(lags / lags[0], dtype=np.float64)

    def count(self, samples: int) -> int:
        """Return the number of filtered samples of a segment: those whose filter lies within it."""
        return max(0, -(-(samples - 2 * self.reach) // self.factor))

    def segments(self, segments: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
        """Return the filtered segments, each as first sample and the one after the last."""
        counts = [self.count(b - a) for a, b in segments]
        ends = np.cumsum(counts).tolist()
        return tuple((end - count, end) for end, count in zip(ends, counts, strict=True))

    def inputs(self, first: int, last: int) -> slice:
        """Return the samples on which the kept ones from `first` to `last`, exclusive, depend."""
        return slice(first * self.factor, (last - 1) * self.factor + 2 * self.reach + 1)

    def of(self, values: Array) -> Array:
        """Return filtered and decimated values; their first axis is time."""
        return values if self.factor == 1 else self._products(values, self.weights, "values")

    def derivative(self, values: Array) -> Array:
        """Return the filtered and decimated derivative of values by sample; their first axis is time.

        Raises:
            ValueError: the factor is 1, so that nothing is filtered.
        """
        if self.factor == 1:
            raise ArgumentError("decimation-without-filter")
        return self._products(values, self.slopes, "slopes")

    def _products(self, values: Array, weights: Array, name: str) -> Array:
        count = self.count(len(values))
        flat = values.reshape(len(values), -1)
        kept = np.empty((count, flat.shape[1]))
        for first in range(0, count, _BLOCK):
            last = min(first + _BLOCK, count)
            matrix = self._matrix(weights, name, last - first)
            np.matmul(matrix, flat[self.inputs(first, last)], out=kept[first:last])
        return kept.reshape(count, *values.shape[1:])

    def _matrix(self, weights: Array, name: str, count: int) -> Array:
        known: dict[tuple[str, int], Array] = self.__dict__.setdefault("_matrices", {})
        if (name, count) not in known:
            matrix = np.zeros((count, (count - 1) * self.factor + len(weights)))
            for k in range(count):
                matrix[k, k * self.factor : k * self.factor + len(weights)] = weights
            known[name, count] = matrix
        return known[name, count]
