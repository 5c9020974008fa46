# SPDX-License-Identifier: Apache-2.0
"""The articulated recursion with 6 x 6 matrices, as its paper writes it (Khalil 2010, sec. 3.3.2)."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.formulations.chain import Chain, Link
from dyn_core.linalg.transform import Transform
from dyn_core.representations.matrix import (
    Matrix,
    Row,
    add,
    add_rows,
    mul,
    mul_row,
    outer,
    scale,
    sub,
    transpose,
)
from dyn_core.representations.placement import placements
from dyn_core.robot.joints import Sigma
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.scalar import Scalar, reciprocal
from dyn_core.symbolic.vec3 import Vec3


def articulated(
    chain: Chain, q: Sequence[Scalar], qd: Sequence[Scalar], torques: Sequence[Scalar], gravity_0: Vec3
) -> list[Scalar]:
    """Accelerations that torques give: Khalil 2010, eqs. (32) to (43).

    Args:
        chain: the n links.
        q: n joint positions (rad or m).
        qd: n joint velocities (rad/s or m/s).
        torques: n joint torques (N m or N).
        gravity_0: acceleration of gravity in frame 0 (m/s^2).
    """
    n = len(chain)
    T = placements(chain, q)
    X = [screw_transform(at) for at in T]
    w = vec3.ZERO
    gammas: list[Row] = []
    betas: list[Row] = []
    for link, at, qd_j in zip(chain, T, qd, strict=True):
        back = mat3.transpose(at.R)
        centripetal = mat3.mul_vec(back, vec3.cross(w, vec3.cross(w, at.p)))
        w = mat3.mul_vec(back, w)
        across = vec3.cross(w, (0.0, 0.0, qd_j))
        if link.sigma is Sigma.REVOLUTE:
            gammas.append((*centripetal, *across))
            w = (w[0], w[1], w[2] + qd_j)
        else:
            gammas.append((*vec3.add(centripetal, vec3.scale(2.0, across)), 0.0, 0.0, 0.0))
        force = vec3.cross(w, vec3.cross(w, link.mc))
        moment = vec3.cross(w, mat3.mul_vec(link.J, w))
        betas.append((*vec3.neg(force), *vec3.neg(moment)))  # (35)

    inertias = [spatial_inertia(link) for link in chain]
    handles: list[tuple[Row, Scalar, Scalar]] = []
    for j in range(n - 1, -1, -1):
        a = 5 if chain[j].sigma is Sigma.REVOLUTE else 2
        u = tuple(row[a] for row in inertias[j])
        H_inverse = reciprocal(u[a])  # (36)
        left = torques[j] + betas[j][a]
        handles.insert(0, (u, H_inverse, left))
        if j > 0:
            K = sub(inertias[j], scale(H_inverse, outer(u, u)))  # (37)
            driven = tuple(x * (H_inverse * left) for x in u)
            alpha = add_rows(add_rows(mul_row(K, gammas[j]), driven), tuple(-x for x in betas[j]))  # (38)
            back_X = transpose(X[j])
            betas[j - 1] = add_rows(betas[j - 1], tuple(-x for x in mul_row(back_X, alpha)))  # (39)
            inertias[j - 1] = add(inertias[j - 1], mul(mul(back_X, K), X[j]))  # (40)

    accelerations: list[Scalar] = []
    Vd: Row = (*vec3.neg(gravity_0), 0.0, 0.0, 0.0)
    for j, (u, H_inverse, left) in enumerate(handles):
        Vd = add_rows(mul_row(X[j], Vd), gammas[j])
        total = left
        for x, y in zip(u, Vd, strict=True):
            total = total - x * y
        qdd = H_inverse * total  # (41)
        accelerations.append(qdd)
        a = 5 if chain[j].sigma is Sigma.REVOLUTE else 2
        Vd = (*Vd[:a], Vd[a] + qdd, *Vd[a + 1 :])  # (43)
    return accelerations


def screw_transform(T: Transform) -> Matrix:
    """Matrix jTi that takes screws from frame i to frame j: Khalil 2010, eq. (17)."""
    R = mat3.transpose(T.R)
    return _blocks(R, mat3.scale(-1.0, mat3.mul(R, mat3.skew(T.p))), mat3.ZERO, R)


def spatial_inertia(link: Link) -> Matrix:
    """Inertia of a link about O_j: Khalil 2010, eq. (11)."""
    MS = mat3.skew(link.mc)
    return _blocks(mat3.scale(link.m, mat3.IDENTITY), mat3.transpose(MS), MS, link.J)


def _blocks(a: Mat3, b: Mat3, c: Mat3, d: Mat3) -> Matrix:
    upper = [(*x, *y) for x, y in zip(a, b, strict=True)]
    return (*upper, *((*x, *y) for x, y in zip(c, d, strict=True)))
