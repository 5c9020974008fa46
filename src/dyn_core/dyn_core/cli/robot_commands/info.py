# SPDX-License-Identifier: Apache-2.0
"""``dyn info``: what a robot consists of."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from typing import Any

from dyn_core.cli.console import Output, Table
from dyn_core.cli.options import Command, described_robot, shown
from dyn_core.core.errors import counted
from dyn_core.robot.robot_report import JointDescription, LinkDescription, Reach, RobotReport, robot_report

_AXES = {(1.0, 0.0, 0.0): "x", (0.0, 1.0, 0.0): "y", (0.0, 0.0, 1.0): "z"}


def info(arguments: Namespace) -> Output:
    """Return what a robot consists of."""
    report = robot_report(described_robot(arguments))
    return Output(_json(report) if arguments.json else _text(report))


def _text(report: RobotReport) -> list[str | Table]:
    bodies = sum(link.fixed_to is None for link in report.links)
    base = "fixed base" if report.base is None else f"link '{report.base.link}' is {report.base.words}"
    parts: list[str | Table] = [
        f"{report.robot}: {counted(report.dof, 'degree of freedom', 'degrees of freedom')}, {base}",
        f"mass: {report.mass:.6g} kg, {report.moving_mass:.6g} kg moved by joints",
        f"reach: {_reach(report.reach)}",
        f"gravity: {' '.join(f'{shown(x):g}' for x in report.gravity)} m/s^2 in the frame of the root link",
    ]
    if report.joints:
        parts += ["", f"{counted(len(report.joints), 'joint')} (no. is the place in joint vectors):"]
        parts.append(_joint_table(report.joints))
    parts += [f"{joint.name} = {_followed(joint)}" for joint in report.joints if joint.role == "mimic"]
    parts += [f"locked: {name} at {position:g}" for name, position in report.locked]
    parts += [
        f"loop '{name}', {kind}, from '{parent}' to '{child}'" for name, kind, parent, child in report.loops
    ]
    links = f"{counted(len(report.links), 'link')} on {counted(bodies, 'body', 'bodies')}"
    return [*parts, "", f"{links} (mass of the whole body, at its first link):", _link_table(report.links)]


def _reach(reach: Reach) -> str:
    if reach.joint is None:
        return "nothing moves"
    most = "at most " if reach.is_bound else ""
    return f"{most}{reach.distance:.4g} m, from joint '{reach.joint}' to link '{reach.link}'"


def _joint_table(joints: tuple[JointDescription, ...]) -> Table:
    head = ("no.", "joint", "type", "role", "lower", "upper", "", "speed", "", "effort", "", "axis", "after")
    rows = [head]
    for joint in joints:
        limits = joint.limits
        rows.append(
            (
                "-" if joint.index is None else str(joint.index + 1),
                *(joint.name, joint.type, joint.role),
                *(_cell(limits.lower), _cell(limits.upper), joint.unit),
                *(_cell(limits.velocity), f"{joint.unit}/s"),
                *(_cell(limits.effort), joint.effort_unit),
                *(_axis(joint), joint.parent or "base"),
            )
        )
    return Table(rows, left=(1, 2, 3, 6, 8, 10, 11, 12))


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _axis(joint: JointDescription) -> str:
    """Return the name of an axis of the child link, or three numbers."""
    axis = tuple(shown(x) for x in joint.axis)
    opposite = tuple(shown(-x) for x in joint.axis)
    x, y, z = axis
    if opposite in _AXES:
        return f"-{_AXES[opposite]}"
    return _AXES.get((x, y, z)) or f"{x:.4g} {y:.4g} {z:.4g}"


def _followed(joint: JointDescription) -> str:
    """Return the equation of a joint that follows another."""
    if joint.follows is None:
        return f"{joint.offset:g} {joint.unit}"
    offset = f" {joint.offset:+g}" if joint.offset else ""
    return f"{joint.multiplier:g} {joint.follows}{offset}"


def _link_table(links: tuple[LinkDescription, ...]) -> Table:
    rows = [("link", "moved by", "mass", "", "fixed to")]
    for link in links:
        mass = ("", "") if link.mass is None else (f"{link.mass:.6g}", "kg")
        rows.append((link.name, link.joint or "base", *mass, link.fixed_to or ""))
    return Table(rows, left=(0, 1, 3, 4))


def _json(report: RobotReport) -> dict[str, Any]:
    """Return the report as data; a place in joint vectors counts from 0."""
    loops = [dict(zip(("name", "type", "parent", "child"), loop, strict=True)) for loop in report.loops]
    return {
        **asdict(report),
        "joints": [{**asdict(joint), "axis": [x + 0.0 for x in joint.axis]} for joint in report.joints],
        "base": None if report.base is None else report.base._asdict(),
        "locked": dict(report.locked),
        "loops": loops,
        "gravity": [x + 0.0 for x in report.gravity],
    }


COMMAND = Command(
    description="Describe a robot: its degrees of freedom, joints in the order of joint vectors with limits "
    "and axes (in the frame of the child link), links, mass, reach, and what is locked, mimicked or closed "
    "by loops. The reach is the greatest distance, over all positions of the joints, between the origins of "
    "the first joint of a chain and of the link at its end.",
    run=info,
    base=None,
)
