# SPDX-License-Identifier: Apache-2.0
"""Total least squares: for equations whose columns are as noisy as their right-hand sides.

With the deviations of the noise of the columns, those that are exact are eliminated, the others are divided
by their deviations, and ``[W tau]`` is changed as little as makes the equations solvable: the solution is
the right singular vector of the least singular value (Golub, Van Loan 2013, sec. 6.3). It is apt where
columns are measured signals, such as velocities of a coarse encoder; for columns that are products of many
signals the noise is not what it takes it for, and least squares behind a filter are better.
"""

from __future__ import annotations

import numpy as np

from dyn_core.facade.arrays import Array
from dyn_core.identification.factors import triangular


def total_least_squares(R: Array, noise: Array) -> Array:
    """Answer parameters of equations.

    Args:
        R: the factor of the rows ``[W tau]``, or the rows themselves, (m, p + 1).
        noise: deviations of the noise of the columns and, last, of the right-hand side, (p + 1,); 0 for
            columns that are exact.

    Raises:
        ValueError: the noise is not that of the columns, or the right-hand side has none.
    """
    columns = R.shape[1]
    if noise.shape != (columns,) or not np.all(noise >= 0.0) or not noise[-1] > 0.0:
        raise ValueError(f"noise: expected {columns} numbers >= 0, the last one > 0, but it is {noise!r}")
    exact, noisy = np.flatnonzero(noise == 0.0), np.flatnonzero(noise > 0.0)
    T = triangular(R[:, [*exact, *noisy]])
    e = len(exact)
    _, _, V = np.linalg.svd(T[e:, e:] / noise[noisy])
    direction = V[-1] / noise[noisy]
    x = np.zeros(columns - 1)
    of_noisy = -direction[:-1] / direction[-1]
    x[noisy[:-1]] = of_noisy
    if e:
        right = T[:e, -1] - T[:e, e:-1] @ of_noisy
        x[exact] = np.linalg.solve(T[:e, :e], right)
    return x
