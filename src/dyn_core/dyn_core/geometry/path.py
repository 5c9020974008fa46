# SPDX-License-Identifier: Apache-2.0
"""The way through the tree from one body to another."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.geometry.joint_placement import joint_placement
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.step import Step, inverse


def lineage(robot: Robot, body: int) -> list[int]:
    """Answer the body, its antecedent, and so on to a body that the base carries; not the base."""
    bodies = []
    while body != 0:
        bodies.append(body)
        body = robot.joints[body - 1].antecedent
    return bodies


def steps_between(robot: Robot, q: Sequence[Scalar], a: int, b: int) -> tuple[Step, ...]:
    """Steps that lead from the frame of body a to that of body b, by their nearest common ancestor.

    Args:
        robot: the robot.
        q: n joint positions (rad or m).
        a: index of the first body; 0 is the base.
        b: index of the last body.
    """
    from_a, from_b = lineage(robot, a), lineage(robot, b)
    up = [j for j in from_a if j not in from_b]
    down = [j for j in reversed(from_b) if j not in from_a]
    steps: list[Step] = []
    for j in up:
        steps += inverse(joint_placement(robot.joints[j - 1], q[j - 1]).steps)
    for j in down:
        steps += joint_placement(robot.joints[j - 1], q[j - 1]).steps
    return tuple(steps)
