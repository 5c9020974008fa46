# SPDX-License-Identifier: Apache-2.0
"""A number that goes smoothly from one value to another."""

from __future__ import annotations

import math
from dataclasses import dataclass

STEEPEST = 1.875
"""Greatest slope of `smooth_step`."""


def smooth_step(u: float) -> float:
    """Answer 6 u^5 - 15 u^4 + 10 u^3, from 0 to 1: slope and curvature are zero at both ends.

    Below 0 it is 0, above 1 it is 1. The slope is 30 u^2 (1 - u)^2, at most 1.875.
    """
    if u <= 0.0:
        return 0.0
    if u >= 1.0:
        return 1.0
    return min(1.0, u * u * u * (10.0 + u * (6.0 * u - 15.0)))


@dataclass(frozen=True)
class Ramp:
    """A factor over time; its rate is at most ``1.875 |final - initial| / duration``.

    Attributes:
        begin: time at which it begins to change (s).
        duration: how long it changes (s); 0 for a step at `begin`.
        initial: value until then, in [0, 1].
        final: value afterwards, in [0, 1].
    """

    begin: float
    duration: float
    initial: float = 0.0
    final: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what is no ramp."""
        if not (math.isfinite(self.begin) and 0.0 <= self.duration < math.inf):
            raise ValueError(f"a ramp from {self.begin} s over {self.duration} s: both have to be finite")
        if not (0.0 <= self.initial <= 1.0 and 0.0 <= self.final <= 1.0):
            raise ValueError(f"a ramp from {self.initial} to {self.final}: both have to be in [0, 1]")

    def at(self, t: float) -> float:
        """Answer the factor at time t (s)."""
        s = smooth_step(progress(self.begin, self.duration, t))
        return self.final if s == 1.0 else (1.0 - s) * self.initial + s * self.final

    def over(self, t: float) -> bool:
        """Whether the final value is reached at time t (s)."""
        return progress(self.begin, self.duration, t) >= 1.0

    def toward(self, t: float, final: float, duration: float) -> Ramp:
        """Answer the ramp that goes from the present value at t (s) to another in `duration` (s)."""
        return Ramp(t, duration, self.at(t), final)


def progress(begin: float, duration: float, t: float) -> float:
    """Answer which part of `duration` after `begin` is over at time t (all s), in [0, 1]."""
    if not math.isfinite(t):
        raise ValueError(f"t: expected a finite time, but it is {t}")
    elapsed = t - begin
    if elapsed < 0.0:
        return 0.0
    return 1.0 if elapsed >= duration else elapsed / duration
