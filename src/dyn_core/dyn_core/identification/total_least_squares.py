# SPDX-License-Identifier: Apache-2.0
"""Total least squares: for equations whose columns are as noisy as their right-hand sides.

With the covariance S of the noise of a row ``[w tau]``, ``[W tau]`` is changed as little as makes the
equations solvable:
``v = (x, -1)`` minimises ``|[W tau] v|^2 / (v^T S v)`` (Golub, Van Loan 2013, sec. 6.3; Van Huffel,
Vandewalle 1989 for any S). It is apt where columns are measured signals, such as velocities of a coarse
encoder; columns that are products of many signals have noise that depends on the motion, of which S is the
mean.
"""

from __future__ import annotations

import numpy as np

from dyn_core.core.arrays import Array


def total_least_squares(R: Array, noise: Array) -> tuple[Array, float]:
    """Answer parameters of equations, and their least ``|[W tau] v|^2 / (v^T S v)``.

    Args:
        R: the factor of the rows ``[W tau]``, or the rows themselves, (m, p + 1).
        noise: S, the covariance of the noise of the columns and, last, of the right-hand side,
            (p + 1, p + 1); 0 for columns that are exact.

    Raises:
        ValueError: the noise is not that of the columns, or the right-hand side has none.
    """
    columns = R.shape[1]
    if noise.shape != (columns, columns) or not noise[-1, -1] > 0.0 or not np.isfinite(noise).all():
        raise ValueError(
            f"noise: expected a covariance of {columns} columns, of which the last is > 0, not {noise!r}"
        )
    T = np.linalg.qr(R, mode="r")
    # Columns of unit length, for digits.
    scales = 1.0 / np.maximum(np.linalg.norm(T, axis=0), np.finfo(float).tiny)
    sizes, directions = np.linalg.eigh(noise * scales[:, None] * scales)
    root = np.sqrt(np.maximum(sizes, 0.0))[:, None] * directions.T
    _, greatest, V = np.linalg.svd(np.linalg.solve((T * scales).T, root.T).T)
    v = scales * np.linalg.solve(T * scales, V[0])
    return -v[:-1] / v[-1], float(greatest[0] ** -2)
