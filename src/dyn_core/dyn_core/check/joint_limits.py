# SPDX-License-Identifier: Apache-2.0
"""Check limits of joints: missing, without range or in wrong units; mimic joints beyond their limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from dyn_core.check.subject import Subject
from dyn_core.core.findings import Finding, Severity, of_first
from dyn_core.core.messages import Message
from dyn_core.robot.description import UrdfJoint
from dyn_core.robot.joints import Joint, Mimic, Sigma

# Limits

TURN = 2.0 * math.pi * (1.0 + 1e-3)
"""Position beyond which a limit is more than one turn, with a margin for rounding (rad)."""

DEGREES = 10.0
"""Position beyond which a limit is probably in degrees (rad)."""

FAST = 60.0
"""Velocity beyond which a limit is probably in degrees/s (rad/s)."""

UNLIMITED = 1000.0
"""Limit of a revolute joint beyond which it stands for no limit (rad or rad/s)."""

LONG = 20.0
"""Limit of a prismatic joint beyond which it is probably in mm or mm/s (m or m/s)."""


def ranges(subject: Subject) -> Iterator[Finding]:
    """Find joints of a URDF without a range, with an empty range, or with a range that has no effect."""
    joints = [joint for joint in subject.moving_urdf_joints() if joint.mimic is None]
    bounded = [joint for joint in joints if joint.type in ("revolute", "prismatic")]
    missing = [joint for joint in bounded if not _has_range(joint)]
    yield from _of(missing, Severity.WARNING, lambda joint: Message(f"{joint.type}-limits-missing"))
    empty = [joint for joint in bounded if _has_range(joint) and joint.limit.lower == joint.limit.upper]
    yield from _of(empty, Severity.WARNING, lambda joint: Message("limits-equal", limit=joint.limit.lower))
    yield from _of(
        [joint for joint in joints if joint.type == "continuous" and _has_range(joint)],
        Severity.NOTE,
        lambda joint: Message("limits-of-continuous-joint", lower=joint.limit.lower, upper=joint.limit.upper),
    )


def zero_outside(subject: Subject) -> Iterator[Finding]:
    """Find joints whose limits exclude position 0, at which many programs begin; skip passive joints."""
    excluding = []
    for joint in subject.robot.independent_joints:
        lower, upper = joint_range(joint)
        if lower < upper and not lower <= 0.0 <= upper:
            excluding.append(joint)
    yield from _of(excluding, Severity.NOTE, partial(_message, "limits-without-zero", _limits))


Case: TypeAlias = tuple[list[Joint], Callable[[float], bool], Severity, str]
"""Joints, a condition for a limit of theirs, and the severity and code of the finding."""


def units(subject: Subject) -> Iterator[Finding]:
    """Find limits that look like degrees, millimetres, or infinity; a continuous joint may be fast."""
    revolute = [joint for joint in subject.robot.joints if joint.sigma is Sigma.REVOLUTE]
    prismatic = [joint for joint in subject.robot.joints if joint.sigma is Sigma.PRISMATIC]
    continuous = {joint.name for joint in subject.urdf_joints() if joint.type == "continuous"}
    arms = [joint for joint in revolute if joint.name not in continuous and _largest(joint) <= UNLIMITED]
    position: list[Case] = [
        (revolute, lambda q: DEGREES < q <= UNLIMITED, Severity.WARNING, "limits-in-degrees"),
        (revolute, lambda q: TURN < q <= DEGREES, Severity.NOTE, "limits-beyond-turn"),
        (revolute, lambda q: q > UNLIMITED, Severity.NOTE, "limits-for-unlimited"),
        (prismatic, lambda q: q > LONG, Severity.WARNING, "limits-in-millimetres"),
    ]
    velocity: list[Case] = [
        (arms, lambda v: FAST < v < UNLIMITED, Severity.WARNING, "velocity-limit-in-degrees"),
        (arms, lambda v: v >= UNLIMITED, Severity.NOTE, "velocity-limit-for-unlimited"),
        (prismatic, lambda v: v > LONG, Severity.WARNING, "velocity-limit-in-millimetres"),
    ]
    for cases, size, values in ((position, _largest, _limits), (velocity, _speed, _velocity)):
        for joints, applies, severity, code in cases:
            found = [joint for joint in joints if applies(size(joint))]
            yield from _of(found, severity, partial(_message, code, values))


def unknown(subject: Subject) -> Iterator[Finding]:
    """Find joints without effort or velocity limits, or with limits of 0."""
    given = {joint.name: joint.limit for joint in subject.moving_urdf_joints()}
    driven = [joint for joint in subject.free_joints() if joint.mu == 1 and joint.name in given]
    for value, severity, code in ((0.0, Severity.WARNING, "zero"), (None, Severity.NOTE, "missing")):
        for what in ("effort", "velocity"):
            names = tuple(joint.name for joint in driven if getattr(given[joint.name], what) == value)
            if names:
                yield Finding(severity, "joint", names, Message(f"{what}-limit-{code}"))


def _of(
    joints: list[Joint] | list[UrdfJoint], severity: Severity, message: Callable[..., Message]
) -> Iterator[Finding]:
    """Yield one finding about all these joints, with the first as the example; none without joints."""
    if joints:
        names = tuple(joint.name for joint in joints)
        messages = [message(joint) for joint in joints]
        alike = len(set(map(str, messages))) == 1  # to the digits that are shown
        found = of_first(severity, "joint", names, messages[0])
        yield replace(found, example="") if alike else found


def _has_range(joint: UrdfJoint) -> bool:
    return (joint.limit.lower or 0.0, joint.limit.upper or 0.0) != (0.0, 0.0)


def joint_range(joint: Joint) -> tuple[float, float]:
    """Return the limits of the position (rad or m), infinite if unknown."""
    lower, upper = joint.limits.lower, joint.limits.upper
    return (-math.inf if lower is None else lower, math.inf if upper is None else upper)


def _message(code: str, values: Callable[[Joint], dict[str, Any]], joint: Joint) -> Message:
    return Message(code, **values(joint))


def _velocity(joint: Joint) -> dict[str, Any]:
    return {"velocity": joint.limits.velocity}


def _limits(joint: Joint) -> dict[str, Any]:
    return {"lower": joint.limits.lower, "upper": joint.limits.upper, "unit": joint.position_unit}


def _largest(joint: Joint) -> float:
    """Greatest distance of a limit from 0 (rad or m); 0 without limits."""
    return max(abs(joint.limits.lower or 0.0), abs(joint.limits.upper or 0.0))


def _speed(joint: Joint) -> float:
    return joint.limits.velocity or 0.0


# Mimic joints

SLACK = 0.01
"""Fraction of its range by which a mimic joint may exceed its limits, because URDFs round both."""


def mimics(subject: Subject) -> Iterator[Finding]:
    """Find mimic joints that do not move, that follow mimic joints, or that exceed their limits."""
    followers = [(joint, joint.mimic) for joint in subject.robot.joints if joint.mimic is not None]
    for joint, mimic in followers:
        if mimic.leader == 0:
            message = Message("mimic-fixed", position=mimic.offset, unit=joint.position_unit)
            yield Finding(Severity.WARNING, "joint", (joint.name,), message)
    mimic_of = {joint.name: joint.mimic for joint in subject.urdf_joints() if joint.mimic}
    chained = {name: mimic.joint for name, mimic in mimic_of.items() if mimic.joint in mimic_of}
    if chained and followers:
        message = Message("mimic-chained", joint=next(iter(chained.values())))
        yield Finding(Severity.NOTE, "joint", tuple(chained), message)
    for joint, mimic in followers:
        if mimic.leader:
            yield from _led_beyond(joint, mimic, subject.robot.joints[mimic.leader - 1])


def _led_beyond(joint: Joint, mimic: Mimic, leader: Joint) -> Iterator[Finding]:
    ends = [leader.limits.lower, leader.limits.upper]
    lower, upper = joint.limits.lower, joint.limits.upper
    if lower is None or upper is None or None in ends:
        return
    led = sorted(mimic.multiplier * end + mimic.offset for end in ends if end is not None)
    slack = SLACK * (upper - lower)
    if led[0] < lower - slack or led[1] > upper + slack:
        values = {"leader": leader.name, "least": led[0], "greatest": led[1], **_limits(joint)}
        message = Message("mimic-beyond-limits", **values)
        yield Finding(Severity.WARNING, "joint", (joint.name,), message)
