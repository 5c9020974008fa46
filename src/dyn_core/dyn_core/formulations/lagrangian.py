# SPDX-License-Identifier: Apache-2.0
"""Lagrangian formulations: Uicker-Kahn, Waters, Hollerbach, and angular velocities (Silver 1981).

Each returns the joint torques of a chain (N m or N) for positions q (rad or m), velocities qd, accelerations
qdd, and the acceleration of gravity in frame 0 (m/s^2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dyn_core.formulations.chain import (
    Chain,
    Link,
    Matrix,
    Vector,
    base_frame_motions,
    derived,
    homogeneous,
    matrix,
    placements,
    trace,
)
from dyn_core.robot.joints import Sigma
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.transform import Transform
from dyn_core.symbolic.vec3 import Vec3

# Hollerbach's recursive Lagrangian with 3 x 3 rotation matrices (Silver 1981, secs. 1.4, 2.4)


class _Rotation(NamedTuple):
    """Rotation W of a link from frame 0, its time derivatives, and the acceleration of O_j."""

    W: Mat3
    Wd: Mat3
    Wdd: Mat3
    pdd: Vec3


def lagrangian_3x3(chain: Chain, q: Vector, qd: Vector, qdd: Vector, gravity_0: Vec3) -> list[Scalar]:
    """Joint torques with ``tr(dW/dq J W''^T)`` for rotations, and vectors (Silver 1981, sec. 2.4).

    The inward pass computes, about O_j, ``D_j = sum r (r'')^T dm``, the force ``e_j = sum r'' dm``, and the
    first moments c_j and the mass of all bodies that link j carries.
    """
    T = placements(chain, q)
    moved = _rotations(chain, T, qd, qdd)
    torques: list[Scalar] = []
    D, e, c, m = mat3.ZERO, vec3.ZERO, vec3.ZERO, 0.0
    for j in range(len(chain) - 1, -1, -1):
        link, (W, _, Wdd, pdd) = chain[j], moved[j]
        own_e = vec3.add(vec3.scale(link.m, pdd), mat3.mul_vec(Wdd, link.mc))
        own_D = mat3.add(mat3.outer(link.mc, pdd), mat3.mul(link.spread, mat3.transpose(Wdd)))
        if j + 1 < len(chain):
            R, p = T[j + 1]
            own_D = mat3.add(own_D, mat3.add(mat3.mul(R, D), mat3.outer(p, e)))
            own_e = vec3.add(own_e, e)
            c = vec3.add(link.mc, vec3.add(mat3.mul_vec(R, c), vec3.scale(m, p)))
            m = m + link.m
        else:
            c, m = link.mc, link.m
        D, e = own_D, own_e
        if link.sigma is Sigma.REVOLUTE:
            U = _derived(W)
            trace = mat3.mul(U, D)
            inertial = trace[0][0] + trace[1][1] + trace[2][2]
            torques.insert(0, inertial - vec3.dot(gravity_0, mat3.mul_vec(U, c)))
        else:
            z = mat3.column(W, 2)
            torques.insert(0, vec3.dot(z, e) - m * vec3.dot(gravity_0, z))
    return torques


def _rotations(chain: Chain, T: Sequence[Transform], qd: Vector, qdd: Vector) -> list[_Rotation]:
    """Rotations of the links and their time derivatives, each from those of the link before."""
    moved = [_Rotation(mat3.IDENTITY, mat3.ZERO, mat3.ZERO, vec3.ZERO)]
    for link, (R, p), qd_j, qdd_j in zip(chain, T, qd, qdd, strict=True):
        W, Wd, Wdd, pdd = moved[-1]
        pdd = vec3.add(pdd, mat3.mul_vec(Wdd, p))
        rotation = mat3.mul(W, R)
        rate, acceleration = mat3.mul(Wd, R), mat3.mul(Wdd, R)
        if link.sigma is Sigma.REVOLUTE:
            U = _derived(rotation)
            twice = mat3.scale(qd_j + qd_j, _derived(rate))
            own = mat3.add(mat3.scale(qd_j * qd_j, _derived(U)), mat3.scale(qdd_j, U))
            acceleration = mat3.add(mat3.add(acceleration, twice), own)
            rate = mat3.add(rate, mat3.scale(qd_j, U))
        else:
            coriolis = vec3.scale(qd_j + qd_j, mat3.column(rate, 2))
            pdd = vec3.add(vec3.add(pdd, coriolis), vec3.scale(qdd_j, mat3.column(rotation, 2)))
        moved.append(_Rotation(rotation, rate, acceleration, pdd))
    return moved[1:]


def _derived(W: Mat3) -> Mat3:
    """Derivative of a rotation by the angle of its own joint: x becomes y, and y becomes -x."""
    return mat3.from_columns(mat3.column(W, 1), vec3.neg(mat3.column(W, 0)), vec3.ZERO)


# Silver's Lagrangian with angular velocities instead of rotation matrices (Silver 1981, sec. 3)


def angular_velocity_lagrangian(
    chain: Chain, q: Vector, qd: Vector, qdd: Vector, gravity_0: Vec3
) -> list[Scalar]:
    """Joint torques ``sum_i (F_i . dv_i/dqd_j + N_i . dw_i/dqd_j)``: Silver 1981, eqs. (3.11) to (3.16).

    The sum is evaluated as written, for each joint over all links that it carries. Evaluated from the tip to
    the base instead, it is the Newton-Euler recursion (sec. 3.2).
    """
    moved = base_frame_motions(chain, q, qd, qdd, gravity_0)
    torques: list[Scalar] = []
    for j, link in enumerate(chain):
        tau: Scalar = 0.0
        z, p = moved[j].z, moved[j].p
        for carried in moved[j:]:
            if link.sigma is Sigma.REVOLUTE:
                along = vec3.cross(z, vec3.sub(carried.r, p))  # (3.15)
                tau = tau + vec3.dot(carried.force, along) + vec3.dot(carried.moment, z)  # (3.12)
            else:
                tau = tau + vec3.dot(carried.force, z)
        torques.append(tau)
    return torques


# The Lagrangian of Uicker and Kahn, evaluated as written (Silver 1981, eq. (1.2))


def uicker_kahn(chain: Chain, q: Vector, qd: Vector, qdd: Vector, gravity_0: Vec3) -> list[Scalar]:
    """Joint torques by the quadruple sum over joint, link and two velocities.

    With W'' of eq. (1.2) written out by the chain rule,
    ``tau_i = sum_j (sum_k tr(U_jk J_j U_ji^T) qdd_k + sum_kl tr(U_jkl J_j U_ji^T) qd_k qd_l
    - g^T U_ji m_j r_j)`` where U_jk and U_jkl are the first and second derivatives of W_j.
    """
    first, second = derivatives(chain, q)
    g = matrix((*gravity_0, 0.0))
    torques: list[Scalar] = []
    for i in range(len(chain)):
        tau: Scalar = 0.0
        for j in range(i, len(chain)):
            J, U_ji = pseudo_inertia(chain[j]), first[j][i].T
            for k in range(j + 1):
                tau = tau + trace(first[j][k] @ J @ U_ji) * qdd[k]
                for m in range(j + 1):
                    tau = tau + trace(second[j][k][m] @ J @ U_ji) * (qd[k] * qd[m])
            tau = tau - g @ (first[j][i] @ J[3])
        torques.append(tau)
    return torques


def pseudo_inertia(link: Link) -> Matrix:
    """The 4 x 4 inertia matrix J_j about O_j: Silver 1981, eq. (1.2)."""
    return matrix([*((*row, x) for row, x in zip(link.spread, link.mc, strict=True)), (*link.mc, link.m)])


def derivatives(chain: Chain, q: Vector) -> tuple[list[list[Matrix]], list[list[list[Matrix]]]]:
    """First and second derivatives of W_j with respect to the positions of the joints that carry link j."""
    W: Matrix | None = None
    first: list[list[Matrix]] = []
    second: list[list[list[Matrix]]] = []
    for j, (link, T) in enumerate(zip(chain, placements(chain, q), strict=True)):
        A = homogeneous(T)
        W = A if W is None else W @ A
        U = [first[j - 1][k] @ A for k in range(j)] + [derived(W, link.sigma)]
        rows = [[second[j - 1][k][m] @ A for m in range(j)] for k in range(j)]
        last = [derived(U_k, link.sigma) for U_k in U]
        first.append(U)
        second.append([[*row, last[k]] for k, row in enumerate(rows)] + [last])
    return first, second


# Hollerbach's recursive Lagrangian with 4 x 4 matrices (Silver 1981, sec. 1.4)


class LinkMatrices(NamedTuple):
    """Placement W of a link in frame 0, and its first and second time derivative, 4 x 4."""

    W: Matrix
    Wd: Matrix
    Wdd: Matrix


def link_matrices(chain: Chain, A: Sequence[Matrix], qd: Vector, qdd: Vector) -> list[LinkMatrices]:
    """Placements of the links and their time derivatives, each from those of the link before."""
    moved: list[LinkMatrices] = []
    for link, A_j, qd_j, qdd_j in zip(chain, A, qd, qdd, strict=True):
        dA = derived(A_j, link.sigma)
        ddA = derived(dA, link.sigma)
        if not moved:
            moved.append(LinkMatrices(A_j, dA * qd_j, ddA * (qd_j * qd_j) + dA * qdd_j))
            continue
        W, Wd, Wdd = moved[-1]
        W_dA = W @ dA
        coriolis = (Wd @ dA) * (qd_j + qd_j)
        own = (W @ ddA) * (qd_j * qd_j) + W_dA * qdd_j
        moved.append(LinkMatrices(W @ A_j, Wd @ A_j + W_dA * qd_j, Wdd @ A_j + coriolis + own))
    return moved


def lagrangian_4x4(chain: Chain, q: Vector, qd: Vector, qdd: Vector, gravity_0: Vec3) -> list[Scalar]:
    """Joint torques ``tr(U_ii D_i) - g^T U_ii c_i``, with D_i and c_i from those of link i + 1.

    ``D_i = J_i W''_i^T + A_{i+1} D_{i+1}`` and ``c_i = m_i r_i + A_{i+1} c_{i+1}``.
    """
    A = [homogeneous(T) for T in placements(chain, q)]
    moved = link_matrices(chain, A, qd, qdd)
    g = matrix((*gravity_0, 0.0))
    torques: list[Scalar] = []
    D, c = matrix(()), matrix(())
    for j in range(len(chain) - 1, -1, -1):
        J = pseudo_inertia(chain[j])
        own = J @ moved[j].Wdd.T
        D, c = (own + A[j + 1] @ D, J[3] + A[j + 1] @ c) if torques else (own, J[3])
        U = derived(moved[j].W, chain[j].sigma)
        torques.insert(0, trace(U @ D) - g @ (U @ c))
    return torques


# The Lagrangian of Waters with recursive accelerations: the sum of Silver 1981, eq. (1.2)


def waters(chain: Chain, q: Vector, qd: Vector, qdd: Vector, gravity_0: Vec3) -> list[Scalar]:
    """Joint torques ``sum_j (tr(U_ji J_j W''_j^T) - g^T U_ji m_j r_j)``, with W''_j from that of j - 1."""
    A = [homogeneous(T) for T in placements(chain, q)]
    moved = link_matrices(chain, A, qd, qdd)
    g = matrix((*gravity_0, 0.0))
    torques: list[Scalar] = [0.0] * len(chain)
    carried: list[Matrix] = []
    for j, link in enumerate(chain):
        carried = [U @ A[j] for U in carried] + [derived(moved[j].W, link.sigma)]
        J = pseudo_inertia(link)
        for i, U in enumerate(carried):
            torques[i] = torques[i] + trace(U @ J @ moved[j].Wdd.T) - g @ (U @ J[3])
    return torques
