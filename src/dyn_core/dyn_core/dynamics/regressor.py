# SPDX-License-Identifier: Apache-2.0
"""The torques as a product with the dynamic parameters, in which they are linear (SYMORO+ 2003, sec. 3.4)."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.algorithms.link_motion import LinkMotion, against_gravity, link_motions
from dyn_core.dynamics.wrench import Wrench
from dyn_core.geometry.joint_placement import joint_placement
from dyn_core.kinematics.link_velocity import moved_along
from dyn_core.model.standard_parameters import INERTIAL, PER_JOINT
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, screw, vec3
from dyn_core.symbolic.scalar import Scalar, sign
from dyn_core.symbolic.screw import Screw
from dyn_core.symbolic.vec3 import Vec3


def regressor(
    robot: Robot,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    gravity_0: Vec3,
) -> list[list[Scalar]]:
    """Matrix Y of ``torques = Y parameters``, friction and rotors included.

    The columns are those of `parameter_names`. Entry (i, column of body k) is the power of the
    parameter's wrench on body k at unit speed of joint i alone: where joint i does not carry
    body k it is 0 and nothing is computed.

    Args:
        robot: the robot; its dynamic parameters do not matter.
        q: n joint positions (rad or m).
        qd: n joint velocities (rad/s or m/s).
        qdd: n joint accelerations (rad/s^2 or m/s^2).
        gravity_0: acceleration of gravity in frame 0 (m/s^2).

    Returns:
        n rows of 14 n.
    """
    return regressor_on_base(robot, q, qd, qdd, against_gravity(gravity_0))


def regressor_on_base(
    robot: Robot,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    base: LinkMotion,
) -> list[list[Scalar]]:
    """Matrix Y of ``torques = Y parameters`` on a base that moves.

    Args:
        robot: the robot; its dynamic parameters do not matter.
        q: n joint positions (rad or m).
        qd: n joint velocities (rad/s or m/s).
        qdd: n joint accelerations (rad/s^2 or m/s^2).
        base: motion of the base.

    Returns:
        n rows of 14 n.
    """
    placements = [joint_placement(joint, q_j) for joint, q_j in zip(robot.joints, q, strict=True)]
    motions = link_motions(robot, placements, qd, qdd, base)
    Y: list[list[Scalar]] = [[0.0] * (PER_JOINT * len(robot.joints)) for _ in robot.joints]
    axes: list[dict[int, Screw]] = [{}]  # by body, the axis screws of the joints that carry it
    for j, (joint, placement) in enumerate(zip(robot.joints, placements, strict=True)):
        carriers = {i: screw.over(placement.steps, a) for i, a in axes[joint.antecedent].items()}
        axes.append({**carriers, j: moved_along(joint.sigma, screw.ZERO, 1.0)})
        start = PER_JOINT * j
        for column, wrench in enumerate(unit_wrenches(motions[j + 1]), start=start):
            for i, a in axes[-1].items():
                Y[i][column] = vec3.dot(a.linear, wrench.force) + vec3.dot(a.angular, wrench.moment)
        Y[j][start + len(INERTIAL) : start + PER_JOINT] = [qdd[j], qd[j], sign(qd[j]), 1.0]  # (31)
    return Y


def unit_wrenches(motion: LinkMotion) -> list[Wrench]:
    """Wrenches that a body needs for its motion, for each inertial parameter alone being 1.

    They are the coefficients of the parameters in Khalil 2010, eqs. (22) and (23).
    """
    (x, y, z), wd, U, vd = motion
    xy, xz, yz = x * y, x * z, y * z
    xx, yy, zz = x * x, y * y, z * z
    moments = (
        (wd[0], xz, -xy),
        (-U[2][0], U[2][1], xx - yy),
        (U[1][0], zz - xx, -U[1][2]),
        (-yz, wd[1], xy),
        (yy - zz, -U[0][1], U[0][2]),
        (yz, -xz, wd[2]),
    )
    MX = Wrench(mat3.column(U, 0), (0.0, -vd[2], vd[1]))
    MY = Wrench(mat3.column(U, 1), (vd[2], 0.0, -vd[0]))
    MZ = Wrench(mat3.column(U, 2), (-vd[1], vd[0], 0.0))
    return [*(Wrench(vec3.ZERO, moment) for moment in moments), MX, MY, MZ, Wrench(vd, vec3.ZERO)]
