# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics of a tree with elastic joints by three recursions (Khalil 2010, sec. 6.3).

The accelerations of elastic joints cannot be chosen: they follow, together with the torques of the rigid
joints. As in `dyn_core.dynamics.articulated_dynamics`, the first recursion computes the motion that the
links have where the unknown accelerations are 0, and the wrenches that they need for it. What the elastic
joints add to this motion obeys the same equations with gamma = 0 and a base that stays at rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dyn_core.algorithms.dynamics.direct_dynamics import (
    Vec6,
    articulated_before,
    axis,
    column,
    freed,
    of_body,
)
from dyn_core.algorithms.dynamics.newton_euler import link_wrenches
from dyn_core.algorithms.link_motion import against_gravity, link_motions
from dyn_core.dynamics.drive import friction_torque
from dyn_core.dynamics.springs import spring_torques
from dyn_core.dynamics.wrench import Wrench, wrench_before
from dyn_core.geometry.joint_placement import joint_placement
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import screw
from dyn_core.symbolic.scalar import Scalar, is_zero, reciprocal
from dyn_core.symbolic.screw import Screw
from dyn_core.symbolic.vec3 import Vec3


class _Seen(NamedTuple):
    """What the third recursion needs of joint j.

    Attributes:
        u: column of the axis in the articulated inertia J*, divided by H where the joint is elastic.
        Ia: rotor inertia, divided by H where the joint is elastic.
        alone: on an antecedent to which nothing is added: the acceleration of an elastic joint, and the
            torque of a rigid one.
    """

    u: Vec6
    Ia: Scalar
    alone: Scalar


def elastic_inverse_dynamics(
    robot: Robot,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    extra: Sequence[Scalar],
    gravity_0: Vec3,
    external: Mapping[int, Wrench],
) -> list[Scalar]:
    """Torques of the rigid joints and accelerations of the elastic ones: Khalil 2010, eqs. (72) to (82).

    Args:
        robot: the robot; none of its joints mimics another.
        q: n joint positions (rad or m).
        qd: n joint velocities (rad/s or m/s).
        qdd: n joint accelerations (rad/s^2 or m/s^2); those of elastic joints are not read.
        extra: n torques (N m or N) that act on the joints beside actuators and springs.
        gravity_0: acceleration of gravity in frame 0 (m/s^2).
        external: by body, the wrench that the body exerts on the environment, in its frame.

    Returns:
        For each joint the torque of its actuator (N m or N), with friction and rotor, or, where it is
        elastic, its acceleration (rad/s^2 or m/s^2).
    """
    joints = robot.joints
    springs = spring_torques(joints, q, qd)
    placements = [joint_placement(joint, q_j) for joint, q_j in zip(joints, q, strict=True)]
    known = [0.0 if joint.elastic else qdd_j for joint, qdd_j in zip(joints, qdd, strict=True)]
    motions = link_motions(robot, placements, qd, known, against_gravity(gravity_0))  # (i)
    needed = link_wrenches(robot, motions, external)  # -beta, with what the rigid joints add
    inertias = [of_body(body) for body in robot.bodies]
    seen: list[_Seen] = []

    for j in range(len(joints), 0, -1):  # (ii)
        joint, steps = joints[j - 1], placements[j - 1].steps
        inertia, i = inertias[j], joint.antecedent
        u = column(inertia, joint.sigma)
        given = extra[j - 1] - springs[j - 1] - friction_torque(joint.friction, qd[j - 1])
        if joint.elastic is None:
            needs = needed[j].along(joint.sigma) - given
            torque = needs if is_zero(joint.Ia) else needs + joint.Ia * known[j - 1]
            seen.insert(0, _Seen(u, joint.Ia, torque))
            if i != 0:
                inertias[i] += articulated_before(steps, inertia)  # (75), (78)
                needed[i] += wrench_before(steps, needed[j])  # (76), (77)
            continue
        H_inverse = reciprocal(u[axis(joint.sigma)] + joint.Ia)  # (72)
        surplus = given - needed[j].along(joint.sigma)
        handle = _Seen(tuple(x * H_inverse for x in u), joint.Ia * H_inverse, surplus * H_inverse)
        seen.insert(0, handle)
        if i != 0:
            inertias[i] += articulated_before(steps, freed(inertia, joint.sigma, u, handle.u, handle.Ia))
            transmitted = [a + b * surplus for a, b in zip(needed[j].values, handle.u, strict=True)]
            transmitted[axis(joint.sigma)] = given - joint.Ia * handle.alone
            alpha = Wrench((*transmitted[:3],), (*transmitted[3:],))  # (74)
            needed[i] += wrench_before(steps, alpha)  # (77)

    answer: list[Scalar] = []
    added = [screw.ZERO]  # to the motions, by the elastic joints
    for joint, placement, handle in zip(joints, placements, seen, strict=True):  # (iii)
        values = list(screw.over(placement.steps, added[joint.antecedent]).values)
        if joint.elastic is None:
            answer.append(_sum(handle.alone, handle.u, values))  # (79), (82)
        else:
            along = axis(joint.sigma)
            carried = values[along]
            u = tuple(0.0 if k == along else -x for k, x in enumerate(handle.u))
            values[along] = _sum(handle.alone + handle.Ia * carried, u, values)
            answer.append(values[along] - carried)  # (80)
        added.append(Screw((*values[:3],), (*values[3:],)))  # (81)
    return answer


def _sum(first: Scalar, u: Vec6, values: Sequence[Scalar]) -> Scalar:
    """Answer ``first + u . values``."""
    for a, b in zip(u, values, strict=True):
        if not is_zero(a) and not is_zero(b):
            first = first + a * b
    return first
