# SPDX-License-Identifier: Apache-2.0
"""Names that programs will confuse or refuse."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dyn_core.check.subject import Subject
from dyn_core.core.findings import Finding, Severity
from dyn_core.io.compound_joints import joint_names as part_names

_PLAIN = re.compile(r"[A-Za-z0-9_\-]+")


def names(subject: Subject) -> Iterator[Finding]:
    """Find names that differ in case only, and joints' names that are no names of ROS parameters."""
    links = [frame.name for frame in subject.robot.link_frames]
    joints = [joint.name for joint in subject.urdf_joints() or subject.robot.joints]
    for kind, given in (("joint", joints), ("link", links)):
        yield from _alike(kind, given)
        spaced = tuple(name for name in given if any(c.isspace() for c in name))
        if spaced:
            what = "a space in the name is its end for topics, files and command lines: rename it"
            yield Finding(Severity.WARNING, kind, spaced, what)
    chained = {name for joint in subject.urdf_joints() for name in part_names(joint)}
    moving = (joint.name for joint in subject.robot.joints if joint.name not in chained)
    odd = tuple(name for name in moving if not _PLAIN.fullmatch(name) and " " not in name)
    if odd:
        what = (
            "other characters than letters, digits, _ and - in the name break ROS parameters and topics that "
            "are named after it (gains.NAME.p): rename it"
        )
        yield Finding(Severity.NOTE, "joint", odd, what)
    slashed = tuple(name for name in links if name.startswith("/"))
    if slashed:
        yield Finding(Severity.WARNING, "link", slashed, "tf2 refuses names that begin with /: rename it")


def _alike(kind: str, given: list[str]) -> Iterator[Finding]:
    by_case: dict[str, list[str]] = {}
    for name in given:
        by_case.setdefault(name.casefold(), []).append(name)
    for alike in by_case.values():
        if len(alike) > 1:
            yield Finding(Severity.WARNING, kind, tuple(alike), "these names differ in case only: rename one")
