# SPDX-License-Identifier: Apache-2.0
"""Gravity that is not that of the Earth."""

from __future__ import annotations

from collections.abc import Iterator

from dyn_core.check.subject import Subject
from dyn_core.core.findings import Finding, Severity
from dyn_core.symbolic import vec3

EARTH = (9.6, 9.9)
"""Accelerations that there are on the Earth, generously (m/s^2)."""


def gravity(subject: Subject) -> Iterator[Finding]:
    """Find gravity that is absent, or weaker or stronger than on the Earth."""
    strength = vec3.norm(subject.robot.gravity)
    if strength == 0.0:
        yield _found("there is no gravity: give it, unless the robot is in orbit or each joint vertical")
    elif not EARTH[0] <= strength <= EARTH[1]:
        yield _found(f"gravity is {strength:.4g} m/s^2, where the Earth has 9.81: check it")


def _found(message: str) -> Finding:
    return Finding(Severity.NOTE, "robot", (), message)
