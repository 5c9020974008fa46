# SPDX-License-Identifier: Apache-2.0
"""Parallel robots as data: the platform and the legs that carry it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from dyn_core.algorithms.base_parameters.independent_columns import without_rounding
from dyn_core.robot.links import InertialParameters, in_frame
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, step, vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.scalar import KnownAngle, Scalar
from dyn_core.symbolic.step import X, Z, constant_rotation
from dyn_core.symbolic.transform import Transform, inverse
from dyn_core.symbolic.vec3 import Vec3

# Closed forms

Position: TypeAlias = Scalar | KnownAngle  # A length (m), or an angle given by its cosine and sine

NEGLIGIBLE = 1e-12  # Sine of an angle, or length compared to those of the leg, that counts as 0


@dataclass(frozen=True)
class LegPositions(ABC):
    """Closed form of the joint positions of a leg whose first joint is revolute, on one branch."""

    @abstractmethod
    def positions(self, end: Vec3) -> list[Position]:
        """Return the positions of the joints.

        `end`: centre of the cut joint relative to the origin of the first body, in the frame of that body
        before its joint turns (m).
        """

    @abstractmethod
    def beyond(self, end: Vec3) -> float:
        """Return the distance (m) of an end, as for `positions`, from the reach of the leg."""


def in_seat(robot: Robot, v: Vec3) -> Vec3:
    """Transform a vector from the axes of the root to those of the first body before its joint turns."""
    mdh = robot.joints[0].mdh
    rotations = (*constant_rotation(Z, mdh.gamma), *constant_rotation(X, mdh.alpha))
    return step.rotated(step.inverse(rotations), mat3.mul_vec(mat3.transpose(robot.T_root_0.R), v))


def first_origin(robot: Robot) -> Vec3:
    """Position (m) of the origin of the first body, about which it turns, in the frame of the root."""
    R, p = robot.T_root_0
    return cleaned(vec3.add(mat3.mul_vec(R, robot.joints[0].origin), p))


def cleaned(v: Sequence[float]) -> Vec3:
    """Return a vector; components that differ from 0, 1 or -1 by rounding only become exact."""
    x, y, z = (near if abs(a - (near := float(round(a)))) <= 1e-14 and abs(near) <= 1.0 else a for a in v)
    return (x + 0.0, y + 0.0, z + 0.0)


def sign_of(value: float) -> float:
    """Return 1 or -1."""
    return -1.0 if value < 0.0 else 1.0


# Legs


@dataclass(frozen=True)
class AxisPair:
    """An axis in the leg and one in the platform, with an angle that the cut joint keeps constant.

    The leg and the platform have the same angular velocity along the common normal. A universal joint
    keeps the angle of its axes; a revolute joint keeps the angles of its axis with two normals in the
    platform.
    """

    in_leg: Vec3  # unit vector in the frame of the leg's last body
    in_platform: Vec3  # unit vector in the frame of the platform's link
    cosine: float  # cosine of their angle


@dataclass(frozen=True)
class Leg:
    """A chain of joints from the base to a cut joint on the platform.

    The leg and the platform have common components of motion: the velocity of the centre of the cut joint, on
    the axes of the last body of the leg, then the angular velocities along the normals of pairs of axes.
    """

    name: str  # name of the cut joint
    bodies: tuple[int, ...]  # numbers of its joints and bodies in the tree, beginning at the base
    robot: Robot  # the leg alone, a robot with one chain
    point: Vec3  # centre of the cut joint in the frame of the last body (m)
    anchor: Vec3  # centre of the cut joint in the frame of the platform's link (m)
    pairs: tuple[AxisPair, ...]  # pairs of axes
    components: tuple[int, ...]  # indices of the common components that determine its motion
    actuated: tuple[int, ...]  # indices of the actuated joints in the leg
    closed_form: LegPositions | None  # closed form of the joint positions; None for iteration

    @property
    def in_common(self) -> range:
        """Indices of all common components of the leg and the platform."""
        return range(3 + len(self.pairs))


def leg_robot(robot: Robot, bodies: Sequence[int]) -> Robot:
    """Return one branch from the base as a robot with one chain."""
    joints = tuple(
        replace(robot.joints[j - 1], antecedent=before, mu=1, mimic=None) for before, j in enumerate(bodies)
    )
    number = {j: k for k, j in enumerate(bodies, start=1)}
    frames = (
        robot.link_frames[0],
        *(replace(f, body=number[f.body]) for f in robot.link_frames if f.body in number),
    )
    inertias = (InertialParameters(), *(robot.bodies[j] for j in bodies))
    return replace(robot, joints=joints, bodies=inertias, link_frames=frames, loops=(), assembly=())


@dataclass(frozen=True)
class ParallelRobot:
    """A platform and the legs that carry it.

    The mobility is on the axes of the root, with a row of six numbers for each degree of freedom.
    """

    robot: Robot  # the robot as a tree with loops
    platform: str  # name of the platform's link
    body: int  # number of the platform's body in the tree
    chain: tuple[int, ...]  # passive joints and bodies from the base to the platform, which is the last
    legs: tuple[Leg, ...]  # the legs, in the order of their joints in the tree
    mobility: tuple[tuple[float, ...], ...]  # constant basis of the platform's velocities [linear; angular]
    T_home: Transform  # placement of the platform's link in the frame of the root, near the assembly
    q_home: tuple[tuple[float, ...], ...]  # joint positions of the legs at `T_home` (rad or m)

    @property
    def actuated(self) -> tuple[tuple[int, int], ...]:
        """Index of the leg, and index in the leg, of each actuated joint, in tree order."""
        return tuple((i, k) for i, leg in enumerate(self.legs) for k in leg.actuated)

    @property
    def R_constant(self) -> Mat3 | None:
        """Rotation matrix of a platform that does not turn; None if it turns."""
        turns = any(value != 0.0 for column in self.mobility for value in column[3:])
        return None if turns else self.T_home.R

    @property
    def beside_mobility(self) -> tuple[tuple[float, ...], ...]:
        """Orthonormal rows that span the blocked motions of the platform."""
        directions = np.linalg.svd(np.array(self.mobility))[2][len(self.mobility) :]
        return tuple(map(tuple, without_rounding(directions).tolist()))

    @property
    def given_positions(self) -> tuple[int, ...]:
        """Numbers of the legs whose joint positions are found by iteration."""
        return tuple(i for i, leg in enumerate(self.legs) if leg.closed_form is None)

    def platform_inertia(self) -> InertialParameters:
        """Inertial parameters of the platform in the frame of its link."""
        frame = self.robot.link_frame(self.platform)
        return in_frame(inverse(frame.T_body_link), self.robot.bodies[self.body])

    def with_robot(self, robot: Robot) -> ParallelRobot:
        """Return the parallel robot with other dynamic parameters or another gravity."""
        legs = (replace(leg, robot=leg_robot(robot, leg.bodies)) for leg in self.legs)
        return replace(self, robot=robot, legs=tuple(legs))

    def with_gravity(self, gravity: Vec3) -> ParallelRobot:
        """Return the robot with another acceleration of gravity, on the axes of the root (m/s^2)."""
        return self.with_robot(replace(self.robot, gravity=gravity))

    def projected(self, wrench: tuple[Scalar, ...]) -> list[Scalar]:
        """Components along the mobility of a wrench [force; moment] about the origin of the platform."""
        found = []
        for column in self.mobility:
            total: Scalar = 0.0
            for factor, component in zip(column, wrench, strict=True):
                if factor != 0.0:
                    total = total + factor * component
            found.append(total)
        return found

    def expanded(self, components: list[Scalar]) -> list[Scalar]:
        """Motion [linear; angular] from its components along the mobility."""
        found: list[Scalar] = [0.0] * 6
        for column, component in zip(self.mobility, components, strict=True):
            found = [
                x if factor == 0.0 else x + factor * component
                for x, factor in zip(found, column, strict=True)
            ]
        return found
