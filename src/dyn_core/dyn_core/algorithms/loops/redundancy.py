# SPDX-License-Identifier: Apache-2.0
"""Reasons of redundant loop constraints: planar, spherical and overconstrained spatial loops."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

from dyn_core.algorithms.loops.constraints import ConstraintArrays, chain
from dyn_core.core.arrays import Array
from dyn_core.core.messages import Message
from dyn_core.robot.joint_coupling import joint_positions
from dyn_core.robot.joints import LoopType, Sigma
from dyn_core.robot.mdh.cut_frames import CutJoint
from dyn_core.robot.mdh.direct_geometry import placements_from
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.scalar import Scalars
from dyn_core.symbolic.vec3 import Vec3

# Redundant constraints (SYMORO+ 2003, sec. 1.5)
#
# The six constraints of a loop are independent if its axes are in general position. In a planar loop all
# axes are parallel; in a spherical loop they meet in one point. Both have three independent constraints.
# Other loops move although the number of their joints is too small for that.

ALMOST = 0.05  # Angle (rad), or fraction of the size of a loop, below which a deviation is a likely mistake
SPECIAL = 1e-9  # Sine, or fraction of the size of a loop, that counts as 0


class Redundancy(Enum):
    """Kind of a loop by the reason why some of its constraints are redundant."""

    NONE = "none"
    PLANAR = "planar"
    SPHERICAL = "spherical"
    SPATIAL = "spatial"

    @property
    def reason(self) -> str:
        """The reason as text."""
        return _REASONS[self.value]


_REASONS = {
    "none": "all independent",
    "planar": "a planar loop, all its axes are parallel",
    "spherical": "a spherical loop, all its axes go through one point",
    "spatial": "an overconstrained spatial loop, which moves by special dimensions alone",
}


@dataclass(frozen=True)
class Axes:
    """The axes of a loop in one configuration, in one frame."""

    turning: tuple[tuple[Vec3, Vec3], ...]  # direction and a point (m) of each axis of rotation
    sliding: tuple[Vec3, ...]  # directions of translation
    centres: tuple[Vec3, ...] = ()  # centres (m) of spherical joints

    def off_parallel(self) -> float:
        """Largest angle (rad) of the axes from those of a planar loop; 0 for a planar loop."""
        if not self.turning:
            return math.inf
        z, _ = self.turning[0]
        sines = [vec3.norm(vec3.cross(z, axis)) for axis, _ in self.turning]
        sines += [abs(vec3.dot(z, direction)) for direction in self.sliding]
        return math.asin(min(1.0, max(sines)))

    def off_point(self) -> float:
        """Largest distance (m) of the axes from the point nearest to all of them; infinite if any slides."""
        if self.sliding or not self.turning:
            return math.inf
        across = [np.eye(3) - np.outer(axis, axis) for axis, _ in self.turning]
        points = [np.array(point) for _, point in self.turning]
        rows = across + [np.eye(3)] * len(self.centres)
        values = [A @ p for A, p in zip(across, points, strict=True)] + [np.array(c) for c in self.centres]
        A, b = np.vstack(rows), np.concatenate(values)
        x = np.linalg.lstsq(A, b, rcond=None)[0]
        return float(np.abs(A @ x - b).max())


def axes_of_loop(robot: Robot, cut: CutJoint, kind: LoopType, q: Scalars) -> Axes:
    """Return the axes of a closed loop, in the frame of its cut joint on the parent's side."""
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
        turning.append((mat3.mul_vec(T[cut.C.body].R, mat3.column(cut.C.T_body_link.R, 2)), here))
    if kind in (LoopType.PRISMATIC, LoopType.CYLINDRICAL):
        sliding.append(z)
    if kind is LoopType.PLANAR:
        sliding += [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0)]
    centres = (here,) if kind is LoopType.SPHERICAL else ()
    return Axes(tuple(turning), tuple(sliding), centres)


def redundancy(axes: Axes, size: float, constraints: int, independent: int) -> Redundancy:
    """Return why some constraints of a cut joint are redundant, from the number of independent ones."""
    if independent == constraints:
        return Redundancy.NONE
    if axes.off_parallel() <= SPECIAL:
        return Redundancy.PLANAR
    if axes.off_point() <= SPECIAL * size:
        return Redundancy.SPHERICAL
    return Redundancy.SPATIAL


def almost_special(numbers: ConstraintArrays, q: Array) -> str:
    """Return a message on a loop that is almost, not exactly, planar or spherical; "" if there is none."""
    robot = numbers.robot
    positions = joint_positions(robot, q.tolist())
    for loop, cut in zip(robot.loops, numbers.cuts, strict=True):
        axes = axes_of_loop(robot, cut, loop.type, positions)
        angle, miss = axes.off_parallel(), axes.off_point()
        if SPECIAL < angle < ALMOST:
            return Message("loop-almost-planar", loop=loop.name, angle=angle)
        if SPECIAL * numbers.size < miss < ALMOST * numbers.size and angle > ALMOST:
            return Message("loop-almost-spherical", loop=loop.name, distance=miss)
    return ""
