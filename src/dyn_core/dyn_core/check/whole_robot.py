# SPDX-License-Identifier: Apache-2.0
"""Check the robot as a whole: its size, the motion of its base, gravity.

`extent` and `shape_reach` return the sizes that the checks of inertias use.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from dyn_core.check.subject import Subject
from dyn_core.core.errors import DynError
from dyn_core.core.findings import Finding, Severity
from dyn_core.core.messages import Message
from dyn_core.core.text import finite_number
from dyn_core.model.moving_base.argument_checks import refuse_unresisted, unresisted_on_base
from dyn_core.model.moving_base.dynamics_programs import coordinate_inertia
from dyn_core.robot.joint_coupling import joint_positions
from dyn_core.robot.mdh.direct_geometry import link_placements
from dyn_core.robot.moving_base import declared_base
from dyn_core.robot.moving_base import moving_base as tree_on_base
from dyn_core.robot.robot import Robot
from dyn_core.robot.xml_text import Element
from dyn_core.symbolic import vec3

# Size from the placements of joints and links


class Extent(NamedTuple):
    """Lengths (m).

    Attributes:
        reach: length of the longest path from the root link along the links, from joint to joint.
        of_body: for each body, the largest distance of its joints and links from its first link.
    """

    reach: float
    of_body: tuple[float, ...]


def extent(robot: Robot) -> Extent:
    """Return the size of the robot from the placements of its links with all joints at 0."""
    T_root = link_placements(robot, joint_positions(robot, [0.0] * len(robot.independent)))
    first = first_links(robot)
    of_body = [0.0] * len(robot.bodies)
    path = [0.0] * len(robot.bodies)
    for frame in robot.link_frames:
        _grow(of_body, frame.body, vec3.sub(T_root[frame.name].p, T_root[first[frame.body]].p))
    for j, joint in enumerate(robot.joints, start=1):
        i = joint.antecedent
        step = vec3.sub(T_root[first[j]].p, T_root[first[i]].p)
        _grow(of_body, i, step)
        path[j] = path[i] + vec3.norm(step)
    reach = max(path[body] + own for body, own in enumerate(of_body))
    return Extent(reach, tuple(of_body))


def first_links(robot: Robot) -> dict[int, str]:
    """Return the name of the first link of each body, which its joint carries."""
    return {frame.body: frame.name for frame in (robot.link_frames[0], *robot.child_links)}


def _grow(lengths: list[float], body: int, displacement: vec3.Vec3) -> None:
    lengths[body] = max(lengths[body], vec3.norm(displacement))


# Size of shapes that are boxes, cylinders and spheres

LENGTHS = {"box": ("size",), "cylinder": ("radius", "radius", "length"), "sphere": ("radius",)}
"""Attributes with the sides of a bounding box of the shape; a radius is half a side."""


def shape_reach(subject: Subject) -> dict[str, float]:
    """Return the largest distance (m) of the shapes of each link from its origin; meshes are not read."""
    reach: dict[str, float] = {}
    for link in subject.elements("link"):
        found = [_reach(shape) for shape in (*link.all("visual"), *link.all("collision"))]
        reach[link.attributes.get("name", "").strip()] = max(found, default=0.0)
    return reach


def _reach(shape: Element) -> float:
    """Upper bound of the distance (m) of a shape's points from the frame of its link; 0 if unknown."""
    geometry = shape.first("geometry")
    half = max(map(_half_diagonal, geometry.children), default=0.0) if geometry else 0.0
    origin = shape.first("origin")
    away = list(_numbers(origin, "xyz")) if origin else []
    return half + (vec3.norm((away[0], away[1], away[2])) if half > 0.0 and len(away) == 3 else 0.0)


def _half_diagonal(body: Element) -> float:
    sides = [
        2.0 * value if attribute == "radius" else value
        for attribute in LENGTHS.get(body.tag, ())
        for value in _numbers(body, attribute)
    ]
    return 0.5 * (sides[0] if body.tag == "sphere" and sides else math.hypot(*sides))


def _numbers(element: Element, attribute: str) -> Iterator[float]:
    """Return the numbers of an attribute, without words that are not numbers."""
    words = element.attributes.get(attribute, "").split()
    return (value for value in map(finite_number, words) if value is not None)


# Checks

LONG = 50.0
"""Reach beyond which lengths are probably in mm (m)."""

SHORT = 1e-3
"""Reach below which lengths are probably not in m (m)."""


def size(subject: Subject) -> Iterator[Finding]:
    """Find robots whose lengths look like millimetres or kilometres, and robots without joints."""
    reach = extent(subject.robot).reach
    if reach > LONG:
        yield Finding(Severity.WARNING, "robot", (), Message("lengths-in-millimetres", reach=reach))
    elif 0.0 < reach < SHORT:
        yield Finding(Severity.WARNING, "robot", (), Message("lengths-too-small", reach=reach))
    if not subject.robot.joints:
        yield Finding(Severity.NOTE, "robot", (), Message("robot-immobile"))


EARTH = (9.6, 9.9)
"""Range of the acceleration of gravity on the Earth, with a margin (m/s^2)."""


def gravity(subject: Subject) -> Iterator[Finding]:
    """Find gravity that is absent, or weaker or stronger than on the Earth."""
    strength = vec3.norm(subject.robot.gravity)
    if strength == 0.0:
        yield Finding(Severity.NOTE, "robot", (), Message("gravity-zero"))
    elif not EARTH[0] <= strength <= EARTH[1]:
        yield Finding(Severity.NOTE, "robot", (), Message("gravity-unlike-earth", gravity=strength))


def moving_base(subject: Subject) -> Iterator[Finding]:
    """Report a moving base, and find robots that cannot have one or whose base no inertia resists."""
    robot = subject.robot
    declared = declared_base(robot)
    if declared is None:
        return
    by_side_file = robot.base is not None
    code = "base-declared-by-side-file" if by_side_file else "base-declared-by-joint"
    message = Message(code, kind=declared.kind, source=declared.source)
    yield Finding(Severity.NOTE, "link", (declared.link,), message)
    if not by_side_file:
        return
    try:
        base = tree_on_base(robot)
        if base.kind != "given":
            loose = unresisted_on_base(base, partial(coordinate_inertia, base))
            refuse_unresisted(base, "forward_dynamics", loose["forward_dynamics"])
    except DynError as error:
        yield Finding(Severity.ERROR, "robot", (), error.detail)
