# SPDX-License-Identifier: Apache-2.0
"""The springs of elastic joints: what they are like, and where they rest."""

from __future__ import annotations

import math
from collections.abc import Iterator

from dyn_core.check.subject import Subject
from dyn_core.core.findings import Finding, Severity, of_first
from dyn_core.dynamics.oscillations import oscillations
from dyn_core.robot.joints import Joint


def springs(subject: Subject) -> Iterator[Finding]:
    """Tell which joints are elastic, and find springs that rest beyond the limits of their joint."""
    robot = subject.robot
    elastic = [joint for joint in robot.joints if joint.elastic is not None]
    if not elastic:
        return
    for joints, where in (
        ([joint for joint in elastic if not _motor(joint)], "a spring in the place of an actuator"),
        ([joint for joint in elastic if _motor(joint)], "a spring behind its motor"),
    ):
        if joints:
            names = tuple(joint.name for joint in joints)
            yield Finding(Severity.NOTE, "joint", names, of_first(names, f"{where}, {_words(joints[0])}"))
    beyond = [joint for joint in elastic if not _motor(joint) and not _rests_inside(joint)]
    for joint in beyond:
        assert joint.elastic is not None
        message = (
            f"its spring rests at {joint.elastic.rest:g} {joint.position_unit}, which is not between its "
            "limits: check rest and limits"
        )
        yield Finding(Severity.WARNING, "joint", (joint.name,), message)
    fastest = max(oscillations(robot, [0.0] * robot.dof), default=0.0)
    if 0.0 < fastest < math.inf:
        message = f"with its springs it swings at up to {fastest / (2.0 * math.pi):.4g} Hz"
        yield Finding(Severity.NOTE, "robot", (), message)


def _motor(joint: Joint) -> bool:
    return joint.elastic is not None and joint.elastic.motor != 0


def _words(joint: Joint) -> str:
    spring = joint.elastic
    assert spring is not None
    unit = f"{joint.effort_unit}/{joint.position_unit}"
    return f"stiffness {spring.stiffness:g} {unit}, rest {spring.rest:g} {joint.position_unit}"


def _rests_inside(joint: Joint) -> bool:
    assert joint.elastic is not None
    lower = -math.inf if joint.limits.lower is None else joint.limits.lower
    upper = math.inf if joint.limits.upper is None else joint.limits.upper
    return lower <= joint.elastic.rest <= upper
