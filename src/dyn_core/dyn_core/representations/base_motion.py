# SPDX-License-Identifier: Apache-2.0
"""Motion of the links of a chain, all of it in the coordinates of frame 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dyn_core.formulations.chain import Chain
from dyn_core.representations.placement import placements
from dyn_core.robot.joints import Sigma
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.vec3 import Vec3


class BaseMotion(NamedTuple):
    """Motion of link i in frame 0.

    Attributes:
        z: axis of its joint.
        p: position of O_i (m).
        r: position of its centre of mass (m).
        inertia: inertia matrix about the centre of mass (kg m^2).
        w: angular velocity (rad/s).
        wd: angular acceleration (rad/s^2).
        vd_cm: acceleration of the centre of mass, less that of gravity (m/s^2).
    """

    z: Vec3
    p: Vec3
    r: Vec3
    inertia: Mat3
    w: Vec3
    wd: Vec3
    vd_cm: Vec3


def base_motions(
    chain: Chain, q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar] | None, gravity_0: Vec3
) -> list[BaseMotion]:
    """Motions of the links; where there are no qdd they are 0, and nothing is computed with them."""
    moved: list[BaseMotion] = []
    D, p, w, wd, vd = mat3.IDENTITY, vec3.ZERO, vec3.ZERO, vec3.ZERO, vec3.neg(gravity_0)
    for j, (link, T) in enumerate(zip(chain, placements(chain, q), strict=True)):
        step = mat3.mul_vec(D, T.p)
        vd = vec3.add(vd, _about(w, wd, step))
        p = vec3.add(p, step)
        D = mat3.mul(D, T.R)
        z = mat3.column(D, 2)
        speed = vec3.scale(qd[j], z)
        if link.sigma is Sigma.REVOLUTE:
            wd = vec3.add(wd, vec3.cross(w, speed))
            wd = wd if qdd is None else vec3.add(wd, vec3.scale(qdd[j], z))
            w = vec3.add(w, speed)
        else:
            vd = vec3.add(vd, vec3.scale(2.0, vec3.cross(w, speed)))
            vd = vd if qdd is None else vec3.add(vd, vec3.scale(qdd[j], z))
        arm = mat3.mul_vec(D, link.c)
        inertia = mat3.mul(mat3.mul(D, link.inertia), mat3.transpose(D))
        vd_cm = vec3.add(vd, _about(w, wd, arm))  # Kvrgic-Vidakovic, eq. (4)
        moved.append(BaseMotion(z, p, vec3.add(p, arm), inertia, w, wd, vd_cm))
    return moved


def total_force(m: Scalar, moved: BaseMotion) -> Vec3:
    """Force that gives a link its motion (N)."""
    return vec3.scale(m, moved.vd_cm)


def total_moment(moved: BaseMotion) -> Vec3:
    """Moment that gives a link its motion: Silver 1981, eq. (1.3) (N m)."""
    gyroscopic = vec3.cross(moved.w, mat3.mul_vec(moved.inertia, moved.w))
    return vec3.add(mat3.mul_vec(moved.inertia, moved.wd), gyroscopic)


def _about(w: Vec3, wd: Vec3, r: Vec3) -> Vec3:
    """Acceleration of a point of a body about another: ``wd x r + w x (w x r)``."""
    return vec3.add(vec3.cross(wd, r), vec3.cross(w, vec3.cross(w, r)))
