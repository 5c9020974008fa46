# SPDX-License-Identifier: Apache-2.0
"""Total least squares of the equations of a motion whose positions are noisy.

Each joint counts by the deviation of its residuals with weighted least squares. With the mean noise S of the
columns and the estimate x, the scores ``w_t e_t + S x`` have the mean 0, and their derivative by x is
``W^T W - l S``, where l is the least value of total least squares.
"""

from __future__ import annotations

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.identification.column_noise import column_noise
from dyn_core.identification.estimators.least_squares import Solution, own_columns, system, weighted
from dyn_core.identification.factors import factors, triangular
from dyn_core.identification.fit import Fit, information_root, information_rows
from dyn_core.identification.rows import Rows
from dyn_core.identification.total_least_squares import total_least_squares

_OF_TORQUE = 0.01
"""Least part of the residuals (of the squares) that is noise of the torque."""


def total(rows: Rows) -> Fit:
    """Answer the parameters by total least squares.

    Raises:
        DynError: nothing is known of the noise of the positions.
    """
    data = factors(rows)
    whole, plain = data.merged(), weighted(data)
    noise = _noise(rows, plain, own_columns(whole))
    R = system(whole, plain.sigma)
    kept = plain.identifiable
    inner = [*np.flatnonzero(kept).tolist(), len(kept)]
    found, least = total_least_squares(triangular(R[:, inner]), noise[np.ix_(inner, inner)])
    x = np.zeros(len(kept))
    x[kept] = found
    W = R[:, np.flatnonzero(kept)]
    products = W.T @ W
    slope = products - least * noise[np.ix_(kept, kept)]
    bread = np.zeros((len(kept), len(kept)))
    bread[np.ix_(kept, kept)] = np.linalg.inv(slope)
    covariance = np.zeros_like(bread)
    covariance[np.ix_(kept, kept)] = bread[np.ix_(kept, kept)] @ products @ bread[np.ix_(kept, kept)].T
    solution = Solution(x, plain.sigma, information_root(covariance, kept), kept, plain.condition)
    return Fit(rows, solution, data, bread=bread, information=information_rows(solution, R))


def _noise(rows: Rows, plain: Solution, own: list[range]) -> Array:
    """Answer the covariance of the noise of a row of all joints, ``[w tau] / sigma``, together.

    It is the mean over all times: a joint that stands, or was not measured, has rows of zeros, without noise.
    """
    p = len(plain.x)
    noise = np.zeros((p + 1, p + 1))
    shares = rows.used.mean(axis=0) * np.array(rows.equations.measured)
    for covariance, columns, sigma, share in zip(column_noise(rows), own, plain.sigma, shares, strict=True):
        places = [*range(rows.shared), *columns]
        noise[np.ix_(places, places)] += covariance / sigma**2
        of_columns = plain.x[places] @ covariance @ plain.x[places]
        noise[p, p] += max(share - of_columns / sigma**2, _OF_TORQUE * share)
    return noise
