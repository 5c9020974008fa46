# SPDX-License-Identifier: Apache-2.0
"""Motion of the platform and of the legs that follow it (Khalil-Guegan 2004, eqs. (5) to (19))."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dyn_core.algorithms.link_motion import AT_REST, AXIS, link_motions
from dyn_core.algorithms.parallel.parallel_robot import AxisPair, Leg
from dyn_core.robot.mdh.direct_geometry import JointPlacement, joint_placements
from dyn_core.symbolic import elimination, mat3, screw, step, vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.scalar import Scalar, Scalars, dot
from dyn_core.symbolic.screw import Screw
from dyn_core.symbolic.step import Step
from dyn_core.symbolic.transform import Transform
from dyn_core.symbolic.vec3 import Vec3

# Motion of the platform, on the axes of the root link


class PlatformMotion(NamedTuple):
    """Motion of the frame of the platform's link in that of the root link."""

    R: Mat3  # rotation matrix
    p: Vec3  # position of the origin (m)
    v: Vec3  # velocity of the origin (m/s)
    w: Vec3  # angular velocity (rad/s)
    vd: Vec3  # acceleration of the origin (m/s^2)
    wd: Vec3  # angular acceleration (rad/s^2)
    U: Mat3  # ``skew(wd) + skew(w) skew(w)`` (1/s^2)


def platform_motion(T: Scalars, V: Scalars, Vd: Scalars, R_constant: Mat3 | None) -> PlatformMotion:
    """Return the motion of a platform from the 16 entries T by rows, V and Vd [linear; angular].

    `R_constant` is the rotation matrix of a platform that does not turn, else None.
    """
    R = R_constant or ((T[0], T[1], T[2]), (T[4], T[5], T[6]), (T[8], T[9], T[10]))
    w: Vec3 = vec3.ZERO if R_constant else (V[3], V[4], V[5])
    wd: Vec3 = vec3.ZERO if R_constant else (Vd[3], Vd[4], Vd[5])
    U = mat3.add(mat3.skew(wd), mat3.skew_squared(w))
    return PlatformMotion(R, (T[3], T[7], T[11]), (V[0], V[1], V[2]), w, (Vd[0], Vd[1], Vd[2]), wd, U)


def placement_entries(T: Transform) -> list[Scalar]:
    """The 16 entries of the 4 x 4 matrix of a placement, by rows."""
    R, p = T
    return [*R[0], p[0], *R[1], p[1], *R[2], p[2], 0.0, 0.0, 0.0, 1.0]


# Velocities and accelerations of a leg

Direction = tuple[Vec3, Vec3]  # A linear and an angular direction


class LegState(NamedTuple):
    """Configuration of a leg, and the relation of its motion to that of the platform.

    The axes and common directions are on the axes of the last body; the centre is that of the cut joint.
    """

    leg: Leg  # the leg
    q: Scalars  # its joint positions (rad or m)
    placements: tuple[JointPlacement, ...]  # placements of its joints
    steps: tuple[Step, ...]  # the steps from frame 0 to the frame of the last body
    axes: tuple[Screw, ...]  # motion of the last body at unit speed of each joint, at the centre
    L: Vec3  # centre of the cut joint relative to the origin of the platform, on the axes of the root (m)
    common: tuple[Direction, ...]  # directions of the components that determine the leg
    inverse: list[list[Scalar]]  # inverse of the Jacobian of the leg, from components to joint velocities

    def to_last(self, v: Vec3) -> Vec3:
        """Transform a vector from the axes of the root to those of the last body."""
        R_0_root = mat3.transpose(self.leg.robot.T_root_0.R)
        return step.rotated(step.inverse(self.steps), mat3.mul_vec(R_0_root, v))

    def to_root(self, v: Vec3) -> Vec3:
        """Transform a vector from the axes of the last body to those of the root."""
        return mat3.mul_vec(self.leg.robot.T_root_0.R, step.rotated(self.steps, v))

    def joint_values(self, linear: Vec3, angular: Vec3) -> list[Scalar]:
        """Joint velocities from the motion of the cut joint's centre, on the last body's axes: eq. (14)."""
        given = [vec3.dot(v, linear) + vec3.dot(n, angular) for v, n in self.common]
        return [dot(row, given) for row in self.inverse]

    def wrench(self, H: Scalars) -> tuple[Vec3, Vec3]:
        """Force and moment of joint torques H at the cut joint's centre, on the last body's axes: (22)."""
        parts = [dot(column, H) for column in zip(*self.inverse, strict=True)]
        force, moment = vec3.ZERO, vec3.ZERO
        for part, (linear, angular) in zip(parts, self.common, strict=True):
            force = vec3.add(force, vec3.scale(part, linear))
            moment = vec3.add(moment, vec3.scale(part, angular))
        return force, moment


