# SPDX-License-Identifier: Apache-2.0
"""The pseudo-inertia of a body: the matrix that is positive definite if and only if the body can exist.

With mass M, first moments MS and inertia J about the origin of the frame, and ``S = tr(J)/2 1 - J`` the
integral of r r^T over the mass,

    P = [[S, MS], [MS^T, M]]  (4 x 4, symmetric).

``P > 0`` says that the mass is positive, the inertia about the centre of mass positive definite, and no
principal moment greater than the sum of the others (Wensing, Kim, Slotine 2018). P is linear in the ten
parameters. How far a body is from another that is expected, P0, is the divergence

    d(P, P0) = tr(P0^-1 P) - log det(P0^-1 P) - 4  >= 0,

which is convex in P, the same in every frame and unit, and infinite where the body stops to exist (Lee,
Wensing, Park 2020). Near P0 it is half the square of the relative difference.
"""

from __future__ import annotations

import numpy as np

from dyn_core.core.arrays import Array


def _basis() -> Array:
    basis = np.zeros((10, 4, 4))
    # J = tr(S) 1 - S: what each entry of J is in S.
    for k, (i, j) in enumerate(((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))):
        if i == j:
            basis[k][:3, :3] = 0.5 * np.eye(3)
            basis[k][i, i] -= 1.0
        else:
            basis[k][i, j] = basis[k][j, i] = -1.0
    for k in range(3):
        basis[6 + k][k, 3] = basis[6 + k][3, k] = 1.0
    basis[9][3, 3] = 1.0
    return basis


BASIS: Array = _basis()
"""What each of the ten parameters XX XY XZ YY YZ ZZ MX MY MZ M is in P, (10, 4, 4)."""

_READ: Array = np.linalg.pinv(BASIS.reshape(10, 16)).T.reshape(10, 4, 4)
"""How much of each entry of P is in each of the ten parameters."""

BORDER = 1e-9
"""Part of the greatest eigenvalue of P that may be missing where it is 0 but for roundings."""


def pseudo_inertia(parameters: Array) -> Array:
    """Answer P of the ten parameters of a body (SI units)."""
    P: Array = np.tensordot(parameters, BASIS, axes=1)
    return P


def parameters_of(P: Array) -> Array:
    """Answer the ten parameters of a body (SI units) from P."""
    S, MS, M = P[:3, :3], P[:3, 3], P[3, 3]
    J = np.trace(S) * np.eye(3) - S
    return np.array([J[0, 0], J[0, 1], J[0, 2], J[1, 1], J[1, 2], J[2, 2], *MS, M])


def congruence(L: Array) -> Array:
    """Answer the matrices (..., 10, 10) that take the parameters of P to those of L P L^T, L (..., 4, 4)."""
    moved = L[..., None, :, :] @ BASIS @ np.swapaxes(L, -1, -2)[..., None, :, :]
    columns: Array = np.tensordot(moved, _READ, axes=((-2, -1), (-2, -1)))
    return np.swapaxes(columns, -1, -2)


def is_possible(parameters: Array) -> bool:
    """Whether a body can have these ten parameters."""
    try:
        factor = np.linalg.cholesky(pseudo_inertia(parameters))
    except np.linalg.LinAlgError:
        return False
    return bool(np.isfinite(factor).all())


def is_nearly_possible(parameters: Array) -> bool:
    """Whether bodies come as near as one likes to these ten parameters, as to rods, points, and nothing."""
    P = pseudo_inertia(parameters)
    return bool(np.linalg.eigvalsh(P)[0] >= -BORDER * np.trace(P)) if np.isfinite(P).all() else False


def nearest_possible(parameters: Array, mass: float, radius: float) -> Array:
    """Answer parameters that a body can have, near those of a description.

    Args:
        parameters: ten parameters, which need not be possible (SI units).
        mass: the least mass (kg).
        radius: the least radius of gyration in any direction (m), > 0.
    """
    M = max(float(parameters[9]), mass)
    centre = parameters[6:9] / M
    S = pseudo_inertia(parameters)[:3, :3] - M * np.outer(centre, centre)
    values, axes = np.linalg.eigh(0.5 * (S + S.T))
    S = (axes * np.maximum(values, M * radius**2)) @ axes.T + M * np.outer(centre, centre)
    P = np.block([[S, M * centre[:, None]], [M * centre[None, :], np.array([[M]])]])
    return parameters_of(P)
