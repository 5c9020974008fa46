# SPDX-License-Identifier: Apache-2.0
"""Stamps of messages as times of the clock of a node."""

from __future__ import annotations

from builtin_interfaces.msg import Time
from rclpy.clock import Clock

from dyn_nodes.joint_reader import check_age
from dyn_nodes.joint_state_bytes import Stamp
from dyn_nodes.node_time import NodeTime


class Stamps:
    """Times in seconds after an epoch so near that a float is exact."""

    def __init__(self, clock: Clock, max_age: float) -> None:
        """Begin at the present, until `close`; stamps may be `max_age` (s) from it."""
        self._time = NodeTime(clock)
        self._epoch = self._time.nanoseconds()
        self._max_age = max_age

    def close(self) -> None:
        """Listen to the clock no longer."""
        self._time.close()

    @property
    def now(self) -> float:
        """The present (s)."""
        return 1e-9 * (self._time.nanoseconds() - self._epoch)

    def time_of(self, what: str, stamp: Time | Stamp) -> float:
        """Answer the time of a stamp (s); a Rejection where it is too far from the present."""
        stamp_ns = stamp.sec * 1_000_000_000 + stamp.nanosec
        check_age(what, stamp_ns, self._time.nanoseconds(), self._max_age)
        return 1e-9 * (stamp_ns - self._epoch)

    def stamp_at(self, t: float) -> Time:
        """Answer the stamp of a time (s)."""
        seconds, rest = divmod(round(1e9 * t) + self._epoch, 1_000_000_000)
        return Time(sec=seconds, nanosec=rest)
