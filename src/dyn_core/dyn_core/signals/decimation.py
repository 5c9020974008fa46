# SPDX-License-Identifier: Apache-2.0
"""Both sides of ``W K = tau`` through one low-pass filter, and fewer of them (parallel filtering).

A linear filter F of time leaves the equation as it is, ``F W K = F tau``, because the parameters K are
constant (SYMORO+ 2003, eq. (3.117)): what is left out is only noise and what the model does not describe.
What is left varies no faster than the edge of the filter, so that one equation in `factor` says as much as
all. The filter is applied after all products of positions, velocities and accelerations have been formed; as
it is finite, it is so piece by piece, and no sample is made up at an end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dyn_core.core.arrays import Array

EDGE = 0.8
"""Where the gain is 1/2, as a part of the new Nyquist frequency; at that, next to nothing is left."""
_PERIODS = 6
"""Half the length of the filter, in samples that are kept."""
_WIDTH = 3
"""Half the width of the differences."""
_BLOCK = 4
"""Samples that one product with a matrix computes: few, for one thread to be enough for it."""


@dataclass(frozen=True)
class Decimation:
    """A symmetric (zero-phase) low-pass filter, and which of its samples are kept.

    Attributes:
        factor: one sample in so many is kept. 1 filters nothing.
    """

    factor: int = 1

    def __post_init__(self) -> None:
        """Refuse a factor that is none."""
        if self.factor != int(self.factor) or self.factor < 1:
            raise ValueError(f"decimation: expected a whole number from 1, but it is {self.factor!r}")

    @property
    def reach(self) -> int:
        """Samples on each side that a filtered one depends on."""
        return 0 if self.factor == 1 else _PERIODS * self.factor + _WIDTH

    @property
    def shortest(self) -> int:
        """Samples that a segment must have for one to be left."""
        return 2 * self.reach + 1

    @cached_property
    def weights(self) -> Array:
        """What the samples around one are multiplied with: a sinc in a Hamming window, of sum 1."""
        if self.factor == 1:
            return np.ones(1)
        reach = self.reach - _WIDTH
        place = np.arange(-reach, reach + 1)
        weights: Array = np.sinc(EDGE * place / self.factor) * (0.54 + 0.46 * np.cos(np.pi * place / reach))
        return np.pad(weights / weights.sum(), _WIDTH)

    @cached_property
    def slopes(self) -> Array:
        """What the samples around one are multiplied with for the filtered derivative, in samples.

        It is the filter of central differences of seven samples, which are exact up to the sixth power of the
        frequency; no signal is differentiated that is not filtered.
        """
        filtered = self.weights[_WIDTH:-_WIDTH]
        slopes: Array = np.convolve(filtered, [-1 / 60, 3 / 20, -3 / 4, 0.0, 3 / 4, -3 / 20, 1 / 60])
        return slopes

    @cached_property
    def memory(self) -> float:
        """Samples that are kept, of white noise, for one that is independent of the others.

        That is the sum of the autocorrelation of the weights over all lags of the samples that are kept.
        """
        return float(1.0 + 2.0 * self.autocorrelation[1:].sum())

    @cached_property
    def autocorrelation(self) -> Array:
        """Of white noise behind the filter, by lag from 0 in samples that are kept, up to the last not 0."""
        both = np.convolve(self.weights, self.weights[::-1])
        lags = both[len(self.weights) - 1 :: self.factor]
        return np.asarray(lags / lags[0], dtype=np.float64)

    def count(self, samples: int) -> int:
        """Answer how many samples are left of so many: those whose filter lies within them."""
        return max(0, -(-(samples - 2 * self.reach) // self.factor))

    def segments(self, segments: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
        """Answer what is left of segments, each as first sample and the one after the last."""
        counts = [self.count(b - a) for a, b in segments]
        ends = np.cumsum(counts).tolist()
        return tuple((end - count, end) for end, count in zip(ends, counts, strict=True))

    def inputs(self, first: int, last: int) -> slice:
        """Samples that the kept ones from `first` up to `last`, which is not one of them, depend on."""
        return slice(first * self.factor, (last - 1) * self.factor + 2 * self.reach + 1)

    def of(self, values: Array) -> Array:
        """Answer what is left of values, of which the first axis is time."""
        return values if self.factor == 1 else self._products(values, self.weights, "values")

    def derivative(self, values: Array) -> Array:
        """Answer what is left of the derivative of values, by samples, of which the first axis is time.

        Raises:
            ValueError: nothing is filtered.
        """
        if self.factor == 1:
            raise ValueError("decimation: a factor of 1 has no filter to differentiate with: give 2 or more")
        return self._products(values, self.slopes, "slopes")

    def _products(self, values: Array, weights: Array, name: str) -> Array:
        count = self.count(len(values))
        flat = values.reshape(len(values), -1)
        left = np.empty((count, flat.shape[1]))
        for first in range(0, count, _BLOCK):
            last = min(first + _BLOCK, count)
            np.matmul(
                self._matrix(weights, name, last - first),
                flat[self.inputs(first, last)],
                out=left[first:last],
            )
        return left.reshape(count, *values.shape[1:])

    def _matrix(self, weights: Array, name: str, count: int) -> Array:
        known: dict[tuple[str, int], Array] = self.__dict__.setdefault("_matrices", {})
        if (name, count) not in known:
            matrix = np.zeros((count, (count - 1) * self.factor + len(weights)))
            for k in range(count):
                matrix[k, k * self.factor : k * self.factor + len(weights)] = weights
            known[name, count] = matrix
        return known[name, count]
