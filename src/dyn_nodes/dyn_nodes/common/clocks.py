# SPDX-License-Identifier: Apache-2.0
"""Clocks: node time, detection of clock jumps, simultaneous readings, fixed-rate schedule."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

from rclpy.clock import Clock, JumpThreshold, ROSClock, TimeJump
from rclpy.clock_type import ClockType


class NodeTime:
    """The time of a node's clock, 15 times faster than rclpy where the clock is the system clock.

    Nodes need the time a thousand times a second. State: whether the clock is the system clock.
    """

    def __init__(self, clock: Clock) -> None:
        """Follow the clock of a node until `close`."""
        self._clock = clock
        self.is_of_system = _is_of_system(clock)
        change = JumpThreshold(min_forward=None, min_backward=None, on_clock_change=True)
        self._jumps = clock.create_jump_callback(change, post_callback=self._on_change)

    def close(self) -> None:
        """Stop following the clock."""
        self._jumps.unregister()

    def nanoseconds(self) -> int:
        """Return the time since the epoch of the clock (ns)."""
        return time.time_ns() if self.is_of_system else int(self._clock.now().nanoseconds)

    def _on_change(self, _: TimeJump) -> None:
        self.is_of_system = _is_of_system(self._clock)


def _is_of_system(clock: Clock) -> bool:
    """Return whether a clock is the system clock; a ROS clock is, unless its time is simulated."""
    if isinstance(clock, ROSClock):
        return not clock.ros_time_is_active
    return bool(clock.clock_type == ClockType.SYSTEM_TIME)


class ClockWatch:
    """Compares a clock, which people and NTP may set, with a steady clock. State: the last comparison.

    `gained` is the time (s) that the clock gained between the last two calls, or lost where it is negative.
    """

    def __init__(self, tolerance: float) -> None:
        """Report a change when the clock gains or loses more than `tolerance` (s) between two calls."""
        self._tolerance = tolerance
        self.restart()

    def restart(self) -> None:
        """Forget the last comparison."""
        self._ahead: tuple[float, float] | None = None
        self.gained = 0.0

    def was_set(self, t: float, begin: float, end: float) -> bool:
        """Return whether the clock was set since the last call.

        The clock was read as t between `begin` and `end` of the steady clock (all s), because the process
        can be interrupted between two readings.
        """
        before, self._ahead = self._ahead, (t - end, t - begin)
        if before is None:
            return False
        self.gained = 0.5 * (sum(self._ahead) - sum(before))
        gained, lost = self._ahead[0] - before[1], before[0] - self._ahead[1]
        return max(gained, lost) > self._tolerance


_NEAR_S = 5e-5
_LOOKS = 5


def simultaneous_times(steady: Callable[[], float], other: Callable[[], int]) -> tuple[float, int]:
    """Return the times of a steady clock (s) and of another clock (ns), read at most 50 us apart.

    They can be further apart where the process is interrupted in each of several attempts.
    """
    for _ in range(_LOOKS):
        before, present, after = steady(), other(), steady()
        if after - before <= _NEAR_S:
            break
    return after, present


CATCH_UP_S = 0.05
"""Longest delay (s) after which missed times are caught up. Times that were due earlier are skipped."""


class RateSchedule:
    """Fixed-rate schedule that catches up after an overrun. State: the next time.

    A ROS timer skips a period when it is one period late. This lowers a rate of 1 kHz on a busy machine.
    """

    def __init__(self, rate: float) -> None:
        """Set the rate (Hz)."""
        self._period = 1.0 / rate
        self.begin(0.0)

    def begin(self, t: float) -> None:
        """Let the next time be t (s), and count periods from there."""
        self._origin, self._count = t, 0

    def begin_again(self, t: float) -> None:
        """Let the next time be t (s), unless the last returned time is up to a period ahead of t."""
        last = self._origin + (self._count - 1) * self._period
        if not (self._count and t <= last <= t + self._period):
            self.begin(t)

    def due(self, t: float) -> Iterator[float]:
        """Yield the times (s) that are due at time t (s), each once; t first where the clock went back.

        Times less than half a period ahead are due as well, because timers are not exact.
        """
        period = self._period
        ahead = self._origin + self._count * period - t
        if ahead > 2.0 * period:
            self.begin(t)
        elif ahead < -CATCH_UP_S:
            self._count += math.ceil((-ahead - CATCH_UP_S) / period)
        while (time := self._origin + self._count * period) <= t + 0.5 * period:
            self._count += 1
            yield time
