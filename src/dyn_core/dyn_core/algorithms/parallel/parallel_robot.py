# SPDX-License-Identifier: Apache-2.0
"""A parallel robot, as data."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dyn_core.grouping.chosen import without_rounding
from dyn_core.linalg.transform import Transform, inverse
from dyn_core.parallel.leg import Leg
from dyn_core.parallel.leg_robot import leg_robot
from dyn_core.robot.links import InertialParameters, in_frame
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.vec3 import Vec3


@dataclass(frozen=True)
class ParallelRobot:
    """A platform and the legs that carry it.

    Attributes:
        robot: the robot as a tree with loops.
        platform: name of the link that is the platform.
        body: number of the platform's body in the tree.
        chain: numbers of the passive joints and bodies from the base to the platform, the platform's last.
        legs: the legs, in the order of their joints in the tree.
        mobility: columns of a constant basis of the platform's velocities [linear; angular] on the axes of
            the root, as rows of six numbers; as many as there are degrees of freedom.
        T_home: placement of the platform's link in the frame of the root, near the assembly.
        q_home: joint positions of the legs that belong to it (rad or m).
    """

    robot: Robot
    platform: str
    body: int
    chain: tuple[int, ...]
    legs: tuple[Leg, ...]
    mobility: tuple[tuple[float, ...], ...]
    T_home: Transform
    q_home: tuple[tuple[float, ...], ...]

    @property
    def actuated(self) -> tuple[tuple[int, int], ...]:
        """Leg and place in the leg of each actuated joint, in tree order."""
        return tuple((i, k) for i, leg in enumerate(self.legs) for k in leg.actuated)

    @property
    def R_constant(self) -> Mat3 | None:
        """Rotation matrix of a platform that does not turn; None of one that does."""
        turns = any(value != 0.0 for column in self.mobility for value in column[3:])
        return None if turns else self.T_home.R

    @property
    def beside_mobility(self) -> tuple[tuple[float, ...], ...]:
        """Orthonormal rows that span what the platform cannot do."""
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
        """Answer the same robot with other dynamic parameters or another gravity."""
        legs = (replace(leg, robot=leg_robot(robot, leg.bodies)) for leg in self.legs)
        return replace(self, robot=robot, legs=tuple(legs))

    def with_gravity(self, gravity: Vec3) -> ParallelRobot:
        """Answer the same robot under another acceleration of gravity, on the axes of the root (m/s^2)."""
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
