# SPDX-License-Identifier: Apache-2.0
"""Whether a clock was set, as the system's is by people and by NTP."""

from __future__ import annotations


class ClockWatch:
    """Compares a clock with a steady one, from look to look. It has a state: the last look."""

    def __init__(self, tolerance: float) -> None:
        """Take a clock for set when it gains or loses more than `tolerance` (s) from one look to the next."""
        self._tolerance = tolerance
        self.restart()

    def restart(self) -> None:
        """Begin again: what was until now is not asked for."""
        self._ahead: float | None = None

    def was_set(self, t: float, now: float) -> bool:
        """Answer whether the clock, which says t (s), was set since the last look; `now` is steady (s)."""
        before, self._ahead = self._ahead, t - now
        return before is not None and abs(self._ahead - before) > self._tolerance
