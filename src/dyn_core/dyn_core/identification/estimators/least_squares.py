# SPDX-License-Identifier: Apache-2.0
"""Ordinary and weighted least squares by QR factors of the equations of each joint."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from dyn_core.core.arrays import Array, BoolArray
from dyn_core.core.blas_threads import one_thread
from dyn_core.identification.friction.friction_selection import Rows

# A triangular factor for each joint holds all that least squares need of many equations
#
# The rows ``[W tau]`` of a joint have the QR factor R, with ``R^T R = [W tau]^T [W tau]``: for any weights of
# the joints and any columns, least squares of the factors are least squares of the equations. Factors are
# computed piece by piece, so that memory does not grow with the measurement.

WAITING = 16384  # rows of a joint that are gathered before their factor is computed


@dataclass(frozen=True, eq=False)
class Factors:
    """Factors of the equations of a robot."""

    shared: int  # number of columns that the joints share; they come first
    parts: tuple[Array, ...]  # by joint, the factor of its rows ``[shared | own | tau]``
    count: Array  # number of equations of each joint, (n,)

    @property
    def dof(self) -> int:
        """Number of joints."""
        return len(self.parts)


def triangular(rows: Array) -> Array:
    """Return R of the QR factors of rows; the rows themselves if they are fewer than the columns."""
    if len(rows) <= rows.shape[1]:
        return rows
    R: Array = np.asarray(np.linalg.qr(rows, mode="r"))
    return R


@one_thread()
def factors(rows: Rows, weights: Array | None = None) -> Factors:
    """Return the factors of equations, each multiplied by its weight, (N, n), by default 1."""
    waiting: list[list[Array]] = [[] for _ in range(rows.dof)]
    for which, pieces in rows.pieces():
        for i, piece in enumerate(pieces):
            waiting[i].append(piece if weights is None else piece * weights[which, i, None])
            if sum(map(len, waiting[i])) > WAITING:
                waiting[i] = [triangular(np.concatenate(waiting[i]))]
    parts = tuple(triangular(np.concatenate(matrices)) for matrices in waiting)
    return Factors(rows.shared, parts, rows.used.sum(axis=0))


# Ordinary least squares, and least squares weighted by the residuals of each joint
#
# The parameters x are the shared ones, then, joint by joint, its own: ``x = argmin sum_i |W_i x - tau_i|^2 /
# sigma_i^2``, with equal sigmas for ordinary least squares. For independent residuals the covariance of x is
# ``(sum_i W_i^T W_i / sigma_i^2)^-1``. sigma_i^2 is the sum of squared residuals of joint i over its number
# of equations less its share of the number of parameters.

SINGULAR = 1e-10  # least part of a column of unit length that is independent of those before it

ROUNDS = 12
SETTLED = 1e-4


@dataclass(frozen=True, eq=False)
class Solution:
    """Parameters that fit equations best."""

    x: Array  # values, the shared ones first; 0 for those that are not identifiable
    sigma: Array  # standard deviation of the residuals of each joint (N m or N)
    R: Array  # triangular factor of the weighted equations: the inverse of the covariance is ``R^T R``
    identifiable: BoolArray  # whether these equations determine each parameter beside those before it
    condition: float  # condition number of the columns, each of unit length

    @property
    def covariance(self) -> Array:
        """Covariance of the parameters for independent residuals; 0 for those that are not identifiable."""
        kept = self.identifiable
        inverse = np.linalg.inv(self.R[np.ix_(kept, kept)])
        covariance: Array = np.zeros_like(self.R)
        covariance[np.ix_(kept, kept)] = inverse @ inverse.T
        return covariance

    @property
    def deviations(self) -> Array:
        """Standard deviations of the parameters for independent residuals; inf if not identifiable."""
        return np.where(self.identifiable, np.sqrt(np.diag(self.covariance)), np.inf)


def ordinary(data: Factors) -> Solution:
    """Return ordinary least squares: the residuals of all joints have equal weight."""
    plain = solved(data, np.ones(data.dof))
    freedom = max(int(data.count.sum()) - len(plain.x), 1)
    sigma = np.sqrt(np.sum(residual_squares(data, plain.x)) / freedom)
    sigma = max(float(sigma), float(np.finfo(float).tiny))
    return replace(plain, sigma=sigma * plain.sigma, R=plain.R / sigma)


@one_thread()
def weighted(data: Factors) -> Solution:
    """Return least squares with each joint divided by the deviation of its residuals, found iteratively."""
    sigma = ordinary(data).sigma
    for _ in range(ROUNDS):
        new = deviations_of_residuals(data, solved(data, sigma))
        settled = bool(np.all(np.abs(new - sigma) <= SETTLED * new))
        sigma = new
        if settled:
            break
    return solved(data, sigma)


def solved(data: Factors, sigma: Array) -> Solution:
    """Return least squares with given deviations of the residuals of each joint (N m or N)."""
    R = triangular(system(data, sigma))
    p = R.shape[1] - 1
    lengths = np.linalg.norm(R[:, :p], axis=0)
    scales = np.where(lengths > 0.0, lengths, 1.0)
    scaled = R[:, :p] / scales
    Q, T = np.linalg.qr(scaled)
    kept = np.zeros(p, dtype=bool)
    kept[: len(T)] = np.abs(np.diag(T)) > SINGULAR
    if not kept.all():
        # A column that depends on others uses up a row of T that the columns behind it may need.
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
    """Return which columns of unit length are independent of those before them."""
    Q = np.zeros((len(columns), 0))
    kept = np.zeros(columns.shape[1], dtype=bool)
    for k, column in enumerate(columns.T):
        rest = column - Q @ (Q.T @ column)
        rest -= Q @ (Q.T @ rest)  # once more, against roundings
        length = float(np.linalg.norm(rest))
        if length > SINGULAR:
            kept[k] = True
            Q = np.column_stack([Q, rest / length])
    return kept


def system(data: Factors, sigma: Array) -> Array:
    """Return the weighted rows ``[W tau]`` of all joints, one below the other, in all parameters."""
    own = own_columns(data)
    p = data.shared + sum(len(columns) for columns in own)
    blocks = []
    for R, columns, s in zip(data.parts, own, sigma, strict=True):
        block = np.zeros((len(R), p + 1))
        block[:, : data.shared] = R[:, : data.shared]
        block[:, columns] = R[:, data.shared : -1]
        block[:, p] = R[:, -1]
        blocks.append(block / s)
    return np.concatenate(blocks)


def own_columns(data: Factors) -> list[range]:
    """Return, by joint, the positions of its own parameters among all."""
    ends = np.cumsum([data.shared, *(R.shape[1] - data.shared - 1 for R in data.parts)]).tolist()
    return [range(first, last) for first, last in pairwise(ends)]


def residual_squares(data: Factors, x: Array) -> Array:
    """Return the sum of squared residuals of each joint (N^2 m^2 or N^2), (n,), for the parameters x."""
    pairs = zip(data.parts, own_columns(data), strict=True)
    errors = (R @ np.concatenate([x[: data.shared], x[columns], [-1.0]]) for R, columns in pairs)
    return np.array([float(np.sum(error**2)) for error in errors])


def deviations_of_residuals(data: Factors, solution: Solution) -> Array:
    """Return the deviation of the residuals of each joint (N m or N), corrected for the fitted parameters.

    The share of a joint in the number of parameters is the trace of its part of the hat matrix.
    """
    covariance, shares = solution.covariance, []
    for R, columns, s in zip(data.parts, own_columns(data), solution.sigma, strict=True):
        places = [*range(data.shared), *columns]
        W = R[:, :-1] / s
        shares.append(float(np.sum((W @ covariance[np.ix_(places, places)]) * W)))
    deviations = np.sqrt(residual_squares(data, solution.x) / np.maximum(data.count - np.array(shares), 1.0))
    torques = np.array([float(np.sum(R[:, -1] ** 2)) for R in data.parts])
    least = 1e-12 * np.sqrt(torques / np.maximum(data.count, 1))
    # A joint without torques has no equations: its deviation does not matter.
    found: Array = np.where(least > 0.0, np.maximum(deviations, least), 1.0)
    return found
