# SPDX-License-Identifier: Apache-2.0
"""Least squares in which outliers count less: iteratively reweighted, after Huber (1981).

A residual of e counts as e^2 up to k deviations, and as its magnitude beyond: equations are multiplied
with sqrt(min(1, k s / |e|)), where s = 1.4826 median |e| is the deviation that outliers do not change.
"""

from __future__ import annotations

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.identification.bool_array import BoolArray
from dyn_core.identification.estimators.least_squares import Solution, weighted
from dyn_core.identification.estimators.standard_deviations import residual_rows
from dyn_core.identification.factors import factors
from dyn_core.identification.rows import Rows

HUBER = 1.345
"""k: 95 % of the efficiency of least squares where residuals are normal."""
ROUNDS = 10
SETTLED = 0.01
"""Greatest change in a round, in deviations, that is none."""

_MEDIAN_TO_DEVIATION = 1.4826


def huber_weights(errors: Array, k: float = HUBER, used: BoolArray | None = None) -> Array:
    """What equations are multiplied with, (N, n), for residuals (N, n); `used` says which there are."""
    known = np.ones_like(errors, dtype=bool) if used is None else used
    sizes = (np.abs(of_joint[there]) for of_joint, there in zip(errors.T, known.T, strict=True))
    scale = _MEDIAN_TO_DEVIATION * np.array([np.median(size) if len(size) else 0.0 for size in sizes])
    tiny = np.finfo(float).tiny
    return np.sqrt(np.minimum(1.0, k * np.maximum(scale, tiny) / np.maximum(np.abs(errors), tiny)))


def reweighted(rows: Rows, start: Array) -> tuple[Solution, Array]:
    """Answer the robust solution of equations, and the weights (N, n) that it has given them.

    Args:
        rows: the equations.
        start: parameters to begin with.
    """
    x = start
    for _ in range(ROUNDS):
        weights = huber_weights(residual_rows(rows, x), used=rows.used)
        solution = weighted(factors(rows, weights=weights))
        change = np.abs(solution.x - x) / np.maximum(solution.deviations, np.finfo(float).tiny)
        x = solution.x
        if change.max(initial=0.0) < SETTLED:
            break
    return solution, weights
