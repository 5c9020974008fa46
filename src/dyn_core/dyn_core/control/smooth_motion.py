# SPDX-License-Identifier: Apache-2.0
"""How the joints move at one instant, up to the fourth derivative, which motors behind springs need."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyn_core.control.motion import Motion
from dyn_core.core.arrays import Array


class SmoothMotion(NamedTuple):
    """Joint vectors in the order of the model, (n,), or (N, n) for N motions.

    Attributes:
        q: positions (rad or m).
        qd: velocities (rad/s or m/s).
        qdd: accelerations (rad/s^2 or m/s^2).
        jerk: third derivatives (rad/s^3 or m/s^3).
        snap: fourth derivatives (rad/s^4 or m/s^4).
    """

    q: Array
    qd: Array
    qdd: Array
    jerk: Array
    snap: Array

    @property
    def motion(self) -> Motion:
        """The motion without the higher derivatives."""
        return Motion(self.q, self.qd, self.qdd)

    @staticmethod
    def at_rest(q: Array) -> SmoothMotion:
        """Answer the motion of joints that stand still at q (rad or m)."""
        zero = np.zeros(np.shape(q))
        return SmoothMotion(q, zero, zero, zero, zero)
