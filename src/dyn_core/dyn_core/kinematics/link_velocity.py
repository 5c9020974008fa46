# SPDX-License-Identifier: Apache-2.0
"""Velocities of links (SYMORO+ 2003, eq. (2.28))."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.geometry.joint_placement import joint_placement
from dyn_core.kinematics.expressed import expressed
from dyn_core.model.link_frame import LinkFrame
from dyn_core.robot.joints import Sigma
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, screw, vec3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.screw import Screw


def body_velocities(robot: Robot, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Screw]:
    """Velocities of the bodies 0 to n, each in its own frame and of its origin.

    Args:
        robot: the robot.
        q: n joint positions (rad or m).
        qd: n joint velocities (rad/s or m/s).
    """
    velocities = [screw.ZERO]
    for joint, q_j, qd_j in zip(robot.joints, q, qd, strict=True):
        carried = screw.over(joint_placement(joint, q_j).steps, velocities[joint.antecedent])
        velocities.append(moved_along(joint.sigma, carried, qd_j))
    return velocities


def moved_along(sigma: Sigma, carried: Screw, qd: Scalar) -> Screw:
    """Motion of link j, from that of a link which moves with link i, and the speed along z_j."""
    v, w = carried
    if sigma is Sigma.REVOLUTE:
        return Screw(v, (w[0], w[1], w[2] + qd))
    return Screw((v[0], v[1], v[2] + qd), w)


def link_velocity(
    robot: Robot,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    frame: LinkFrame,
    expressed_in: LinkFrame,
) -> Screw:
    """Velocity of a frame: of its origin, and angular.

    Args:
        robot: the robot.
        q: n joint positions (rad or m).
        qd: n joint velocities (rad/s or m/s).
        frame: the frame that moves.
        expressed_in: frame on whose axes the velocity is projected.
    """
    v, w = body_velocities(robot, q, qd)[frame.body]
    v = vec3.add(v, mat3.mul_vec(mat3.skew(w), frame.T_body_link.p))
    return Screw(*expressed(robot, q, (v, w), frame.body, expressed_in))
