# SPDX-License-Identifier: Apache-2.0
"""Stamps of messages: their ages, and times relative to an epoch."""

from __future__ import annotations

import time
from collections.abc import Callable

from builtin_interfaces.msg import Time
from rclpy.clock import Clock, JumpThreshold, TimeJump
from rclpy.duration import Duration

from dyn_nodes.common.clocks import ClockWatch, NodeTime
from dyn_nodes.common.data_checks import Rejection
from dyn_nodes.common.messages.joint_state_bytes import Stamp

_ANOTHER_CLOCK_S = 1e8
"""Stamps that differ by this much from the present, some years, come from another clock."""


def check_stamp(what: str, stamp_ns: int, now_ns: int, max_age_s: float) -> None:
    """Refuse data whose stamp differs by more than `max_age_s` from the present (ns, on one clock)."""
    age_s = 1e-9 * (now_ns - stamp_ns)
    if not stamp_ns:
        raise Rejection("message-without-stamp", message=what)
    if abs(age_s) <= max_age_s:
        return
    if not now_ns:
        raise Rejection("clock-not-received", message=what)
    if abs(age_s) < _ANOTHER_CLOCK_S:
        code = "stamp-too-old" if age_s > 0 else "stamp-in-future"
    else:
        code = "stamp-years-old" if age_s > 0 else "stamp-years-ahead"
    raise Rejection(code, message=what, age=abs(age_s), limit=max_age_s)


CLOCK_SET = JumpThreshold(
    min_forward=Duration(seconds=1.0), min_backward=Duration(nanoseconds=-1), on_clock_change=True
)
"""Jumps that mean that a clock was set: simulated time may run faster than real time."""


def nanoseconds_of(stamp: Time | Stamp) -> int:
    """Return a stamp in ns."""
    return int(stamp.sec * 1_000_000_000 + stamp.nanosec)


def time_message(nanoseconds: int) -> Time:
    """Return a time in ns as a stamp."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return Time(sec=seconds, nanosec=rest)


class StampClock:
    """Times in seconds relative to an epoch that keeps them exact as floats."""

    def __init__(
        self,
        clock: Clock,
        max_age: float,
        was_set: Callable[[float], None],
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin at the present, until `close`; stamps differ from the clock by at most `max_age` (s).

        `was_set` is called when the clock was set, with the time that it gained (s).
        """
        self._time = NodeTime(clock)
        self._epoch = self._time.nanoseconds()
        self._max_age = max_age
        self._was_set, self._steady = was_set, steady
        self._watch = ClockWatch(max_age)
        self._jumps = clock.create_jump_callback(CLOCK_SET, post_callback=self._on_jump)

    def close(self) -> None:
        """Stop following the clock."""
        self._jumps.unregister()
        self._time.close()

    @property
    def now(self) -> float:
        """The present (s)."""
        return 1e-9 * (self._time.nanoseconds() - self._epoch)

    def check_clock(self) -> None:
        """Detect that the system clock was set; ROS does not report this."""
        if not self._time.is_of_system:
            return
        begin = self._steady()
        t = self.now
        if self._watch.was_set(t, begin, self._steady()):
            self._was_set(self._watch.gained)

    def time_of(self, what: str, stamp: Time | Stamp) -> float:
        """Return the time of a stamp (s); Rejection where it is too far from the present."""
        self.check_clock()
        stamp_ns = nanoseconds_of(stamp)
        check_stamp(what, stamp_ns, self._time.nanoseconds(), self._max_age)
        return 1e-9 * (stamp_ns - self._epoch)

    def past(self, stamp: Time | Stamp) -> float:
        """Return the time of a stamp of any age (s)."""
        return 1e-9 * (nanoseconds_of(stamp) - self._epoch)

    def stamp_at(self, t: float) -> Time:
        """Return the stamp of a time (s)."""
        return time_message(round(1e9 * t) + self._epoch)

    def _on_jump(self, jump: TimeJump) -> None:
        self._watch.restart()
        self._was_set(1e-9 * jump.delta.nanoseconds)
