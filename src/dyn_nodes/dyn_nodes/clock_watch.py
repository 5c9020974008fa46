# SPDX-License-Identifier: Apache-2.0
"""Whether a clock was set, as the system's is by people and by NTP."""

from __future__ import annotations


class ClockWatch:
    """Compares a clock with a steady one, from look to look. It has a state: the last look.

    Attributes:
        gained: what the clock gained from the last look but one to the last (s), negative where it lost.
    """

    def __init__(self, tolerance: float) -> None:
        """Take a clock for set when it gains or loses more than `tolerance` (s) from one look to the next."""
        self._tolerance = tolerance
        self.restart()

    def restart(self) -> None:
        """Begin again: what was until now is not asked for."""
        self._ahead: tuple[float, float] | None = None
        self.gained = 0.0

    def was_set(self, t: float, begin: float, end: float) -> bool:
        """Answer whether the clock was set since the last look.

        Args:
            t: what it says (s), read at some time between the next two.
            begin: the present on the steady clock before (s).
            end: the present on the steady clock afterwards (s): whoever reads clocks can be interrupted.
        """
        before, self._ahead = self._ahead, (t - end, t - begin)
        if before is None:
            return False
        self.gained = 0.5 * (sum(self._ahead) - sum(before))
        gained, lost = self._ahead[0] - before[1], before[0] - self._ahead[1]
        return max(gained, lost) > self._tolerance
