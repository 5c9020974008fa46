# SPDX-License-Identifier: Apache-2.0
"""Standard deviations of estimates with correlated residuals, and essential parameters.

`Fit` is the result of every estimator.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dyn_core.core.arrays import Array, BoolArray
from dyn_core.identification.estimators.least_squares import Factors, Solution, system
from dyn_core.identification.friction.friction_selection import Rows
from dyn_core.logs.conditioning.sample_rate import Decimation

# Standard deviations for correlated residuals
#
# ``C = (sum W_i^T W_i / sigma_i^2)^-1`` is the covariance of the parameters for independent residuals.
# Filters and errors of the model correlate residuals. With the scores ``s_t = sum_i w_it e_it / sigma_i^2``,
# whose sum is 0 at the solution, the covariance is then
#
#     C (sum_t s_t s_t^T + sum_l (1 - l / (L + 1)) sum_t (s_t s_t+l^T + s_t+l s_t^T)) C
#
# (Newey, West 1987), where L is the lag at which the correlation ends. The effect of the filter of both sides
# on white noise is known exactly (`Decimation.memory`). The reported deviations are the greater of the two,
# for each parameter, times `SAFETY`, so that all of many parameters together are within three of them.

SAFETY = 1.25  # factor of the deviations; `make truth` measures how reliable they are with it
LONGEST = 0.1  # greatest lag, as a part of the samples


class Residuals(NamedTuple):
    """Statistics of the residuals of a fit."""

    memory: Array  # samples after which they are uncorrelated, of each joint
    effective: Array  # equivalent number of independent samples, of each joint


def residual_rows(rows: Rows, x: Array) -> Array:
    """Return torques less those of the model, (N, n) (N m or N)."""
    found = np.empty((len(rows), len(rows.frictions)))
    columns = rows.columns
    for which, pieces in rows.pieces():
        for i, piece in enumerate(pieces):
            found[which, i] = piece[:, -1] - piece[:, :-1] @ x[columns[i]]
    return found


def residuals(errors: Array) -> Residuals:
    """Return the statistics of residuals (N, n)."""
    count = len(errors)
    lags = max(1, min(int(LONGEST * count), count - 1))

    size = 2 ** math.ceil(math.log2(2 * count))
    spectra = np.abs(np.fft.rfft(errors, size, axis=0)) ** 2
    sums = np.fft.irfft(spectra, size, axis=0)[: lags + 1].T
    correlation = sums / np.maximum(sums[:, :1], np.finfo(float).tiny)
    below = np.abs(correlation) < 2.0 / math.sqrt(count)
    memory = np.where(below.any(axis=1), np.argmax(below, axis=1), lags)
    effective = np.array(
        [count / max(1.0, 1.0 + 2.0 * row[1:m].sum()) for row, m in zip(correlation, memory, strict=True)]
    )
    return Residuals(memory, effective)


def deviations(
    rows: Rows, solution: Solution, errors: Array, weights: Array | None = None, bread: Array | None = None
) -> Array:
    """Return the standard deviations of parameters for correlated residuals `errors`, (N, n).

    The columns of `rows` make the scores: those of the instruments, if there are any. `weights` are the
    robust weights of the equations, (N, n). `bread` replaces C where it is not the covariance of the
    solution.
    """
    kept = solution.identifiable
    curvature, inflation = of_robust_weights(errors, weights, rows.used)
    C = (solution.covariance if bread is None else bread) / curvature
    independent = inflation * math.sqrt(rows.equations.decimation.memory) * solution.deviations
    lag = int(residuals(errors).memory.max())
    counted = errors if weights is None else weights**2 * errors
    mean = np.zeros(len(kept))
    if bread is not None:  # the sum of the scores may differ from 0: the mean effect of noise
        for which, pieces in rows.pieces():
            mean += _scores(pieces, counted[which] / solution.sigma**2, rows.columns, len(mean)).sum(axis=0)
        mean /= len(rows)
    M = score_products(rows, solution.sigma, counted, lag, mean)
    robust = np.sqrt(np.maximum(np.diag(C @ M @ C.T), 0.0))
    return np.where(kept, SAFETY * np.maximum(robust, independent), np.inf)


def of_robust_weights(
    errors: Array, weights: Array | None, used: BoolArray | None = None
) -> tuple[float, float]:
    """Return the effect of robust weights on covariances (Huber 1981, sec. 6.6): the greatest of all joints.

    With the scores psi = w e, of slope 1 where w = 1 and 0 beyond, the curvature is E[psi'] instead of E[w],
    and the variance E[psi^2] / E[psi']^2 instead of E[w e^2] / E[w], as in weighted least squares. Return the
    least E[psi'] / E[w], and the greatest factor of the deviations of independent residuals, for residuals
    and weights (N, n); `used` marks the equations that exist.
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


def score_products(rows: Rows, sigma: Array, errors: Array, lag: int, mean: Array) -> Array:
    """Return the weighted sum over lags of the products of scores less their `mean`, (p, p), up to a lag."""
    p = len(mean)
    M = np.zeros((p, p))
    before = np.zeros((0, p))  # the last scores of the piece before
    weights = 1.0 - np.arange(1, lag + 1) / (lag + 1.0)
    for which, pieces in rows.pieces():
        scores = _scores(pieces, errors[which] / sigma**2, rows.columns, p) - mean
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


def _scores(pieces: list[Array], weighted: Array, columns: list[list[int]], p: int) -> Array:
    scores = np.zeros((len(weighted), p))
    for i, piece in enumerate(pieces):
        scores[:, columns[i]] += piece[:, :-1] * weighted[:, i, None]
    return scores


@dataclass(frozen=True, eq=False)
class Fit:
    """The parameters that fit equations best."""

    rows: Rows  # the equations
    solution: Solution  # the parameters
    data: Factors  # the factors of the equations, with weights if there are any
    weights: Array | None = None  # robust weights of the equations, (N, n)
    # the equations whose columns are orthogonal to the residuals; None for `rows`
    instruments: Rows | None = None
    # derivative of the parameters by these products; None for the covariance of the solution
    bread: Array | None = None
    # rows ``[T | T x]`` equivalent to the estimate, where least squares of `data` are not
    information: Array | None = None

    @property
    def weighted_rows(self) -> Array:
        """Rows in all parameters that are equivalent to the estimate, each divided by its deviation."""
        if self.information is not None:
            return self.information
        return system(self.data, self.solution.sigma)

    @property
    def residuals(self) -> Array:
        """Measured torques less those of the parameters (N m or N), (N, n)."""
        return residual_rows(self.rows, self.solution.x)

    def deviations(self, errors: Array) -> Array:
        """Return the standard deviations of the parameters, for residuals (N, n)."""
        rows = self.rows if self.instruments is None else self.instruments
        return deviations(rows, self.solution, errors, self.weights, self.bread)


def information_root(covariance: Array, kept: BoolArray) -> Array:
    """Return R, upper triangular, with ``R^T R = covariance^-1``; 0 for parameters that are not `kept`."""
    inner = np.ix_(kept, kept)
    sizes = np.sqrt(np.diag(covariance)[kept])
    correlation = covariance[inner] / sizes[:, None] / sizes
    R = np.zeros_like(covariance)
    R[inner] = np.linalg.cholesky(np.linalg.inv(correlation)).T / sizes
    return R


def information_rows(solution: Solution, system: Array) -> Array:
    """Return rows ``[T | T x]`` that are equivalent to an estimate, from rows ``[W tau]``.

    A parameter that the equations cannot tell from others is 0 in the estimate, and the others have its part.
    """
    kept = solution.identifiable
    W = system[:, :-1]
    lengths = np.maximum(np.linalg.norm(W, axis=0), np.finfo(float).tiny)
    parts = np.linalg.lstsq(W[:, kept] / lengths[kept], W / lengths, rcond=None)[0]
    parts = parts / lengths[kept, None] * lengths
    parts[:, kept] = np.eye(int(kept.sum()))
    T = solution.R[np.ix_(kept, kept)]
    return np.column_stack([T @ parts, T @ solution.x[kept]])


# Essential parameters: those that the measured torques require (Gautier 1997)
#
# The parameter with the greatest relative deviation is removed and the others are estimated again, until all
# that are left differ from 0 significantly. Removing one with |x| = t deviations raises the weighted sum of
# squared residuals by t^2 times sigma^2: this is the F-test with one degree of freedom.

# least value of an essential parameter in deviations: 0.1 % of zero parameters seem essential
SIGNIFICANT = 3.3


def essential(solution: Solution, inflation: Array, significant: float = SIGNIFICANT) -> BoolArray:
    """Return which parameters are essential, with at least `significant` deviations.

    `inflation` is the deviation of each parameter as a multiple of that for independent residuals.
    """
    kept: BoolArray = solution.identifiable.copy()
    while kept.any():
        places = np.flatnonzero(kept)
        R = solution.R[:, places]
        right = solution.R[:, solution.identifiable] @ solution.x[solution.identifiable]
        Q, T = np.linalg.qr(R)
        inverse = np.linalg.inv(T)
        x = inverse @ (Q.T @ right)
        deviation = inflation[places] * np.sqrt(np.sum(inverse**2, axis=1))
        worst = int(np.argmin(np.abs(x) / deviation))
        if abs(x[worst]) >= significant * deviation[worst]:
            break
        kept[places[worst]] = False
    return kept


# Whiteness of residuals behind the filter of both sides
#
# The filter correlates even white noise, by known weights. So the best linear prediction of each residual
# from those before it, for such noise, is subtracted first (Yule and Walker). The rest is white if the model
# explains all but white noise, which is tested (Ljung, Box 1978).

ORDER = 40  # number of residuals for the prediction; the filter has a memory of 12
LAGS = 20  # lags of the test
FEWEST = 5 * LAGS  # least number of residuals for the test


def whiteness(
    errors: Array, used: BoolArray, decimation: Decimation, segments: Sequence[tuple[int, int]]
) -> Array:
    """Return the probability that independent residuals look less independent, of each joint, (n,).

    `errors` are the residuals of all equations, (N, n), `used` marks those that exist, (N, n), and `segments`
    are stretches of equations without gaps, as (first, end). NaN for too few residuals.
    """
    predicts = _prediction(decimation)
    return np.array(
        [
            _ljung_box([np.convolve(e, predicts, "valid") for e in _stretches(e, u, segments, len(predicts))])
            for e, u in zip(errors.T, used.T, strict=True)
        ]
    )


def _prediction(decimation: Decimation) -> Array:
    """Return the factors of residuals, the last one first, that leave their prediction error."""
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
    """Return the residuals of a joint in stretches without gaps that are long enough."""
    found = []
    for first, last in segments:
        edges = np.flatnonzero(np.diff(used[first:last].astype(int))) + 1
        for a, b in itertools.pairwise([first, *(first + edges).tolist(), last]):
            if b - a >= shortest and used[a]:
                found.append(errors[a:b])
    return found


def _ljung_box(stretches: list[Array]) -> float:
    """Return the probability of a greater sum of squared autocorrelations, for independent residuals."""
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
