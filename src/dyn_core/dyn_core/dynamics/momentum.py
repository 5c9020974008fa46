# SPDX-License-Identifier: Apache-2.0
"""Momentum, centre of mass and energy of a robot with a moving base."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dyn_core.dynamics.composite_inertia import composite_inertias
from dyn_core.dynamics.free_base import wrench_of_acceleration
from dyn_core.dynamics.wrench import Wrench, wrench_before
from dyn_core.geometry.joint_placement import JointPlacement
from dyn_core.kinematics.link_velocity import moved_along
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import screw, vec3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.screw import Screw
from dyn_core.symbolic.vec3 import Vec3


class Momentum(NamedTuple):
    """What a moving robot has, without its rotors, on the axes of frame 0.

    Attributes:
        at_0: linear momentum (kg m/s), and angular momentum about the origin of frame 0 (kg m^2/s).
        centre: centre of mass in frame 0 (m); not finite where there is no mass.
        mass: mass of the robot (kg).
        kinetic: kinetic energy (J).
    """

    at_0: Wrench
    centre: Vec3
    mass: Scalar
    kinetic: Scalar

    @property
    def angular(self) -> Vec3:
        """Angular momentum about the centre of mass (kg m^2/s)."""
        return vec3.sub(self.at_0.moment, vec3.cross(self.centre, self.at_0.force))


def momentum(
    robot: Robot, placements: Sequence[JointPlacement], base: Screw, qd: Sequence[Scalar]
) -> Momentum:
    """Momentum of all links, carried to the base.

    Args:
        robot: the robot, a tree on its base.
        placements: n placements of the joints.
        base: velocity of frame 0, on its axes (m/s, rad/s).
        qd: n joint velocities (rad/s or m/s).
    """
    velocities = [base]
    for joint, placement, qd_j in zip(robot.joints, placements, qd, strict=True):
        carried = screw.over(placement.steps, velocities[joint.antecedent])
        velocities.append(moved_along(joint.sigma, carried, qd_j))
    # The momentum of a body is to its velocity what the wrench on it at rest is to its acceleration.
    total = [wrench_of_acceleration(body, v) for body, v in zip(robot.bodies, velocities, strict=True)]
    twice: Scalar = 0.0
    for own, velocity in zip(total, velocities, strict=True):
        twice = twice + own.power(velocity)
    for j in range(len(robot.joints), 0, -1):
        i = robot.joints[j - 1].antecedent
        total[i] = total[i] + wrench_before(placements[j - 1].steps, total[j])
    whole = composite_inertias(robot, placements)[0]
    centre = vec3.scale(1.0 / whole.M, whole.MS)
    return Momentum(total[0], centre, whole.M, 0.5 * twice)
