# SPDX-License-Identifier: Apache-2.0
"""The Lagrangian of Uicker and Kahn, evaluated as it is written (Silver 1981, eq. (1.2))."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.formulations.chain import Chain, Link
from dyn_core.representations.matrix import Matrix, dot, mul, mul_row, trace, transpose
from dyn_core.representations.placement import derived, homogeneous, placements
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.vec3 import Vec3


def uicker_kahn(
    chain: Chain, q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar], gravity_0: Vec3
) -> list[Scalar]:
    """Joint torques by the quadruple sum over joint, link and two velocities.

    With W'' of eq. (1.2) written out by the chain rule,
    ``tau_i = sum_j (sum_k tr(U_jk J_j U_ji^T) qdd_k + sum_kl tr(U_jkl J_j U_ji^T) qd_k qd_l
    - g^T U_ji m_j r_j)`` where U_jk and U_jkl are the first and second derivatives of W_j.

    Args:
        chain: the n links.
        q: n joint positions (rad or m).
        qd: n joint velocities (rad/s or m/s).
        qdd: n joint accelerations (rad/s^2 or m/s^2).
        gravity_0: acceleration of gravity in frame 0 (m/s^2).
    """
    first, second = derivatives(chain, q)
    g = (*gravity_0, 0.0)
    torques: list[Scalar] = []
    for i in range(len(chain)):
        tau: Scalar = 0.0
        for j in range(i, len(chain)):
            J, U_ji = pseudo_inertia(chain[j]), transpose(first[j][i])
            for k in range(j + 1):
                tau = tau + trace(mul(mul(first[j][k], J), U_ji)) * qdd[k]
                for m in range(j + 1):
                    tau = tau + trace(mul(mul(second[j][k][m], J), U_ji)) * (qd[k] * qd[m])
            tau = tau - dot(g, mul_row(first[j][i], J[3]))
        torques.append(tau)
    return torques


def pseudo_inertia(link: Link) -> Matrix:
    """The 4 x 4 inertia matrix J_j about O_j: Silver 1981, eq. (1.2)."""
    rows = (((*row, x)) for row, x in zip(link.spread, link.mc, strict=True))
    return (*rows, (*link.mc, link.m))


def derivatives(chain: Chain, q: Sequence[Scalar]) -> tuple[list[list[Matrix]], list[list[list[Matrix]]]]:
    """First and second derivatives of the W_j by the positions of the joints that carry link j."""
    W: Matrix | None = None
    first: list[list[Matrix]] = []
    second: list[list[list[Matrix]]] = []
    for j, (link, T) in enumerate(zip(chain, placements(chain, q), strict=True)):
        A = homogeneous(T)
        W = A if W is None else mul(W, A)
        U = [mul(first[j - 1][k], A) for k in range(j)] + [derived(W, link.sigma)]
        rows = [[mul(second[j - 1][k][m], A) for m in range(j)] for k in range(j)]
        last = [derived(U_k, link.sigma) for U_k in U]
        first.append(U)
        second.append([[*row, last[k]] for k, row in enumerate(rows)] + [last])
    return first, second
