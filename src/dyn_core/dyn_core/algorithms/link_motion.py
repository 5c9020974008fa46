# SPDX-License-Identifier: Apache-2.0
"""Velocities and accelerations of links and frames, and the basic Jacobian (SYMORO+ 2003, ch. 2).

`link_motions` is the forward recursion that the dynamics share. Each motion is expressed in the frame of
its link.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dyn_core.robot.joints import Joint, Sigma
from dyn_core.robot.links import LinkFrame
from dyn_core.robot.mdh.direct_geometry import (
    JointPlacement,
    joint_placements,
    lineage,
    placements_from,
    steps_between,
)
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, screw, vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.scalar import Scalar, Scalars
from dyn_core.symbolic.screw import ZERO, Screw
from dyn_core.symbolic.step import inverse, rotated
from dyn_core.symbolic.transform import apply
from dyn_core.symbolic.vec3 import Vec3


def expressed(robot: Robot, q: Scalars, vectors: Iterable[Vec3], body: int, frame: LinkFrame) -> list[Vec3]:
    """Components of vectors on the axes of a frame, from those on the axes of a body's frame."""
    steps = steps_between(robot, q, frame.body, body)
    R_frame_body = mat3.transpose(frame.T_body_link.R)
    return [mat3.mul_vec(R_frame_body, rotated(steps, v)) for v in vectors]


# Velocities (SYMORO+ 2003, sec. 2.4)


AXIS = {
    Sigma.REVOLUTE: Screw(vec3.ZERO, (0.0, 0.0, 1.0)),
    Sigma.PRISMATIC: Screw((0.0, 0.0, 1.0), vec3.ZERO),
}  # motion of link j due to its joint at unit speed, in frame j


def body_velocities(
    robot: Robot, placements: Sequence[JointPlacement], qd: Scalars, base: Screw = ZERO
) -> list[Screw]:
    """Velocities of the bodies 0 to n, each of the origin of its frame and in that frame: eq. (2.28)."""
    velocities = [base]
    for joint, placement, qd_j in zip(robot.joints, placements, qd, strict=True):
        carried = screw.over(placement.steps, velocities[joint.antecedent])
        velocities.append(moved_along(joint.sigma, carried, qd_j))
    return velocities


def unit_velocities(robot: Robot, placements: Sequence[JointPlacement]) -> list[dict[int, Screw]]:
    """Velocities of the bodies 0 to n, in their frames, per unit speed of joints (from 0) that carry them."""
    found: list[dict[int, Screw]] = [{}]
    for j, (joint, placement) in enumerate(zip(robot.joints, placements, strict=True)):
        carried = {i: screw.over(placement.steps, v) for i, v in found[joint.antecedent].items()}
        found.append({**carried, j: AXIS[joint.sigma]})
    return found


def moved_along(sigma: Sigma, carried: Screw, qd: Scalar) -> Screw:
    """Motion of link j, from the motion that it has in common with link i and the speed along z_j."""
    v, w = carried
    if sigma is Sigma.REVOLUTE:
        return Screw(v, (w[0], w[1], w[2] + qd))
    return Screw((v[0], v[1], v[2] + qd), w)


def link_velocity(robot: Robot, q: Scalars, qd: Scalars, frame: LinkFrame, expressed_in: LinkFrame) -> Screw:
    """Velocity of a frame: linear velocity of its origin, and angular velocity."""
    v, w = body_velocities(robot, joint_placements(robot, q), qd)[frame.body]
    v = vec3.add(v, mat3.mul_vec(mat3.skew(w), frame.T_body_link.p))
    return Screw(*expressed(robot, q, (v, w), frame.body, expressed_in))


