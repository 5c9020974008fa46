# SPDX-License-Identifier: Apache-2.0
"""Axes that are odd by themselves, or lie oddly beside the axis before them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from dyn_core.check.rounding import roundings_of
from dyn_core.check.subject import Subject
from dyn_core.core.findings import Finding, Severity, of_first
from dyn_core.linalg.angle import QUARTER
from dyn_core.robot.description import UrdfJoint
from dyn_core.robot.joints import Joint, Sigma
from dyn_core.symbolic import vec3

UNIT = 1e-3
"""How much the norm of an axis may differ from 1: three digits give no more."""

ROUNDED = 1e-9
"""What no measurement tells from 0 (rad or m)."""

NEARLY = 1e-2
"""Angle that is suspiciously small, if it is not 0 (rad)."""

CLOSE = 1e-4
"""Distance that is suspiciously small, if it is not 0 (m)."""


def axes(subject: Subject) -> Iterator[Finding]:
    """Find axes that are not given, or are no unit vectors."""
    joints = [joint for joint in subject.moving_urdf_joints() if joint.type != "floating"]
    omitted = tuple(joint.name for joint in joints if not joint.axis_words)
    if omitted:
        what = "no <axis>, so that x is the axis, as URDF says: write it, if only for readers"
        yield Finding(Severity.NOTE, "joint", omitted, what)
    long = {joint.name: vec3.norm(joint.axis) for joint in joints}
    long = {name: norm for name, norm in long.items() if abs(norm - 1.0) > UNIT}
    if long:
        what = f"an axis of norm {next(iter(long.values())):.4g}, not 1: only its direction is used"
        yield Finding(Severity.NOTE, "joint", tuple(long), of_first(tuple(long), what))


def near_axes(subject: Subject) -> Iterator[Finding]:
    """Find axes that are nearly, but not quite, parallel, normal, or on one another."""
    explained = _explained(subject)
    joints = [joint for joint in _followers(subject) if joint.name not in explained]
    yield from _near(
        [joint for joint in joints if 0.0 < _off_quarter(joint) <= NEARLY],
        _off_quarter,
        lambda joint: (
            f"the axis is {_off_quarter(joint):.1e} rad away from being {_relation(joint)} the axis before "
            "it: unless that was measured, give rpy and axis more digits, or load with a snap of that size"
        ),
    )
    yield from _near(
        [joint for joint in joints if _both_revolute(subject, joint) and ROUNDED < abs(joint.mdh.d) <= CLOSE],
        lambda joint: abs(joint.mdh.d),
        lambda joint: (
            f"the axis misses the axis before it by {abs(joint.mdh.d):.1e} m: unless that was measured, "
            "let them meet"
        ),
    )


def collinear_axes(subject: Subject) -> Iterator[Finding]:
    """Find joints that turn about the same line as the joint before them."""
    for joint in _followers(subject):
        before = subject.robot.joints[joint.antecedent - 1]
        sine = abs(math.sin(joint.mdh.alpha))
        follows = joint.mimic is not None or before.mimic is not None
        if _both_revolute(subject, joint) and sine < 1e-9 and abs(joint.mdh.d) < 1e-9 and not follows:
            what = (
                f"it turns about the same axis as '{before.name}', on which it is: one of the two is "
                "redundant, or its axis is wrong"
            )
            yield Finding(Severity.WARNING, "joint", (joint.name,), what)


def _followers(subject: Subject) -> Iterator[Joint]:
    """Answer the joints that are on another joint."""
    return (joint for joint in subject.robot.joints if joint.antecedent != 0)


def _both_revolute(subject: Subject, joint: Joint) -> bool:
    before = subject.robot.joints[joint.antecedent - 1]
    return joint.sigma is Sigma.REVOLUTE and before.sigma is Sigma.REVOLUTE


def _off_quarter(joint: Joint) -> float:
    """Angle between the axis and one that is parallel or normal to the axis before it (rad)."""
    off = abs(joint.mdh.alpha - round(joint.mdh.alpha / QUARTER) * QUARTER)
    return off if off > ROUNDED else 0.0


def _relation(joint: Joint) -> str:
    return "normal to" if round(joint.mdh.alpha / QUARTER) % 2 else "parallel to"


def _near(
    joints: list[Joint], amount: Callable[[Joint], float], message: Callable[[Joint], str]
) -> Iterator[Finding]:
    """Answer one finding about all these joints, the worst first."""
    if joints:
        joints = sorted(joints, key=amount, reverse=True)
        names = tuple(joint.name for joint in joints)
        yield Finding(Severity.NOTE, "joint", names, of_first(names, message(joints[0])))


def _explained(subject: Subject) -> set[str]:
    """Answer the joints that have an angle with too few digits on the way from the joint before them."""
    carried_by = {joint.child: joint for joint in subject.urdf_joints()}
    return {
        joint.name
        for joint in subject.moving_urdf_joints()
        if any(any(roundings_of(part)) for part in _way(joint, carried_by))
    }


def _way(joint: UrdfJoint, carried_by: dict[str, UrdfJoint]) -> Iterator[UrdfJoint]:
    """Answer the joint and the fixed joints up to the moving joint before it."""
    part: UrdfJoint | None = joint
    while part is not None:
        yield part
        part = carried_by.get(part.parent)
        if part is not None and part.type != "fixed":
            return
