# SPDX-License-Identifier: Apache-2.0
"""Regressor of a parallel robot: wrenches along the mobility of the platform, linear in the parameters."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.algorithms.link_motion import LinkMotion
from dyn_core.algorithms.parallel.leg_kinematics import leg_accelerations, leg_state, leg_velocities
from dyn_core.algorithms.parallel.parallel_robot import ParallelRobot
from dyn_core.dynamics.regressor import regressor, unit_wrenches
from dyn_core.dynamics.wrench import wrench_on_antecedent
from dyn_core.linalg.transform import Transform
from dyn_core.model.standard_parameters import INERTIAL, PER_JOINT
from dyn_core.parallel.inverse_dynamics import wrench_on_platform
from dyn_core.parallel.leg import Leg
from dyn_core.parallel.platform_motion import PlatformMotion
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.scalar import Scalar

OF_BODY = len(INERTIAL) + 1
"""Inertial parameters of a body and the rotor of its joint."""


def leg_columns(
    robot: ParallelRobot, leg: Leg, motion: PlatformMotion, q: Sequence[Scalar]
) -> list[list[Scalar]]:
    """Columns of the parameters XX to M and Ia of the bodies of a leg, each along the mobility."""
    state = leg_state(leg, motion, q)
    qd = leg_velocities(state, motion)
    Y = regressor(leg.robot, q, qd, leg_accelerations(state, motion, qd), leg.robot.gravity_0)
    columns = list(zip(*Y, strict=True))
    inertial = [column for k, column in enumerate(columns) if k % PER_JOINT < OF_BODY]
    return [robot.projected(wrench_on_platform(state, column).values) for column in inertial]


def platform_columns(robot: ParallelRobot, motion: PlatformMotion) -> list[list[Scalar]]:
    """Columns of the parameters XX to M of the platform's body, each along the mobility."""
    R_link_body, p = _body_in_link(robot)
    R = mat3.mul(motion.R, R_link_body)
    to_body = mat3.transpose(R)
    w, wd = mat3.mul_vec(to_body, motion.w), mat3.mul_vec(to_body, motion.wd)
    lever = mat3.mul_vec(motion.R, p)
    at_body = vec3.add(motion.vd, mat3.mul_vec(motion.U, lever))
    vd = mat3.mul_vec(to_body, vec3.sub(at_body, robot.robot.gravity))
    U = mat3.add(mat3.skew(wd), mat3.skew_squared(w))
    wrenches = unit_wrenches(LinkMotion(w, wd, U, vd))
    return [robot.projected(wrench_on_antecedent(Transform(R, lever), one).values) for one in wrenches]


def _body_in_link(robot: ParallelRobot) -> Transform:
    """Placement of the frame of the platform's body in that of its link."""
    R, p = robot.robot.link_frame(robot.platform).T_body_link
    back = mat3.transpose(R)
    return Transform(back, vec3.neg(mat3.mul_vec(back, p)))
