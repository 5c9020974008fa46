# SPDX-License-Identifier: Apache-2.0
"""Torques that change no faster than they may."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dyn_core.control.command_limits import Limited
from dyn_core.control.settings import PerJoint, joint_values
from dyn_core.control.vectors import check_vector
from dyn_core.core.arrays import Array


class RateLimit:
    """Greatest rate of torques.

    What it answers is between what was sent and what is wanted: within any limits that both keep.

    Attributes:
        joint_names: the joints.
        rate: greatest change either way (N m/s or N/s), (n,); infinite for none.
    """

    def __init__(self, joint_names: Sequence[str], rate: PerJoint) -> None:
        """Take the rates (N m/s or N/s); DynError where one is not above 0."""
        self.joint_names = tuple(joint_names)
        self.rate = joint_values("the greatest rate of torque", joint_names, rate, above=0.0, infinite=True)

    def applied(self, sent: Array, wanted: Array, dt: float) -> Limited:
        """Answer the torques to send now; the excess is how far they still are from `wanted`.

        Args:
            sent: torques that were sent last (N m or N), (n,).
            wanted: torques that are wanted (N m or N), (n,).
            dt: time since the last were sent (s), at least 0.
        """
        check_vector("torque", self.joint_names, wanted)
        check_vector("torque sent last", self.joint_names, sent)
        if not 0.0 <= dt < math.inf:
            raise ValueError(f"dt: expected a finite time >= 0, but it is {dt}")
        # Infinity times zero would be no number: without time nothing changes, unless it may jump.
        step = self.rate * dt if dt > 0.0 else np.where(np.isinf(self.rate), math.inf, 0.0)
        size = np.abs(wanted - sent)
        if (size <= step).all():
            return Limited(wanted, None)
        torques = np.minimum(np.maximum(wanted, sent - step), sent + step)
        return Limited(torques, np.maximum(size - step, 0.0))
