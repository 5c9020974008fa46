# SPDX-License-Identifier: Apache-2.0
"""Gravity torques from the first moments of composite links (SYMORO+ 2003, appendix 4.2)."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.dynamics.composite_inertia import composite_inertias
from dyn_core.geometry.joint_placement import joint_placement
from dyn_core.robot.joints import Sigma
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.step import inverse, rotated
from dyn_core.symbolic.vec3 import Vec3


def gravity_torques(robot: Robot, q: Sequence[Scalar], gravity_0: Vec3) -> list[Scalar]:
    """Torques Q that hold the robot at rest: ``-z . (MS x g)``, or ``-M z . g`` of a prismatic joint.

    Args:
        robot: the robot.
        q: n joint positions (rad or m).
        gravity_0: acceleration of gravity in frame 0 (m/s^2).

    Returns:
        n joint torques (N m) or forces (N).
    """
    placements = [joint_placement(joint, q_j) for joint, q_j in zip(robot.joints, q, strict=True)]
    composite = composite_inertias(robot, placements)
    gravity = [gravity_0]
    torques = []
    for joint, placement, carried in zip(robot.joints, placements, composite[1:], strict=True):
        x, y, z = rotated(inverse(placement.steps), gravity[joint.antecedent])
        gravity.append((x, y, z))
        turning = carried.MY * x - carried.MX * y
        torques.append(turning if joint.sigma is Sigma.REVOLUTE else -carried.M * z)
    return torques
