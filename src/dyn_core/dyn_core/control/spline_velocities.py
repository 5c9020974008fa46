# SPDX-License-Identifier: Apache-2.0
"""Velocities at points that have only positions: those of the cubic spline through them."""

from __future__ import annotations

import numpy as np

from dyn_core.core.arrays import Array


def spline_velocities(times: Array, q: Array, first: Array, last: Array) -> Array:
    """Answer the velocities with which cubics between the points have continuous accelerations.

    With h_i = t_{i+1} - t_i and s_i = (q_{i+1} - q_i) / h_i, the acceleration is continuous at point i where

        v_{i-1} / h_{i-1} + 2 (1 / h_{i-1} + 1 / h_i) v_i + v_{i+1} / h_i = 3 (s_{i-1} / h_{i-1} + s_i / h_i).

    The matrix of these equations has three diagonals, the middle one dominates, and elimination without
    exchanges solves them.

    Args:
        times: times of m points (s), (m,), strictly increasing.
        q: positions (rad or m), (m, n).
        first: velocity at the first point (rad/s or m/s), (n,).
        last: velocity at the last point, (n,).
    """
    m = len(times)
    v = np.empty_like(q)
    v[0], v[-1] = first, last
    if m < 3:
        return v
    inverse = 1.0 / np.diff(times)
    slope = np.diff(q, axis=0) * inverse[:, None]
    right = 3.0 * (slope[:-1] * inverse[:-1, None] + slope[1:] * inverse[1:, None])
    right[0] -= inverse[0] * v[0]
    right[-1] -= inverse[-1] * v[-1]
    middle = 2.0 * (inverse[:-1] + inverse[1:])
    for i in range(1, m - 2):
        factor = inverse[i] / middle[i - 1]
        middle[i] -= factor * inverse[i]
        right[i] -= factor * right[i - 1]
    v[m - 2] = right[m - 3] / middle[m - 3]
    for i in range(m - 3, 0, -1):
        v[i] = (right[i - 1] - inverse[i] * v[i + 1]) / middle[i - 1]
    return v
