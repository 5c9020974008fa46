# SPDX-License-Identifier: Apache-2.0
"""Periods of simulated time against a clock that goes on by itself."""

from __future__ import annotations

MAX_LAG_S = 0.05
"""Delay (s) that is caught up. What is above is given up: simulated time then lags, without a burst."""
_WINDOW_S = 1.0


class Pacing:
    """When the next period of simulated time is due.

    Periods are never longer than they are, and never left out: where they take more time than there is,
    simulated time is slower than it should be.
    """

    def __init__(self, period_s: float, factor: float, now: float) -> None:
        """Begin at `now` on a steady clock.

        Args:
            period_s: simulated time of a period (s).
            factor: simulated time for each second of the clock, as it should be.
            now: the present (s).
        """
        self._period_s = period_s
        self._interval_s = period_s / factor
        self.restart(now)

    def restart(self, now: float) -> None:
        """Begin again at `now`, because time stood still until then."""
        self._origin = self._window_began = now
        self._done = self._window_done = 0
        self._measured: float | None = None

    def overdue(self, now: float) -> float:
        """Time (s) since the next period was due; negative where it is still to come."""
        late = now - (self._origin + (self._done + 1) * self._interval_s)
        if late > MAX_LAG_S:
            self._origin += late - MAX_LAG_S
            return MAX_LAG_S
        return late

    def count(self) -> None:
        """Say that the next period has been simulated."""
        self._done += 1

    def real_time_factor(self, now: float) -> float | None:
        """Simulated time for each second of the last whole second of the clock; None before there is one."""
        elapsed = now - self._window_began
        if elapsed >= _WINDOW_S:
            self._measured = (self._done - self._window_done) * self._period_s / elapsed
            self._window_began, self._window_done = now, self._done
        return self._measured
