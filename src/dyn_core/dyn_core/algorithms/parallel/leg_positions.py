# SPDX-License-Identifier: Apache-2.0
"""Joint positions of a leg for a placement of the platform, in closed form or by iteration.

Closed forms exist for an arm and a forearm on a universal joint (delta robot), and for a universal and a
prismatic joint (Gough-Stewart robot).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dyn_core.algorithms.parallel.leg_kinematics import (
    PlatformMotion,
    common_component,
    leg_jacobian,
    leg_state,
    platform_jacobian,
    platform_motion,
)
from dyn_core.algorithms.parallel.parallel_robot import (
    NEGLIGIBLE,
    Leg,
    LegPositions,
    ParallelRobot,
    Position,
    cleaned,
    first_origin,
    in_seat,
    sign_of,
)
from dyn_core.core.errors import DynError
from dyn_core.robot.joints import Sigma
from dyn_core.robot.mdh.direct_geometry import body_placements, joint_transform
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.scalar import KnownAngle, Scalars, reciprocal, sqrt
from dyn_core.symbolic.transform import apply
from dyn_core.symbolic.vec3 import Vec3


def closed_form(robot: Robot, point: Vec3, assembly: Sequence[float]) -> LegPositions | None:
    """Return the closed form of the joint positions of a leg from its end point; None if it has none.

    `point`: its end in the frame of the last body (m); `assembly`: joint positions on the branch to use.
    """
    return universal_prismatic(robot, point, assembly) or revolute_universal(robot, point, assembly)


def end_in_seat(leg: Leg, motion: PlatformMotion) -> Vec3:
    """End of a leg on the platform (m), in the frame that the closed form uses."""
    L = mat3.mul_vec(motion.R, leg.anchor)
    return in_seat(leg.robot, vec3.add(vec3.sub(L, first_origin(leg.robot)), motion.p))


def given_or_closed(leg: Leg, motion: PlatformMotion, given: Scalars) -> Sequence[Position]:
    """Joint positions of a leg: from its closed form, or the given ones if it has none."""
    return leg.closed_form.positions(end_in_seat(leg, motion)) if leg.closed_form else given


# Legs of an arm and a forearm on a universal joint (delta robot)


@dataclass(frozen=True)
class RevoluteUniversal(LegPositions):
    """Two parallel revolute axes, and a third one that intersects the second at a right angle.

    Relative to this intersection, the end is at ``l2 (cos(q3 + phi) e + sin(q3 + phi) u)``, with u along the
    second axis and e normal to the second and third axes. In the plane normal to the first axis, as complex
    numbers, it is at ``exp(i (t1 + psi1)) (l1 + k exp(i beta))``, with ``k = l2 cos(q3 + phi)``,
    ``t1 = q1 + theta`` and ``beta = psi2 - psi1 + way q2``.
    """

    theta: float  # theta of the first joint at q = 0 (rad)
    l1: float  # distance of the first two axes (m)
    psi1: float  # angle of the arm in the first body (rad)
    psi2: float  # angle of e in the first body at q2 = 0 (rad)
    way: float  # 1 if the second axis has the direction of the first, -1 if it has the opposite direction
    height: float  # position of the second body's origin along the first axis (m)
    rise: float  # position of the intersection along the second axis (m)
    l2: float  # length of the forearm (m)
    phi: float  # angle of the forearm at q3 = 0 (rad)
    reach: float  # sign of k
    bend: float  # sign of ``k sin(beta)``

    def positions(self, end: Vec3) -> list[Position]:
        """Return the positions of the joints: see `LegPositions`."""
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
        """Return the distance of an end from the reach of the leg: see `LegPositions`.

        The arm's end moves on a circle. The end is in reach if the length of the forearm is between its
        distances from the nearest and the farthest point of the circle.
        """
        x, y, z = end
        r, along = math.hypot(x, y), self.way * (z - self.height) - self.rise
        nearest, farthest = math.hypot(r - self.l1, along), math.hypot(r + self.l1, along)
        return max(nearest - self.l2, self.l2 - farthest, 0.0)


def revolute_universal(robot: Robot, point: Vec3, assembly: Sequence[float]) -> RevoluteUniversal | None:
    """Return the closed form of a leg as `closed_form` does; None if it is not of this kind."""
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


# Legs of a universal and a prismatic joint (Gough-Stewart robot, Khalil-Guegan 2004)


@dataclass(frozen=True)
class UniversalPrismatic(LegPositions):
    """Two revolute axes that intersect at a right angle, and a slide through the intersection.

    Relative to the intersection, the end is at ``l (cos(q2 + phi) z + sin(q2 + phi) e)``, turned by q1 about
    the first axis z, with the length ``l = q3 + l0`` and a direction e that is normal to both axes.
    """

    theta: float  # theta of the first joint at q = 0 (rad)
    height: float  # position of the intersection along the first axis (m)
    psi: float  # angle of e about the first axis (rad)
    phi: float  # angle from the first axis to the slide at q2 = 0 (rad)
    l0: float  # length at q3 = 0 (m)
    side: float  # sign of ``l sin(q2 + phi)``
    way: float  # sign of l

    def positions(self, end: Vec3) -> list[Position]:
        """Return the positions of the joints: see `LegPositions`."""
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
        """Return 0: the length of the slide is not limited."""
        return 0.0


def universal_prismatic(robot: Robot, point: Vec3, assembly: Sequence[float]) -> UniversalPrismatic | None:
    """Return the closed form of a leg as `closed_form` does; None if it is not of this kind."""
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


# Joint positions by iteration

CLOSED = 1e-12  # Largest remaining distance (m), or error of a cosine, of a closed leg
ITERATIONS = 60
LONGEST_STEP = 0.3


def gaps(leg: Leg, motion: PlatformMotion, q: Sequence[float]) -> list[float]:
    """Errors between a leg and the platform: positions on the axes of the last body (m), then cosines."""
    T = body_placements(leg.robot, q)[-1]
    p = vec3.add(motion.p, mat3.mul_vec(motion.R, leg.anchor))
    apart = mat3.mul_vec(mat3.transpose(T.R), vec3.sub(apply(T, leg.point), p))
    turned = (
        vec3.dot(mat3.mul_vec(T.R, pair.in_leg), mat3.mul_vec(motion.R, pair.in_platform)) - pair.cosine
        for pair in leg.pairs
    )
    return [*apart, *turned]


def jacobians(leg: Leg, motion: PlatformMotion, q: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Jacobians of all common components, for the joint velocities and for the platform velocity."""
    state = leg_state(replace(leg, components=()), motion, q)
    components = [common_component(state, motion, k) for k in leg.in_common]
    return np.array(leg_jacobian(state, components)), np.array(platform_jacobian(state, components))


