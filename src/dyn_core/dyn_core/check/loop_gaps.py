# SPDX-License-Identifier: Apache-2.0
"""Loops that are not closed where they are said to be, or do not work well."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from dyn_core.algorithms.loops.loop_report import LoopReport, loop_report
from dyn_core.algorithms.loops.redundancy import Redundancy
from dyn_core.check.closed_positions import passive_ranges
from dyn_core.check.subject import Subject
from dyn_core.core.errors import DynError, counted
from dyn_core.core.findings import Finding, Severity
from dyn_core.geometry.forward import link_placements
from dyn_core.linalg.transform import Transform, compose, inverse
from dyn_core.model.loop import Loop, LoopEnd, LoopType
from dyn_core.robot.joint_coupling import joint_positions
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.vec3 import Vec3

GAP = 1e-3
"""Distance that an assembly, which is only near a closed configuration, may leave (m)."""

NEAR_SINGULAR = 1e3
"""Condition number: an error of an actuated joint may be a thousand times as large in a passive one."""

TURN = 1e-2
"""Angle that it may leave (rad)."""


def loops(subject: Subject) -> Iterator[Finding]:
    """Find loops that are open in the assembly, or at 0 where there is none."""
    robot = subject.robot
    for loop in robot.loops:
        yield from _open(robot, loop)


def closure(subject: Subject) -> Iterator[Finding]:
    """Find loops that do not work, or not well: that cannot close, do not determine the joints, are singular.

    Those that work are told of too, where constraints are redundant or another joint is better cut.
    """
    robot = subject.robot
    if not robot.loops:
        return
    try:
        report = loop_report(robot)
    except DynError as error:
        yield Finding(Severity.ERROR, "loop", tuple(loop.name for loop in robot.loops), error.message)
        return
    yield from _redundant(report)
    for loop in report.loops:
        if loop.better_cut is not None:
            parent, child = (len(branch) for branch in loop.branches)
            what = (
                f"its branches have {parent} and {counted(child, 'joint')}: cut at joint "
                f"'{loop.better_cut}' they are more equal, and the model is cheaper"
            )
            yield Finding(Severity.NOTE, "loop", (loop.name,), what)
    if report.condition > NEAR_SINGULAR:
        what = (
            f"the assembly is close to a singularity, its constraints have the condition number "
            f"{report.condition:.1e}: give an assembly in which no loop is almost stretched or folded"
        )
        yield Finding(Severity.WARNING, "loop", tuple(loop.name for loop in robot.loops), what)
    outside = list(_outside(robot, report.reference))
    yield from outside
    if not outside:
        yield from _reached(robot)


def _redundant(report: LoopReport) -> Iterator[Finding]:
    """Find loops of which some constraints say nothing new, those alike together."""
    alike: dict[tuple[int, int, Redundancy], list[str]] = {}
    for loop in report.loops:
        if loop.redundancy is not Redundancy.NONE:
            alike.setdefault((loop.independent, loop.constraints, loop.redundancy), []).append(loop.name)
    for (independent, constraints, redundancy), names in alike.items():
        whose = (
            f"its {constraints} constraints" if len(names) == 1 else f"the {constraints} constraints of each"
        )
        what = (
            f"only {independent} of {whose} count, as it is {redundancy.reason}: the others are left out, "
            "forces across them are not determined"
        )
        yield Finding(Severity.NOTE, "loop", tuple(names), what)


def _reached(robot: Robot) -> Iterator[Finding]:
    """Find passive joints that leave their limits while the actuated ones keep theirs."""
    for name, (least, greatest) in passive_ranges(robot).items():
        joint = robot.joint(name)
        lower, upper = joint.limits.lower, joint.limits.upper
        if (lower is not None and least < lower - TURN) or (upper is not None and greatest > upper + TURN):
            what = (
                f"it comes to {least:.3g} to {greatest:.3g} {joint.position_unit} with the actuated joints "
                f"within their limits, beyond its own of {_number(lower)} to {_number(upper)}: narrow theirs"
            )
            yield Finding(Severity.NOTE, "joint", (name,), what)


def _outside(robot: Robot, reference: Mapping[str, float]) -> Iterator[Finding]:
    """Find joints that are beyond their limits in the closed configuration that all others come from."""
    for name, value in reference.items():
        joint = robot.joint(name)
        lower, upper = joint.limits.lower, joint.limits.upper
        if (lower is not None and value < lower - TURN) or (upper is not None and value > upper + TURN):
            what = (
                f"where the loops close near the assembly it is at {value:.4g} {joint.position_unit}, "
                f"outside its limits of {_number(lower)} to {_number(upper)}: check them, or give another "
                "assembly"
            )
            yield Finding(Severity.WARNING, "joint", (name,), what)


def _number(limit: float | None) -> str:
    return "none" if limit is None else f"{limit:.4g}"


def _open(robot: Robot, loop: Loop) -> Iterator[Finding]:
    distance, angle = loop_gap(robot, loop)
    if distance <= GAP and angle <= TURN:
        return
    amounts = []
    if distance > GAP:
        amounts.append(f"{distance:.3g} m apart")
    if angle > TURN:
        amounts.append(f"{angle:.3g} rad turned")
    where, remedy = "with all joints at 0", "give an assembly near a configuration that closes it"
    if robot.assembly:
        where, remedy = "in the assembly", "check the frames of the loop and the assembly"
    what = f"it is open {where}: its sides are {' and '.join(amounts)}: {remedy}"
    yield Finding(Severity.WARNING if robot.assembly else Severity.NOTE, "loop", (loop.name,), what)


def loop_gap(robot: Robot, loop: Loop) -> tuple[float, float]:
    """Answer by what distance (m) and angle (rad) a loop is open, of what its joint does not allow."""
    assembly = dict(robot.assembly)
    q = [assembly.get(name, 0.0) for name in robot.joint_names]
    T_root = link_placements(robot, joint_positions(robot, q))
    T_parent_child = compose(inverse(_cut(T_root, loop.parent)), _cut(T_root, loop.child))
    p, child_axis = T_parent_child.p, mat3.mul_vec(T_parent_child.R, loop.child_axis)
    along = vec3.dot(p, loop.axis)
    across = vec3.norm(vec3.sub(p, vec3.scale(along, loop.axis)))
    distance = {
        LoopType.PLANAR: abs(along),
        LoopType.PRISMATIC: across,
        LoopType.CYLINDRICAL: across,
    }.get(loop.type, vec3.norm(p))
    return distance, _angle(loop, T_parent_child, child_axis)


def _cut(T_root: dict[str, Transform], end: LoopEnd) -> Transform:
    return compose(T_root[end.link], end.T_link_cut)


def _angle(loop: Loop, T_parent_child: Transform, child_axis: Vec3) -> float:
    """Answer the angle that the joint would not allow (rad)."""
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
