# SPDX-License-Identifier: Apache-2.0
"""Limits that are missing, that leave no motion, and that look like other units."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from dyn_core.check.subject import Subject
from dyn_core.core.findings import Finding, Severity, of_first
from dyn_core.robot.description import UrdfJoint
from dyn_core.robot.joints import Joint, Sigma

TURN = 2.0 * math.pi * (1.0 + 1e-3)
"""Position that is more than one turn, although 6.283 is rounded up (rad)."""

DEGREES = 10.0
"""Position of a joint that is more likely in degrees than in rad."""

FAST = 60.0
"""Velocity of a joint that is more likely in degrees/s than in rad/s."""

UNLIMITED = 1000.0
"""Limit of a revolute joint (rad or rad/s) that nobody can have measured."""

LONG = 20.0
"""Position of a prismatic joint that is more likely in mm than in m, and such a velocity."""


def ranges(subject: Subject) -> Iterator[Finding]:
    """Find joints of a URDF without a range, or with one that does nothing."""
    joints = [joint for joint in subject.moving_urdf_joints() if joint.mimic is None]
    bounded = [joint for joint in joints if joint.type in ("revolute", "prismatic")]
    yield from _of(
        [joint for joint in bounded if not _has_range(joint)],
        Severity.WARNING,
        lambda joint: (
            f"{joint.type} without limits: give lower and upper"
            + (", or make it continuous" if joint.type == "revolute" else "")
        ),
    )
    yield from _of(
        [joint for joint in bounded if _has_range(joint) and joint.limit.lower == joint.limit.upper],
        Severity.WARNING,
        lambda joint: (
            f"lower and upper are both {joint.limit.lower:.4g}, so that it cannot move: make it fixed"
        ),
    )
    yield from _of(
        [joint for joint in joints if joint.type == "continuous" and _has_range(joint)],
        Severity.NOTE,
        lambda joint: (
            f"continuous, so that the limits {joint.limit.lower:.4g} to {joint.limit.upper:.4g} do not "
            "count: make it revolute if they should"
        ),
    )


def zero_outside(subject: Subject) -> Iterator[Finding]:
    """Find joints that cannot be at 0, where programs like to begin; passive joints are where loops close."""
    joints = subject.robot.independent_joints
    yield from _of(
        [joint for joint in joints if _excludes_zero(*_range(joint))],
        Severity.NOTE,
        lambda joint: f"position 0 is outside of the limits {_shown_range(joint)}",
    )


def units(subject: Subject) -> Iterator[Finding]:
    """Find limits that look like degrees, millimetres, or infinity."""
    revolute = [joint for joint in subject.robot.joints if joint.sigma is Sigma.REVOLUTE]
    prismatic = [joint for joint in subject.robot.joints if joint.sigma is Sigma.PRISMATIC]
    yield from _of(
        [joint for joint in revolute if DEGREES < _largest(joint) <= UNLIMITED],
        Severity.WARNING,
        lambda joint: f"limits {_shown_range(joint)} look like degrees: give rad",
    )
    yield from _of(
        [joint for joint in revolute if TURN < _largest(joint) <= DEGREES],
        Severity.NOTE,
        lambda joint: f"limits {_shown_range(joint)} are beyond one turn: check them",
    )
    yield from _of(
        [joint for joint in revolute if _largest(joint) > UNLIMITED],
        Severity.NOTE,
        lambda joint: f"limits {_shown_range(joint)} stand for none: make it continuous",
    )
    yield from _of(
        [joint for joint in prismatic if _largest(joint) > LONG],
        Severity.WARNING,
        lambda joint: f"limits {_shown_range(joint)} look like mm: give m",
    )
    yield from _speeds(subject, prismatic)


def _speeds(subject: Subject, prismatic: list[Joint]) -> Iterator[Finding]:
    """Look at velocities; a wheel, which turns for ever, may be fast."""
    continuous = {joint.name for joint in subject.urdf_joints() if joint.type == "continuous"}
    arms = [
        joint
        for joint in subject.robot.joints
        if joint.sigma is Sigma.REVOLUTE and joint.name not in continuous and _largest(joint) <= UNLIMITED
    ]
    yield from _of(
        [joint for joint in arms if FAST < _speed(joint) < UNLIMITED],
        Severity.WARNING,
        lambda joint: f"a greatest velocity of {_speed(joint):.4g} rad/s looks like degrees/s: give rad/s",
    )
    yield from _of(
        [joint for joint in arms if _speed(joint) >= UNLIMITED],
        Severity.NOTE,
        lambda joint: f"a greatest velocity of {_speed(joint):.4g} rad/s stands for none: give the real one",
    )
    yield from _of(
        [joint for joint in prismatic if _speed(joint) > LONG],
        Severity.WARNING,
        lambda joint: f"a greatest velocity of {_speed(joint):.4g} m/s looks like mm/s: give m/s",
    )


def unknown(subject: Subject) -> Iterator[Finding]:
    """Find joints of which it is not known how strong and how fast they are."""
    given = {joint.name: joint.limit for joint in subject.moving_urdf_joints()}
    driven = [joint for joint in subject.free_joints() if joint.mu == 1 and joint.name in given]
    yield from _of(
        [joint for joint in driven if given[joint.name].effort == 0.0],
        Severity.WARNING,
        lambda joint: "an effort limit of 0 is taken for not known, by others for no actuator: give it",
    )
    yield from _of(
        [joint for joint in driven if given[joint.name].velocity == 0.0],
        Severity.WARNING,
        lambda joint: "a velocity limit of 0 is taken for not known, by others for no motion: give it",
    )
    for what in ("effort", "velocity"):
        yield from _of(
            [joint for joint in driven if getattr(given[joint.name], what) is None],
            Severity.NOTE,
            lambda joint, what=what: f"no {what} limit: give it where it is known",
        )


def _of(
    joints: list[Joint] | list[UrdfJoint], severity: Severity, message: Callable[..., str]
) -> Iterator[Finding]:
    """Answer one finding about all these joints, in which the first serves as the example."""
    if joints:
        names = tuple(joint.name for joint in joints)
        what = message(joints[0])
        alike = all(message(joint) == what for joint in joints)
        yield Finding(severity, "joint", names, what if alike else of_first(names, what))


def _has_range(joint: UrdfJoint) -> bool:
    return (joint.limit.lower or 0.0, joint.limit.upper or 0.0) != (0.0, 0.0)


def _range(joint: Joint) -> tuple[float, float]:
    lower, upper = joint.limits.lower, joint.limits.upper
    return (-math.inf if lower is None else lower, math.inf if upper is None else upper)


def _excludes_zero(lower: float, upper: float) -> bool:
    """Whether a joint moves, but not to 0."""
    return lower < upper and not lower <= 0.0 <= upper


def _shown_range(joint: Joint) -> str:
    return f"{joint.limits.lower:.4g} to {joint.limits.upper:.4g} {joint.position_unit}"


def _largest(joint: Joint) -> float:
    """Greatest distance of a limit from 0 (rad or m); 0 where there is none."""
    return max(abs(joint.limits.lower or 0.0), abs(joint.limits.upper or 0.0))


def _speed(joint: Joint) -> float:
    return joint.limits.velocity or 0.0
