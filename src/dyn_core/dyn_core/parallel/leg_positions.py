# SPDX-License-Identifier: Apache-2.0
"""Joint positions of a leg from where its end is, in closed form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dyn_core.linalg.known_angle import KnownAngle
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, step, vec3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.step import X, Z, constant_rotation
from dyn_core.symbolic.vec3 import Vec3

Position: TypeAlias = Scalar | KnownAngle
"""A length (m), or an angle of which the cosine and the sine are known."""

NEGLIGIBLE = 1e-12
"""What is 0 of the sine of an angle, or of a length compared to those of the leg."""


@dataclass(frozen=True)
class LegPositions(ABC):
    """The joint positions of a leg whose first joint is revolute, on the branch of one configuration."""

    @abstractmethod
    def positions(self, end: Vec3) -> list[Position]:
        """Answer the positions of the joints.

        Args:
            end: centre of the cut joint from the origin of the first body, in the frame of that body
                before it turns (m).
        """

    @abstractmethod
    def beyond(self, end: Vec3) -> float:
        """Answer how far an end, as for `positions`, is from what the leg can reach (m)."""


def in_seat(robot: Robot, v: Vec3) -> Vec3:
    """Components in the frame of the first body, before it turns, of a vector on the axes of the root."""
    mdh = robot.joints[0].mdh
    rotations = (*constant_rotation(Z, mdh.gamma), *constant_rotation(X, mdh.alpha))
    return step.rotated(step.inverse(rotations), mat3.mul_vec(mat3.transpose(robot.T_root_0.R), v))


def first_origin(robot: Robot) -> Vec3:
    """Position of the origin of the first body, which turns about it, in the frame of the root (m)."""
    R, p = robot.T_root_0
    return cleaned(vec3.add(mat3.mul_vec(R, robot.joints[0].origin), p))


def cleaned(v: Sequence[float]) -> Vec3:
    """Answer a vector in which what is 0, 1 or -1 up to rounding is so exactly."""
    x, y, z = (near if abs(a - (near := float(round(a)))) <= 1e-14 and abs(near) <= 1.0 else a for a in v)
    return (x + 0.0, y + 0.0, z + 0.0)


def sign_of(value: float) -> float:
    """Answer 1 or -1."""
    return -1.0 if value < 0.0 else 1.0
