# SPDX-License-Identifier: Apache-2.0
"""Essential parameters: those that the measured torques cannot do without (Gautier 1997).

The parameter with the greatest relative deviation is taken out, the others are estimated anew, and so on,
until all that are left differ from 0 significantly. Taking out one parameter with |x| = t deviations
raises the weighted sum of the squares of the residuals by t^2 times sigma^2: this is the F-test with one
degree of freedom.
"""

from __future__ import annotations

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.identification.bool_array import BoolArray
from dyn_core.identification.estimators.least_squares import Solution

SIGNIFICANT = 3.3
"""Least value of an essential parameter in deviations: 0.1 % of those that are 0 are taken for essential."""


def essential(solution: Solution, inflation: Array, significant: float = SIGNIFICANT) -> BoolArray:
    """Answer which parameters are essential.

    Args:
        solution: the parameters.
        inflation: by parameter, its deviation as a multiple of that for independent residuals.
        significant: least value in deviations.
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
