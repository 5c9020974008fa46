# SPDX-License-Identifier: Apache-2.0
"""The present on the clock of a node, for what asks a thousand times a second."""

from __future__ import annotations

import time

from rclpy.clock import Clock, JumpThreshold, ROSClock, TimeJump
from rclpy.clock_type import ClockType


class NodeTime:
    """Answers what the clock of a node does, 15 times faster where that is the clock of the system.

    It has a state: which of both it is, of which it is told when that changes.

    Attributes:
        is_of_system: whether the clock is that of the system, and not a simulated one.
    """

    def __init__(self, clock: Clock) -> None:
        """Take the clock of a node, until `close`."""
        self._clock = clock
        self.is_of_system = _is_of_system(clock)
        change = JumpThreshold(min_forward=None, min_backward=None, on_clock_change=True)
        self._jumps = clock.create_jump_callback(change, post_callback=self._on_change)

    def close(self) -> None:
        """Listen to the clock no longer."""
        self._jumps.unregister()

    def nanoseconds(self) -> int:
        """Time since the epoch of the clock (ns)."""
        return time.time_ns() if self.is_of_system else int(self._clock.now().nanoseconds)

    def _on_change(self, _: TimeJump) -> None:
        self.is_of_system = _is_of_system(self._clock)


def _is_of_system(clock: Clock) -> bool:
    """Whether the clock is that of the system; a ROS clock is, unless its time is simulated."""
    if isinstance(clock, ROSClock):
        return not clock.ros_time_is_active
    return bool(clock.clock_type == ClockType.SYSTEM_TIME)
