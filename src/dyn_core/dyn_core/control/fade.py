# SPDX-License-Identifier: Apache-2.0
"""Torques that go over from what was sent to what is wanted."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np

from dyn_core.control.vectors import check_vector
from dyn_core.core.arrays import Array


class Fade:
    """Crossfade from the torques that were sent when something changed. It has a state: what was sent last.

    With f from 0 to 1, (1 - f) a + f b goes from a, the torques at the time of the change, to the torques b
    that are wanted, which may move. It begins with a: there is no step, whatever changed, and it is
    within any limits that both keep.

    Attributes:
        joint_names: the joints.
        sent: what was answered last (N m or N), (n,), not to be written to; zero before anything was.
    """

    def __init__(self, joint_names: Sequence[str]) -> None:
        """Begin with nothing sent."""
        self.joint_names = tuple(joint_names)
        self.reset()

    def reset(self) -> None:
        """Begin again from zero, because the receiver no longer holds what was sent."""
        self.sent = np.zeros(len(self.joint_names))
        self._from = self.sent
        self._change: Hashable = None

    def toward(self, change: Hashable, factor: float, torques: Array) -> Array:
        """Answer the torques to send.

        Args:
            change: anything that is another one when something changed, such as `Watch.change`.
            factor: f, in [0, 1].
            torques: b, the torques that are wanted (N m or N), (n,).

        Raises:
            ValueError: a number is not finite, or the factor not in [0, 1]; the state stays as it was.
        """
        if torques.shape != self.sent.shape or not math.isfinite(sum(torques.tolist())):
            check_vector("torque", self.joint_names, torques)
        if not 0.0 <= factor <= 1.0:
            raise ValueError(f"factor: expected a number in [0, 1], but it is {factor}")
        if change != self._change:
            self._change, self._from = change, self.sent
        self.sent = torques.copy() if factor == 1.0 else _mixed(self._from, torques, factor)
        self.sent.flags.writeable = False
        return self.sent


def _mixed(a: Array, b: Array, f: float) -> Array:
    """Answer (1 - f) a + f b, and not a rounding beyond both."""
    mixture = (1.0 - f) * a + f * b
    return np.minimum(np.maximum(mixture, np.minimum(a, b)), np.maximum(a, b))
