# SPDX-License-Identifier: Apache-2.0
"""Vectors of one body on the axes of any frame."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dyn_core.geometry.path import steps_between
from dyn_core.model.link_frame import LinkFrame
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.step import rotated
from dyn_core.symbolic.vec3 import Vec3


def expressed(
    robot: Robot, q: Sequence[Scalar], vectors: Iterable[Vec3], body: int, frame: LinkFrame
) -> list[Vec3]:
    """Components on the axes of a frame of vectors given on the axes of a body's frame.

    Args:
        robot: the robot.
        q: n joint positions (rad or m).
        vectors: the vectors.
        body: index of the body; 0 is the base.
        frame: the frame.
    """
    steps = steps_between(robot, q, frame.body, body)
    R_frame_body = mat3.transpose(frame.T_body_link.R)
    return [mat3.mul_vec(R_frame_body, rotated(steps, v)) for v in vectors]
