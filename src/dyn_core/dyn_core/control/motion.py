# SPDX-License-Identifier: Apache-2.0
"""How the joints move at one instant."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyn_core.core.arrays import Array


class Motion(NamedTuple):
    """Joint vectors in the order of the model, each of the shape (n,).

    Attributes:
        q: positions (rad or m).
        qd: velocities (rad/s or m/s).
        qdd: accelerations (rad/s^2 or m/s^2).
    """

    q: Array
    qd: Array
    qdd: Array

    def carried(self, dt: float) -> Motion:
        """Answer the motion a time dt later (s), or earlier, with the same accelerations all the way."""
        if dt == 0.0:
            return self
        rate = dt * self.qdd
        return Motion(self.q + dt * (self.qd + 0.5 * rate), self.qd + rate, self.qdd)

    @staticmethod
    def at_rest(q: Array) -> Motion:
        """Answer the motion of joints that stand still at q (rad or m)."""
        zero = np.zeros(len(q))
        return Motion(q, zero, zero)
