# SPDX-License-Identifier: Apache-2.0
"""Direct dynamics by the inertia matrix and the bias torques (Khalil 2010, sec. 3.3.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dyn_core.dynamics.bias_torques import bias_torques
from dyn_core.dynamics.factorisation import carriers, factorised, solved
from dyn_core.dynamics.inertia_matrix import inertia_matrix
from dyn_core.dynamics.wrench import Wrench
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.vec3 import Vec3


def factorised_direct_dynamics(
    robot: Robot,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    torques: Sequence[Scalar],
    gravity_0: Vec3,
    external: Mapping[int, Wrench],
) -> list[Scalar]:
    """Accelerations that torques give, with friction and rotors: Khalil 2010, eq. (8).

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
    H = bias_torques(robot, q, qd, gravity_0, external)
    A = inertia_matrix(robot, q)
    return solved(
        factorised(A, carriers(robot)), [torque - bias for torque, bias in zip(torques, H, strict=True)]
    )
