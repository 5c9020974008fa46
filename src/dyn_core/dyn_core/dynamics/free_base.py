# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics of a robot with a free base (Khalil 2010, sec. 7.2).

As in the direct dynamics of `articulated_dynamics`, what does not depend on the unknown acceleration is done
with first: the first pass computes the motion that the links have while the base does not accelerate, and
the wrenches that they need for it. What the base adds to that motion it adds to a robot whose joints are
fixed, so that in eq. (99) only the row of the joint's axis is needed, and zeta does not occur in (98).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dyn_core.algorithms.dynamics.free_base import combined, generalised
from dyn_core.algorithms.dynamics.newton_euler import link_wrench
from dyn_core.algorithms.link_motion import LinkMotion, link_motions
from dyn_core.dynamics.composite_inertia import composite_inertias
from dyn_core.dynamics.factorisation import factorised, solved
from dyn_core.dynamics.inertia_matrix import wrench_of_unit_acceleration
from dyn_core.dynamics.wrench import Wrench, wrench_before
from dyn_core.geometry.joint_placement import JointPlacement, joint_placement
from dyn_core.robot.links import InertialParameters
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import screw, vec3
from dyn_core.symbolic.scalar import Scalar, is_zero
from dyn_core.symbolic.screw import Screw

Vector = Sequence[Scalar]


class FreeMotion(NamedTuple):
    """What follows for a robot on a free base.

    Attributes:
        added: what the base accelerates more than it was taken to, in frame 0.
        amounts: the same along its freedoms.
        torques: n torques or accelerations of the joints of the tree.
    """

    added: Screw
    amounts: list[Scalar]
    torques: list[Scalar]


def free_inverse_dynamics(
    robot: Robot,
    freedoms: Sequence[Screw],
    base: LinkMotion,
    q: Vector,
    qd: Vector,
    qdd: Vector,
    forces: Vector,
) -> FreeMotion:
    """Base acceleration and joint torques, without friction and rotors: Khalil 2010, eqs. (94) to (100).

    Args:
        robot: the robot, a tree on its base.
        freedoms: screws in frame 0 along which the base is free.
        base: motion of the base while it accelerates along none of them.
        q: n joint positions (rad or m).
        qd: n joint velocities (rad/s or m/s).
        qdd: n joint accelerations (rad/s^2 or m/s^2).
        forces: forces on the base along its freedoms (N, N m).
    """
    placements = [joint_placement(joint, q_j) for joint, q_j in zip(robot.joints, q, strict=True)]
    motions = link_motions(robot, placements, qd, qdd, base)
    needed = composite_wrenches(robot, placements, motions)
    composite = composite_inertias(robot, placements)
    amounts = base_acceleration(composite[0], freedoms, needed[0], forces)
    added = [combined(freedoms, amounts)]
    torques: list[Scalar] = []
    for joint, placement, wrench, inertia in zip(
        robot.joints, placements, needed[1:], composite[1:], strict=True
    ):
        added.append(screw.over(placement.steps, added[joint.antecedent]))  # (98)
        along_axis = wrench_of_unit_acceleration(inertia, joint.sigma)
        torques.append(wrench.along(joint.sigma) + along_axis.power(added[-1]))  # (99), (100)
    return FreeMotion(added[0], amounts, torques)


def composite_wrenches(
    robot: Robot, placements: Sequence[JointPlacement], motions: Sequence[LinkMotion]
) -> list[Wrench]:
    """Wrench that each body needs with all that it carries, - beta^c of Khalil 2010, eq. (96)."""
    wrenches = [link_wrench(body, moved) for body, moved in zip(robot.bodies, motions, strict=True)]
    for j in range(len(robot.joints), 0, -1):
        i = robot.joints[j - 1].antecedent
        wrenches[i] = wrenches[i] + wrench_before(placements[j - 1].steps, wrenches[j])
    return wrenches


def base_acceleration(
    composite: InertialParameters, freedoms: Sequence[Screw], needed: Wrench, forces: Vector
) -> list[Scalar]:
    """What a base accelerates along its freedoms: Khalil 2010, eq. (97).

    Args:
        composite: inertia of the base with all that it carries.
        freedoms: screws in frame 0.
        needed: wrench that it needs where it accelerates along none of them.
        forces: forces along them (N, N m).
    """
    inertia = [wrench_of_acceleration(composite, freedom) for freedom in freedoms]
    A = symmetric([generalised(freedoms[: k + 1], wrench) for k, wrench in enumerate(inertia)])
    surplus = [f - x for f, x in zip(forces, generalised(freedoms, needed), strict=True)]
    nonzero = [[i for i in range(k) if not is_zero(A[k][i])] for k in range(len(A))]
    return solved(factorised(A, nonzero), surplus)


def wrench_of_acceleration(body: InertialParameters, acceleration: Screw) -> Wrench:
    """Wrench that accelerates a body at rest: Khalil 2010, eq. (10)."""
    linear, angular = acceleration
    force = vec3.add(vec3.scale(body.M, linear), vec3.cross(angular, body.MS))
    x, y, z = (vec3.dot(row, angular) for row in body.J)
    return Wrench(force, vec3.add((x, y, z), vec3.cross(body.MS, linear)))


def symmetric(lower: Sequence[Vector]) -> list[list[Scalar]]:
    """Symmetric matrix of which the rows up to the diagonal are given."""
    n = len(lower)
    return [[lower[max(i, k)][min(i, k)] for k in range(n)] for i in range(n)]
