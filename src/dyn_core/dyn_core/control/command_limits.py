# SPDX-License-Identifier: Apache-2.0
"""Torques within the limits of the joints."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from operator import le
from typing import Literal, NamedTuple, get_args

import numpy as np

from dyn_core.control.settings import PerJoint, joint_values
from dyn_core.control.vectors import is_finite, refuse
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.robot.robot import Robot

OnLimit = Literal["clip", "scale", "withhold"]


class Limited(NamedTuple):
    """Torques within limits.

    Attributes:
        torques: what is left (N m or N), (n,); None where nothing should be sent.
        excess: by how much each joint asked for more than it has (N m or N), at least 0, (n,); None where
            no joint did.
    """

    torques: Array | None
    excess: Array | None


class EffortLimits:
    """Limits of torques, and what becomes of torques beyond them.

    ``"clip"`` holds each joint at its limit; ``"scale"`` makes all torques smaller by one factor, which keeps
    their ratios; ``"withhold"`` answers none.

    Attributes:
        joint_names: the joints.
        limits: greatest torque either way (N m or N), infinite where it is not known, (n,).
        on_limit: what becomes of torques beyond them.
    """

    def __init__(self, joint_names: Sequence[str], limits: PerJoint, on_limit: OnLimit = "clip") -> None:
        """Take the limits (N m or N); DynError where one is negative or no number."""
        if on_limit not in get_args(OnLimit):
            raise DynError(f"on_limit is {on_limit!r}: choose 'clip', 'scale' or 'withhold'")
        self.joint_names = tuple(joint_names)
        self.limits = joint_values("the effort limit", joint_names, limits, least=0.0, infinite=True)
        self.on_limit: OnLimit = on_limit
        # Nothing that is not finite is below them: a comparison with NaN is false.
        self._bounds = [min(limit, sys.float_info.max) for limit in self.limits.tolist()]

    @staticmethod
    def of_robot(robot: Robot, on_limit: OnLimit = "clip") -> EffortLimits:
        """Answer the limits that the description of a robot gives."""
        efforts = (joint.limits.effort for joint in robot.independent_joints)
        limits = [math.inf if effort is None else effort for effort in efforts]
        return EffortLimits(robot.coordinate_names, limits, on_limit)

    def within(self, torques: Array) -> bool:
        """Whether torques (N m or N) are (n,), finite, and none is above its limit; in 0.4 us."""
        return torques.shape == self.limits.shape and all(map(le, map(abs, torques.tolist()), self._bounds))

    def applied(self, torques: Array) -> Limited:
        """Answer torques (N m or N), (n,), within the limits.

        Raises:
            ValueError: a torque is not finite.
        """
        if self.within(torques):
            return Limited(torques, None)
        if torques.shape != self.limits.shape or not is_finite(torques):
            self._refuse(torques)
        size = np.abs(torques)
        excess = np.maximum(size - self.limits, 0.0)
        if self.on_limit == "withhold":
            return Limited(None, excess)
        if self.on_limit == "clip":
            return Limited(np.minimum(np.maximum(torques, -self.limits), self.limits), excess)
        beyond = excess > 0.0
        scaled = torques * float((self.limits[beyond] / size[beyond]).min())
        # The product may be above the limit by a rounding.
        return Limited(np.minimum(np.maximum(scaled, -self.limits), self.limits), excess)

    def sentence(self, torques: Array, units: Sequence[str] | None = None) -> str:
        """Say which joint asks for most beyond its limit.

        Args:
            torques: what was asked for (N m or N), (n,).
            units: unit of each torque, for the sentence.
        """
        j = int(np.argmax(np.abs(torques) - self.limits))
        unit = "" if units is None else f" {units[j]}"
        return (
            f"joint '{self.joint_names[j]}' asks for {torques[j]:.4g}{unit}, "
            f"its effort limit is {self.limits[j]:.4g}{unit}"
        )

    def _refuse(self, torques: Array) -> None:
        if torques.shape != self.limits.shape:
            raise ValueError(f"torques: expected the shape {self.limits.shape}, but it has {torques.shape}")
        refuse("torque", self.joint_names, torques)
