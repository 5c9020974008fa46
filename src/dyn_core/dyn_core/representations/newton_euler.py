# SPDX-License-Identifier: Apache-2.0
"""The Newton-Euler recursion of Luh, Walker and Paul, in link coordinates (Silver 1981, sec. 1.3)."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.formulations.chain import Chain
from dyn_core.representations.placement import placements
from dyn_core.robot.joints import Sigma
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.vec3 import Vec3


def newton_euler(
    chain: Chain, q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar], gravity_0: Vec3
) -> list[Scalar]:
    """Joint torques by one pass outwards for the motion and one inwards for the forces.

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
        vd = mat3.mul_vec(back, vec3.add(vd, _about(w, wd, T[j].p)))
        w, wd = mat3.mul_vec(back, w), mat3.mul_vec(back, wd)
        if link.sigma is Sigma.REVOLUTE:
            wd = (wd[0] + w[1] * qd[j], wd[1] - w[0] * qd[j], wd[2] + qdd[j])
            w = (w[0], w[1], w[2] + qd[j])
        else:
            twice = qd[j] + qd[j]
            vd = (vd[0] + w[1] * twice, vd[1] - w[0] * twice, vd[2] + qdd[j])
        forces.append(vec3.scale(link.m, vec3.add(vd, _about(w, wd, link.c))))
        gyroscopic = vec3.cross(w, mat3.mul_vec(link.inertia, w))
        moments.append(vec3.add(mat3.mul_vec(link.inertia, wd), gyroscopic))  # Silver 1981, eq. (1.3)

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


def _about(w: Vec3, wd: Vec3, r: Vec3) -> Vec3:
    """Acceleration of a point of a body about another: ``wd x r + w x (w x r)``."""
    return vec3.add(vec3.cross(wd, r), vec3.cross(w, vec3.cross(w, r)))
