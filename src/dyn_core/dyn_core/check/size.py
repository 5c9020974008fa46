# SPDX-License-Identifier: Apache-2.0
"""Robots that are larger than robots are, or do not move."""

from __future__ import annotations

from collections.abc import Iterator

from dyn_core.check.extent import extent
from dyn_core.check.subject import Subject
from dyn_core.core.findings import Finding, Severity

LONG = 50.0
"""Reach of a robot that is more likely in mm than in m."""

SHORT = 1e-3
"""Reach of a robot that is hardly in m."""


def size(subject: Subject) -> Iterator[Finding]:
    """Find robots whose lengths look like millimetres or kilometres, and robots without joints."""
    reach = extent(subject.robot).reach
    if reach > LONG:
        what = f"its links put together are {reach:.4g} m long: lengths look like mm: give m"
        yield Finding(Severity.WARNING, "robot", (), what)
    elif 0.0 < reach < SHORT:
        what = f"its links put together are {reach:.2g} m long: check the unit of lengths (m)"
        yield Finding(Severity.WARNING, "robot", (), what)
    if not subject.robot.joints:
        yield Finding(Severity.NOTE, "robot", (), "it has no joint that moves")
