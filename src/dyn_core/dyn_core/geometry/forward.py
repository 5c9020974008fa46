# SPDX-License-Identifier: Apache-2.0
"""Direct geometric model: where every body is (SYMORO+ 2003, eq. (1.9))."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.geometry.joint_transform import joint_transform
from dyn_core.linalg.scalar import Scalar
from dyn_core.linalg.transform import Transform, compose
from dyn_core.model.robot import Robot


def body_placements(robot: Robot, q: Sequence[Scalar]) -> list[Transform]:
    """Placements T_root_j of the frames 0 to n in the frame of the root link.

    Args:
        robot: the robot.
        q: n joint positions (rad or m).
    """
    T_root = [robot.T_root_0]
    for joint, q_j in zip(robot.joints, q, strict=True):
        T_root.append(compose(T_root[joint.antecedent], joint_transform(joint, q_j)))
    return T_root


def link_placements(robot: Robot, q: Sequence[Scalar]) -> dict[str, Transform]:
    """Placements of the URDF links in the frame of the root link, by name.

    Args:
        robot: the robot.
        q: n joint positions (rad or m).
    """
    T_root = body_placements(robot, q)
    return {frame.name: compose(T_root[frame.body], frame.T_body_link) for frame in robot.link_frames}
