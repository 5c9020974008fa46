# SPDX-License-Identifier: Apache-2.0
"""Timers that are made once, and run now and then."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.timer import Timer

from dyn_nodes.common.lifecycle.managed_node import ManagedNode


def sleeping_timer(
    node: ManagedNode, period: float, callback: Callable[[], None], *, steady: bool = True
) -> Timer:
    """Answer a timer that sleeps until `reset`, and again after `cancel`.

    Args:
        node: the node.
        period: between two calls (s).
        callback: is called.
        steady: whether the period is one of a steady clock, and not of the clock of the node.
    """
    clock = Clock(clock_type=ClockType.STEADY_TIME) if steady else None
    timer: Timer = node.create_timer(period, callback, clock=clock)
    timer.cancel()
    return timer
