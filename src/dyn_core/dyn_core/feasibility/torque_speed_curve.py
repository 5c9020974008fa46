# SPDX-License-Identifier: Apache-2.0
"""The greatest torque of an actuator over its speed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError


@dataclass(frozen=True)
class TorqueSpeedCurve:
    """Straight lines between points, constant before the first and after the last.

    It holds either way, for driving and for braking; what is different between these is said by limits of
    power.

    Attributes:
        speeds: speeds at the joint (rad/s or m/s), from 0 on, increasing.
        efforts: greatest torques or forces there (N m or N); infinite where there is no limit.
    """

    speeds: tuple[float, ...]
    efforts: tuple[float, ...]

    @staticmethod
    def constant(effort: float) -> TorqueSpeedCurve:
        """Answer the curve of a torque (N m or N) that does not depend on the speed."""
        return TorqueSpeedCurve((0.0,), (effort,))

    def at(self, speed: npt.ArrayLike) -> Array:
        """Answer the greatest torque at speeds of either sign (rad/s or m/s)."""
        return np.interp(np.abs(np.asarray(speed, dtype=np.float64)), self.speeds, self.efforts)

    @property
    def slopes(self) -> tuple[float, ...]:
        """How the torque changes with the speed between the points."""
        return tuple(
            0.0 if math.isinf(e1) else (e1 - e0) / (s1 - s0)
            for s0, s1, e0, e1 in zip(
                self.speeds, self.speeds[1:], self.efforts, self.efforts[1:], strict=False
            )
        )


def checked_curve(owner: str, points: Sequence[tuple[float, float]]) -> TorqueSpeedCurve:
    """Answer the curve through points of speed and torque; DynError where it is none.

    Args:
        owner: what the curve belongs to, for messages: "joint 'elbow'".
        points: speed (rad/s or m/s) and greatest torque (N m or N), by increasing speed.
    """
    if not points:
        raise DynError(f"the torque-speed curve of {owner} has no points: give [speed, effort] pairs")
    speeds = tuple(float(speed) for speed, _ in points)
    efforts = tuple(float(effort) for _, effort in points)
    for speed, effort in zip(speeds, efforts, strict=True):
        if not (math.isfinite(speed) and math.isfinite(effort) and speed >= 0.0 and effort >= 0.0):
            raise DynError(
                f"the torque-speed curve of {owner} has the point [{speed:g}, {effort:g}]: "
                "give a finite speed and effort that are not negative",
                element=owner,
            )
    for before, after in itertools.pairwise(speeds):
        if after <= before:
            raise DynError(
                f"the torque-speed curve of {owner} has the speed {after:g} after {before:g}: "
                "give points by increasing speed",
                element=owner,
            )
    if efforts[0] == 0.0:
        raise DynError(
            f"the torque-speed curve of {owner} begins with the effort 0: "
            "an actuator without torque at rest can hold nothing",
            element=owner,
        )
    return TorqueSpeedCurve(speeds, efforts)
