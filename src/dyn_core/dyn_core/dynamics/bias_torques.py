# SPDX-License-Identifier: Apache-2.0
"""The torques that give no acceleration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dyn_core.algorithms.dynamics.newton_euler import inverse_dynamics
from dyn_core.dynamics.drive import friction_torque
from dyn_core.dynamics.wrench import Wrench
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.vec3 import Vec3


def bias_torques(
    robot: Robot,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    gravity_0: Vec3,
    external: Mapping[int, Wrench],
) -> list[Scalar]:
    """Torques H where qdd = 0, with friction: SYMORO+ 2003, eq. (3.104).

    Args:
        robot: the robot.
        q: n joint positions (rad or m).
        qd: n joint velocities (rad/s or m/s).
        gravity_0: acceleration of gravity in frame 0 (m/s^2).
        external: by body, the wrench that the body exerts on the environment, in its frame.

    Returns:
        n joint torques (N m) or forces (N).
    """
    torques = inverse_dynamics(robot, q, qd, [0.0] * len(robot.joints), gravity_0, external)
    joints = zip(robot.joints, torques, qd, strict=True)
    return [torque + friction_torque(joint.friction, qd_j) for joint, torque, qd_j in joints]
