# SPDX-License-Identifier: Apache-2.0
"""Newton-Euler formulations: Luh-Walker-Paul, Walker-Orin, composite links, mRNEA.

The recursion with articulated inertias and 6 x 6 matrices is here as well (Khalil 2010, sec. 3.3.2). All take
joint positions q (rad or m) and velocities qd of a chain, and the acceleration of gravity in frame 0 (m/s^2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from dyn_core.algorithms.dynamics.newton_euler import wrench_of_unit_acceleration
from dyn_core.algorithms.dynamics.wrenches import wrench_on_antecedent
from dyn_core.formulations.chain import (
    BaseFrameMotion,
    Chain,
    Link,
    Matrix,
    Vector,
    base_frame_motions,
    euler_moment,
    matrix,
    placements,
    relative_acceleration,
)
from dyn_core.robot.joints import Sigma
from dyn_core.robot.links import in_frame, merge
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.scalar import Scalar, reciprocal
from dyn_core.symbolic.transform import Transform
from dyn_core.symbolic.vec3 import Vec3

Equations: TypeAlias = tuple[list[list[Scalar]], list[Scalar]]
"""Inertia matrix and bias torques."""

# The Newton-Euler recursion of Luh, Walker and Paul, in link coordinates (Silver 1981, sec. 1.3)


def newton_euler(chain: Chain, q: Vector, qd: Vector, qdd: Vector, gravity_0: Vec3) -> list[Scalar]:
    """Joint torques by an outward pass for the motion and an inward pass for the forces.

    Args:
        chain: the n links.
        q: n joint positions (rad or m).
        qd: n joint velocities (rad/s or m/s).
        qdd: n joint accelerations (rad/s^2 or m/s^2).
        gravity_0: acceleration of gravity in frame 0 (m/s^2).
    """
    T = placements(chain, q)
    w, wd, vd = vec3.ZERO, vec3.ZERO, vec3.neg(gravity_0)
    forces: list[Vec3] = []
    moments: list[Vec3] = []
    for j, link in enumerate(chain):
        back = mat3.transpose(T[j].R)
        vd = mat3.mul_vec(back, vec3.add(vd, relative_acceleration(w, wd, T[j].p)))
        w, wd = mat3.mul_vec(back, w), mat3.mul_vec(back, wd)
        if link.sigma is Sigma.REVOLUTE:
            wd = (wd[0] + w[1] * qd[j], wd[1] - w[0] * qd[j], wd[2] + qdd[j])
            w = (w[0], w[1], w[2] + qd[j])
        else:
            twice = qd[j] + qd[j]
            vd = (vd[0] + w[1] * twice, vd[1] - w[0] * twice, vd[2] + qdd[j])
        forces.append(vec3.scale(link.m, vec3.add(vd, relative_acceleration(w, wd, link.c))))
        moments.append(euler_moment(link.inertia, w, wd))

    torques: list[Scalar] = []
    f, n = vec3.ZERO, vec3.ZERO
    for j in range(len(chain) - 1, -1, -1):
        own = vec3.add(moments[j], vec3.cross(chain[j].c, forces[j]))
        if j + 1 < len(chain):
            R, p = T[j + 1]
            f = mat3.mul_vec(R, f)
            n = vec3.add(own, vec3.add(mat3.mul_vec(R, n), vec3.cross(p, f)))
            f = vec3.add(forces[j], f)
        else:
            f, n = forces[j], own
        torques.insert(0, n[2] if chain[j].sigma is Sigma.REVOLUTE else f[2])
    return torques


# Method 1 of Walker and Orin: the Newton-Euler recursion n + 1 times (Kvrgic-Vidakovic, sec. I)


def walker_orin(chain: Chain, q: Vector, qd: Vector, gravity_0: Vec3) -> Equations:
    """Inertia matrix, a column for each unit acceleration at rest and without gravity, and bias torques.

    Args:
        chain: the n links.
        q: n joint positions (rad or m).
        qd: n joint velocities (rad/s or m/s).
        gravity_0: acceleration of gravity in frame 0 (m/s^2).
    """
    n = len(chain)
    rest = [0.0] * n
    bias = newton_euler(chain, q, qd, rest, gravity_0)
    columns = [newton_euler(chain, q, rest, [float(k == j) for k in range(n)], vec3.ZERO) for j in range(n)]
    return [list(row) for row in zip(*columns, strict=True)], bias


# Inertia matrix by composite links, with bias torques by Newton-Euler (SYMORO+ 2003, sec. 3.6.1)


def composite_inertia(chain: Chain, q: Vector, qd: Vector, gravity_0: Vec3) -> Equations:
    """Inertia matrix by SYMORO+ 2003, eqs. (3.97) to (3.103), and bias torques.

    Args:
        chain: the n links.
        q: n joint positions (rad or m).
        qd: n joint velocities (rad/s or m/s).
        gravity_0: acceleration of gravity in frame 0 (m/s^2).
    """
    n = len(chain)
    T = placements(chain, q)
    carried = [link.body for link in chain]
    for j in range(n - 1, 0, -1):
        carried[j - 1] = merge(carried[j - 1], in_frame(T[j], carried[j]))
    A: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    for j, link in enumerate(chain):
        wrench = wrench_of_unit_acceleration(carried[j], link.sigma)
        A[j][j] = wrench.along(link.sigma)
        for i in range(j - 1, -1, -1):
            wrench = wrench_on_antecedent(T[i + 1], wrench)
            A[i][j] = A[j][i] = wrench.along(chain[i].sigma)
    return A, newton_euler(chain, q, qd, [0.0] * n, gravity_0)


# The modified Newton-Euler recursion, mRNEA (Kvrgic-Vidakovic, eqs. (4) to (36))
#
# As in the paper, all vectors are in base coordinates, and all n columns are computed, including n_ia3 of eq.
# (26), which the symmetry of the matrix would save. Two things differ. The axis of joint i is z_i, because
# frames are modified Denavit-Hartenberg frames. The paper has no formula for the sums of b_ikj qd_k qd_j;
# they are the accelerations of the Newton-Euler recursion for qdd = 0.


def mrnea(chain: Chain, q: Vector, qd: Vector, gravity_0: Vec3) -> Equations:
    """Inertia matrix h_ij and bias torques u'_i: Kvrgic-Vidakovic, eqs. (34) to (36).

    Args:
        chain: the n links.
        q: n joint positions (rad or m).
        qd: n joint velocities (rad/s or m/s).
        gravity_0: acceleration of gravity in frame 0 (m/s^2).
    """
    n = len(chain)
    moved = base_frame_motions(chain, q, qd, None, gravity_0)
    h: list[list[Scalar]] = []
    u: list[Scalar] = []
    f: list[Vec3] = []  # columns of f_i, (20): E_ik for k <= i, E_kk beyond
    moment: list[Vec3] = []  # columns n'_ia1 + n'_ia2 + n'_ia3 of (29) to (31)
    E, n_c = vec3.ZERO, vec3.ZERO
    for i in range(n - 1, -1, -1):
        link, at = chain[i], moved[i]
        e, d = at.force, at.moment  # (13), (17)
        arm = vec3.sub(at.r, at.p)
        e_k = [vec3.scale(link.m, _b(chain, moved, i, k)) for k in range(i + 1)]  # (15)
        d_k = [_d(chain, moved, i, k) for k in range(i + 1)]
        own = [vec3.add(d_k[k], vec3.cross(arm, e_k[k])) for k in range(i + 1)]  # (24)
        if i + 1 < n:
            p = vec3.sub(moved[i + 1].p, at.p)
            n_c = vec3.add(n_c, vec3.add(d, vec3.add(vec3.cross(arm, e), vec3.cross(p, E))))  # (23), (28)
            # (25), (26)
            moment = [vec3.add(m_k, vec3.cross(p, f_k)) for m_k, f_k in zip(moment, f, strict=True)]
            E = vec3.add(e, E)
            f = [vec3.add(e_k[k], f[k]) for k in range(i + 1)] + f[i + 1 :]
            moment = [vec3.add(own[k], moment[k]) for k in range(i + 1)] + moment[i + 1 :]
        else:
            E, n_c, f, moment = e, vec3.add(d, vec3.cross(arm, e)), e_k, own
        if link.sigma is Sigma.REVOLUTE:
            h.insert(0, [vec3.dot(at.z, m_k) for m_k in moment])  # (35)
            u.insert(0, vec3.dot(at.z, n_c))  # (36)
        else:
            h.insert(0, [vec3.dot(at.z, f_k) for f_k in f])
            u.insert(0, vec3.dot(at.z, E))
    return h, u


def _b(chain: Chain, moved: Sequence[BaseFrameMotion], i: int, k: int) -> Vec3:
    """Acceleration b_ik of the centre of mass of link i per acceleration of joint k: eq. (5)."""
    z = moved[k].z
    if chain[k].sigma is Sigma.REVOLUTE:
        return vec3.cross(z, vec3.sub(moved[i].r, moved[k].p))
    return z


def _d(chain: Chain, moved: Sequence[BaseFrameMotion], i: int, k: int) -> Vec3:
    """Moment d_ik on link i per acceleration of joint k: eq. (9)."""
    return mat3.mul_vec(moved[i].inertia, moved[k].z) if chain[k].sigma is Sigma.REVOLUTE else vec3.ZERO


# The articulated recursion with 6 x 6 matrices (Khalil 2010, sec. 3.3.2)


def articulated(chain: Chain, q: Vector, qd: Vector, torques: Vector, gravity_0: Vec3) -> list[Scalar]:
    """Joint accelerations due to the torques (N m or N): Khalil 2010, eqs. (32) to (43)."""
    n = len(chain)
    T = placements(chain, q)
    X = [screw_transform(at) for at in T]
    w = vec3.ZERO
    gammas: list[Matrix] = []
    betas: list[Matrix] = []
    for link, at, qd_j in zip(chain, T, qd, strict=True):
        back = mat3.transpose(at.R)
        centripetal = mat3.mul_vec(back, vec3.cross(w, vec3.cross(w, at.p)))
        w = mat3.mul_vec(back, w)
        across = vec3.cross(w, (0.0, 0.0, qd_j))
        if link.sigma is Sigma.REVOLUTE:
            gammas.append(matrix((*centripetal, *across)))
            w = (w[0], w[1], w[2] + qd_j)
        else:
            gammas.append(matrix((*vec3.add(centripetal, vec3.scale(2.0, across)), *vec3.ZERO)))
        force = vec3.cross(w, vec3.cross(w, link.mc))
        moment = vec3.cross(w, mat3.mul_vec(link.J, w))
        betas.append(matrix((*vec3.neg(force), *vec3.neg(moment))))  # (35)

    inertias = [spatial_inertia(link) for link in chain]
    axes = [5 if link.sigma is Sigma.REVOLUTE else 2 for link in chain]
    joint_terms: list[tuple[Matrix, Scalar, Scalar]] = []
    for j in range(n - 1, -1, -1):
        a = axes[j]
        u = inertias[j][:, a]
        H_inverse = reciprocal(u[a])  # (36)
        left = torques[j] + betas[j][a]
        joint_terms.insert(0, (u, H_inverse, left))
        if j > 0:
            K = inertias[j] - np.outer(u, u) * H_inverse  # (37)
            driven = matrix(x * (H_inverse * left) for x in u)
            alpha = K @ gammas[j] + driven + -betas[j]  # (38)
            back_X = X[j].T
            betas[j - 1] = betas[j - 1] + -(back_X @ alpha)  # (39)
            inertias[j - 1] = inertias[j - 1] + back_X @ K @ X[j]  # (40)

    accelerations: list[Scalar] = []
    Vd = matrix((*vec3.neg(gravity_0), *vec3.ZERO))
    for j, (u, H_inverse, left) in enumerate(joint_terms):
        Vd = X[j] @ Vd + gammas[j]
        total = left
        for x, y in zip(u, Vd, strict=True):
            total = total - x * y
        accelerations.append(H_inverse * total)  # (41)
        Vd[axes[j]] = Vd[axes[j]] + accelerations[-1]  # (43)
    return accelerations


def screw_transform(T: Transform) -> Matrix:
    """Matrix jTi that transforms screws from frame i to frame j: Khalil 2010, eq. (17)."""
    R = mat3.transpose(T.R)
    return _blocks(R, mat3.scale(-1.0, mat3.mul(R, mat3.skew(T.p))), mat3.ZERO, R)


def spatial_inertia(link: Link) -> Matrix:
    """Inertia of a link about O_j: Khalil 2010, eq. (11)."""
    MS = mat3.skew(link.mc)
    return _blocks(mat3.scale(link.m, mat3.IDENTITY), mat3.transpose(MS), MS, link.J)


def _blocks(a: Mat3, b: Mat3, c: Mat3, d: Mat3) -> Matrix:
    return np.block([[matrix(a), matrix(b)], [matrix(c), matrix(d)]])
