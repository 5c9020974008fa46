# SPDX-License-Identifier: Apache-2.0
"""Silver's Lagrangian with angular velocities in place of rotation matrices (Silver 1981, sec. 3)."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.formulations.chain import Chain
from dyn_core.representations.base_motion import base_motions, total_force, total_moment
from dyn_core.robot.joints import Sigma
from dyn_core.symbolic import vec3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.vec3 import Vec3


def angular_velocity_lagrangian(
    chain: Chain, q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar], gravity_0: Vec3
) -> list[Scalar]:
    """Joint torques ``sum_i (F_i . dv_i/dqd_j + N_i . dw_i/dqd_j)``: Silver 1981, eqs. (3.11) to (3.16).

    The sum is evaluated as it stands, for each joint over all links that it carries. Done from the tip to
    the base instead it is the Newton-Euler recursion (sec. 3.2).

    Args:
        chain: the n links.
        q: n joint positions (rad or m).
        qd: n joint velocities (rad/s or m/s).
        qdd: n joint accelerations (rad/s^2 or m/s^2).
        gravity_0: acceleration of gravity in frame 0 (m/s^2).
    """
    moved = base_motions(chain, q, qd, qdd, gravity_0)
    forces = [total_force(link.m, at) for link, at in zip(chain, moved, strict=True)]
    moments = [total_moment(at) for at in moved]
    torques: list[Scalar] = []
    for j, link in enumerate(chain):
        tau: Scalar = 0.0
        z, p = moved[j].z, moved[j].p
        for i in range(j, len(chain)):
            if link.sigma is Sigma.REVOLUTE:
                along = vec3.cross(z, vec3.sub(moved[i].r, p))  # (3.15)
                tau = tau + vec3.dot(forces[i], along) + vec3.dot(moments[i], z)  # (3.12)
            else:
                tau = tau + vec3.dot(forces[i], z)
        torques.append(tau)
    return torques
