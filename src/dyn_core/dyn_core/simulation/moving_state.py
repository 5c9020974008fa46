# SPDX-License-Identifier: Apache-2.0
"""The state of a robot whose base moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MovingState:
    """Where base and joints are, and how fast; nothing in it changes.

    Attributes:
        time: time (s).
        pose: of the base: position (m) and quaternion x, y, z, w, or x, y (m) and angle (rad) in the plane.
        V: velocity of the base on its axes (m/s, rad/s).
        q: positions of the joints (rad or m).
        qd: velocities of the joints (rad/s or m/s).
    """

    time: float
    pose: Array
    V: Array
    q: Array
    qd: Array

    def __post_init__(self) -> None:
        """Let nobody write to the arrays."""
        for array in (self.pose, self.V, self.q, self.qd):
            array.flags.writeable = False
