# SPDX-License-Identifier: Apache-2.0
"""Elastic joints: springs, inverse dynamics, motor motion and oscillations (Khalil 2010, sec. 6).

Inverse dynamics (sec. 6.3): the accelerations of elastic joints are computed together with the torques of
the rigid joints. As in `direct_dynamics`, the first recursion computes the motion of the links with the
unknown accelerations at 0, and the wrenches for it. The part due to the elastic joints obeys the same
equations with gamma = 0 and a base at rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from dyn_core.algorithms.dynamics import direct_dynamics, newton_euler
from dyn_core.algorithms.dynamics.newton_euler import (
    drive_torques,
    friction_torque,
    inertia_matrix,
    link_wrenches,
)
from dyn_core.algorithms.dynamics.wrenches import Wrench, wrench_before
from dyn_core.algorithms.link_motion import against_gravity, link_motions
from dyn_core.algorithms.loops.passive_joint_positions import configuration
from dyn_core.core.arrays import Array
from dyn_core.robot.dynamic_parameters import parameter_values, parametrised
from dyn_core.robot.joints import Joint
from dyn_core.robot.mdh.direct_geometry import joint_placements
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import screw
from dyn_core.symbolic.elimination import dot
from dyn_core.symbolic.scalar import Jet, Scalar, Scalars, is_zero, jet
from dyn_core.symbolic.vec3 import Vec3

# Spring torques (Khalil 2010, eqs. (69), (70))


def spring_torques(joints: Sequence[Joint], q: Scalars, qd: Scalars) -> list[Scalar]:
    """Parts of the n joint torques (N m or N) against the springs, 0 for joints without a spring.

    The torque of a spring is ``K (dq - q0) + D d(dq)/dt``, minus that on its motor.
    """
    torques: list[Scalar] = [0.0] * len(joints)
    for j, joint in enumerate(joints):
        spring = joint.elastic
        if spring is None:
            continue
        stretch, rate = q[j], qd[j]
        if spring.motor:
            stretch, rate = stretch - q[spring.motor - 1], rate - qd[spring.motor - 1]
        if spring.rest != 0.0:
            stretch = stretch - spring.rest
        torques[j] = spring.stiffness * stretch
        if spring.damping != 0.0:
            torques[j] = torques[j] + spring.damping * rate
        if spring.motor:
            torques[spring.motor - 1] = -torques[j]
    return torques


def with_spring_torques(joints: Sequence[Joint], torques: Scalars, q: Scalars, qd: Scalars) -> list[Scalar]:
    """Torques of the n joints of the tree plus `spring_torques` (N m or N)."""
    springs = spring_torques(joints, q, qd)
    return [a if is_zero(b) else a + b for a, b in zip(torques, springs, strict=True)]


def stiffness_matrix(joints: Sequence[Joint]) -> list[list[float]]:
    """The n x n matrix K of the springs: ``spring_torques = K q + D qd`` for rest positions of 0."""
    return _matrix(joints, [joint.elastic.stiffness if joint.elastic else 0.0 for joint in joints])


def damping_matrix(joints: Sequence[Joint]) -> list[list[float]]:
    """The n x n matrix D of the springs."""
    return _matrix(joints, [joint.elastic.damping if joint.elastic else 0.0 for joint in joints])


def _matrix(joints: Sequence[Joint], values: Sequence[float]) -> list[list[float]]:
    matrix = [[0.0] * len(joints) for _ in joints]
    for j, (joint, value) in enumerate(zip(joints, values, strict=True)):
        if joint.elastic:
            ends = (j, joint.elastic.motor - 1) if joint.elastic.motor else (j,)
            for a, b in product(ends, ends):
                matrix[a][b] += value if a == b else -value
    return matrix


# Inverse dynamics by three recursions (Khalil 2010, sec. 6.3)


def elastic_inverse_dynamics(
    robot: Robot,
    q: Scalars,
    qd: Scalars,
    qdd: Scalars,
    extra: Scalars,
    gravity_0: Vec3,
    external: Mapping[int, Wrench],
) -> list[Scalar]:
    """Torques of the rigid joints and accelerations of the elastic ones: Khalil 2010, eqs. (72) to (82).

    None of the joints mimics another. `qdd` of elastic joints is ignored; `extra` has n torques (N m or N) on
    the joints in addition to actuators and springs. Returns for each rigid joint the torque of its actuator
    (N m or N), with friction and rotor; for each elastic joint its acceleration (rad/s^2 or m/s^2).
    """
    joints = robot.joints
    springs = spring_torques(joints, q, qd)
    placements = joint_placements(robot, q)
    known = [0.0 if joint.elastic else qdd_j for joint, qdd_j in zip(joints, qdd, strict=True)]
    motions = link_motions(robot, placements, qd, known, against_gravity(gravity_0))  # (i)
    needed = link_wrenches(robot, motions, external)  # -beta, with the parts of the rigid joints
    inertias = [direct_dynamics.rigid_inertia(body) for body in robot.bodies]
    found: list[
        tuple[Scalar, direct_dynamics.JointTerms]
    ] = []  # torque of a rigid joint, and the terms of the joint

    for j in range(len(joints), 0, -1):  # (ii)
        joint, steps = joints[j - 1], placements[j - 1].steps
        inertia, wrench, i = inertias[j], needed[j], joint.antecedent
        given = extra[j - 1] - springs[j - 1] - friction_torque(joint.friction, qd[j - 1])
        torque = wrench.along(joint.sigma) - given
        torque = torque if is_zero(joint.Ia) else torque + joint.Ia * known[j - 1]
        terms = direct_dynamics.joint_terms(joint, inertia, wrench, given)  # (72)
        found.insert(0, (torque, terms))
        if i != 0:
            if joint.elastic:
                wrench = direct_dynamics.wrench_through_joint(joint, wrench, given, terms)  # (74)
                inertia = direct_dynamics.inertia_through_joint(inertia, joint.sigma, terms)
            inertias[i] += direct_dynamics.articulated_before(steps, inertia)  # (75), (78)
            needed[i] += wrench_before(steps, wrench)  # (76), (77)

    results: list[Scalar] = []
    added = [screw.ZERO]  # accelerations of the links due to the elastic joints
    for joint, placement, (torque, terms) in zip(joints, placements, found, strict=True):  # (iii)
        link = screw.over(placement.steps, added[joint.antecedent])
        if joint.elastic:
            result, link = direct_dynamics.accelerated(joint.sigma, terms, link)  # (80), (81)
        else:
            result = torque + dot(terms.u, link.values)  # (79), (82)
        results.append(result)
        added.append(link)
    return results


# Motor motion of series-elastic joints
#
# A spring transmits the torque tau of its joint if the motor is ahead of the joint by e, with
# ``K e + D de/dt = tau`` (SYMORO+ 2003, sec. 3.3.2.5). The motor position follows from the accelerations of
# the links, the motor acceleration from their fourth derivative.


def motors(robot: Robot) -> tuple[int, ...]:
    """Numbers of the joints of motors behind springs, in the order of the joints of the tree."""
    numbers = (joint.elastic.motor for joint in robot.joints if joint.elastic is not None)
    return tuple(number for number in numbers if number)


def links_alone(robot: Robot) -> Robot:
    """Return the robot without springs and without the motors behind them, whose joints are the last."""
    count = len(robot.joints) - len(motors(robot))
    joints = tuple(replace(joint, elastic=None) for joint in robot.joints[:count])
    return replace(robot, joints=joints, bodies=robot.bodies[: count + 1])


def _of_jets(robot: Robot) -> Robot:
    """Return the robot with parameters that are symbols replaced by constant jets."""
    values = (*parameter_values(robot.joints, robot.bodies[1:]), *robot.gravity)
    *parameters, x, y, z = (value if isinstance(value, (float, int)) else jet(value) for value in values)
    joints, bodies = parametrised(robot.joints, parameters)
    return replace(robot, joints=joints, bodies=(robot.bodies[0], *bodies), gravity=(x, y, z))


def motor_motion(
    robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars, jerk: Scalars, snap: Scalars
) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    """Positions, velocities and accelerations of the motors, referred to their joints.

    With damping, e is the sum of ``(-D/K)^k / K`` times the k-th derivative of tau. The first three terms
    are used, which need four derivatives of the motion. K e + D de/dt is then tau up to rounding, and the
    error of e is ``(D/K)^3 / K`` times the third derivative of tau.

    Args:
        robot: a robot whose elastic joints all have motors.
        q: positions of the coordinates of the links (rad or m).
        qd: their velocities (rad/s or m/s).
        qdd: their accelerations (rad/s^2 or m/s^2).
        jerk: their third derivatives (rad/s^3 or m/s^3).
        snap: their fourth derivatives (rad/s^4 or m/s^4).
    """
    links = _of_jets(links_alone(robot))
    at = configuration(links, [Jet(*values) for values in zip(q, qd, qdd, strict=True)])
    rates = at.rates([Jet(*values) for values in zip(qd, qdd, jerk, strict=True)])
    accelerations = at.rates([Jet(*values) for values in zip(qdd, jerk, snap, strict=True)])
    rigid = newton_euler.inverse_dynamics(links, at.q, rates, accelerations, links.gravity_0, {})
    drives = drive_torques(links.joints, rates, accelerations)
    torques = at.torques([a + b for a, b in zip(rigid, drives, strict=True)])

    positions: list[Scalar] = []
    velocities: list[Scalar] = []
    motor_accelerations: list[Scalar] = []
    for k, number in enumerate(links.coordinates):
        spring = robot.joints[number - 1].elastic
        if spring is None:
            continue
        K, lag, tau = spring.stiffness, spring.damping / spring.stiffness, jet(torques[k])
        ahead, rate = tau.x, tau.d
        if lag != 0.0:
            ahead, rate = ahead - lag * (tau.d - lag * tau.dd), rate - lag * tau.dd
        offset = ahead * (1.0 / K) if spring.rest == 0.0 else ahead * (1.0 / K) - spring.rest
        positions.append(q[k] + offset)
        velocities.append(qd[k] + rate * (1.0 / K))
        motor_accelerations.append(qdd[k] + tau.dd * (1.0 / K))
    return positions, velocities, motor_accelerations


# Oscillations

_NEGLIGIBLE = 1e-14  # fraction of the greatest inertia below which an inertia is a rounding error


def oscillations(robot: Robot, q: Sequence[float]) -> list[float]:
    """Angular frequencies (rad/s) of ``A qdd = -K q`` at positions q, in descending order.

    They are the roots of the eigenvalues of ``A^-1 K``, 0 for motions that no spring resists. Motions that
    no inertia resists are excluded.
    """
    at = configuration(robot, q)
    A: Array = np.array(at.inertia(inertia_matrix(robot, at.q)))
    K: Array = np.array(at.inertia(stiffness_matrix(robot.joints)))
    values, vectors = np.linalg.eigh(A)
    moved = values > _NEGLIGIBLE * values.max(initial=0.0)
    half = vectors[:, moved] / np.sqrt(values[moved])
    squares = np.linalg.eigvalsh(half.T @ K @ half)
    found: list[float] = np.sqrt(np.maximum(squares, 0.0))[::-1].tolist()
    return found
