# SPDX-License-Identifier: Apache-2.0
"""How large a robot and its bodies are, by what is known without their shapes."""

from __future__ import annotations

from typing import NamedTuple

from dyn_core.geometry.forward import link_placements
from dyn_core.linalg.transform import Transform
from dyn_core.robot.joint_coupling import joint_positions
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import vec3


class Extent(NamedTuple):
    """Lengths (m).

    Attributes:
        reach: the longest way from the root link along the links, from joint to joint.
        of_body: by body, how far the joints and links on it are from its first link.
    """

    reach: float
    of_body: tuple[float, ...]


def extent(robot: Robot) -> Extent:
    """Answer how large the robot is, from where its links are with all joints at 0."""
    T_root = zero_placements(robot)
    first = first_links(robot)
    of_body = [0.0] * len(robot.bodies)
    way = [0.0] * len(robot.bodies)
    for frame in robot.link_frames:
        _grow(of_body, frame.body, vec3.sub(T_root[frame.name].p, T_root[first[frame.body]].p))
    for j, joint in enumerate(robot.joints, start=1):
        i = joint.antecedent
        step = vec3.sub(T_root[first[j]].p, T_root[first[i]].p)
        _grow(of_body, i, step)
        way[j] = way[i] + vec3.norm(step)
    reach = max(way[body] + own for body, own in enumerate(of_body))
    return Extent(reach, tuple(of_body))


def zero_placements(robot: Robot) -> dict[str, Transform]:
    """Answer the placements of the links in the root link with all coordinates at 0."""
    return link_placements(robot, joint_positions(robot, [0.0] * len(robot.independent)))


def first_links(robot: Robot) -> dict[int, str]:
    """Answer the name of the first link of each body: the one that its joint carries."""
    first: dict[int, str] = {}
    for frame in robot.link_frames:
        first.setdefault(frame.body, frame.name)
    return first


def _grow(lengths: list[float], body: int, displacement: vec3.Vec3) -> None:
    lengths[body] = max(lengths[body], vec3.norm(displacement))
