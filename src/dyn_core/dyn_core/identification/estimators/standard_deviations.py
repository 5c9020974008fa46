# SPDX-License-Identifier: Apache-2.0
"""What standard deviations are worth when the residuals are not independent.

``C = (sum W_i^T W_i / sigma_i^2)^-1`` is the covariance of the parameters for independent residuals. What a
filter smooths, or what the model does not know, gives residuals that resemble those before them. With the
scores ``s_t = sum_i w_it e_it / sigma_i^2``, whose sum is 0 at the solution, the covariance is then

    C (sum_t s_t s_t^T + sum_l (1 - l / (L + 1)) sum_t (s_t s_t+l^T + s_t+l s_t^T)) C

(Newey, West 1987), where L is where the residuals have forgotten. What the filter of both sides makes of
white noise is known better than residuals show it (`Decimation.memory`). The deviations that are reported
are the greater of the two, for each parameter, times `SAFETY`: so all of many parameters together are within
three of them, for which three exact ones are too few.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.identification.bool_array import BoolArray
from dyn_core.identification.estimators.least_squares import Solution
from dyn_core.identification.rows import Rows

SAFETY = 1.25
"""Factor of the deviations; `make truth` measures what they are worth with it."""
LONGEST = 0.1
"""Greatest lag that is looked at, as a part of the samples."""


@dataclass(frozen=True, eq=False)
class Residuals:
    """What the residuals of a fit are like.

    Attributes:
        rms: root of their mean square, of each joint (N m or N).
        autocorrelation: of each joint, by lag in samples from 0, (n, lags).
        memory: samples after which they have forgotten, of each joint.
        effective: number of independent samples that they are worth, of each joint.
    """

    rms: Array
    autocorrelation: Array
    memory: Array
    effective: Array


def residual_rows(rows: Rows, x: Array) -> Array:
    """Answer torques less those of the model, (N, n) (N m or N)."""
    found = np.empty((len(rows), len(rows.frictions)))
    for which, pieces in rows.pieces():
        start = rows.shared
        for i, piece in enumerate(pieces):
            count = piece.shape[1] - 1 - rows.shared
            own = np.concatenate([x[: rows.shared], x[start : start + count]])
            found[which, i] = piece[:, -1] - piece[:, :-1] @ own
            start += count
    return found


def residuals(errors: Array) -> Residuals:
    """Answer what residuals (N, n) are like."""
    count, n = errors.shape
    lags = max(1, min(int(LONGEST * count), count - 1))
    correlation = np.zeros((n, lags + 1))
    size = 2 ** math.ceil(math.log2(2 * count))
    spectra = np.abs(np.fft.rfft(errors, size, axis=0)) ** 2
    sums = np.fft.irfft(spectra, size, axis=0)[: lags + 1].T
    correlation[:] = sums / np.maximum(sums[:, :1], np.finfo(float).tiny)
    limit = 2.0 / math.sqrt(count)
    memory = np.array([_first_below(row, limit) for row in correlation])
    effective = np.array(
        [count / max(1.0, 1.0 + 2.0 * row[1:m].sum()) for row, m in zip(correlation, memory, strict=True)]
    )
    rms = np.sqrt(np.mean(errors**2, axis=0))
    return Residuals(rms, correlation, memory, effective)


def deviations(
    rows: Rows,
    solution: Solution,
    errors: Array,
    weights: Array | None = None,
    bread: Array | None = None,
) -> Array:
    """Standard deviations of parameters, of which residuals that depend on each other say less.

    Args:
        rows: the equations, whose columns make the scores: of instrumental variables the instruments.
        solution: what they gave.
        errors: their residuals, (N, n).
        weights: what the equations were multiplied with, (N, n), where outliers count less.
        bread: what stands in the place of C where it is not the covariance of the solution.
    """
    kept = solution.identifiable
    curvature, inflation = of_robust_weights(errors, weights, rows.used)
    C = (solution.covariance if bread is None else bread) / curvature
    independent = inflation * math.sqrt(rows.equations.decimation.memory) * solution.deviations
    lag = int(residuals(errors).memory.max())
    counted = errors if weights is None else weights**2 * errors
    # Where the sum of the scores is not 0, it is what the estimator takes for the mean of noise.
    mean = np.zeros(len(kept)) if bread is None else _mean_scores(rows, solution, counted)
    M = score_products(rows, solution.sigma, counted, lag, mean)
    robust = np.sqrt(np.maximum(np.diag(C @ M @ C.T), 0.0))
    return np.where(kept, SAFETY * np.maximum(robust, independent), np.inf)


def of_robust_weights(
    errors: Array, weights: Array | None, used: BoolArray | None = None
) -> tuple[float, float]:
    """Answer what robust weights do to covariances (Huber 1981, sec. 6.6): the most of all joints.

    With the scores psi = w e, of slope 1 where w = 1 and 0 beyond, the curvature is E[psi'] instead of E[w],
    and the variance E[psi^2] / E[psi']^2 instead of E[w e^2] / E[w], which least squares of weighted
    equations take it for.

    Args:
        errors: residuals, (N, n).
        weights: what the equations were multiplied with, (N, n); None where they were not.
        used: which equations there are, (N, n); by default all.

    Returns:
        the least E[psi'] / E[w], and the greatest factor of the deviations of independent residuals.
    """
    if weights is None:
        return 1.0, 1.0
    w = weights**2
    known = np.ones(w.shape, dtype=bool) if used is None else used

    def mean(values: Array | BoolArray) -> Array:
        return np.asarray(np.sum(values, axis=0, where=known) / np.maximum(known.sum(axis=0), 1))

    mean_weight, slope = mean(w), mean(w >= 1.0)
    squares, claimed = mean((w * errors) ** 2), mean(w * errors**2)
    measured = claimed > 0.0
    inflation = squares[measured] * mean_weight[measured] / (slope**2 * claimed)[measured]
    return float((slope / mean_weight)[measured].min()), math.sqrt(float(inflation.max()))


def _mean_scores(rows: Rows, solution: Solution, errors: Array) -> Array:
    p = len(solution.x)
    total = np.zeros(p)
    for which, pieces in rows.pieces():
        total += _scores(pieces, errors[which] / solution.sigma**2, rows.shared, p).sum(axis=0)
    return total / len(rows)


def score_products(rows: Rows, sigma: Array, errors: Array, lag: int, mean: Array) -> Array:
    """Answer the weighted sum over lags of the products of scores, (p, p).

    Args:
        rows: the equations.
        sigma: deviation of the residuals of each joint (N m or N).
        errors: their residuals, (N, n).
        lag: up to which they resemble those before them.
        mean: what is subtracted from the scores, (p,).
    """
    p = len(mean)
    M = np.zeros((p, p))
    before = np.zeros((0, p))  # the last scores of the piece before
    weights = 1.0 - np.arange(1, lag + 1) / (lag + 1.0)
    for which, pieces in rows.pieces():
        scores = _scores(pieces, errors[which] / sigma**2, rows.shared, p) - mean
        known = np.concatenate([before, scores])
        M += scores.T @ scores
        smoothed = np.zeros_like(scores)
        for k, weight in enumerate(weights, start=1):
            first = max(0, k - len(before))
            if first >= len(scores):  # the first pieces may be shorter than the lag
                break
            start = len(before) + first - k
            smoothed[first:] += weight * known[start : start + len(scores) - first]
        cross = scores.T @ smoothed
        M += cross + cross.T
        before = known[-lag:] if lag else before
    return M


def _scores(pieces: list[Array], weighted: Array, shared: int, p: int) -> Array:
    scores = np.zeros((len(weighted), p))
    start = shared
    for i, piece in enumerate(pieces):
        count = piece.shape[1] - 1 - shared
        scores[:, :shared] += piece[:, :shared] * weighted[:, i, None]
        scores[:, start : start + count] = piece[:, shared:-1] * weighted[:, i, None]
        start += count
    return scores


def _first_below(correlation: Array, limit: float) -> int:
    below = np.flatnonzero(np.abs(correlation) < limit)
    return int(below[0]) if below.size else len(correlation) - 1
