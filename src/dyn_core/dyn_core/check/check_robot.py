# SPDX-License-Identifier: Apache-2.0
"""All checks of a robot."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dyn_core.check import (
    actuators,
    axes_and_angles,
    joint_limits,
    link_inertias,
    loop_gaps,
    singular_inertia_matrix,
    urdf_contents,
    whole_robot,
)
from dyn_core.check.subject import Subject, finding_of_error
from dyn_core.core.errors import ArgumentError, DynError
from dyn_core.core.findings import Finding
from dyn_core.core.text import path_text
from dyn_core.robot.robot import Robot
from dyn_core.robot.robot_files import RobotSource, read_robot
from dyn_core.robot.side_file.conversion import without_springs
from dyn_core.robot.urdf.conversion import Snap
from dyn_core.robot.xml_text import parse_xml

_OF_DRIVES: tuple[Callable[[Subject], Iterable[Finding]], ...] = (
    *(joint_limits.ranges, joint_limits.zero_outside, joint_limits.units, joint_limits.unknown),
    *(actuators.holding_torques, actuators.friction_beyond_effort),
    *(actuators.friction, actuators.rotor_inertia),
)
"""Checks of limits and actuators. They see the robot without springs: a motor acts on its joint directly."""

CHECKS: tuple[Callable[[Subject], Iterable[Finding]], ...] = (
    *(urdf_contents.remarks, urdf_contents.names, whole_robot.size, whole_robot.gravity),
    *(link_inertias.inertias, link_inertias.centres_of_mass, link_inertias.centres_at_origins),
    *(link_inertias.shapes_without_mass, link_inertias.grouped_parameters, link_inertias.mass_of_base),
    singular_inertia_matrix.inertia_matrices,
    *_OF_DRIVES,
    *(actuators.passive_joints, actuators.springs, joint_limits.mimics),
    *(loop_gaps.loops, loop_gaps.closure, whole_robot.moving_base),
    *(axes_and_angles.degrees, axes_and_angles.axes, axes_and_angles.near_axes),
    *(axes_and_angles.collinear_axes, axes_and_angles.snapped_values, axes_and_angles.roundings_left),
    *(urdf_contents.unread, urdf_contents.unread_gazebo, urdf_contents.unknown_joints),
)
"""The checks. Each finds one kind of problem; they are independent of each other."""


class Report(NamedTuple):
    """Findings of the checks, and the name of the robot; None if it cannot be read."""

    robot: str | None
    findings: tuple[Finding, ...]


def check_robot(
    source: Robot | RobotSource,
    loops: str | os.PathLike[str] | Mapping[str, object] | None = None,
    gravity: Sequence[float] | None = None,
    snap: Snap = "digits",
    mimic: bool = True,
    locked_joints: Mapping[str, float] | None = None,
    joints: Sequence[str] | None = None,
) -> tuple[Finding, ...]:
    """Return the findings about a robot, in order of severity, then in the order of the tree.

    Problems of the robot raise no error and give no warning. If the robot cannot be read, the only finding
    gives the reason. For a robot that is already loaded, some checks of its file are not possible: give the
    file to run all checks.

    Args:
        source: a file or text as for `load_robot`, or a robot.
        loops: as in `load_robot`; this and the next arguments are for a robot that is not loaded yet.
        gravity: as in `load_robot`.
        snap: as in `load_robot`.
        mimic: as in `load_robot`.
        locked_joints: as in `load_robot`.
        joints: as in `load_robot`.

    Raises:
        ValueError: a robot was given together with arguments for loading.
    """
    return report(source, loops, gravity, snap, mimic, locked_joints, joints).findings


def report(
    source: Robot | RobotSource,
    loops: str | os.PathLike[str] | Mapping[str, object] | None = None,
    gravity: Sequence[float] | None = None,
    snap: Snap = "digits",
    mimic: bool = True,
    locked_joints: Mapping[str, float] | None = None,
    joints: Sequence[str] | None = None,
) -> Report:
    """Return the findings of `check_robot`, and the name of the robot."""
    if isinstance(source, Robot):
        if (loops, gravity, snap, mimic, locked_joints, joints) != (None, None, "digits", True, None, None):
            raise ArgumentError("robot-already-loaded")
        return Report(source.name, findings(Subject(source)))
    try:
        loaded = read_robot(source, loops, gravity, snap, mimic, locked_joints, joints)
    except DynError as error:
        path = path_text(source) if isinstance(source, (str, os.PathLike)) else None
        return Report(None, (finding_of_error(error, path),))
    xml = None if loaded.description is None else parse_xml(loaded.text)
    subject = Subject(loaded.robot, loaded.description, xml, (*loaded.remarks, *loaded.of_side_file))
    return Report(loaded.robot.name, findings(subject))


def findings(subject: Subject) -> tuple[Finding, ...]:
    """Return the findings of all checks, sorted, with line numbers."""
    position = _positions(subject)
    links = subject.description.links if subject.description else ()
    lines = {("link", link.name): link.line for link in links}
    lines |= {("joint", joint.name): joint.line for joint in subject.urdf_joints()}
    driven = replace(subject, robot=without_springs(subject.robot))
    with np.errstate(all="ignore"):  # the checks handle overflows themselves
        found = dict.fromkeys(
            finding for check in CHECKS for finding in check(driven if check in _OF_DRIVES else subject)
        )

    def rank(finding: Finding) -> tuple[int, int]:
        first = (finding.kind, finding.names[0]) if finding.names else ("robot", "")
        return finding.severity, position.get(first, len(position))

    def with_line(finding: Finding) -> Finding:
        if finding.line is not None or len(finding.names) != 1:
            return finding
        return replace(finding, line=lines.get((finding.kind, finding.names[0])))

    return tuple(map(with_line, sorted(found, key=rank)))


def _positions(subject: Subject) -> dict[tuple[str, str], int]:
    """Return the positions of elements in the order: the robot, each joint with its links, the loops."""
    robot = subject.robot
    carries = {joint.child: joint.name for joint in subject.urdf_joints()}
    order = [("robot", "")]
    seen = 0
    for frame in robot.link_frames:
        if frame.name in carries:
            order.append(("joint", carries[frame.name]))
        elif frame.body > seen:
            order.append(("joint", robot.joints[frame.body - 1].name))
        seen = max(seen, frame.body)
        order.append(("link", frame.name))
    order += [("loop", loop.name) for loop in robot.loops]
    return {key: index for index, key in enumerate(order)}
