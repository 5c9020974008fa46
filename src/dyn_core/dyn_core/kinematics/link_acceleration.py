# SPDX-License-Identifier: Apache-2.0
"""Accelerations of links (SYMORO+ 2003, eqs. (2.31) and (2.32))."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.algorithms.link_motion import AT_REST, link_motions
from dyn_core.geometry.joint_placement import joint_placement
from dyn_core.kinematics.expressed import expressed
from dyn_core.model.link_frame import LinkFrame
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.screw import Screw


def link_acceleration(
    robot: Robot,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    frame: LinkFrame,
    expressed_in: LinkFrame,
) -> Screw:
    """Acceleration of a frame: of its origin, as a point that moves in space, and angular.

    Args:
        robot: the robot.
        q: n joint positions (rad or m).
        qd: n joint velocities (rad/s or m/s).
        qdd: n joint accelerations (rad/s^2 or m/s^2).
        frame: the frame that moves.
        expressed_in: frame on whose axes the acceleration is projected.
    """
    placements = [joint_placement(joint, q_j) for joint, q_j in zip(robot.joints, q, strict=True)]
    motion = link_motions(robot, placements, qd, qdd, AT_REST)[frame.body]
    vd = vec3.add(motion.vd, mat3.mul_vec(motion.U, frame.T_body_link.p))
    return Screw(*expressed(robot, q, (vd, motion.wd), frame.body, expressed_in))


def jacobian_rate_times_velocity(
    robot: Robot,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    frame: LinkFrame,
    expressed_in: LinkFrame,
) -> Screw:
    """Product Jdot qd, the acceleration of a frame where qdd = 0 (SYMORO+ 2003, sec. 2.5.1).

    The rate of J is that of the Jacobian in the frame of the root link; it is projected on
    `expressed_in` afterwards.

    Args:
        robot: the robot.
        q: n joint positions (rad or m).
        qd: n joint velocities (rad/s or m/s).
        frame: the frame that moves.
        expressed_in: frame on whose axes the acceleration is projected.
    """
    return link_acceleration(robot, q, qd, [0.0] * len(robot.joints), frame, expressed_in)
