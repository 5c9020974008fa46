# SPDX-License-Identifier: Apache-2.0
"""Why constraints of a loop say nothing new: which special place the axes of the loop are in.

Six constraints of a loop are independent where its axes lie anyhow. Where all axes are parallel the loop
is planar, and three of the six hold by themselves; where all go through one point it is spherical, and
the same three are left (SYMORO+ 2003, sec. 1.5). Others move against the count of their joints, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from dyn_core.algorithms.loops.constraints import chain
from dyn_core.geometry.forward import placements_from
from dyn_core.linalg.transform import Transform
from dyn_core.loops.numbers import Array, Numbers
from dyn_core.model.loop import LoopType
from dyn_core.robot.joint_coupling import joint_positions
from dyn_core.robot.joints import Sigma
from dyn_core.robot.mdh.cut_frames import CutJoint
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.vec3 import Vec3

ALMOST = 0.05
"""Angle (rad), or part of the size of a loop, that looks like a mistake if it is not 0."""

SPECIAL = 1e-9
"""Sine, or part of the size of a loop, that is no difference."""


class Redundancy(Enum):
    """Kind of a loop of which not all constraints are independent."""

    NONE = "none"
    PLANAR = "planar"
    SPHERICAL = "spherical"
    SPATIAL = "spatial"

    @property
    def reason(self) -> str:
        """In words, why constraints are redundant."""
        return {
            Redundancy.NONE: "all independent",
            Redundancy.PLANAR: "a planar loop, all its axes are parallel",
            Redundancy.SPHERICAL: "a spherical loop, all its axes go through one point",
            Redundancy.SPATIAL: "an overconstrained spatial loop, which moves by special dimensions alone",
        }[self]


@dataclass(frozen=True)
class Axes:
    """The axes of a loop in one configuration, in one frame.

    Attributes:
        turning: direction and a point (m) of each axis that something turns about.
        sliding: directions along which something slides.
        centres: points (m) about which something turns freely.
    """

    turning: tuple[tuple[Vec3, Vec3], ...]
    sliding: tuple[Vec3, ...]
    centres: tuple[Vec3, ...] = ()

    def off_parallel(self) -> float:
        """By how much (rad) the axes are not those of one plane; 0 where that is planar."""
        if not self.turning:
            return math.inf
        z, _ = self.turning[0]
        sines = [vec3.norm(vec3.cross(z, axis)) for axis, _ in self.turning]
        sines += [abs(vec3.dot(z, direction)) for direction in self.sliding]
        return math.asin(min(1.0, max(sines)))

    def off_point(self) -> float:
        """By how much (m) the axes miss the point that is nearest to all of them; infinite if any slides."""
        if self.sliding or not self.turning:
            return math.inf
        across = [np.eye(3) - np.outer(axis, axis) for axis, _ in self.turning]
        points = [np.array(point) for _, point in self.turning]
        rows = across + [np.eye(3)] * len(self.centres)
        values = [A @ p for A, p in zip(across, points, strict=True)] + [np.array(c) for c in self.centres]
        A, b = np.vstack(rows), np.concatenate(values)
        x = np.linalg.lstsq(A, b, rcond=None)[0]
        return float(np.abs(A @ x - b).max())


def axes_of_loop(robot: Robot, cut: CutJoint, kind: LoopType, q: Sequence[Scalar]) -> Axes:
    """Answer the axes of a loop, in the frame of its cut joint on the parent's side.

    Args:
        robot: the robot.
        cut: the cut joint.
        kind: its type.
        q: n joint positions (rad or m), which close the loop.
    """
    T = placements_from(robot, q, cut.P, (*chain(robot, cut).joints, cut.C.body))
    turning, sliding = [], []
    for j in chain(robot, cut).joints:
        axis = mat3.column(T[j].R, 2)
        if robot.joints[j - 1].sigma is Sigma.REVOLUTE:
            turning.append((axis, T[j].p))
        else:
            sliding.append(axis)
    here, z = vec3.ZERO, (0.0, 0.0, 1.0)
    if kind in (LoopType.REVOLUTE, LoopType.CYLINDRICAL, LoopType.UNIVERSAL, LoopType.PLANAR):
        turning.append((z, here))
    if kind is LoopType.UNIVERSAL:
        turning.append((mat3.mul_vec(T[cut.C.body].R, _z(cut.C.T_body_link)), here))
    if kind in (LoopType.PRISMATIC, LoopType.CYLINDRICAL):
        sliding.append(z)
    if kind is LoopType.PLANAR:
        sliding += [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0)]
    centres = (here,) if kind is LoopType.SPHERICAL else ()
    return Axes(tuple(turning), tuple(sliding), centres)


def _z(T: Transform) -> Vec3:
    return mat3.column(T.R, 2)


def redundancy(axes: Axes, size: float, constraints: int, independent: int) -> Redundancy:
    """Answer what kind of loop has so many constraints, of which so many are independent.

    Args:
        axes: its axes where it is closed.
        size: size of the loop (m).
        constraints: number of constraints of its cut joint.
        independent: how many of them are independent.
    """
    if independent == constraints:
        return Redundancy.NONE
    if axes.off_parallel() <= SPECIAL:
        return Redundancy.PLANAR
    if axes.off_point() <= SPECIAL * size:
        return Redundancy.SPHERICAL
    return Redundancy.SPATIAL


def almost_special(numbers: Numbers, q: Array) -> str:
    """Answer in words which loop is almost planar or spherical but not quite, and what that does; often "".

    Args:
        numbers: the constraints.
        q: (independent joints,) positions (rad or m).
    """
    robot = numbers.robot
    positions = joint_positions(robot, q.tolist())
    for loop, cut in zip(robot.loops, numbers.cuts, strict=True):
        axes = axes_of_loop(robot, cut, loop.type, positions)
        angle, miss = axes.off_parallel(), axes.off_point()
        if SPECIAL < angle < ALMOST:
            return (
                f"; the axes of loop '{loop.name}' are up to {angle:.2g} rad from those of a planar loop, "
                "which blocks its motion: make them exactly parallel"
            )
        if SPECIAL * numbers.size < miss < ALMOST * numbers.size and angle > ALMOST:
            return (
                f"; the axes of loop '{loop.name}' miss the centre of a spherical one by up to {miss:.2g} m, "
                "which blocks its motion: let them meet in one point"
            )
    return ""
