# SPDX-License-Identifier: Apache-2.0
"""What an estimator answers, whichever it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.identification.bool_array import BoolArray
from dyn_core.identification.estimators.least_squares import Solution, system
from dyn_core.identification.estimators.standard_deviations import deviations, residual_rows
from dyn_core.identification.factors import Factors
from dyn_core.identification.rows import Rows


@dataclass(frozen=True, eq=False)
class Fit:
    """The parameters that fit equations best.

    Attributes:
        rows: the equations whose residuals are small.
        solution: the parameters.
        data: the factors of the equations, with weights where there are any.
        weights: what equations are multiplied with, (N, n), where outliers count less; else None.
        instruments: the equations whose columns the residuals were made orthogonal to; None for `rows`.
        bread: the derivative of the parameters by these products; None for the covariance of the solution.
        information: rows ``[T | T x]`` that say of all parameters what the estimate says of them, where that
            is not what the equations of `data` say as least squares; else None.
    """

    rows: Rows
    solution: Solution
    data: Factors
    weights: Array | None = None
    instruments: Rows | None = None
    bread: Array | None = None
    information: Array | None = None

    @property
    def says(self) -> Array:
        """Rows that say of all parameters what the estimate says, each divided by its deviation."""
        if self.information is not None:
            return self.information
        return system(self.data.merged(), self.solution.sigma)

    @property
    def residuals(self) -> Array:
        """What the parameters leave of the torques (N m or N), (N, n)."""
        return residual_rows(self.rows, self.solution.x)

    def deviations(self, errors: Array) -> Array:
        """Standard deviations of the parameters, by the residuals (N, n)."""
        rows = self.rows if self.instruments is None else self.instruments
        return deviations(rows, self.solution, errors, self.weights, self.bread)


def information_root(covariance: Array, kept: BoolArray) -> Array:
    """Answer R, upper triangular, with ``R^T R = covariance^-1``; 0 for parameters that are not `kept`."""
    inner = np.ix_(kept, kept)
    sizes = np.sqrt(np.diag(covariance)[kept])
    correlation = covariance[inner] / sizes[:, None] / sizes
    root = np.linalg.cholesky(np.linalg.inv(correlation)).T / sizes
    R = np.zeros_like(covariance)
    R[inner] = root
    return R


def information_rows(solution: Solution, system: Array) -> Array:
    """Answer rows ``[T | T x]`` that say what an estimate says of all parameters.

    A parameter that the equations cannot tell from others is 0 in the estimate, and the others have its part.

    Args:
        solution: the estimate.
        system: the rows ``[W tau]`` of the equations in all parameters.
    """
    kept = solution.identifiable
    W = system[:, :-1]
    lengths = np.maximum(np.linalg.norm(W, axis=0), np.finfo(float).tiny)
    parts = np.linalg.lstsq(W[:, kept] / lengths[kept], W / lengths, rcond=None)[0]
    parts = parts / lengths[kept, None] * lengths
    parts[:, kept] = np.eye(int(kept.sum()))
    T = solution.R[np.ix_(kept, kept)]
    return np.column_stack([T @ parts, T @ solution.x[kept]])
