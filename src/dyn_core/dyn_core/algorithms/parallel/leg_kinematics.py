# SPDX-License-Identifier: Apache-2.0
"""Velocities and accelerations of a leg that follows the platform (Khalil-Guegan 2004, eqs. (5) to (19))."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dyn_core.algorithms.link_motion import AT_REST, link_motions
from dyn_core.geometry.joint_placement import JointPlacement, joint_placement
from dyn_core.kinematics.link_velocity import moved_along
from dyn_core.linalg.dot import dot
from dyn_core.parallel.leg import AxisPair, Leg
from dyn_core.parallel.platform_motion import PlatformMotion
from dyn_core.symbolic import elimination, mat3, screw, step, vec3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.screw import Screw
from dyn_core.symbolic.step import Step
from dyn_core.symbolic.vec3 import Vec3

UNITS: tuple[Vec3, ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


Direction = tuple[Vec3, Vec3]
"""A linear and an angular direction."""


class LegState(NamedTuple):
    """Where a leg is, and how its motion and that of the platform are connected.

    Attributes:
        leg: the leg.
        q: its joint positions (rad or m).
        placements: placements of its joints.
        steps: the steps from frame 0 to the frame of the last body.
        axes: by joint, the motion of the last body that it makes at unit speed, about the centre of
            the cut joint, on the axes of the last body.
        L: the centre of the cut joint from the origin of the platform, on the axes of the root (m).
        common: by component that determines the leg, its linear and angular direction on the axes of the
            last body.
        inverse: inverse of the Jacobian of the leg, from these components to joint velocities.
    """

    leg: Leg
    q: Sequence[Scalar]
    placements: tuple[JointPlacement, ...]
    steps: tuple[Step, ...]
    axes: tuple[Screw, ...]
    L: Vec3
    common: tuple[Direction, ...]
    inverse: list[list[Scalar]]

    def to_last(self, v: Vec3) -> Vec3:
        """Components on the axes of the last body of a vector on the axes of the root."""
        R_0_root = mat3.transpose(self.leg.robot.T_root_0.R)
        return step.rotated(step.inverse(self.steps), mat3.mul_vec(R_0_root, v))

    def to_root(self, v: Vec3) -> Vec3:
        """Components on the axes of the root of a vector on the axes of the last body."""
        return mat3.mul_vec(self.leg.robot.T_root_0.R, step.rotated(self.steps, v))

    def joint_values(self, linear: Vec3, angular: Vec3) -> list[Scalar]:
        """Joint velocities by the motion of the cut joint's centre on the axes of the last body, eq. (14)."""
        given = [vec3.dot(v, linear) + vec3.dot(n, angular) for v, n in self.common]
        return [dot(row, given) for row in self.inverse]

    def wrench(self, H: Sequence[Scalar]) -> tuple[Vec3, Vec3]:
        """Force and moment at the centre of the cut joint that joint torques H make, eq. (22).

        Both are on the axes of the last body.
        """
        parts = [dot(column, H) for column in zip(*self.inverse, strict=True)]
        force, moment = vec3.ZERO, vec3.ZERO
        for part, (linear, angular) in zip(parts, self.common, strict=True):
            force = vec3.add(force, vec3.scale(part, linear))
            moment = vec3.add(moment, vec3.scale(part, angular))
        return force, moment


def leg_state(leg: Leg, motion: PlatformMotion, q: Sequence[Scalar]) -> LegState:
    """Answer where a leg is.

    Args:
        leg: the leg.
        motion: placement of the platform.
        q: the joint positions of the leg that belong to it (rad or m).
    """
    placements = tuple(joint_placement(joint, q_j) for joint, q_j in zip(leg.robot.joints, q, strict=True))
    steps = tuple(s for placement in placements for s in placement.steps)
    axes: list[Screw] = []
    for joint, placement in zip(leg.robot.joints, placements, strict=True):
        axes = [screw.over(placement.steps, a) for a in axes]
        axes.append(moved_along(joint.sigma, screw.ZERO, 1.0))
    at_point = tuple(Screw(vec3.add(a.linear, vec3.cross(a.angular, leg.point)), a.angular) for a in axes)
    L = mat3.mul_vec(motion.R, leg.anchor)
    state = LegState(leg, q, placements, steps, at_point, L, (), [])
    common = tuple(common_component(state, motion, k) for k in leg.components)
    return state._replace(common=common, inverse=elimination.inverse(leg_jacobian(state, common)))


def leg_jacobian(state: LegState, components: Sequence[Direction]) -> list[list[Scalar]]:
    """Components of common motion by the velocities of the joints: Khalil-Guegan 2004, eq. (15)."""
    return [[vec3.dot(v, a.linear) + vec3.dot(n, a.angular) for a in state.axes] for v, n in components]


def platform_jacobian(state: LegState, components: Sequence[Direction]) -> list[list[Scalar]]:
    """Components of common motion by the velocity of the platform on the axes of the root: eq. (65)."""
    rows = []
    for linear, angular in components:
        force = state.to_root(linear)
        rows.append([*force, *vec3.add(vec3.cross(state.L, force), state.to_root(angular))])
    return rows


def common_component(state: LegState, motion: PlatformMotion, k: int) -> Direction:
    """Linear and angular direction of a component of common motion, on the axes of the last body."""
    if k < 3:
        return UNITS[k], vec3.ZERO
    pair = state.leg.pairs[k - 3]
    return vec3.ZERO, vec3.cross(pair.in_leg, state.to_last(mat3.mul_vec(motion.R, pair.in_platform)))


def leg_velocities(state: LegState, motion: PlatformMotion) -> list[Scalar]:
    """Joint velocities of a leg (rad/s or m/s): Khalil-Guegan 2004, eqs. (5) and (14)."""
    v = vec3.add(motion.v, vec3.cross(motion.w, state.L))  # (5)
    return state.joint_values(state.to_last(v), _angular(state, motion.w))


def leg_accelerations(state: LegState, motion: PlatformMotion, qd: Sequence[Scalar]) -> list[Scalar]:
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


def _angular(state: LegState, w: Vec3) -> Vec3:
    """An angular velocity on the axes of the last body, where a component of the leg needs it."""
    return vec3.ZERO if all(k < 3 for k in state.leg.components) else state.to_last(w)
