# SPDX-License-Identifier: Apache-2.0
"""Simulated time in periods, paced by a steady clock."""

from __future__ import annotations

from collections.abc import Callable

from builtin_interfaces.msg import Time

from dyn_core import DynError
from dyn_nodes.common.messages.message_stamps import time_message
from dyn_nodes.simulation.parameters import SimulationParameters
from dyn_nodes.simulation.simulated_robot import SimulatedRobot

MAX_LAG_S = 0.05
"""Longest delay (s) that is caught up. Beyond it, simulated time lags, without a burst of periods."""
_WINDOW_S = 1.0


class Pacing:
    """Computes when the next period of simulated time is due.

    Periods have a fixed length and are never skipped: where they take too long to compute, simulated time is
    slower than requested.
    """

    def __init__(self, period_s: float, factor: float, now: float) -> None:
        """Begin at `now` on a steady clock, with `factor` simulated seconds for each second of it."""
        self._period_s = period_s
        self._interval_s = period_s / factor
        self.restart(now)

    def restart(self, now: float) -> None:
        """Begin again at `now`, after time stood still."""
        self._origin = self._window_began = now
        self._done = self._window_done = 0
        self._measured: float | None = None

    def overdue(self, now: float) -> float:
        """Return the time (s) since the next period was due; negative where it is not due yet."""
        late = now - (self._origin + (self._done + 1) * self._interval_s)
        if late > MAX_LAG_S:
            self._origin += late - MAX_LAG_S
            return MAX_LAG_S
        return late

    def count(self) -> None:
        """Count one simulated period."""
        self._done += 1

    def real_time_factor(self, now: float) -> float | None:
        """Return the simulated time per second in the last whole second; None before there is one."""
        elapsed = now - self._window_began
        if elapsed >= _WINDOW_S:
            self._measured = (self._done - self._window_done) * self._period_s / elapsed
            self._window_began, self._window_done = now, self._done
        return self._measured


LIMITS = {
    "faster than their limit": "joints-too-fast",
    "at their effort limit": "joints-at-effort-limit",
    "at a stop": "joints-at-stop",
}
"""Limits that joints can reach, with the codes of their notices."""
_SLICE_S = 0.02
"""Time after which the simulation yields to messages, services and signals (s)."""


class SimulationLoop:
    """Advances one simulated robot period by period. State: simulated time."""

    def __init__(
        self,
        given: SimulationParameters,
        steady: Callable[[], float],
        tell: Callable[[float], None],
        failed: Callable[[DynError], None],
    ) -> None:
        """Begin at simulated time zero.

        `tell` publishes the state; it takes the time of the clock `steady` when this was due (s). `failed`
        takes the reason why the motion could not be computed.
        """
        self.paused = given.paused
        self.periods = 0
        self._rate = given.rate
        self._steady = steady
        self._tell = tell
        self._failed = failed
        self._pacing = Pacing(given.period, given.real_time_factor, steady())
        self._limits_met: dict[str, set[str]] = {}

    @property
    def time(self) -> Time:
        """Simulated time."""
        return time_message(round(self.periods * 1e9 / self._rate))

    @property
    def limits_met(self) -> dict[str, str]:
        """Names of the joints that reached a limit, by the kind of limit."""
        return {what: ", ".join(sorted(names)) for what, names in self._limits_met.items()}

    def forget_limits(self) -> None:
        """Clear the joints at limits."""
        self._limits_met = {}

    def restart(self) -> None:
        """Continue from now, after time stood still."""
        self._pacing.restart(self._steady())

    def pause(self, paused: bool) -> None:
        """Stop or continue time."""
        self.paused = paused
        self.restart()

    def run_due(self, robot: SimulatedRobot) -> None:
        """Simulate and publish the periods that are due, for a limited time."""
        now = self._steady()
        until = now + _SLICE_S
        if self.paused or robot.fault is not None:
            if self._pacing.overdue(now) >= 0.0:
                self._pacing.restart(now)
                self._tell(now)
            return
        while (late := self._pacing.overdue(now)) >= 0.0:
            self._pacing.count()
            self._advance(robot)
            # The stamp does not include the computing time of the period, so stamps stay in order.
            self._tell(now - late)
            now = self._steady()
            if now > until:
                break

    def step(self, robot: SimulatedRobot) -> None:
        """Simulate and publish one period, whether it is due or not."""
        self._advance(robot)
        if robot.fault is None:
            self._tell(self._steady())

    def real_time_factor(self) -> float | None:
        """Return the simulated time per second; None where time stands still, or before it is known."""
        return None if self.paused else self._pacing.real_time_factor(self._steady())

    def _advance(self, robot: SimulatedRobot) -> None:
        robot.advance()
        if robot.fault is not None:
            self._failed(robot.fault)
            return
        self.periods += 1
        simulator = robot.simulator
        met = (simulator.too_fast, simulator.at_effort_limit, simulator.at_stop)
        for what, names in zip(LIMITS, met, strict=True):
            if names:
                self._limits_met.setdefault(what, set()).update(names)
