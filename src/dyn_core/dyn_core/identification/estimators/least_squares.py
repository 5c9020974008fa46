# SPDX-License-Identifier: Apache-2.0
"""Least squares of the factors of equations: ordinary, and weighted by the residuals of each joint.

The parameters x are those that the joints share, and then, joint by joint, its own. With the weights
1 / sigma_i of the joints, ``x = argmin sum_i |W_i x - tau_i|^2 / sigma_i^2``; ordinary least squares have
equal sigmas. For independent residuals the covariance of x is ``(sum_i W_i^T W_i / sigma_i^2)^-1``, and
sigma_i^2 is the sum of the squares of the residuals of joint i over their number less that of the parameters,
of which each joint is charged with its share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.blas_threads import one_thread
from dyn_core.identification.bool_array import BoolArray
from dyn_core.identification.factors import Factors, triangular

SINGULAR = 1e-10
"""Least part of a column of unit length that has to be independent of those before it."""

ROUNDS = 12
SETTLED = 1e-4


@dataclass(frozen=True, eq=False)
class Solution:
    """Parameters that fit equations best.

    Attributes:
        x: values, the shared ones first.
        sigma: standard deviation of the residuals of each joint (N m or N).
        R: the triangular factor of the weighted equations, ``R x = ...``: the inverse of the covariance
            is ``R^T R``.
        identifiable: whether each parameter can be told from those before it by these equations; those
            that cannot are 0.
        condition: condition number of the columns, each of unit length.
    """

    x: Array
    sigma: Array
    R: Array
    identifiable: BoolArray
    condition: float

    @property
    def covariance(self) -> Array:
        """Covariance of the parameters, of independent residuals; 0 for those that are not identifiable."""
        kept = self.identifiable
        inverse = np.linalg.inv(self.R[np.ix_(kept, kept)])
        covariance: Array = np.zeros_like(self.R)
        covariance[np.ix_(kept, kept)] = inverse @ inverse.T
        return covariance

    @property
    def deviations(self) -> Array:
        """Standard deviations of the parameters, of independent residuals; inf where not identifiable."""
        return np.where(self.identifiable, np.sqrt(np.diag(self.covariance)), np.inf)


def ordinary(data: Factors) -> Solution:
    """Ordinary least squares: the residuals of all joints count alike."""
    whole = data.merged()
    solution = solved(whole, np.ones(data.dof))
    common = np.sqrt(np.sum(residual_squares(whole, solution.x)) / max(_freedom(data, solution.x), 1))
    return _scaled(solution, float(common))


@one_thread()
def weighted(data: Factors, start: Array | None = None) -> Solution:
    """Least squares in which each joint counts by the deviation of its residuals, which is found with them.

    Args:
        data: the factors.
        start: deviations to begin with (N m or N).
    """
    whole = data.merged()
    sigma = ordinary(whole).sigma if start is None else start
    for _ in range(ROUNDS):
        solution = solved(whole, sigma)
        new = deviations_of_residuals(whole, solution)
        settled = bool(np.all(np.abs(new - sigma) <= SETTLED * new))
        sigma = new
        if settled:
            break
    return solved(whole, sigma)


def solved(whole: Factors, sigma: Array) -> Solution:
    """Least squares with given deviations of the residuals.

    Args:
        whole: factors of one part.
        sigma: deviation of the residuals of each joint (N m or N).
    """
    R = triangular(system(whole, sigma))
    p = R.shape[1] - 1
    lengths = np.linalg.norm(R[:, :p], axis=0)
    scales = np.where(lengths > 0.0, lengths, 1.0)
    scaled = R[:, :p] / scales
    Q, T = np.linalg.qr(scaled)
    kept = np.zeros(p, dtype=bool)
    kept[: len(T)] = np.abs(np.diag(T)) > SINGULAR
    if not kept.all():
        # A column that depends on others has used up a row of T, which those behind it may need.
        kept = _independent(scaled)
    x = np.zeros(p)
    if kept.all():
        x = np.linalg.solve(T, Q.T @ R[:, p]) / scales
    else:
        x[kept] = np.linalg.lstsq(scaled[:, kept], R[:, p], rcond=None)[0] / scales[kept]
    condition = float(np.linalg.cond(scaled[:, kept])) if kept.any() else np.inf
    square = np.zeros((p, p))
    square[np.ix_(kept, kept)] = np.linalg.qr(R[:, :p][:, kept], mode="r")
    return Solution(x, np.asarray(sigma, dtype=float), square, kept, condition)


def _independent(columns: Array) -> BoolArray:
    """Answer which columns of unit length are independent of those before them."""
    Q = np.zeros((len(columns), 0))
    kept = np.zeros(columns.shape[1], dtype=bool)
    for k, column in enumerate(columns.T):
        rest = column - Q @ (Q.T @ column)
        rest -= Q @ (Q.T @ rest)  # once more, for its roundings
        length = float(np.linalg.norm(rest))
        if length > SINGULAR:
            kept[k] = True
            Q = np.column_stack([Q, rest / length])
    return kept


def system(whole: Factors, sigma: Array) -> Array:
    """Answer the weighted rows ``[W tau]`` of all joints, one below the other, in all parameters."""
    own = own_columns(whole)
    p = whole.shared + sum(len(columns) for columns in own)
    blocks = []
    for R, columns, s in zip(whole.parts[0], own, sigma, strict=True):
        block = np.zeros((len(R), p + 1))
        block[:, : whole.shared] = R[:, : whole.shared]
        block[:, columns] = R[:, whole.shared : -1]
        block[:, p] = R[:, -1]
        blocks.append(block / s)
    return np.concatenate(blocks)


def own_columns(data: Factors) -> list[range]:
    """By joint, the places of its own parameters among all."""
    places, start = [], data.shared
    for R in data.parts[0]:
        count = R.shape[1] - data.shared - 1
        places.append(range(start, start + count))
        start += count
    return places


def residual_squares(whole: Factors, x: Array) -> Array:
    """Sum of the squares of the residuals of each joint (N^2 m^2 or N^2), (n,).

    Args:
        whole: factors of one part.
        x: the parameters.
    """
    squares = []
    for R, columns in zip(whole.parts[0], own_columns(whole), strict=True):
        mine = np.concatenate([x[: whole.shared], x[columns], [-1.0]])
        squares.append(float(np.sum((R @ mine) ** 2)))
    return np.array(squares)


def torque_squares(whole: Factors) -> Array:
    """Sum of the squares of the torques of each joint (N^2 m^2 or N^2), (n,)."""
    return np.array([float(np.sum(R[:, -1] ** 2)) for R in whole.parts[0]])


def deviations_of_residuals(whole: Factors, solution: Solution) -> Array:
    """Deviation of the residuals of each joint (N m or N), less what the fit took of them.

    The share of a joint in the number of parameters is the trace of its part of the hat matrix.
    """
    squares = residual_squares(whole, solution.x)
    covariance = solution.covariance
    deviations = []
    for R, columns, s, square, count in zip(
        whole.parts[0], own_columns(whole), solution.sigma, squares, whole.count, strict=True
    ):
        places = [*range(whole.shared), *columns]
        W = R[:, :-1] / s
        share = float(np.sum((W @ covariance[np.ix_(places, places)]) * W))
        deviations.append(np.sqrt(square / max(count - share, 1.0)))
    least = 1e-12 * np.sqrt(torque_squares(whole) / np.maximum(whole.count, 1))
    # A joint without torques has no equations, and any deviation.
    found: Array = np.where(least > 0.0, np.maximum(np.array(deviations), least), 1.0)
    return found


def _freedom(data: Factors, x: Array) -> int:
    return int(data.count.sum()) - len(x)


def _scaled(solution: Solution, sigma: float) -> Solution:
    sigma = max(sigma, float(np.finfo(float).tiny))
    return Solution(
        solution.x, sigma * solution.sigma, solution.R / sigma, solution.identifiable, solution.condition
    )
