# SPDX-License-Identifier: Apache-2.0
"""Joints that mimic others, as limits of the joints that they follow: ``q_j = m q_leader + c``.

A follower within its range and speed leaves its leader the range ``((lower, upper) - c) / m`` and the speed
``velocity / |m|``.
"""

from __future__ import annotations

from collections.abc import Iterator

from dyn_core.robot.joints import Joint, Mimic
from dyn_core.robot.robot import Robot


def followers(robot: Robot, leader: int) -> Iterator[tuple[Joint, Mimic]]:
    """Answer the joints that move with joint `leader` because they mimic it, be it by way of others."""
    for joint in robot.joints:
        mimic = joint.mimic
        if mimic is not None and mimic.leader == leader and mimic.multiplier != 0.0:
            yield joint, mimic


def range_of_leader(mimic: Mimic, lower: float, upper: float) -> tuple[float, float]:
    """Answer the range of the leader (rad or m) in which a follower is within its own; ends may be infinite.

    The multiplier is not 0.
    """
    # A sum with 0 has no negative zero.
    least, greatest = sorted((end - mimic.offset) / mimic.multiplier + 0.0 for end in (lower, upper))
    return least, greatest


def speed_of_leader(mimic: Mimic, velocity: float) -> float:
    """Answer the speed of the leader (rad/s or m/s) at which a follower has its greatest."""
    return velocity / abs(mimic.multiplier)
