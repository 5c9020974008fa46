# SPDX-License-Identifier: Apache-2.0
"""The Lagrangian with accelerations by recursion, after Waters: the sum of Silver 1981, eq. (1.2)."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.formulations.chain import Chain
from dyn_core.representations.lagrangian_4x4 import link_matrices
from dyn_core.representations.matrix import Matrix, dot, mul, mul_row, trace, transpose
from dyn_core.representations.placement import derived, homogeneous, placements
from dyn_core.representations.uicker_kahn import pseudo_inertia
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.vec3 import Vec3


def waters(
    chain: Chain, q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar], gravity_0: Vec3
) -> list[Scalar]:
    """Joint torques ``sum_j (tr(U_ji J_j W''_j^T) - g^T U_ji m_j r_j)``, with W''_j from that of j - 1.

    Args:
        chain: the n links.
        q: n joint positions (rad or m).
        qd: n joint velocities (rad/s or m/s).
        qdd: n joint accelerations (rad/s^2 or m/s^2).
        gravity_0: acceleration of gravity in frame 0 (m/s^2).
    """
    A = [homogeneous(T) for T in placements(chain, q)]
    moved = link_matrices(chain, A, qd, qdd)
    g = (*gravity_0, 0.0)
    torques: list[Scalar] = [0.0] * len(chain)
    carried: list[Matrix] = []
    for j, link in enumerate(chain):
        carried = [mul(U, A[j]) for U in carried] + [derived(moved[j].W, link.sigma)]
        J = pseudo_inertia(link)
        for i, U in enumerate(carried):
            inertial = trace(mul(mul(U, J), transpose(moved[j].Wdd)))
            torques[i] = torques[i] + inertial - dot(g, mul_row(U, J[3]))
    return torques
