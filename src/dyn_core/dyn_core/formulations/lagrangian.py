# SPDX-License-Identifier: Apache-2.0
"""Hollerbach's recursive Lagrangian with 3 x 3 rotation matrices (Silver 1981, secs. 1.4, 2.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dyn_core.formulations.chain import Chain
from dyn_core.linalg.transform import Transform
from dyn_core.representations.placement import placements
from dyn_core.robot.joints import Sigma
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.vec3 import Vec3


class _Moved(NamedTuple):
    """Rotation W of a link from frame 0, its derivatives by time, and the acceleration of O_j."""

    W: Mat3
    Wd: Mat3
    Wdd: Mat3
    pdd: Vec3


def lagrangian_3x3(
    chain: Chain, q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar], gravity_0: Vec3
) -> list[Scalar]:
    """Joint torques with ``tr(dW/dq J W''^T)`` for what turns (Silver 1981, sec. 2.4), vectors for the rest.

    Inwards, about O_j, ``D_j = sum r (r'')^T dm``, the force ``e_j = sum r'' dm`` and the first moments
    c_j and the mass of all that link j carries.

    Args:
        chain: the n links.
        q: n joint positions (rad or m).
        qd: n joint velocities (rad/s or m/s).
        qdd: n joint accelerations (rad/s^2 or m/s^2).
        gravity_0: acceleration of gravity in frame 0 (m/s^2).
    """
    T = placements(chain, q)
    moved = _moved(chain, T, qd, qdd)
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


def _moved(chain: Chain, T: Sequence[Transform], qd: Sequence[Scalar], qdd: Sequence[Scalar]) -> list[_Moved]:
    """Rotations of the links and their derivatives by time, each from those of the link before."""
    moved = [_Moved(mat3.IDENTITY, mat3.ZERO, mat3.ZERO, vec3.ZERO)]
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
        moved.append(_Moved(rotation, rate, acceleration, pdd))
    return moved[1:]


def _derived(W: Mat3) -> Mat3:
    """Derivative of a rotation by the angle of its own joint: x becomes y, and y becomes -x."""
    return mat3.from_columns(mat3.column(W, 1), vec3.neg(mat3.column(W, 0)), vec3.ZERO)
