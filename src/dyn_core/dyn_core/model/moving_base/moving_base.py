# SPDX-License-Identifier: Apache-2.0
"""A robot whose base moves (Khalil 2010, sec. 7)."""

from __future__ import annotations

from dataclasses import dataclass

from dyn_core.linalg.transform import Transform
from dyn_core.model.base_kind import BaseKind
from dyn_core.model.link_frame import LinkFrame
from dyn_core.model.standard_parameters import INERTIAL
from dyn_core.robot.links import InertialParameters
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.vec3 import Vec3


@dataclass(frozen=True)
class MovingBase:
    """A robot as a tree on its base, which moves in the world.

    Attributes:
        robot: the tree: body 0 is the base, and its root link the link of the base. What `Robot.gravity`
            has is the acceleration of gravity in the world (m/s^2).
        kind: how the base moves.
        T_world_plane: of a planar base, where its frame is while x, y and the angle are 0: in its xy-plane
            the base moves, and its origin is that of the link of the base.
        R_link_plane: the axes of that frame on those of the link of the base.
    """

    robot: Robot
    kind: BaseKind
    T_world_plane: Transform
    R_link_plane: Mat3

    @property
    def link(self) -> LinkFrame:
        """Frame of the link of the base."""
        return self.robot.link_frames[0]

    @property
    def freedom(self) -> int:
        """How many numbers a velocity of the base has: 6, or 3 of a planar base."""
        return 3 if self.kind == "planar" else 6

    @property
    def pose_size(self) -> int:
        """How many numbers a pose of the base has: position and quaternion, or x, y and the angle."""
        return 3 if self.kind == "planar" else 7

    @property
    def name(self) -> str:
        """Name of the robot."""
        return self.robot.name

    @property
    def gravity(self) -> Vec3:
        """Acceleration of gravity in the world (m/s^2)."""
        return self.robot.gravity

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the dynamic parameters: XX0 to M0 of the base, then 14 for each joint."""
        return (*(f"{name}0" for name in INERTIAL), *self.robot.parameter_names)

    @property
    def parameters(self) -> tuple[float, ...]:
        """Values of the dynamic parameters, in the order of their names (SI units)."""
        return (*self.robot.bodies[0].values, *self.robot.parameters)


def base_body(values: tuple[float, ...]) -> InertialParameters:
    """Answer the inertial parameters of a base, the first ones of `MovingBase.parameters`."""
    return InertialParameters(*values[: len(INERTIAL)])
