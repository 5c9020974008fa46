# SPDX-License-Identifier: Apache-2.0
"""Polynomials between points, of the lowest degree that takes the derivatives given at both ends."""

from __future__ import annotations

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError


def hermite_rows(T: Array, q: Array, qd: Array, qdd: Array) -> Array:
    """Answer what gives position, velocity and acceleration between k + 1 points when multiplied by powers.

    On piece i, with u = (t - t_i) / T_i, ``rows[i] @ (1, u, u^2, u^3, u^4, u^5)`` are the n positions, the n
    velocities and the n accelerations. Pieces of which both ends have accelerations are quintic, those
    of which both have velocities are cubic, the others linear.

    Args:
        T: durations of the pieces (s), (k,).
        q: positions at the points (rad or m), (k + 1, n).
        qd: velocities there (rad/s or m/s); rows of NaN where they are not given.
        qdd: accelerations there (rad/s^2 or m/s^2); rows of NaN where they are not given.

    Returns:
        (k, 3 n, 6).
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        rows = _rows(T, q, qd, qdd)
    refuse_too_short(rows, T)
    return rows.reshape(len(T), 3 * q.shape[1], 6)


def refuse_too_short(rows: Array, T: Array) -> None:
    """Raise a DynError where a piece is so short (s) that its coefficients, (k, ...), are not finite."""
    if not np.isfinite(rows).all():
        piece = int(np.argwhere(~np.isfinite(rows))[0, 0])
        raise DynError(
            f"piece {piece} of the trajectory lasts {T[piece]:g} s, for which no acceleration is great enough"
        )


def _rows(T: Array, q: Array, qd: Array, qdd: Array) -> Array:
    k, n = len(T), q.shape[1]
    has_qd, has_qdd = (np.isfinite(values.sum(axis=1)) for values in (qd, qdd))
    cubic = has_qd[:-1] & has_qd[1:]
    quintic = cubic & has_qdd[:-1] & has_qdd[1:]
    duration = T[:, None]
    d = np.diff(q, axis=0)
    # Derivatives with respect to u at both ends: h first, g second.
    h0, h1 = (np.where(cubic[:, None], v * duration, d) for v in (qd[:-1], qd[1:]))
    # Cubics are the quintics whose second derivatives at the ends are those of the cubic.
    g0 = np.where(quintic[:, None], qdd[:-1] * duration**2, 4.0 * (d - h0) + 2.0 * (d - h1))
    g1 = np.where(quintic[:, None], qdd[1:] * duration**2, 2.0 * (h0 - d) + 4.0 * (h1 - d))
    c = np.empty((6, k, n))
    c[0] = q[:-1]
    c[1] = h0
    c[2] = 0.5 * g0
    c[3] = np.where(
        quintic[:, None], 10.0 * d - 6.0 * h0 - 4.0 * h1 - 0.5 * (3.0 * g0 - g1), h0 + h1 - 2.0 * d
    )
    c[4] = np.where(quintic[:, None], -15.0 * d + 8.0 * h0 + 7.0 * h1 + 0.5 * (3.0 * g0 - 2.0 * g1), 0.0)
    c[5] = np.where(quintic[:, None], 6.0 * d - 3.0 * (h0 + h1) - 0.5 * (g0 - g1), 0.0)
    rows = np.zeros((k, 3, n, 6))
    rows[:, 0] = np.moveaxis(c, 0, -1)
    for power in range(5):
        rows[:, 1, :, power] = (power + 1) * c[power + 1] / duration
    for power in range(4):
        rows[:, 2, :, power] = (power + 2) * (power + 1) * c[power + 2] / duration**2
    return rows
