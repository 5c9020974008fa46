# SPDX-License-Identifier: Apache-2.0
"""A leg alone, as a robot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dyn_core.robot.links import InertialParameters
from dyn_core.robot.robot import Robot


def leg_robot(robot: Robot, bodies: Sequence[int]) -> Robot:
    """Answer a branch from the base alone, a robot with one chain."""
    joints = tuple(
        replace(robot.joints[j - 1], antecedent=place, mu=1, mimic=None) for place, j in enumerate(bodies)
    )
    number = {j: place for place, j in enumerate(bodies, start=1)}
    frames = (
        robot.link_frames[0],
        *(replace(f, body=number[f.body]) for f in robot.link_frames if f.body in number),
    )
    inertias = (InertialParameters(), *(robot.bodies[j] for j in bodies))
    return replace(robot, joints=joints, bodies=inertias, link_frames=frames, loops=(), assembly=())
