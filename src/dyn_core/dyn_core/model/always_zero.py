# SPDX-License-Identifier: Apache-2.0
"""Inertial parameters that robots with springs have places for, and that are always 0.

A motor behind a spring is a rotor, and turns a body without mass; an elastic joint has no rotor.
"""

from __future__ import annotations

from dyn_core.model.standard_parameters import INERTIAL
from dyn_core.robot.robot import Robot


def always_zero(robot: Robot) -> frozenset[str]:
    """Names of the inertial parameters that springs and their motors do not have."""
    zero: set[str] = set()
    for j, joint in enumerate(robot.joints, start=1):
        if joint.elastic is not None:
            zero.add(f"Ia{j}")
            if joint.elastic.motor:
                zero.update(f"{name}{joint.elastic.motor}" for name in INERTIAL)
    return frozenset(zero)
