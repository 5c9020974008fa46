# SPDX-License-Identifier: Apache-2.0
"""The modified Newton-Euler recursion as its paper writes it (Kvrgic-Vidakovic, eqs. (4) to (36)).

All vectors are in base coordinates, and all n columns are carried, n_ia3 of eq. (26) too, which the
symmetry of the matrix would save. Two things differ: the axis of joint i is z_i, since frames are modified
Denavit-Hartenberg frames, and the sums of b_ikj qd_k qd_j, for which the paper has no formula, are the
accelerations that the Newton-Euler recursion gives where qdd = 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.formulations.chain import Chain
from dyn_core.representations.base_motion import BaseMotion, base_motions, total_force, total_moment
from dyn_core.robot.joints import Sigma
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.vec3 import Vec3


def mrnea(
    chain: Chain, q: Sequence[Scalar], qd: Sequence[Scalar], gravity_0: Vec3
) -> tuple[list[list[Scalar]], list[Scalar]]:
    """Inertia matrix h_ij and bias torques u'_i: Kvrgic-Vidakovic, eqs. (34) to (36).

    Args:
        chain: the n links.
        q: n joint positions (rad or m).
        qd: n joint velocities (rad/s or m/s).
        gravity_0: acceleration of gravity in frame 0 (m/s^2).
    """
    n = len(chain)
    moved = base_motions(chain, q, qd, None, gravity_0)
    h: list[list[Scalar]] = []
    u: list[Scalar] = []
    f: list[Vec3] = []  # columns of f_i, (20): E_ik for k <= i, E_kk beyond
    moment: list[Vec3] = []  # columns n'_ia1 + n'_ia2 + n'_ia3 of (29) to (31)
    E, n_c = vec3.ZERO, vec3.ZERO
    for i in range(n - 1, -1, -1):
        link, at = chain[i], moved[i]
        e, d = total_force(link.m, at), total_moment(at)  # (13), (17)
        arm = vec3.sub(at.r, at.p)
        e_k = [vec3.scale(link.m, _b(chain, moved, i, k)) for k in range(i + 1)]  # (15)
        d_k = [_d(chain, moved, i, k) for k in range(i + 1)]
        own = [vec3.add(d_k[k], vec3.cross(arm, e_k[k])) for k in range(i + 1)]  # (24)
        if i + 1 < n:
            p = vec3.sub(moved[i + 1].p, at.p)
            n_c = vec3.add(n_c, vec3.add(d, vec3.add(vec3.cross(arm, e), vec3.cross(p, E))))  # (23), (28)
            moment = [
                vec3.add(m_k, vec3.cross(p, f_k)) for m_k, f_k in zip(moment, f, strict=True)
            ]  # (25), (26)
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


def _b(chain: Chain, moved: Sequence[BaseMotion], i: int, k: int) -> Vec3:
    """Acceleration b_ik of the centre of mass of link i with that of joint k: eq. (5)."""
    z = moved[k].z
    if chain[k].sigma is Sigma.REVOLUTE:
        return vec3.cross(z, vec3.sub(moved[i].r, moved[k].p))
    return z


def _d(chain: Chain, moved: Sequence[BaseMotion], i: int, k: int) -> Vec3:
    """Moment d_ik on link i with the acceleration of joint k: eq. (9)."""
    return mat3.mul_vec(moved[i].inertia, moved[k].z) if chain[k].sigma is Sigma.REVOLUTE else vec3.ZERO
