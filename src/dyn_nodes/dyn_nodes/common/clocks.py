# SPDX-License-Identifier: Apache-2.0
"""What happens at a rate, although whoever does it may be late."""

from __future__ import annotations

import math
from collections.abc import Iterator

MADE_UP_S = 0.05
"""Delay (s) that is made up for. What was due before is left out."""


class Beat:
    """Times that are a period apart. It has a state: which of them is next.

    A timer of ROS leaves out a period when it is late by one, which makes a rate of 1 kHz lower on a machine
    that has other things to do.
    """

    def __init__(self, rate: float) -> None:
        """Take a rate (Hz)."""
        self._period = 1.0 / rate
        self.begin(0.0)

    def begin(self, t: float) -> None:
        """Have the first of the times be t (s)."""
        self._origin, self._count = t, 0

    def begin_again(self, t: float) -> None:
        """Have the next of the times be t (s), or go on where that one was answered already, ahead of it."""
        last = self._origin + (self._count - 1) * self._period
        if not (self._count and t <= last <= t + self._period):
            self.begin(t)

    def due(self, t: float) -> Iterator[float]:
        """Answer which times (s) are due at time t (s), each once.

        So is what will be due in less than half a period, for timers are not exact. Where the clock went
        back, the first time is t.
        """
        period = self._period
        ahead = self._origin + self._count * period - t
        if ahead > 2.0 * period:
            self.begin(t)
        elif ahead < -MADE_UP_S:
            self._count += math.ceil((-ahead - MADE_UP_S) / period)
        while (time := self._origin + self._count * period) <= t + 0.5 * period:
            self._count += 1
            yield time
