# SPDX-License-Identifier: Apache-2.0
"""Times of stamps, and clocks that are set."""

from __future__ import annotations

import pytest
from rclpy.clock import ROSClock
from rclpy.time import Time

from dyn_nodes.common.messages.joint_state_bytes import Stamp
from dyn_nodes.node_time import NodeTime
from dyn_nodes.rejection import Rejection
from dyn_nodes.stamps import Stamps

EPOCH_NS = 1_700_000_000 * 10**9


@pytest.mark.parametrize("by", [-3600.0, -0.2, 0.2, 3600.0])
def test_of_a_system_clock_that_is_set_we_are_told_once(by: float, monkeypatch: pytest.MonkeyPatch) -> None:
    now, ahead = [10.0], [0.0]
    monkeypatch.setattr(NodeTime, "nanoseconds", lambda _: EPOCH_NS + round(1e9 * (now[0] + ahead[0])))
    told: list[float] = []
    stamps = Stamps(ROSClock(), 0.1, told.append, lambda: now[0])
    for _ in range(3):
        now[0] += 0.02
        stamps.heed()
    assert not told
    ahead[0] = by
    now[0] += 0.02
    fresh = Stamp(*divmod(EPOCH_NS + round(1e9 * (now[0] + by)), 10**9))
    assert stamps.time_of("joint state", fresh) == pytest.approx(stamps.now)
    stamps.heed()
    assert told == [pytest.approx(by, abs=1e-6)]
    with pytest.raises(Rejection, match="old" if by > 0.1 else "future"):
        stamps.time_of("joint state", Stamp(*divmod(EPOCH_NS + round(1e9 * now[0]), 10**9)))
    stamps.close()


def test_of_simulated_time_that_leaps_we_are_told_and_not_of_one_that_goes_fast() -> None:
    clock = ROSClock()
    clock._set_ros_time_is_active(True)
    clock.set_ros_time_override(Time(seconds=100.0, clock_type=clock.clock_type))
    told: list[float] = []
    stamps = Stamps(clock, 0.1, told.append)
    for seconds in (100.5, 101.0, 101.9, 101.9, 101.9):
        clock.set_ros_time_override(Time(seconds=seconds, clock_type=clock.clock_type))
        stamps.heed()
    assert not told
    clock.set_ros_time_override(Time(seconds=0.0, clock_type=clock.clock_type))
    clock.set_ros_time_override(Time(seconds=50.0, clock_type=clock.clock_type))
    assert told == [pytest.approx(-101.9), pytest.approx(50.0)]
    stamps.close()
    clock.set_ros_time_override(Time(seconds=0.0, clock_type=clock.clock_type))
    assert len(told) == 2
