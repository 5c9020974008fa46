# SPDX-License-Identifier: Apache-2.0
"""Torques that stay at a greatest value although the motion needs more: a saturated sensor or drive.

A torque that is quantised, or at rest, is flat too; so what the model says is asked: beyond the flat part it
goes on, on the side on which it is flat.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dyn_core.check.finding import Finding, Severity
from dyn_core.facade.arrays import Array
from dyn_core.model.robot import Robot

FLAT = 2e-3
"""Part of the range within which samples are at the greatest value."""
FEWEST = 20
"""Samples at the greatest value, at least."""
BEYOND = 0.01
"""Part of the range by which the model goes beyond the greatest value, at least."""


class Saturation(NamedTuple):
    """A joint whose torque is flat.

    Attributes:
        joint: place of the joint.
        limit: greatest or least torque that was recorded (N m or N).
        samples: how many samples are there.
        missing: by how much the model goes beyond it there, on average (N m or N).
    """

    joint: int
    limit: float
    samples: int
    missing: float


def saturations(tau: Array, expected: Array) -> list[Saturation]:
    """Answer the joints whose torque is cut.

    Args:
        tau: torques that were recorded, not filtered (N m or N), (N, n).
        expected: torques by a model (N m or N), (N, n).
    """
    found = []
    for i in range(tau.shape[1]):
        width = FLAT * float(np.ptp(tau[:, i]))
        for sign in (1.0, -1.0):
            values, wanted = sign * tau[:, i], sign * expected[:, i]
            limit = float(values.max())
            flat = values >= limit - width
            others = float(np.std((values - wanted)[~flat])) if not flat.all() else 0.0
            if np.sum(flat) < FEWEST or width == 0.0:
                continue
            missing = float(np.mean(wanted[flat])) - limit
            # Of samples in a row, one in ten says something of its own.
            doubt = 3.0 * others / np.sqrt(max(np.sum(flat) / 10.0, 1.0))
            if missing > max(BEYOND * float(np.ptp(tau[:, i])), doubt):
                found.append(Saturation(i, sign * limit, int(np.sum(flat)), missing))
    return found


def saturation_findings(robot: Robot, tau: Array, expected: Array) -> list[Finding]:
    """Answer which torques are cut, in sentences."""
    found = []
    for one in saturations(tau, expected):
        joint = robot.independent_joints[one.joint]
        found.append(
            Finding(
                Severity.ERROR,
                "joint",
                (joint.name,),
                f"its torque stays at {one.limit:.4g} {joint.effort_unit} in {one.samples} samples, where "
                f"the others say {one.missing:.2g} {joint.effort_unit} more: the sensor or the drive is "
                "saturated; drop these samples, or excite the joint less",
            )
        )
    return found


def usable(tau: Array, found: Sequence[Saturation]) -> Array:
    """Answer which samples (N,) are at no limit."""
    good = np.ones(len(tau), dtype=bool)
    for one in found:
        width = FLAT * float(np.ptp(tau[:, one.joint]))
        good &= np.abs(tau[:, one.joint] - one.limit) > width
    return good
