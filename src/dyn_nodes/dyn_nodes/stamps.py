# SPDX-License-Identifier: Apache-2.0
"""Stamps of messages as times of the clock of a node."""

from __future__ import annotations

import time
from collections.abc import Callable

from builtin_interfaces.msg import Time
from rclpy.clock import Clock, JumpThreshold, TimeJump
from rclpy.duration import Duration

from dyn_nodes.clock_watch import ClockWatch
from dyn_nodes.common.messages.joint_reader import check_age
from dyn_nodes.common.messages.joint_state_bytes import Stamp
from dyn_nodes.node_time import NodeTime

_LEAP = Duration(seconds=1.0)
"""What simulated time gains at once that was set; it may go faster than real time."""
_BACK = Duration(nanoseconds=-1)


class Stamps:
    """Times in seconds after an epoch so near that a float is exact."""

    def __init__(
        self,
        clock: Clock,
        max_age: float,
        was_set: Callable[[float], None],
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin at the present, until `close`.

        Args:
            clock: of the node.
            max_age: how far stamps may be from it (s).
            was_set: is told when it was set, and what it has gained (s).
            steady: a clock that never goes back (s).
        """
        self._time = NodeTime(clock)
        self._epoch = self._time.nanoseconds()
        self._max_age = max_age
        self._was_set, self._steady = was_set, steady
        self._watch = ClockWatch(max_age)
        leap = JumpThreshold(min_forward=_LEAP, min_backward=_BACK, on_clock_change=True)
        self._jumps = clock.create_jump_callback(leap, post_callback=self._on_jump)

    def close(self) -> None:
        """Listen to the clock no longer."""
        self._jumps.unregister()
        self._time.close()

    @property
    def now(self) -> float:
        """The present (s)."""
        return 1e-9 * (self._time.nanoseconds() - self._epoch)

    def heed(self) -> None:
        """Notice that the clock of the system was set, of which nobody tells us."""
        if not self._time.is_of_system:
            return
        begin = self._steady()
        t = self.now
        if self._watch.was_set(t, begin, self._steady()):
            self._was_set(self._watch.gained)

    def time_of(self, what: str, stamp: Time | Stamp) -> float:
        """Answer the time of a stamp (s); a Rejection where it is too far from the present."""
        self.heed()
        stamp_ns = stamp.sec * 1_000_000_000 + stamp.nanosec
        check_age(what, stamp_ns, self._time.nanoseconds(), self._max_age)
        return 1e-9 * (stamp_ns - self._epoch)

    def past(self, stamp: Time | Stamp) -> float:
        """Answer the time of a stamp of the past, however long ago (s)."""
        return 1e-9 * (stamp.sec * 1_000_000_000 + stamp.nanosec - self._epoch)

    def stamp_at(self, t: float) -> Time:
        """Answer the stamp of a time (s)."""
        seconds, rest = divmod(round(1e9 * t) + self._epoch, 1_000_000_000)
        return Time(sec=seconds, nanosec=rest)

    def _on_jump(self, jump: TimeJump) -> None:
        self._watch.restart()
        self._was_set(1e-9 * jump.delta.nanoseconds)
