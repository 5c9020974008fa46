# SPDX-License-Identifier: Apache-2.0
"""Torques that stay at a greatest value although the motion needs more: a saturated sensor or drive.

A torque that is quantised, or at rest, is flat too; so a model is asked that was fitted to the other samples:
where a torque is cut, it goes on beyond.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.findings import Finding, Severity
from dyn_core.identification.bool_array import BoolArray
from dyn_core.robot.robot import Robot

FLAT = 2e-3
"""Part of the range within which samples are at the greatest value."""
FEWEST = 20
"""Samples at the greatest value, at least."""
BEYOND = 0.01
"""Part of the range by which the model goes beyond the greatest value, at least."""


class Flat(NamedTuple):
    """Samples of a torque at its greatest, or least, value.

    Attributes:
        joint: place of the joint.
        limit: the value (N m or N).
        samples: which, (N,).
    """

    joint: int
    limit: float
    samples: BoolArray


def flat_parts(tau: Array) -> list[Flat]:
    """Answer where torques (N, n), which are not filtered, stay at their greatest or least value."""
    found = []
    for i in range(tau.shape[1]):
        width = FLAT * float(np.ptp(tau[:, i]))
        for limit in (float(tau[:, i].max()), float(tau[:, i].min())):
            samples = np.abs(tau[:, i] - limit) <= width
            if width > 0.0 and np.sum(samples) >= FEWEST:
                found.append(Flat(i, limit, samples))
    return found


def saturation_findings(robot: Robot, tau: Array, expected: Array) -> list[Finding]:
    """Answer which torques are cut.

    Args:
        robot: the robot.
        tau: torques that were recorded, not filtered (N m or N), (N, n).
        expected: torques by a model that was fitted without the flat parts (N m or N), (N, n).
    """
    found = []
    for joint, limit, samples in flat_parts(tau):
        measured, wanted = tau[:, joint], expected[:, joint]
        others = measured[~samples] - wanted[~samples]
        noise = float(np.sqrt(np.mean(others**2))) if others.size else 0.0
        beyond = float(np.mean(wanted[samples]) - limit) * (1.0 if limit > np.median(measured) else -1.0)
        # Of samples in a row, one in ten says something of its own.
        doubt = 3.0 * noise / np.sqrt(max(np.sum(samples) / 10.0, 1.0))
        if beyond > max(BEYOND * float(np.ptp(measured)), doubt):
            one = robot.independent_joints[joint]
            found.append(
                Finding(
                    Severity.ERROR,
                    "joint",
                    (one.name,),
                    f"its torque stays at {limit:.4g} {one.effort_unit} in {np.sum(samples)} samples, where "
                    f"the others say {beyond:.2g} {one.effort_unit} more: the sensor or the drive is "
                    "saturated; drop these samples, or excite the joint less",
                )
            )
    return found