def closed_leg(leg: Leg, motion: PlatformMotion, guess: Sequence[float]) -> list[float]:
    """Return the joint positions of a leg that reaches the platform, by Newton's method from a guess."""
    q = np.array(guess, dtype=float)
    components = list(leg.components)
    for _ in range(ITERATIONS):
        missing = np.array(gaps(leg, motion, q.tolist()))
        if not np.all(np.isfinite(missing)):
            break
        J = jacobians(leg, motion, q.tolist())[0][components]
        step = np.linalg.lstsq(J, -missing[components], rcond=None)[0]
        largest = float(np.max(np.abs(step)))
        rounding = 1e-15 * max(1.0, float(np.max(np.abs(q))))
        if largest <= rounding or np.max(np.abs(missing[components])) <= 1e-15:
            break
        q += step * min(1.0, LONGEST_STEP / largest)
    missing = np.array(gaps(leg, motion, q.tolist()))
    if not np.max(np.abs(missing)) <= CLOSED:
        raise unreachable_error(leg, motion, float(np.max(np.abs(missing))))
    return [float(x) for x in q]


def unreachable_error(leg: Leg, motion: PlatformMotion, left: float) -> DynError:
    """Return the error for a leg that does not reach the platform, with the remainder (m, or a cosine)."""
    position = f"({', '.join(f'{x:.4g}' for x in motion.p)})"
    return DynError(
        "leg-out-of-reach", leg=leg.name, position=position, gap=left, element=f"loop '{leg.name}'"
    )


REST = (0.0,) * 6


def refuse_unreachable(robot: ParallelRobot, T: Sequence[float]) -> None:
    """Raise DynError if a leg with a closed form does not reach the platform at 16 entries T, by rows."""
    motion = platform_motion(T, REST, REST, robot.R_constant)
    for leg in robot.legs:
        left = leg.closed_form.beyond(end_in_seat(leg, motion)) if leg.closed_form else 0.0
        if left > CLOSED:
            raise unreachable_error(leg, motion, left)
