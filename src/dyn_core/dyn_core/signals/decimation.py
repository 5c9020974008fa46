# SPDX-License-Identifier: Apache-2.0
"""Both sides of ``W K = tau`` through one filter, and fewer samples of them (parallel filtering).

A linear filter F of time leaves the equation as it is, ``F W K = F tau``, because the parameters K are
constant: no matter what it does to the signals, the parameters stay the same, and what is left out is only
noise and what the model does not describe. It is applied after all products of positions, velocities and
accelerations have been formed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dyn_core.errors import DynError
from dyn_core.facade.arrays import Array
from dyn_core.signals.low_pass import FEWEST, both_ways

ORDER, RIPPLE, EDGE = 8, 0.05, 0.8
"""Chebyshev filter (ripple in dB, edge in parts of the new Nyquist frequency), as is usual for decimation."""


def parallel_filtered(
    arrays: Sequence[Array], factor: int, segments: Sequence[tuple[int, int]] | None = None
) -> tuple[Array, ...]:
    """Answer arrays through the same filter, and of that every `factor`-th sample.

    Args:
        arrays: each (N, ...), evenly sampled along the first axis: columns of the regressor, efforts.
        factor: one of so many samples is kept; 1 changes nothing.
        segments: stretches without gaps, as first sample and the one after the last; None for one.

    Raises:
        DynError: a segment is too short.
        ValueError: the factor is not a positive whole number, or the arrays differ in length.
    """
    from scipy.signal import cheby1

    if factor != int(factor) or factor < 1:
        raise ValueError(f"factor: expected a whole number from 1, but it is {factor}")
    lengths = {len(array) for array in arrays}
    if len(lengths) > 1:
        raise ValueError(
            f"arrays: expected the same number of samples in each, but there are {sorted(lengths)}"
        )
    if factor == 1 or not arrays:
        return tuple(arrays)
    sections = cheby1(ORDER, RIPPLE, EDGE / factor, output="sos")
    stretches = segments if segments is not None else ((0, lengths.pop()),)
    for a, b in stretches:
        if b - a < shortest(factor):
            raise DynError(
                f"a segment of {b - a} samples is too short to keep one of {factor}: use a smaller factor"
            )
    if not stretches:
        return tuple(array[:0] for array in arrays)
    return tuple(
        np.concatenate([both_ways(sections, array[a:b])[::factor] for a, b in stretches]) for array in arrays
    )


def shortest(factor: int) -> int:
    """Answer how many samples a segment must have to be decimated."""
    return 1 if factor == 1 else max(3 * factor, FEWEST)


def decimated_segments(segments: Sequence[tuple[int, int]], factor: int) -> tuple[tuple[int, int], ...]:
    """Answer the segments of what `parallel_filtered` answers."""
    lengths = [-(-(b - a) // factor) for a, b in segments]
    ends = np.cumsum(lengths)
    return tuple((int(end - n), int(end)) for end, n in zip(ends, lengths, strict=True))
