# SPDX-License-Identifier: Apache-2.0
"""Joints that mimic others in ways that are unusual, or against their limits."""

from __future__ import annotations

from collections.abc import Iterator

from dyn_core.check.subject import Subject
from dyn_core.core.findings import Finding, Severity
from dyn_core.robot.joints import Joint, Mimic

SLACK = 0.01
"""Part of its range that a follower may be led beyond its limits: URDFs round both."""


def mimics(subject: Subject) -> Iterator[Finding]:
    """Find mimic joints that stand still, follow followers, or are led beyond their limits."""
    followers = [(joint, joint.mimic) for joint in subject.robot.joints if joint.mimic is not None]
    still = [(joint, mimic) for joint, mimic in followers if mimic.leader == 0]
    for joint, mimic in still:
        what = (
            f"it follows nothing, and stands still at {mimic.offset:.4g} {joint.position_unit}: "
            "give another multiplier or joint, or make it fixed"
        )
        yield Finding(Severity.WARNING, "joint", (joint.name,), what)
    yield from _chained(subject)
    for joint, mimic in followers:
        if mimic.leader:
            yield from _led_beyond(joint, mimic, subject.robot.joints[mimic.leader - 1])


def _chained(subject: Subject) -> Iterator[Finding]:
    mimic_of = {joint.name: joint.mimic for joint in subject.urdf_joints() if joint.mimic}
    chained = {name: mimic.joint for name, mimic in mimic_of.items() if mimic.joint in mimic_of}
    if chained and any(joint.mimic for joint in subject.robot.joints):
        first = next(iter(chained.values()))
        what = f"it mimics '{first}', which mimics another: not all programs follow such chains"
        yield Finding(Severity.NOTE, "joint", tuple(chained), what)


def _led_beyond(joint: Joint, mimic: Mimic, leader: Joint) -> Iterator[Finding]:
    ends = [leader.limits.lower, leader.limits.upper]
    lower, upper = joint.limits.lower, joint.limits.upper
    if lower is None or upper is None or None in ends:
        return
    led = sorted(mimic.multiplier * end + mimic.offset for end in ends if end is not None)
    slack = SLACK * (upper - lower)
    if led[0] < lower - slack or led[1] > upper + slack:
        unit = joint.position_unit
        what = (
            f"'{leader.name}', which it mimics, leads it from {led[0]:.4g} to {led[1]:.4g} {unit}, "
            f"but its limits are {lower:.4g} to {upper:.4g} {unit}: check multiplier, offset and limits"
        )
        yield Finding(Severity.WARNING, "joint", (joint.name,), what)
