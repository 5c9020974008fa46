# SPDX-License-Identifier: Apache-2.0
"""The state of a robot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class State:
    """Where the joints are, and how fast; nothing in it changes.

    Attributes:
        time: time (s).
        q: positions (rad or m), read-only.
        qd: velocities (rad/s or m/s), read-only.
    """

    time: float
    q: Array
    qd: Array

    def __post_init__(self) -> None:
        """Let nobody write to the arrays."""
        self.q.flags.writeable = False
        self.qd.flags.writeable = False