def leg_state(leg: Leg, motion: PlatformMotion, q: Scalars) -> LegState:
    """Return the state of a leg at a placement of the platform and joint positions (rad or m)."""
    placements = tuple(joint_placements(leg.robot, q))
    steps = tuple(s for placement in placements for s in placement.steps)
    axes: list[Screw] = []
    for joint, placement in zip(leg.robot.joints, placements, strict=True):
        axes = [screw.over(placement.steps, a) for a in axes]
        axes.append(AXIS[joint.sigma])
    at_point = tuple(Screw(vec3.add(a.linear, vec3.cross(a.angular, leg.point)), a.angular) for a in axes)
    L = mat3.mul_vec(motion.R, leg.anchor)
    state = LegState(leg, q, placements, steps, at_point, L, (), [])
    common = tuple(common_component(state, motion, k) for k in leg.components)
    return state._replace(common=common, inverse=elimination.inverse(leg_jacobian(state, common)))


def leg_jacobian(state: LegState, components: Sequence[Direction]) -> list[list[Scalar]]:
    """Matrix of the common components for the joint velocities: Khalil-Guegan 2004, eq. (15)."""
    return [[vec3.dot(v, a.linear) + vec3.dot(n, a.angular) for a in state.axes] for v, n in components]


def platform_jacobian(state: LegState, components: Sequence[Direction]) -> list[list[Scalar]]:
    """Matrix of the common components for the platform velocity on the axes of the root: eq. (65)."""
    rows = []
    for linear, angular in components:
        force = state.to_root(linear)
        rows.append([*force, *vec3.add(vec3.cross(state.L, force), state.to_root(angular))])
    return rows


def common_component(state: LegState, motion: PlatformMotion, k: int) -> Direction:
    """Linear and angular direction of a common component, on the axes of the last body."""
    if k < 3:
        return mat3.IDENTITY[k], vec3.ZERO
    pair = state.leg.pairs[k - 3]
    return vec3.ZERO, vec3.cross(pair.in_leg, state.to_last(mat3.mul_vec(motion.R, pair.in_platform)))


def leg_velocities(state: LegState, motion: PlatformMotion) -> list[Scalar]:
    """Joint velocities of a leg (rad/s or m/s): Khalil-Guegan 2004, eqs. (5) and (14)."""
    v = vec3.add(motion.v, vec3.cross(motion.w, state.L))  # (5)
    by_point = all(k < 3 for k in state.leg.components)  # no component depends on the angular velocity
    return state.joint_values(state.to_last(v), vec3.ZERO if by_point else state.to_last(motion.w))


def leg_accelerations(state: LegState, motion: PlatformMotion, qd: Scalars) -> list[Scalar]:
    """Joint accelerations of a leg (rad/s^2 or m/s^2): Khalil-Guegan 2004, eqs. (6) and (18)."""
    vd = vec3.add(motion.vd, mat3.mul_vec(motion.U, state.L))  # (6)
    leg = state.leg
    still = link_motions(leg.robot, state.placements, qd, [0.0] * len(qd), AT_REST)[-1]
    bias = vec3.add(still.vd, mat3.mul_vec(still.U, leg.point))
    linear = vec3.sub(state.to_last(vd), bias)
    if all(k < 3 for k in leg.components):
        return state.joint_values(linear, vec3.ZERO)
    wd = state.to_last(motion.wd)
    w = state.to_last(motion.w)
    given = []
    for k, (v, n) in zip(leg.components, state.common, strict=True):
        if k < 3:
            given.append(vec3.dot(v, linear))
        else:
            turning = _normal_rate(state, leg.pairs[k - 3], still.w, w, motion)
            along = vec3.dot(n, vec3.sub(wd, still.wd))
            given.append(along - vec3.dot(turning, vec3.sub(still.w, w)))
    return [dot(row, given) for row in state.inverse]


def _normal_rate(state: LegState, pair: AxisPair, w_leg: Vec3, w: Vec3, motion: PlatformMotion) -> Vec3:
    """Rate of the normal of a pair of axes, on the axes of the last body."""
    in_platform = state.to_last(mat3.mul_vec(motion.R, pair.in_platform))
    by_leg = vec3.cross(vec3.cross(w_leg, pair.in_leg), in_platform)
    return vec3.add(by_leg, vec3.cross(pair.in_leg, vec3.cross(w, in_platform)))
