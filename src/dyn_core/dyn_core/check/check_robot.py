# SPDX-License-Identifier: Apache-2.0
"""All checks of a robot."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dyn_core.check.actuators import friction_beyond_effort, holding_torques
from dyn_core.check.angles import degrees
from dyn_core.check.axes_and_angles import axes, collinear_axes, near_axes
from dyn_core.check.drives import friction, passive_joints, rotor_inertia
from dyn_core.check.gravity import gravity as gravity_strength
from dyn_core.check.inertia import centres_at_origins, centres_of_mass, inertias
from dyn_core.check.joint_limits import ranges, units, unknown, zero_outside
from dyn_core.check.loop_gaps import closure
from dyn_core.check.loop_gaps import loops as loop_gaps
from dyn_core.check.mimics import mimics
from dyn_core.check.missing_mass import grouped_parameters, mass_of_base, shapes_without_mass
from dyn_core.check.moving_base import moving_base
from dyn_core.check.names import names
from dyn_core.check.place import finding_of_error
from dyn_core.check.remarks import remarks
from dyn_core.check.rounding import roundings_left, snapped_values
from dyn_core.check.singular_inertia_matrix import inertia_matrices
from dyn_core.check.size import size
from dyn_core.check.springs import springs
from dyn_core.check.subject import Subject
from dyn_core.check.urdf_contents import (
    repeated,
    unknown_joints,
    unread_attributes,
    unread_children,
    unread_gazebo,
    unread_top,
)
from dyn_core.core.errors import DynError
from dyn_core.core.findings import Finding
from dyn_core.core.text import path_text
from dyn_core.geometry.build_elastic import without_springs
from dyn_core.robot.robot import Robot
from dyn_core.robot.robot_files import Loaded, read_robot
from dyn_core.robot.urdf.conversion import Snap
from dyn_core.robot.xml_text import parse_xml

CHECKS: tuple[Callable[[Subject], Iterable[Finding]], ...] = (
    *(remarks, names, size, gravity_strength),
    *(
        inertias,
        centres_of_mass,
        centres_at_origins,
        shapes_without_mass,
        grouped_parameters,
        mass_of_base,
        inertia_matrices,
    ),
    *(ranges, zero_outside, units, unknown, holding_torques, friction_beyond_effort),
    *(friction, rotor_inertia, passive_joints, springs, mimics, loop_gaps, closure, moving_base),
    *(degrees, axes, near_axes, collinear_axes, snapped_values, roundings_left),
    *(repeated, unread_attributes, unread_children, unread_top, unread_gazebo, unknown_joints),
)
"""Each finds the cases of one thing; none depends on another."""


OF_DRIVES = (
    *(ranges, zero_outside, units, unknown, holding_torques, friction_beyond_effort),
    *(friction, rotor_inertia),
)
"""Those that look at what moves a joint: for them a motor behind a spring is that of its joint."""


class Report(NamedTuple):
    """What the checks found, and the name of the robot; None where it cannot be read."""

    robot: str | None
    findings: tuple[Finding, ...]


def check_robot(
    source: Robot | str | os.PathLike[str],
    loops: str | os.PathLike[str] | Mapping[str, object] | None = None,
    gravity: Sequence[float] | None = None,
    snap: Snap = "digits",
    mimic: bool = True,
) -> tuple[Finding, ...]:
    """Answer all that is suspicious about a robot, the worst first, then in the order of the tree.

    Nothing is raised, and no warning given, for what is wrong with the robot: where it cannot be
    read, the one finding says why. Of a robot that was loaded before, only what it holds is checked:
    give its file to have all checked.

    Args:
        source: what `load_robot` takes, or a robot.
        loops: as in `load_robot`; this and what follows are only for what is yet to be loaded.
        gravity: as in `load_robot`.
        snap: as in `load_robot`.
        mimic: as in `load_robot`.

    Raises:
        ValueError: a robot was given together with how to load it.
    """
    return report(source, loops, gravity, snap, mimic).findings


def report(
    source: Robot | str | os.PathLike[str],
    loops: str | os.PathLike[str] | Mapping[str, object] | None = None,
    gravity: Sequence[float] | None = None,
    snap: Snap = "digits",
    mimic: bool = True,
) -> Report:
    """Answer what `check_robot` answers, and the name of the robot."""
    if isinstance(source, Robot):
        if (loops, gravity, snap, mimic) != (None, None, "digits", True):
            raise ValueError(
                "loops, gravity, snap, mimic: a Robot is already loaded: give them to load_robot"
            )
        return Report(source.name, findings(Subject(source)))
    try:
        loaded = read_robot(source, loops, gravity, snap, mimic)
    except DynError as error:
        path = path_text(source) if isinstance(source, (str, os.PathLike)) else None
        return Report(None, (finding_of_error(error, path),))
    return Report(loaded.robot.name, findings(_subject(loaded)))


def findings(subject: Subject) -> tuple[Finding, ...]:
    """Answer what all checks find, sorted, with lines."""
    place = _places(subject)
    lines = _lines(subject)
    driven = replace(subject, robot=without_springs(subject.robot))
    with np.errstate(all="ignore"):  # the checks look for themselves at what overflows
        found = dict.fromkeys(
            finding for check in CHECKS for finding in check(driven if check in OF_DRIVES else subject)
        )

    def rank(finding: Finding) -> tuple[int, int]:
        first = (finding.kind, finding.names[0]) if finding.names else ("robot", "")
        return finding.severity, place.get(first, len(place))

    return tuple(_with_line(finding, lines) for finding in sorted(found, key=rank))


def _subject(loaded: Loaded) -> Subject:
    xml = None if loaded.description is None else parse_xml(loaded.text)
    return Subject(loaded.robot, loaded.description, xml, (*loaded.remarks, *loaded.of_side_file))


def _places(subject: Subject) -> dict[tuple[str, str], int]:
    """Answer where elements come in the tree: the robot, each joint with what it carries, the loops."""
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


def _lines(subject: Subject) -> dict[tuple[str, str], int]:
    links = subject.description.links if subject.description else ()
    return {("link", link.name): link.line for link in links} | {
        ("joint", joint.name): joint.line for joint in subject.urdf_joints()
    }


def _with_line(finding: Finding, lines: Mapping[tuple[str, str], int]) -> Finding:
    if finding.line is not None or len(finding.names) != 1:
        return finding
    return replace(finding, line=lines.get((finding.kind, finding.names[0])))
