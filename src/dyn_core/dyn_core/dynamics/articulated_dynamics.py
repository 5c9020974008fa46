# SPDX-License-Identifier: Apache-2.0
"""Direct dynamics of a tree by the articulated recursion (Khalil 2010, sec. 3.3.2).

The recursion of the paper carries the velocities (in gamma and beta) and gravity from link to
link. Here they are done with beforehand: the first pass computes the motion that the links have
where qdd = 0, and the wrenches that they need for it, by the passes of the inverse dynamics. What
qdd adds to this motion obeys the same equations with gamma = 0 and a base that stays at rest,
which saves the products of the articulated inertias with gamma.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dyn_core.algorithms.dynamics.direct_dynamics import (
    ArticulatedInertia,
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
from dyn_core.dynamics.wrench import Wrench, wrench_before
from dyn_core.geometry.joint_placement import JointPlacement, joint_placement
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import screw
from dyn_core.symbolic.scalar import Scalar, reciprocal
from dyn_core.symbolic.screw import Screw
from dyn_core.symbolic.vec3 import Vec3


class Handle(NamedTuple):
    """What joint j needs to compute its acceleration from that of its antecedent, eq. (41).

    Attributes:
        unloaded: ``(tau + a^T beta*) / H``, acceleration of the joint on a resting antecedent.
        u_over_H: column of the axis in the articulated inertia, divided by H.
        Ia_over_H: rotor inertia divided by H.
    """

    unloaded: Scalar
    u_over_H: Vec6
    Ia_over_H: Scalar


class Articulated(NamedTuple):
    """A tree whose joints are free to move.

    Attributes:
        handles: what each joint needs to compute its acceleration.
        inertia: articulated inertia J* of the base, with its joints if it is articulated, too.
        wrench: -beta* of the base, likewise.
    """

    handles: list[Handle]
    inertia: ArticulatedInertia
    wrench: Wrench


def articulated_direct_dynamics(
    robot: Robot,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    torques: Sequence[Scalar],
    gravity_0: Vec3,
    external: Mapping[int, Wrench],
) -> list[Scalar]:
    """Accelerations that torques give, with friction and rotors: Khalil 2010, eqs. (32) to (44).

    Args:
        robot: the robot.
        q: n joint positions (rad or m).
        qd: n joint velocities (rad/s or m/s).
        torques: n torques of the actuators (N m or N).
        gravity_0: acceleration of gravity in frame 0 (m/s^2).
        external: by body, the wrench that the body exerts on the environment, in its frame.

    Returns:
        n joint accelerations (rad/s^2 or m/s^2); not finite where a joint moves no inertia.
    """
    placements = [joint_placement(joint, q_j) for joint, q_j in zip(robot.joints, q, strict=True)]
    motions = link_motions(robot, placements, qd, [0.0] * len(robot.joints), against_gravity(gravity_0))
    needed = link_wrenches(robot, motions, external)  # -beta, (35)
    handles = articulated(robot, placements, qd, torques, needed, with_base=False).handles
    return joint_accelerations(robot, placements, handles, screw.ZERO)


def articulated(
    robot: Robot,
    placements: Sequence[JointPlacement],
    qd: Sequence[Scalar],
    torques: Sequence[Scalar],
    wrenches: Sequence[Wrench],
    with_base: bool,
) -> Articulated:
    """From the leaves to the base: Khalil 2010, eqs. (36) to (40).

    Args:
        robot: the robot.
        placements: n placements of the joints.
        qd: n joint velocities (rad/s or m/s).
        torques: n torques of the actuators (N m or N).
        wrenches: by body, what it needs where qdd = 0.
        with_base: whether the base is articulated, too.
    """
    needed = list(wrenches)
    inertias = [of_body(body) for body in robot.bodies]
    handles: list[Handle] = []
    for j in range(len(robot.joints), 0, -1):
        joint, steps = robot.joints[j - 1], placements[j - 1].steps
        tau = torques[j - 1] - friction_torque(joint.friction, qd[j - 1])  # (44)
        u = column(inertias[j], joint.sigma)
        H_inverse = reciprocal(u[axis(joint.sigma)] + joint.Ia)  # (36)
        surplus = tau - needed[j].along(joint.sigma)
        handle = Handle(surplus * H_inverse, tuple(x * H_inverse for x in u), joint.Ia * H_inverse)
        handles.insert(0, handle)
        if joint.antecedent != 0 or with_base:
            K = freed(inertias[j], joint.sigma, u, handle.u_over_H, handle.Ia_over_H)
            inertias[joint.antecedent] += articulated_before(steps, K)  # (40)
            transmitted = [a + b * surplus for a, b in zip(needed[j].values, handle.u_over_H, strict=True)]
            transmitted[axis(joint.sigma)] = tau - joint.Ia * handle.unloaded
            alpha = Wrench((*transmitted[:3],), (*transmitted[3:],))
            needed[joint.antecedent] += wrench_before(steps, alpha)  # (38), (39)
    return Articulated(handles, inertias[0], needed[0])


def joint_accelerations(
    robot: Robot, placements: Sequence[JointPlacement], handles: Sequence[Handle], base: Screw
) -> list[Scalar]:
    """From the base to the leaves: Khalil 2010, eqs. (41) and (43).

    Args:
        robot: the robot.
        placements: n placements of the joints.
        handles: what each joint needs.
        base: what is added to the acceleration of the base, in frame 0.
    """
    accelerations: list[Scalar] = []
    added = [base]  # to the motions, by qdd
    for joint, placement, handle in zip(robot.joints, placements, handles, strict=True):
        values = list(screw.over(placement.steps, added[joint.antecedent]).values)
        along = axis(joint.sigma)
        carried = values[along]
        values[along] = handle.unloaded + handle.Ia_over_H * carried
        for k in range(6):
            if k != along:
                values[along] = values[along] - handle.u_over_H[k] * values[k]
        accelerations.append(values[along] - carried)  # (41)
        added.append(Screw((*values[:3],), (*values[3:],)))  # (43)
    return accelerations
