# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics of a tree by the recursive Newton-Euler algorithm (Khalil 2010, sec. 3.2).

Forward, from the base to the leaves: velocities and accelerations of the links, and the wrench
that gives each link its motion. Backward: the wrenches in the joints. The parameters enter as J,
MS and M about the origins of the link frames, in which the result is linear.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dyn_core.dynamics.wrench import Wrench, wrench_on_antecedent
from dyn_core.geometry.joint_transform import joint_transform
from dyn_core.linalg import mat3, vec3
from dyn_core.linalg.mat3 import Mat3
from dyn_core.linalg.scalar import Scalar
from dyn_core.linalg.transform import Transform
from dyn_core.linalg.vec3 import Vec3
from dyn_core.model.inertial_parameters import InertialParameters
from dyn_core.model.joint import Joint, Sigma
from dyn_core.model.robot import Robot


class LinkMotion(NamedTuple):
    """Motion of link j, projected in frame j.

    Attributes:
        w: angular velocity (rad/s).
        wd: angular acceleration (rad/s^2).
        U: ``skew(wd) + skew(w) skew(w)``, so that U p is the acceleration of point p about O_j
            (1/s^2).
        vd: linear acceleration of O_j less that of gravity (m/s^2).
    """

    w: Vec3
    wd: Vec3
    U: Mat3
    vd: Vec3


def inverse_dynamics(
    robot: Robot,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    gravity_0: Vec3,
    external: Mapping[int, Wrench],
) -> list[Scalar]:
    """Joint torques of the rigid bodies, without friction and rotors: Khalil 2010, eq. (12).

    Args:
        robot: the robot.
        q: n joint positions (rad or m).
        qd: n joint velocities (rad/s or m/s).
        qdd: n joint accelerations (rad/s^2 or m/s^2).
        gravity_0: acceleration of gravity in frame 0 (m/s^2).
        external: by body, the wrench that the body exerts on the environment, in its frame.

    Returns:
        n joint torques (N m) or forces (N).
    """
    T = [joint_transform(joint, q_j) for joint, q_j in zip(robot.joints, q, strict=True)]

    motion = [base_motion(gravity_0)]
    for joint, iTj, qd_j, qdd_j in zip(robot.joints, T, qd, qdd, strict=True):
        motion.append(link_motion(joint, iTj, motion[joint.antecedent], qd_j, qdd_j))

    wrench = [link_wrench(body, moved) for body, moved in zip(robot.bodies, motion, strict=True)]
    for body, exerted in external.items():
        wrench[body] = wrench[body] + exerted  # eqs. (26), (27)

    torques: list[Scalar] = [0.0] * len(robot.joints)
    for j in range(len(robot.joints), 0, -1):
        joint = robot.joints[j - 1]
        torques[j - 1] = along_axis(joint, wrench[j])
        wrench[joint.antecedent] = wrench[joint.antecedent] + wrench_on_antecedent(T[j - 1], wrench[j])
    return torques


def base_motion(gravity_0: Vec3) -> LinkMotion:
    """Motion of the base, which accelerates against gravity so that all links feel their weight."""
    return LinkMotion(vec3.ZERO, vec3.ZERO, mat3.ZERO, vec3.neg(gravity_0))


def link_motion(joint: Joint, iTj: Transform, antecedent: LinkMotion, qd: Scalar, qdd: Scalar) -> LinkMotion:
    """Motion of link j from that of link i = a(j): Khalil 2010, eqs. (18) to (21)."""
    jRi = mat3.transpose(iTj.R)
    iPj = iTj.p
    qd_a, qdd_a = (0.0, 0.0, qd), (0.0, 0.0, qdd)
    jwi = mat3.mul_vec(jRi, antecedent.w)  # (18)
    jwdi = mat3.mul_vec(jRi, antecedent.wd)
    vd_at_Oj = mat3.mul_vec(jRi, vec3.add(antecedent.vd, mat3.mul_vec(antecedent.U, iPj)))
    if joint.sigma is Sigma.REVOLUTE:
        w = vec3.add(jwi, qd_a)  # (19)
        wd = vec3.add(jwdi, vec3.add(qdd_a, vec3.cross(jwi, qd_a)))  # (20)
        vd = vd_at_Oj  # (21)
    else:
        w, wd = jwi, jwdi  # (19), (20)
        coriolis = vec3.scale(2.0, vec3.cross(jwi, qd_a))
        vd = vec3.add(vd_at_Oj, vec3.add(qdd_a, coriolis))  # (21)
    return LinkMotion(w, wd, mat3.add(mat3.skew(wd), mat3.skew_squared(w)), vd)


def link_wrench(body: InertialParameters, motion: LinkMotion) -> Wrench:
    """Total wrench on a link about O_j, in frame j: Khalil 2010, eqs. (22) and (23)."""
    w, wd, U, vd = motion
    J, MS = body.J, body.MS
    F = vec3.add(vec3.scale(body.M, vd), mat3.mul_vec(U, MS))  # (22)
    gyroscopic = vec3.cross(w, mat3.mul_vec(J, w))
    M = vec3.add(mat3.mul_vec(J, wd), vec3.add(gyroscopic, vec3.cross(MS, vd)))  # (23)
    return Wrench(F, M)


def along_axis(joint: Joint, wrench: Wrench) -> Scalar:
    """Part of a wrench in frame j that joint j must provide, along z_j: Khalil 2010, eq. (31)."""
    return wrench.moment[2] if joint.sigma is Sigma.REVOLUTE else wrench.force[2]
