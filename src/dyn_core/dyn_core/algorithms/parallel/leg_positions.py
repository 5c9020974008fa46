# SPDX-License-Identifier: Apache-2.0
"""Legs of an arm and a forearm on a universal joint, as those of the delta robot."""

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
class RevoluteUniversal(LegPositions):
    """Two parallel revolute axes, and a third one that meets the second at a right angle.

    From where these two meet, the end is at ``l2 (cos(q3 + phi) e + sin(q3 + phi) u)``, with u along the
    second axis and e normal to it and to the third. In the plane normal to the first axis, as complex
    numbers, it is at ``exp(i (t1 + psi1)) (l1 + k exp(i beta))``, with ``k = l2 cos(q3 + phi)``,
    ``t1 = q1 + theta`` and ``beta = psi2 - psi1 + way q2``.

    Attributes:
        theta: theta of the first joint at q = 0 (rad).
        l1: distance of the first two axes (m).
        psi1: angle of the arm in the first body (rad).
        psi2: angle of e in the first body at q2 = 0 (rad).
        way: 1 where the second axis has the direction of the first, -1 where it has the opposite one.
        height: of the second body's origin along the first axis (m).
        rise: of where the axes meet along the second axis (m).
        l2: length of the forearm (m).
        phi: angle of the forearm at q3 = 0 (rad).
        reach: sign of k.
        bend: sign of ``k sin(beta)``.
    """

    theta: float
    l1: float
    psi1: float
    psi2: float
    way: float
    height: float
    rise: float
    l2: float
    phi: float
    reach: float
    bend: float

    def positions(self, end: Vec3) -> list[Position]:
        """Answer the positions of the joints: see `LegPositions`."""
        x, y = end[0], end[1]
        along = self.way * (end[2] - self.height) - self.rise
        kk = self.l2 * self.l2 - along * along
        k = self.reach * sqrt(kk)
        across = x * x + y * y
        kc = (across - kk - self.l1 * self.l1) * (0.5 / self.l1)
        ks = self.bend * sqrt(kk - kc * kc)
        a = kc + self.l1
        per_across, per_k = reciprocal(across), reciprocal(k)
        q1 = KnownAngle((x * a + y * ks) * per_across, (y * a - x * ks) * per_across, -self.psi1 - self.theta)
        q2 = KnownAngle(kc * per_k, ks * per_k, self.psi1 - self.psi2)
        q3 = KnownAngle(k * (1.0 / self.l2), along * (1.0 / self.l2), -self.phi)
        return [q1, q2 if self.way > 0.0 else -q2, q3]

    def beyond(self, end: Vec3) -> float:
        """Answer how far an end is from what the leg can reach: see `LegPositions`.

        The arm's end goes round a circle, and the forearm is as long as its nearest point is far, at least,
        and as its farthest one, at most.
        """
        x, y, z = end
        r, along = math.hypot(x, y), self.way * (z - self.height) - self.rise
        nearest, farthest = math.hypot(r - self.l1, along), math.hypot(r + self.l1, along)
        return max(nearest - self.l2, self.l2 - farthest, 0.0)


def revolute_universal(robot: Robot, point: Vec3, assembly: Sequence[float]) -> RevoluteUniversal | None:
    """Answer the closed form of a leg; None where it is no such leg.

    Args:
        robot: the leg.
        point: its end in the frame of the last body (m).
        assembly: joint positions on the branch that is wanted.
    """
    if [joint.sigma for joint in robot.joints] != [Sigma.REVOLUTE] * 3:
        return None
    first, second, third = robot.joints
    T_1_2, T_2_3 = joint_transform(second, 0.0), joint_transform(third, 0.0)
    u2, u3 = cleaned(mat3.column(T_1_2.R, 2)), cleaned(mat3.column(T_2_3.R, 2))
    end = apply(T_2_3, point)
    rise = T_2_3.p[2]
    forearm = (end[0], end[1], end[2] - rise)
    beside = T_2_3.p[0] * u3[1] - T_2_3.p[1] * u3[0]
    arm = T_1_2.p
    l1, l2 = math.hypot(arm[0], arm[1]), vec3.norm(forearm)
    errors = (math.hypot(u2[0], u2[1]), abs(u3[2]), abs(beside), abs(vec3.dot(forearm, u3)))
    if max(errors) > NEGLIGIBLE or min(l1, l2) <= NEGLIGIBLE:
        return None
    e = vec3.cross((0.0, 0.0, 1.0), u3)
    e_1 = cleaned(mat3.mul_vec(T_1_2.R, e))
    psi1, psi2 = math.atan2(arm[1], arm[0]), math.atan2(e_1[1], e_1[0])
    phi = math.atan2(forearm[2], vec3.dot(e, forearm))
    way = sign_of(u2[2])
    reach = sign_of(math.cos(assembly[2] + phi))
    bend = sign_of(reach * math.sin(psi2 - psi1 + way * assembly[1]))
    return RevoluteUniversal(first.mdh.theta, l1, psi1, psi2, way, arm[2], rise, l2, phi, reach, bend)
