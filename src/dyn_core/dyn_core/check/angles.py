# SPDX-License-Identifier: Apache-2.0
"""Angles in degrees where URDF has radians."""

from __future__ import annotations

import math
from collections.abc import Iterator

from dyn_core.check.subject import Subject
from dyn_core.core.findings import Finding, Severity, of_first
from dyn_core.robot.description import UrdfOrigin

TURN = 2.0 * math.pi + 0.01
"""Angle beyond which none is written in radians: a full turn, rounded (rad)."""


def degrees(subject: Subject) -> Iterator[Finding]:
    """Find origins of joints and of inertias that are turned by more than a full turn."""
    if subject.description is None:
        return
    joints = [(joint.name, joint.origin) for joint in subject.description.joints]
    inertias = [(link.name, link.inertial.origin) for link in subject.description.links if link.inertial]
    for kind, element, origins in (("joint", "", joints), ("link", "<inertial>: ", inertias)):
        found = sorted(
            ((_greatest(origin), name) for name, origin in origins if _greatest(origin) > TURN),
            key=lambda item: item[0],
            reverse=True,
        )
        if found:
            names = tuple(name for _, name in found)
            message = f"{element}an angle of {found[0][0]:.4g} in rpy looks like degrees: give rad"
            yield Finding(Severity.WARNING, kind, names, of_first(names, message))


def _greatest(origin: UrdfOrigin) -> float:
    return max(map(abs, origin.rpy))
