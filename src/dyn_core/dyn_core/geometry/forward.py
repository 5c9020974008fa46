# SPDX-License-Identifier: Apache-2.0
"""Direct geometric model: where every body is (SYMORO+ 2003, eq. (1.9))."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from dyn_core.geometry.joint_placement import joint_placement
from dyn_core.geometry.path import lineage
from dyn_core.linalg.transform import Transform, compose, inverse
from dyn_core.model.link_frame import LinkFrame
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import step
from dyn_core.symbolic.scalar import Scalar


def body_placements(robot: Robot, q: Sequence[Scalar]) -> list[Transform]:
    """Placements T_root_j of the frames 0 to n in the frame of the root link.

    Args:
        robot: the robot.
        q: n joint positions (rad or m).
    """
    T_root = [robot.T_root_0]
    for joint, q_j in zip(robot.joints, q, strict=True):
        T_root.append(reduce(step.compose, joint_placement(joint, q_j).steps, T_root[joint.antecedent]))
    return T_root


def link_placements(robot: Robot, q: Sequence[Scalar]) -> dict[str, Transform]:
    """Placements of the URDF links in the frame of the root link, by name.

    Args:
        robot: the robot.
        q: n joint positions (rad or m).
    """
    T_root = body_placements(robot, q)
    return {frame.name: compose(T_root[frame.body], frame.T_body_link) for frame in robot.link_frames}


def placements_from(
    robot: Robot, q: Sequence[Scalar], frame: LinkFrame, bodies: Iterable[int]
) -> dict[int, Transform]:
    """Placements T_frame_j of some bodies in a frame that may be fixed to any body, by body.

    Args:
        robot: the robot.
        q: n joint positions (rad or m).
        frame: the frame in which to place.
        bodies: indices of the bodies, 0 for the base; others may be in the answer.
    """
    T_frame = {frame.body: inverse(frame.T_body_link)}
    for j in lineage(robot, frame.body):
        back = step.inverse(joint_placement(robot.joints[j - 1], q[j - 1]).steps)
        T_frame[robot.joints[j - 1].antecedent] = reduce(step.compose, back, T_frame[j])
    for j in sorted({j for body in bodies for j in lineage(robot, body)} - set(T_frame)):
        steps = joint_placement(robot.joints[j - 1], q[j - 1]).steps
        T_frame[j] = reduce(step.compose, steps, T_frame[robot.joints[j - 1].antecedent])
    return T_frame
