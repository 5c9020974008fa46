# SPDX-License-Identifier: Apache-2.0
"""Mimic joints: the constant linear map from coordinates to joints, and limits of the leader.

The positions of the n joints of the tree are ``q_tree = G q + offset`` with a constant n x k matrix G, k the
number of independent joints. A row of G has at most one entry: 1 for a joint that moves by itself, the
multiplier for one that mimics another, none for one that stands still. The algorithms work on the n joints.
Velocities and accelerations are ``G qd`` and ``G qdd``. By the principle of virtual work torques come back as
``G^T tau_tree``, and the inertia matrix as ``G^T A_tree G``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dyn_core.robot.joints import Joint, Mimic
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
    """The entry of G in the row of a joint: its column, as the number of a joint, and its value."""

    joint: int
    value: float


def _entries(robot: Robot) -> Iterator[_Entry | None]:
    for j, joint in enumerate(robot.joints, start=1):
        leader, multiplier = (joint.mimic.leader, joint.mimic.multiplier) if joint.mimic else (j, 1.0)
        yield _Entry(leader, multiplier) if leader else None


def times(multiplier: float, value: Scalar) -> Scalar:
    """Return the product, without a multiplication by 1."""
    return value if multiplier == 1.0 else multiplier * value


# Limits of followers, ``q_j = m q_leader + c``, as limits of their leader


def followers(robot: Robot, leader: int) -> Iterator[tuple[Joint, Mimic]]:
    """Yield the joints that mimic joint `leader`, directly or through others, with how they do."""
    for joint in robot.joints:
        mimic = joint.mimic
        if mimic is not None and mimic.leader == leader and mimic.multiplier != 0.0:
            yield joint, mimic


def range_of_leader(mimic: Mimic, lower: float, upper: float) -> tuple[float, float]:
    """Return the range of the leader (rad or m) that keeps a follower within its own; ends may be infinite.

    The multiplier is not 0.
    """
    # A sum with 0 has no negative zero.
    least, greatest = sorted((end - mimic.offset) / mimic.multiplier + 0.0 for end in (lower, upper))
    return least, greatest


def speed_of_leader(mimic: Mimic, velocity: float) -> float:
    """Return the speed of the leader (rad/s or m/s) at which a follower has the speed `velocity`."""
    return velocity / abs(mimic.multiplier)
