# SPDX-License-Identifier: Apache-2.0
"""Velocities and accelerations of all links, each in its own frame (SYMORO+ 2003, sec. 2.4.7, 2.5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dyn_core.geometry.joint_placement import JointPlacement
from dyn_core.robot.joints import Joint, Sigma
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.step import inverse, rotated
from dyn_core.symbolic.vec3 import Vec3


class LinkMotion(NamedTuple):
    """Motion of link j, projected in frame j.

    Attributes:
        w: angular velocity (rad/s).
        wd: angular acceleration (rad/s^2).
        U: ``skew(wd) + skew(w) skew(w)``, so that U p is the acceleration of point p about O_j
            (1/s^2).
        vd: linear acceleration of O_j, less that of gravity where the base accelerates against
            it (m/s^2).
    """

    w: Vec3
    wd: Vec3
    U: Mat3
    vd: Vec3


AT_REST = LinkMotion(vec3.ZERO, vec3.ZERO, mat3.ZERO, vec3.ZERO)


def against_gravity(gravity_0: Vec3) -> LinkMotion:
    """Motion of a base that accelerates against gravity, so that all links feel their weight."""
    return AT_REST._replace(vd=vec3.neg(gravity_0))


def link_motions(
    robot: Robot,
    placements: Sequence[JointPlacement],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    base: LinkMotion,
) -> list[LinkMotion]:
    """Motions of the bodies 0 to n.

    Args:
        robot: the robot.
        placements: n placements of the joints.
        qd: n joint velocities (rad/s or m/s).
        qdd: n joint accelerations (rad/s^2 or m/s^2).
        base: motion of the base.
    """
    motions = [base]
    for joint, placement, qd_j, qdd_j in zip(robot.joints, placements, qd, qdd, strict=True):
        motions.append(_next(joint, placement, motions[joint.antecedent], qd_j, qdd_j))
    return motions


def _next(
    joint: Joint, placement: JointPlacement, antecedent: LinkMotion, qd: Scalar, qdd: Scalar
) -> LinkMotion:
    """Motion of link j from that of link i = a(j): Khalil 2010, eqs. (18) to (21).

    The points of z_j have the same acceleration about each other in link i and in link j, so that
    the way along z_j to O_j can be taken with jUj, which is needed anyway, instead of iUi.
    """
    back = inverse(placement.steps)
    at_seat = vec3.add(antecedent.vd, mat3.mul_vec(antecedent.U, placement.seat))
    w, wd, vd = rotated(back, antecedent.w), rotated(back, antecedent.wd), rotated(back, at_seat)  # (18)
    if joint.sigma is Sigma.REVOLUTE:
        wd = (wd[0] + w[1] * qd, wd[1] - w[0] * qd, wd[2] + qdd)  # (20)
        w = (w[0], w[1], w[2] + qd)  # (19)
    else:
        twice = qd + qd
        vd = (vd[0] + w[1] * twice, vd[1] - w[0] * twice, vd[2] + qdd)  # (21)
    U = mat3.add(mat3.skew(wd), mat3.skew_squared(w))
    return LinkMotion(w, wd, U, vec3.add(vd, vec3.scale(placement.slide, mat3.column(U, 2))))  # (21)
