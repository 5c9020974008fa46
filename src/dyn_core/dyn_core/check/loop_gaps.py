# SPDX-License-Identifier: Apache-2.0
"""Find loops that are open in the assembly, do not determine the joints, or are nearly singular."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from dyn_core.algorithms.loops.loop_report import LoopReport, loop_report
from dyn_core.algorithms.loops.redundancy import Redundancy
from dyn_core.check.subject import Subject, passive_ranges
from dyn_core.core.errors import DynError
from dyn_core.core.findings import Finding, Severity
from dyn_core.core.messages import Message
from dyn_core.robot.joint_coupling import joint_positions
from dyn_core.robot.joints import Joint, Loop, LoopType
from dyn_core.robot.mdh.direct_geometry import link_placements
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.transform import Transform, compose, inverse
from dyn_core.symbolic.vec3 import Vec3

GAP = 1e-3
"""Largest gap of a loop in an assembly, which is only near a closed configuration (m)."""

NEAR_SINGULAR = 1e3
"""Condition number at which errors of actuated joints grow a thousandfold in passive joints."""

TURN = 1e-2
"""Largest angle of a loop in an assembly (rad)."""


def loops(subject: Subject) -> Iterator[Finding]:
    """Find loops that are open in the assembly, or at position 0 without an assembly."""
    robot = subject.robot
    for loop in robot.loops:
        distance, angle = loop_gap(robot, loop)
        if distance > GAP or angle > TURN:
            apart = "loop-sides-apart" if angle <= TURN else "loop-sides-apart-and-turned"
            gap = Message(apart if distance > GAP else "loop-sides-turned", distance=distance, angle=angle)
            code = "loop-open-in-assembly" if robot.assembly else "loop-open-at-zero"
            message = Message(code, gap=gap, distance=distance, angle=angle)
            severity = Severity.WARNING if robot.assembly else Severity.NOTE
            yield Finding(severity, "loop", (loop.name,), message)


def closure(subject: Subject) -> Iterator[Finding]:
    """Find loops that cannot close, do not determine the joints, or are nearly singular.

    Also report redundant constraints, and loops that are better cut at another joint.
    """
    robot = subject.robot
    if not robot.loops:
        return
    try:
        report = loop_report(robot)
    except DynError as error:
        yield Finding(Severity.ERROR, "loop", tuple(loop.name for loop in robot.loops), error.detail)
        return
    yield from _redundant(report)
    for loop in report.loops:
        if loop.better_cut is not None:
            parent, child = (len(branch) for branch in loop.branches)
            message = Message("loop-cut-unequal", parent=parent, child=child, joint=loop.better_cut)
            yield Finding(Severity.NOTE, "loop", (loop.name,), message)
    if report.condition > NEAR_SINGULAR:
        message = Message("assembly-nearly-singular", condition=report.condition)
        yield Finding(Severity.WARNING, "loop", tuple(loop.name for loop in robot.loops), message)
    outside = list(_outside(robot, report.reference))
    yield from outside
    if not outside:
        yield from _reached(robot)


def _redundant(report: LoopReport) -> Iterator[Finding]:
    """Find loops with redundant constraints; similar loops share a finding."""
    alike: dict[tuple[int, int, Redundancy], list[str]] = {}
    for loop in report.loops:
        if loop.redundancy is not Redundancy.NONE:
            alike.setdefault((loop.independent, loop.constraints, loop.redundancy), []).append(loop.name)
    for (independent, constraints, redundancy), names in alike.items():
        message = Message(
            "loop-constraints-redundant" if len(names) == 1 else "loop-constraints-redundant-each",
            independent=independent,
            constraints=constraints,
            reason=Message(f"loop-{redundancy.value}"),
        )
        yield Finding(Severity.NOTE, "loop", tuple(names), message)


def _reached(robot: Robot) -> Iterator[Finding]:
    """Find passive joints that leave their limits while the actuated joints are within theirs."""
    for name, (least, greatest) in passive_ranges(robot).items():
        if limits := _exceeded(robot.joint(name), least, greatest):
            message = Message("passive-joint-leaves-limits", least=least, greatest=greatest, **limits)
            yield Finding(Severity.NOTE, "joint", (name,), message)


def _outside(robot: Robot, reference: Mapping[str, float]) -> Iterator[Finding]:
    """Find joints that are beyond their limits in the closed reference configuration."""
    for name, value in reference.items():
        if limits := _exceeded(robot.joint(name), value, value):
            message = Message("assembly-outside-limits", position=value, **limits)
            yield Finding(Severity.WARNING, "joint", (name,), message)


def _exceeded(joint: Joint, least: float, greatest: float) -> dict[str, Any] | None:
    """Return the limits of a joint that moves between two positions (rad or m); None if it keeps them."""
    lower, upper = joint.limits.lower, joint.limits.upper
    if (lower is not None and least < lower - TURN) or (upper is not None and greatest > upper + TURN):
        return {"lower": lower, "upper": upper, "unit": joint.position_unit}
    return None


def loop_gap(robot: Robot, loop: Loop) -> tuple[float, float]:
    """Return the distance (m) and angle (rad) by which a loop is open in directions that its joint blocks."""
    assembly = dict(robot.assembly)
    q = [assembly.get(name, 0.0) for name in robot.joint_names]
    T_root = link_placements(robot, joint_positions(robot, q))
    parent, child = (compose(T_root[end.link], end.T_link_cut) for end in (loop.parent, loop.child))
    T_parent_child = compose(inverse(parent), child)
    p, child_axis = T_parent_child.p, mat3.mul_vec(T_parent_child.R, loop.child_axis)
    along = vec3.dot(p, loop.axis)
    across = vec3.norm(vec3.sub(p, vec3.scale(along, loop.axis)))
    distances = {LoopType.PLANAR: abs(along), LoopType.PRISMATIC: across, LoopType.CYLINDRICAL: across}
    return distances.get(loop.type, vec3.norm(p)), _angle(loop, T_parent_child, child_axis)


def _angle(loop: Loop, T_parent_child: Transform, child_axis: Vec3) -> float:
    """Return the angle (rad) of the opening in directions that the joint blocks."""
    if loop.type is LoopType.SPHERICAL:
        return 0.0
    between = math.atan2(vec3.norm(vec3.cross(loop.axis, child_axis)), vec3.dot(loop.axis, child_axis))
    if loop.type is LoopType.UNIVERSAL:
        designed = math.acos(max(-1.0, min(1.0, vec3.dot(loop.axis, loop.child_axis))))
        return abs(between - designed)
    if loop.type is LoopType.FIXED or (loop.type is LoopType.PRISMATIC and loop.axis == loop.child_axis):
        (a, _, _), (_, b, _), (_, _, c) = T_parent_child.R
        return math.acos(max(-1.0, min(1.0, 0.5 * (a + b + c - 1.0))))
    return between
