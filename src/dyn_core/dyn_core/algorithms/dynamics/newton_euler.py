# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics of a tree by the recursive Newton-Euler algorithm (Khalil 2010, sec. 3.2).

Forward, from the base to the leaves: velocities and accelerations of the links, and the wrench
that gives each link its motion. Backward: the wrenches in the joints. The parameters enter as J,
MS and M about the origins of the link frames, in which the result is linear.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dyn_core.algorithms.link_motion import LinkMotion, against_gravity, link_motions
from dyn_core.dynamics.wrench import Wrench, wrench_before
from dyn_core.geometry.joint_placement import joint_placement
from dyn_core.robot.links import InertialParameters
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.vec3 import Vec3


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
    reactions = joint_reactions(robot, q, qd, qdd, gravity_0, external)
    pairs = zip(robot.joints, reactions[1:], strict=True)
    return [reaction.along(joint.sigma) for joint, reaction in pairs]  # (31)


def joint_reactions(
    robot: Robot,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    gravity_0: Vec3,
    external: Mapping[int, Wrench],
) -> list[Wrench]:
    """Wrenches of each body's antecedent on the body: Khalil 2010, eqs. (26) to (30).

    Args:
        robot: the robot.
        q: n joint positions (rad or m).
        qd: n joint velocities (rad/s or m/s).
        qdd: n joint accelerations (rad/s^2 or m/s^2).
        gravity_0: acceleration of gravity in frame 0 (m/s^2).
        external: by body, the wrench that the body exerts on the environment, in its frame.

    Returns:
        n + 1 wrenches, each in the frame of its body and about its origin; the first is what the
        ground exerts on the base.
    """
    placements = [joint_placement(joint, q_j) for joint, q_j in zip(robot.joints, q, strict=True)]
    motions = link_motions(robot, placements, qd, qdd, against_gravity(gravity_0))
    wrenches = link_wrenches(robot, motions, external)
    for j in range(len(robot.joints), 0, -1):
        i = robot.joints[j - 1].antecedent
        wrenches[i] = wrenches[i] + wrench_before(placements[j - 1].steps, wrenches[j])  # (28) to (30)
    return wrenches


def link_wrenches(
    robot: Robot, motions: Sequence[LinkMotion], external: Mapping[int, Wrench]
) -> list[Wrench]:
    """Wrench that each body needs for its motion, and for what it exerts: eqs. (26), (27)."""
    wrenches = [link_wrench(body, moved) for body, moved in zip(robot.bodies, motions, strict=True)]
    for body, exerted in external.items():
        wrenches[body] = wrenches[body] + exerted
    return wrenches


def link_wrench(body: InertialParameters, motion: LinkMotion) -> Wrench:
    """Total wrench on a link about O_j, in frame j: Khalil 2010, eqs. (22) and (23).

    ``J wd + w x J w`` is written in the products of the components of w, and in jUj, which exist
    already: 15 multiplications instead of 24.
    """
    (x, y, z), wd, U, vd = motion
    force = vec3.add(vec3.scale(body.M, vd), mat3.mul_vec(U, body.MS))  # (22)
    own = (
        body.XX * wd[0]
        + (body.ZZ - body.YY) * (y * z)
        - body.XY * U[2][0]
        + body.XZ * U[1][0]
        + body.YZ * (y * y - z * z),
        body.YY * wd[1]
        + (body.XX - body.ZZ) * (x * z)
        + body.XY * U[2][1]
        - body.YZ * U[0][1]
        + body.XZ * (z * z - x * x),
        body.ZZ * wd[2]
        + (body.YY - body.XX) * (x * y)
        - body.XZ * U[1][2]
        + body.YZ * U[0][2]
        + body.XY * (x * x - y * y),
    )
    return Wrench(force, vec3.add(own, vec3.cross(body.MS, vd)))  # (23)
