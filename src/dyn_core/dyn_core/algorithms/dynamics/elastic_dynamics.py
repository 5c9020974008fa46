# SPDX-License-Identifier: Apache-2.0
"""How the motors of series-elastic joints have to move for the links to move as they are to.

A spring passes the torque tau of its joint on where the motor is ahead of it by e, with
``K e + D de/dt = tau`` (SYMORO+ 2003, sec. 3.3.2.5). Its position follows from the accelerations of the
links, its acceleration from their fourth derivative.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dyn_core.algorithms.dynamics import newton_euler
from dyn_core.dynamics.drive import drive_torques
from dyn_core.linalg.jet import Jet, jet
from dyn_core.loops.coordinates import configuration
from dyn_core.model.standard_parameters import parameter_values, parametrised
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.scalar import Scalar

Vector = Sequence[Scalar]


def motors(robot: Robot) -> tuple[int, ...]:
    """Numbers of the joints of motors behind springs, in the order of the joints of the tree."""
    numbers = (joint.elastic.motor for joint in robot.joints if joint.elastic is not None)
    return tuple(number for number in numbers if number)


def links_alone(robot: Robot) -> Robot:
    """Answer the robot without the motors behind springs, whose joints are the last, and without springs."""
    count = len(robot.joints) - len(motors(robot))
    joints = tuple(replace(joint, elastic=None) for joint in robot.joints[:count])
    return replace(robot, joints=joints, bodies=robot.bodies[: count + 1])


def _of_jets(robot: Robot) -> Robot:
    """Answer the robot with constant jets for those of its parameters that are symbols."""
    values = parameter_values(robot.joints, robot.bodies[1:])
    joints, bodies = parametrised(robot.joints, [_constant(value) for value in values])
    x, y, z = map(_constant, robot.gravity)
    return replace(robot, joints=joints, bodies=(robot.bodies[0], *bodies), gravity=(x, y, z))


def _constant(value: Scalar) -> Scalar:
    return value if isinstance(value, (float, int)) else jet(value)


def motor_motion(
    robot: Robot, q: Vector, qd: Vector, qdd: Vector, jerk: Vector, snap: Vector
) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    """Positions, velocities and accelerations of the motors, as seen at their joints.

    With damping e is the sum of ``(-D/K)^k / K`` times the k-th derivative of tau. The first three of them
    are taken, for which four derivatives of the motion are enough: K e + D de/dt is then tau to the last
    digit, and e is off by ``(D/K)^3 / K`` times the third derivative of tau.

    Args:
        robot: the robot, all of whose elastic joints have motors.
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
