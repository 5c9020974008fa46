# SPDX-License-Identifier: Apache-2.0
"""How simulated time goes on: period after period, as fast as the steady clock says."""

from __future__ import annotations

from collections.abc import Callable

from builtin_interfaces.msg import Time

from dyn_nodes.pacing import Pacing
from dyn_nodes.simulation.parameters import SimulationParameters
from dyn_nodes.simulation.simulated_robot import SimulatedRobot

LIMITS = ("faster than their limit", "at their effort limit", "at a stop")
_SLICE_S = 0.02
"""Time after which simulating gives way to messages, services and signals."""


class SimulationLoop:
    """Makes the periods of one simulated robot. It has a state: simulated time.

    Attributes:
        paused: whether time stands still.
        periods: simulated so far.
    """

    def __init__(
        self,
        given: SimulationParameters,
        steady: Callable[[], float],
        tell: Callable[[float], None],
        failed: Callable[[str], None],
    ) -> None:
        """Stand at the beginning of time.

        Args:
            given: the parameters.
            steady: the clock that simulated time keeps up with (s).
            tell: publishes the state, given when it should have been published (s).
            failed: is told why the motion could not be computed.
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
        """Names of the joints that met a limit, by the kind of limit."""
        return {what: ", ".join(sorted(names)) for what, names in self._limits_met.items()}

    def forget_limits(self) -> None:
        """Begin to look for joints at limits again."""
        self._limits_met = {}

    def restart(self) -> None:
        """Go on from now, because time stood still."""
        self._pacing.restart(self._steady())

    def pause(self, paused: bool) -> None:
        """Have time stand still, or go on."""
        self.paused = paused
        self.restart()

    def run_due(self, robot: SimulatedRobot) -> None:
        """Simulate and tell the periods that are due, unless they take too long."""
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
            # What the period took is not in its stamp: stamps would not be in order.
            self._tell(now - late)
            now = self._steady()
            if now > until:
                break

    def step(self, robot: SimulatedRobot) -> None:
        """Simulate and tell one period, whether it is due or not."""
        self._advance(robot)
        if robot.fault is None:
            self._tell(self._steady())

    def real_time_factor(self) -> float | None:
        """Simulated time for each second; None where time stands still, or before it is known."""
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


def time_message(nanoseconds: int) -> Time:
    """Answer a time in ns as a stamp."""
    seconds, rest = divmod(nanoseconds, 10**9)
    return Time(sec=seconds, nanosec=rest)
