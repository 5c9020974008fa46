# SPDX-License-Identifier: Apache-2.0
"""Hollerbach's recursive Lagrangian with 4 x 4 matrices (Silver 1981, sec. 1.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dyn_core.formulations.chain import Chain
from dyn_core.representations.matrix import (
    Matrix,
    Row,
    add,
    add_rows,
    dot,
    mul,
    mul_row,
    scale,
    trace,
    transpose,
)
from dyn_core.representations.placement import derived, homogeneous, placements
from dyn_core.representations.uicker_kahn import pseudo_inertia
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.vec3 import Vec3


class LinkMatrices(NamedTuple):
    """Placement W of a link in frame 0, and its first and second derivative by time, 4 x 4."""

    W: Matrix
    Wd: Matrix
    Wdd: Matrix


def link_matrices(
    chain: Chain, A: Sequence[Matrix], qd: Sequence[Scalar], qdd: Sequence[Scalar]
) -> list[LinkMatrices]:
    """Placements of the links and their derivatives by time, each from those of the link before."""
    moved: list[LinkMatrices] = []
    for link, A_j, qd_j, qdd_j in zip(chain, A, qd, qdd, strict=True):
        dA = derived(A_j, link.sigma)
        ddA = derived(dA, link.sigma)
        if not moved:
            Wdd = add(scale(qd_j * qd_j, ddA), scale(qdd_j, dA))
            moved.append(LinkMatrices(A_j, scale(qd_j, dA), Wdd))
            continue
        W, Wd, Wdd = moved[-1]
        W_dA = mul(W, dA)
        coriolis = scale(qd_j + qd_j, mul(Wd, dA))
        own = add(scale(qd_j * qd_j, mul(W, ddA)), scale(qdd_j, W_dA))
        moved.append(
            LinkMatrices(
                mul(W, A_j),
                add(mul(Wd, A_j), scale(qd_j, W_dA)),
                add(add(mul(Wdd, A_j), coriolis), own),
            )
        )
    return moved


def lagrangian_4x4(
    chain: Chain, q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar], gravity_0: Vec3
) -> list[Scalar]:
    """Joint torques ``tr(U_ii D_i) - g^T U_ii c_i``, where D_i and c_i come from those of link i + 1.

    ``D_i = J_i W''_i^T + A_{i+1} D_{i+1}`` and ``c_i = m_i r_i + A_{i+1} c_{i+1}``.

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
    torques: list[Scalar] = []
    D: Matrix | None = None
    c: Row = ()
    for j in range(len(chain) - 1, -1, -1):
        J = pseudo_inertia(chain[j])
        own = mul(J, transpose(moved[j].Wdd))
        D = own if D is None else add(own, mul(A[j + 1], D))
        c = add_rows(J[3], mul_row(A[j + 1], c)) if c else J[3]
        U = derived(moved[j].W, chain[j].sigma)
        torques.insert(0, trace(mul(U, D)) - dot(g, mul_row(U, c)))
    return torques
