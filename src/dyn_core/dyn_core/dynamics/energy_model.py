# SPDX-License-Identifier: Apache-2.0
"""The energy as a product with the dynamic parameters (SYMORO+ 2003, eqs. (3.111), (A5-8) to (A5-11))."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.geometry.joint_placement import joint_placement
from dyn_core.kinematics.link_velocity import body_velocities
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import vec3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.screw import Screw
from dyn_core.symbolic.step import Translation, inverse, rotated
from dyn_core.symbolic.vec3 import Vec3


def energy_row(robot: Robot, q: Sequence[Scalar], qd: Sequence[Scalar], gravity_0: Vec3) -> list[Scalar]:
    """Row h of ``H = h K``, the kinetic and potential energy (J): 11 entries for each joint.

    They belong to the ten inertial parameters of the body and to the inertia of the rotor. The potential
    energy is 0 for a mass at the origin of frame 0.

    Args:
        robot: the robot; its dynamic parameters do not matter.
        q: n joint positions (rad or m).
        qd: n joint velocities (rad/s or m/s).
        gravity_0: acceleration of gravity in frame 0 (m/s^2).
    """
    velocities = body_velocities(robot, q, qd)[1:]
    potentials = _potentials(robot, q, gravity_0)
    row: list[Scalar] = []
    for velocity, (gravity, height), qd_j in zip(velocities, potentials, qd, strict=True):
        kinetic = kinetic_coefficients(velocity)
        row += [
            *kinetic[:6],
            *(e - g for e, g in zip(kinetic[6:9], gravity, strict=True)),
            kinetic[9] + height,
            0.5 * (qd_j * qd_j),
        ]
    return row


def kinetic_coefficients(velocity: Screw) -> list[Scalar]:
    """Kinetic energy of a body for each inertial parameter alone being 1 (SYMORO+ 2003, eq. (A5-11))."""
    v, (x, y, z) = velocity
    MS = vec3.cross(v, velocity.angular)
    squares = 0.5 * (x * x), x * y, x * z, 0.5 * (y * y), y * z, 0.5 * (z * z)
    return [*squares, *MS, 0.5 * vec3.dot(v, v)]


def _potentials(robot: Robot, q: Sequence[Scalar], gravity_0: Vec3) -> list[tuple[Vec3, Scalar]]:
    """For the bodies 1 to n, gravity in their frame, and ``-g . P`` of the origin of the frame."""
    found: list[tuple[Vec3, Scalar]] = [(gravity_0, 0.0)]
    for joint, q_j in zip(robot.joints, q, strict=True):
        gravity, height = found[joint.antecedent]
        for step in joint_placement(joint, q_j).steps:
            if isinstance(step, Translation):
                height = height - gravity[step.axis] * step.length
            else:
                gravity = rotated(inverse([step]), gravity)
        found.append((gravity, height))
    return found[1:]
