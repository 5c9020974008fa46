# SPDX-License-Identifier: Apache-2.0
"""Gains that go over to others without a step in the torques."""

from __future__ import annotations

from dataclasses import dataclass

from dyn_core.core.arrays import Array


@dataclass
class GainBlend:
    """Arrays of gains on their way to others. State: both ends, and when the way began (s).

    A torque that is linear in the gains then goes from the one to the other as smoothly as they do.
    """

    target: tuple[Array, ...]
    _start: tuple[Array, ...] = ()
    _began: float = 0.0
    _duration: float = 0.0

    def change(self, gains: tuple[Array, ...], now: float, duration: float) -> None:
        """Begin the way from the present gains to others at time `now`; it takes `duration` (s)."""
        self._start, self._began, self._duration = self.at(now) or self.target, now, duration
        self.target = gains

    def at(self, now: float) -> tuple[Array, ...] | None:
        """Return the gains at time `now` (s); None where they have been those of `target` before."""
        if not self._start:
            return None
        part = 1.0 if self._duration <= 0.0 else min((now - self._began) / self._duration, 1.0)
        if part >= 1.0:
            self._start = ()
            return self.target
        smooth = part * part * (3.0 - 2.0 * part)
        return tuple(a + smooth * (b - a) for a, b in zip(self._start, self.target, strict=True))