def jacobian(robot: Robot, q: Scalars, frame: LinkFrame, expressed_in: LinkFrame) -> list[list[Scalar]]:
    """Jacobian J, 6 x n, of the velocity of a frame, ``[linear; angular] = J qd`` (SYMORO+ 2003, eq. (2.18)).

    The linear velocity is that of the origin of the frame.
    """
    movers = lineage(robot, frame.body)
    T = placements_from(robot, q, expressed_in, movers)
    columns = [ZERO] * len(robot.joints)
    if movers:
        tip = apply(T[frame.body], frame.T_body_link.p)
    for j in movers:
        a = mat3.column(T[j].R, 2)
        turns = robot.joints[j - 1].sigma is Sigma.REVOLUTE
        columns[j - 1] = Screw(vec3.cross(a, vec3.sub(tip, T[j].p)), a) if turns else Screw(a, vec3.ZERO)
    return [list(row) for row in zip(*(column.values for column in columns), strict=True)] or [[]] * 6


# Accelerations (SYMORO+ 2003, sec. 2.4.7 and 2.5.1)


class LinkMotion(NamedTuple):
    """Motion of link j, projected in frame j."""

    w: Vec3  # angular velocity (rad/s)
    wd: Vec3  # angular acceleration (rad/s^2)
    U: Mat3  # ``skew(wd) + skew(w) skew(w)``, so that U p is the acceleration of point p about O_j (1/s^2)
    vd: Vec3  # linear acceleration of O_j, minus gravity if the base accelerates against gravity (m/s^2)


AT_REST = LinkMotion(vec3.ZERO, vec3.ZERO, mat3.ZERO, vec3.ZERO)


def link_motion(w: Vec3, wd: Vec3, vd: Vec3) -> LinkMotion:
    """Motion of a link, with its matrix U."""
    return LinkMotion(w, wd, mat3.add(mat3.skew(wd), mat3.skew_squared(w)), vd)


def against_gravity(gravity_0: Vec3) -> LinkMotion:
    """Motion of a base that accelerates against gravity, which gives all links their weight."""
    return AT_REST._replace(vd=vec3.neg(gravity_0))


def link_motions(
    robot: Robot, placements: Sequence[JointPlacement], qd: Scalars, qdd: Scalars, base: LinkMotion
) -> list[LinkMotion]:
    """Motions of the bodies 0 to n."""
    motions = [base]
    for joint, placement, qd_j, qdd_j in zip(robot.joints, placements, qd, qdd, strict=True):
        motions.append(_next_motion(joint, placement, motions[joint.antecedent], qd_j, qdd_j))
    return motions


def _next_motion(
    joint: Joint, placement: JointPlacement, antecedent: LinkMotion, qd: Scalar, qdd: Scalar
) -> LinkMotion:
    """Motion of link j from the motion of link i = a(j): Khalil 2010, eqs. (18) to (21).

    The points of z_j have the same acceleration about each other in link i and in link j. So the
    displacement along z_j to O_j can use jUj, which is needed anyway, instead of iUi.
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
    motion = link_motion(w, wd, vd)
    along_axis = vec3.scale(placement.slide, mat3.column(motion.U, 2))
    return motion._replace(vd=vec3.add(vd, along_axis))  # (21)


def link_acceleration(
    robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars, frame: LinkFrame, expressed_in: LinkFrame
) -> Screw:
    """Acceleration of a frame, linear of its origin and angular: SYMORO+ 2003, eqs. (2.31), (2.32)."""
    motion = link_motions(robot, joint_placements(robot, q), qd, qdd, AT_REST)[frame.body]
    vd = vec3.add(motion.vd, mat3.mul_vec(motion.U, frame.T_body_link.p))
    return Screw(*expressed(robot, q, (vd, motion.wd), frame.body, expressed_in))


def jacobian_rate_times_velocity(
    robot: Robot, q: Scalars, qd: Scalars, frame: LinkFrame, expressed_in: LinkFrame
) -> Screw:
    """Product Jdot qd, the acceleration of a frame for qdd = 0 (SYMORO+ 2003, sec. 2.5.1).

    Jdot is the rate of the Jacobian on the axes of the root link.
    """
    return link_acceleration(robot, q, qd, [0.0] * len(robot.joints), frame, expressed_in)
