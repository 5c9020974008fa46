# SPDX-License-Identifier: Apache-2.0
"""Legs of a universal joint and a prismatic one, as those of the Gough-Stewart robot (Khalil-Guegan 2004)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dyn_core.geometry.joint_transform import joint_transform
from dyn_core.linalg.known_angle import KnownAngle
from dyn_core.linalg.transform import apply
from dyn_core.parallel.leg_positions import NEGLIGIBLE, LegPositions, Position, cleaned, sign_of
from dyn_core.robot.joints import Sigma
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.scalar import reciprocal, sqrt
from dyn_core.symbolic.vec3 import Vec3


@dataclass(frozen=True)
class UniversalPrismatic(LegPositions):
    """Two revolute axes that meet at a right angle, and a slide that goes through where they meet.

    From that point the end is at ``l (cos(q2 + phi) z + sin(q2 + phi) e)``, turned by q1 about the first axis
    z, with the length ``l = q3 + l0`` and a direction e that is normal to both axes.

    Attributes:
        theta: theta of the first joint at q = 0 (rad).
        height: of the point where the axes meet along the first axis (m).
        psi: angle of e about the first axis (rad).
        phi: angle from the first axis to the slide at q2 = 0 (rad).
        l0: length at q3 = 0 (m).
        side: sign of ``l sin(q2 + phi)``.
        way: sign of l.
    """

    theta: float
    height: float
    psi: float
    phi: float
    l0: float
    side: float
    way: float

    def positions(self, end: Vec3) -> list[Position]:
        """Answer the positions of the joints: see `LegPositions`."""
        x, y = end[0], end[1]
        z = end[2] - self.height
        across = x * x + y * y
        rho = self.side * sqrt(across)
        length = self.way * sqrt(across + z * z)
        per_rho, per_length = reciprocal(rho), reciprocal(length)
        q1 = KnownAngle(x * per_rho, y * per_rho, -self.psi - self.theta)
        q2 = KnownAngle(z * per_length, rho * per_length, -self.phi)
        return [q1, q2, length - self.l0]

    def beyond(self, end: Vec3) -> float:
        """Answer 0: the slide is as long as it has to be."""
        return 0.0


def universal_prismatic(robot: Robot, point: Vec3, assembly: Sequence[float]) -> UniversalPrismatic | None:
    """Answer the closed form of a leg; None where it is no such leg.

    Args:
        robot: the leg.
        point: its end in the frame of the last body (m).
        assembly: joint positions on the branch that is wanted.
    """
    if [joint.sigma for joint in robot.joints] != [Sigma.REVOLUTE, Sigma.REVOLUTE, Sigma.PRISMATIC]:
        return None
    first, second, third = robot.joints
    T_1_2, T_2_3 = joint_transform(second, 0.0), joint_transform(third, 0.0)
    u2 = cleaned(mat3.column(T_1_2.R, 2))
    u3 = cleaned(mat3.mul_vec(T_1_2.R, mat3.column(T_2_3.R, 2)))
    end = apply(T_1_2, apply(T_2_3, point))
    height = T_1_2.p[2]
    from_centre = (end[0], end[1], end[2] - height)
    beside = T_1_2.p[0] * u2[1] - T_1_2.p[1] * u2[0]
    l0 = vec3.dot(from_centre, u3)
    off_axis = vec3.norm(vec3.cross(from_centre, u3))
    if max(abs(u2[2]), abs(vec3.dot(u2, u3)), abs(beside), off_axis) > NEGLIGIBLE:
        return None
    e = (u2[1], -u2[0], 0.0)
    phi = math.atan2(vec3.dot(e, u3), u3[2])
    length = assembly[2] + l0
    side = sign_of(length * math.sin(assembly[1] + phi))
    l0 = 0.0 if abs(l0) <= NEGLIGIBLE else l0
    height = 0.0 if abs(height) <= NEGLIGIBLE else height
    psi = math.atan2(e[1], e[0])
    return UniversalPrismatic(first.mdh.theta, height, psi, phi, l0, side, sign_of(length))
