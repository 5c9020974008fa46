# SPDX-License-Identifier: Apache-2.0
"""Whether residuals are as independent as noise that the filter of both sides has passed.

Behind that filter even white noise resembles what it was a moment before, as the weights say exactly. So
that is taken out first, by the prediction of each residual from those before it that is best for such noise
(Yule and Walker); what is left is white where the model explains all but white noise, and is tested for that
(Ljung, Box 1978).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.identification.bool_array import BoolArray
from dyn_core.signals.decimation import Decimation

ORDER = 40
"""Residuals that one is predicted from: the filter remembers 12."""
LAGS = 20
"""Lags of the test."""
FEWEST = 5 * LAGS
"""Residuals of which it says something at least."""


def whiteness(
    errors: Array, used: BoolArray, decimation: Decimation, segments: Sequence[tuple[int, int]]
) -> Array:
    """Answer the probability that independent residuals look less independent, of each joint.

    Args:
        errors: residuals of all equations, (N, n).
        used: which of them there are, (N, n).
        decimation: the filter of both sides.
        segments: stretches of equations without gaps, as first and the one after the last.

    Returns:
        (n,); NaN where there are too few.
    """
    predicts = _prediction(decimation)
    return np.array(
        [
            _ljung_box([np.convolve(e, predicts, "valid") for e in _stretches(e, u, segments, len(predicts))])
            for e, u in zip(errors.T, used.T, strict=True)
        ]
    )


def _prediction(decimation: Decimation) -> Array:
    """Answer what residuals, the last one first, are multiplied with to leave what was not to be foreseen."""
    if decimation.factor == 1:
        return np.ones(1)
    memory = np.zeros(ORDER + 1)
    known = decimation.autocorrelation[: ORDER + 1]
    memory[: len(known)] = known
    lags = np.abs(np.subtract.outer(np.arange(ORDER), np.arange(ORDER)))
    return np.concatenate(([1.0], -np.linalg.solve(memory[lags], memory[1:])))


def _stretches(
    errors: Array, used: BoolArray, segments: Sequence[tuple[int, int]], shortest: int
) -> list[Array]:
    """Answer the residuals of a joint in stretches without gaps that are long enough."""
    found = []
    for first, last in segments:
        edges = np.flatnonzero(np.diff(used[first:last].astype(int))) + 1
        for a, b in itertools.pairwise([first, *(first + edges).tolist(), last]):
            if b - a >= shortest and used[a]:
                found.append(errors[a:b])
    return found


def _ljung_box(stretches: list[Array]) -> float:
    """Answer the probability of a greater sum of squared autocorrelations, of independent residuals."""
    count = sum(len(stretch) for stretch in stretches)
    power = sum(float(stretch @ stretch) for stretch in stretches)
    if count < FEWEST or power == 0.0:
        return math.nan
    Q = 0.0
    for k in range(1, LAGS + 1):
        pairs = sum(max(len(stretch) - k, 0) for stretch in stretches)
        products = sum(float(stretch[k:] @ stretch[:-k]) for stretch in stretches if len(stretch) > k)
        Q += count * (count + 2.0) * (products / power) ** 2 / max(pairs, 1)
    # Wilson and Hilferty: the cube root of chi-square is almost normal.
    z = ((Q / LAGS) ** (1.0 / 3.0) - (1.0 - 2.0 / (9.0 * LAGS))) / math.sqrt(2.0 / (9.0 * LAGS))
    return 0.5 * math.erfc(z / math.sqrt(2.0))
