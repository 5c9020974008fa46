# SPDX-License-Identifier: Apache-2.0
"""Ordinary least squares of joints whose residuals differ: all count alike, deviations know it.

With ``A = sum W_i^T W_i`` the covariance is ``A^-1 (sum sigma_i^2 W_i^T W_i) A^-1`` (White 1980), where
sigma_i is the deviation of the residuals of joint i.
"""

from __future__ import annotations

import numpy as np

from dyn_core.identification.estimators.least_squares import (
    Solution,
    deviations_of_residuals,
    ordinary,
    system,
)
from dyn_core.identification.factors import factors
from dyn_core.identification.fit import Fit, information_root, information_rows
from dyn_core.identification.rows import Rows


def unweighted(rows: Rows) -> Fit:
    """Answer the parameters by ordinary least squares."""
    data = factors(rows)
    whole, plain = data.merged(), ordinary(data)
    bread = plain.covariance
    # W_i^T W_i sigma_i^2 / c^4 is the product of the rows divided by c^2 / sigma_i.
    spread = deviations_of_residuals(whole, plain)
    W = system(whole, plain.sigma**2 / spread)[:, :-1]
    covariance = bread @ (W.T @ W) @ bread
    R = information_root(covariance, plain.identifiable)
    solution = Solution(plain.x, plain.sigma, R, plain.identifiable, plain.condition)
    return Fit(
        rows,
        solution,
        data,
        bread=bread,
        information=information_rows(solution, system(whole, np.ones(whole.dof))),
    )
