# SPDX-License-Identifier: Apache-2.0
"""Joints that mimic others, as a constant linear map from coordinates to joints.

The positions of the n joints of the tree are ``q_tree = G q + offset`` with a constant n x k matrix G,
k the number of independent joints, of one entry a row: 1 for a joint that moves by itself, the
multiplier for one that mimics another, none for one that stands still. The algorithms work on the n
joints and know nothing of it.
Velocities and accelerations go the same way, ``G qd`` and ``G qdd``. By the principle of virtual
work torques come back as ``G^T tau_tree``, and the inertia matrix as ``G^T A_tree G``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dyn_core.robot.robot import Robot
from dyn_core.symbolic.scalar import Scalar


def joint_positions(robot: Robot, q: Sequence[Scalar]) -> list[Scalar]:
    """Positions of the n joints of the tree (rad or m) from the dof coordinates (rad or m)."""
    return [
        x + joint.mimic.offset if joint.mimic and joint.mimic.offset != 0.0 else x
        for joint, x in zip(robot.joints, joint_rates(robot, q), strict=True)
    ]


def joint_rates(robot: Robot, qd: Sequence[Scalar]) -> list[Scalar]:
    """Velocities or accelerations ``G qd`` of the n joints of the tree from those of the coordinates."""
    of_joint: dict[int, Scalar] = dict(zip(robot.independent, qd, strict=True))
    return [times(entry.value, of_joint[entry.joint]) if entry else 0.0 for entry in _entries(robot)]


def coordinate_torques(robot: Robot, torques: Sequence[Scalar]) -> list[Scalar]:
    """Torques ``G^T tau_tree`` on the coordinates from those on the n joints of the tree (N m or N)."""
    total: dict[int, Scalar] = {}
    for entry, torque in zip(_entries(robot), torques, strict=True):
        if entry:
            part = times(entry.value, torque)
            total[entry.joint] = total[entry.joint] + part if entry.joint in total else part
    return [total[j] for j in robot.independent]


def coordinate_inertia(robot: Robot, A: Sequence[Sequence[Scalar]]) -> list[list[Scalar]]:
    """Inertia matrix ``G^T A_tree G`` from that of the n joints of the tree, which is symmetric."""
    half = [coordinate_torques(robot, row) for row in A]  # A_tree G
    return [coordinate_torques(robot, column) for column in zip(*half, strict=True)]


class _Entry(NamedTuple):
    """The entry of G that is not 0 in the row of a joint: its column, as a joint, and its value."""

    joint: int
    value: float


def _entries(robot: Robot) -> Iterator[_Entry | None]:
    for j, joint in enumerate(robot.joints, start=1):
        if joint.mimic is None:
            yield _Entry(j, 1.0)
        else:
            yield _Entry(joint.mimic.leader, joint.mimic.multiplier) if joint.mimic.leader else None


def times(multiplier: float, value: Scalar) -> Scalar:
    """Answer the product, without a multiplication by 1."""
    return value if multiplier == 1.0 else multiplier * value
