# SPDX-License-Identifier: Apache-2.0
"""Torques of the joints with their drives: all of Khalil 2010, eq. (31)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dyn_core.dynamics.drive import friction_torque, rotor_torque
from dyn_core.dynamics.newton_euler import inverse_dynamics
from dyn_core.dynamics.wrench import Wrench
from dyn_core.linalg import vec3
from dyn_core.linalg.scalar import Scalar
from dyn_core.linalg.vec3 import Vec3
from dyn_core.model.inertial_parameters import InertialParameters
from dyn_core.model.robot import Robot


def joint_torques(
    robot: Robot,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    gravity_0: Vec3,
    *,
    friction: bool,
    rotor_inertia: bool,
) -> list[Scalar]:
    """Torques that give the accelerations qdd.

    Args:
        robot: the robot.
        q: n joint positions (rad or m).
        qd: n joint velocities (rad/s or m/s).
        qdd: n joint accelerations (rad/s^2 or m/s^2).
        gravity_0: acceleration of gravity in frame 0 (m/s^2).
        friction: whether the joints have friction.
        rotor_inertia: whether the rotors have inertia.

    Returns:
        n joint torques (N m) or forces (N).
    """
    torques = inverse_dynamics(robot, q, qd, qdd, gravity_0, {})
    if friction:
        torques = [a + b for a, b in zip(torques, friction_torques(robot, qd), strict=True)]
    if rotor_inertia:
        rotors = (rotor_torque(joint, a) for joint, a in zip(robot.joints, qdd, strict=True))
        torques = [a + b for a, b in zip(torques, rotors, strict=True)]
    return torques


def friction_torques(robot: Robot, qd: Sequence[Scalar]) -> list[Scalar]:
    """Torques of friction (N m or N) at the velocities qd (rad/s or m/s)."""
    return [friction_torque(joint.friction, v) for joint, v in zip(robot.joints, qd, strict=True)]


def wrench_torques(robot: Robot, q: Sequence[Scalar], exerted: Mapping[int, Wrench]) -> list[Scalar]:
    """What wrenches that bodies exert on the environment add to the torques (N m or N).

    Args:
        robot: the robot; its parameters do not matter.
        q: n joint positions (rad or m).
        exerted: by body, the wrench that it exerts on the environment, in its frame.
    """
    rest: list[Scalar] = [0.0] * robot.dof
    massless = robot.with_bodies([InertialParameters()] * len(robot.bodies))
    return inverse_dynamics(massless, q, rest, rest, vec3.ZERO, exerted)
