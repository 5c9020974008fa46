# SPDX-License-Identifier: Apache-2.0
"""What a robot was moved by while a log was made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dyn_core.core.arrays import Array


@dataclass(frozen=True, eq=False)
class Control:
    """A proportional-derivative control with a feedforward: what the robot was moved by.

    ``tau = kp (q_r - q) + kd (qd_r - qd) + feedforward``, within limits.

    Attributes:
        q: positions that were asked for (rad or m), (N, n).
        qd: velocities that were asked for (rad/s or m/s), (N, n).
        feedforward: torques besides (N m or N), (N, n).
        kp: gains (N m/rad or N/m), (n,).
        kd: gains (N m s/rad or N s/m), (n,).
        limit: greatest torques (N m or N), (n,).
    """

    q: Array
    qd: Array
    feedforward: Array
    kp: Array
    kd: Array
    limit: Array

    def __post_init__(self) -> None:
        """Refuse arrays that do not go together; ValueError, which names them."""
        if self.q.ndim != 2:
            raise ValueError(f"control: expected positions (N, n), but q has the shape {self.q.shape}")
        of_joints = self.q.shape[1:]
        for name, array, shape in (
            ("qd", self.qd, self.q.shape),
            ("feedforward", self.feedforward, self.q.shape),
            ("kp", self.kp, of_joints),
            ("kd", self.kd, of_joints),
            ("limit", self.limit, of_joints),
        ):
            if array.shape != shape:
                raise ValueError(f"control: expected {name} of the shape {shape}, but it has {array.shape}")

    def part(self, first: int, last: int) -> Control:
        """Answer the control of the samples from `first` up to, and without, `last`."""
        inside = slice(first, last)
        return replace(self, q=self.q[inside], qd=self.qd[inside], feedforward=self.feedforward[inside])

    def of_joints(self, places: Sequence[int]) -> Control:
        """Answer the control of some joints, in this order."""
        k = list(places)
        q, qd, feedforward = (array[:, k] for array in (self.q, self.qd, self.feedforward))
        return Control(q, qd, feedforward, self.kp[k], self.kd[k], self.limit[k])

    def at(self, wanted: Array, time: Array) -> Control:
        """Answer the control at other times (s), by straight lines.

        Args:
            wanted: the other times.
            time: its own.
        """
        q, qd, feedforward = (
            np.column_stack([np.interp(wanted, time, column) for column in array.T])
            for array in (self.q, self.qd, self.feedforward)
        )
        return replace(self, q=q, qd=qd, feedforward=feedforward)
