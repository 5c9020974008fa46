# SPDX-License-Identifier: Apache-2.0
"""The present beside what the clock of rclpy says."""

from __future__ import annotations

from rclpy.clock import Clock, ROSClock
from rclpy.clock_type import ClockType
from rclpy.time import Time

from dyn_nodes.node_time import NodeTime


def between(clock: Clock, time: NodeTime) -> bool:
    """Whether our answer is between two of the clock."""
    before, ours, after = clock.now().nanoseconds, time.nanoseconds(), clock.now().nanoseconds
    return before <= ours <= after


def test_the_clocks_of_the_system() -> None:
    for kind in (ClockType.ROS_TIME, ClockType.SYSTEM_TIME, ClockType.STEADY_TIME):
        clock = Clock(clock_type=kind)
        time = NodeTime(clock)
        assert between(clock, time), kind
        time.close()


def test_simulated_time_begins_and_ends() -> None:
    clock = ROSClock()
    time = NodeTime(clock)
    clock.set_ros_time_override(Time(nanoseconds=5, clock_type=ClockType.ROS_TIME))
    assert between(clock, time)
    clock._set_ros_time_is_active(True)
    assert time.nanoseconds() == 5
    clock.set_ros_time_override(Time(nanoseconds=7, clock_type=ClockType.ROS_TIME))
    assert time.nanoseconds() == 7
    late = NodeTime(clock)
    assert late.nanoseconds() == 7
    clock._set_ros_time_is_active(False)
    assert between(clock, time)
    assert between(clock, late)
    for one in (time, late):
        one.close()
