# SPDX-License-Identifier: Apache-2.0
"""Clocks of nodes: schedules, clock steps, stamps, delayed samples, simulated time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat

import numpy as np
import pytest
from rclpy.clock import Clock, ROSClock
from rclpy.clock_type import ClockType
from rclpy.time import Time
from refusals import refused

from dyn_nodes.common.clocks import CATCH_UP_S, ClockWatch, NodeTime, RateSchedule, simultaneous_times
from dyn_nodes.common.messages.joint_state_bytes import Stamp
from dyn_nodes.common.messages.message_stamps import StampClock
from dyn_nodes.identification.motion_run import DelayedSample
from dyn_nodes.simulation.time_stepping import MAX_LAG_S, Pacing

PERIOD_S = 0.01


def schedule(t: float = 0.0) -> RateSchedule:
    made = RateSchedule(1.0 / PERIOD_S)
    made.begin(t)
    return made


def test_an_early_or_late_timer_misses_no_period() -> None:
    made, random = schedule(5.0), np.random.default_rng(0)
    calls = 5.0 + PERIOD_S * (np.arange(1000) + random.uniform(-0.45, 1.5, 1000))
    times = [time for t in sorted(calls.tolist()) for time in made.due(t)]
    np.testing.assert_allclose(times, 5.0 + PERIOD_S * np.arange(len(times)), atol=1e-9)
    assert 999 <= len(times) <= 1001


def test_each_time_is_due_once_and_a_long_overrun_is_not_caught_up() -> None:
    made = schedule()
    due = [list(made.due(part * PERIOD_S)) for part in (0.0, 0.0, 0.4, 0.6)]
    assert due == [[0.0], [], [], [PERIOD_S]]
    times = list(made.due(10.0))
    assert len(times) == pytest.approx(CATCH_UP_S / PERIOD_S, abs=1)
    assert times[-1] == pytest.approx(10.0)
    assert times[0] >= 10.0 - CATCH_UP_S - 1e-9
    assert list(made.due(10.0 + PERIOD_S)) == [pytest.approx(10.0 + PERIOD_S)]


@pytest.mark.parametrize(("back", "next_time"), [(0.1, 200.0 - 0.1), (100.0, 100.0), (0.9 * PERIOD_S, None)])
def test_a_schedule_restarts_where_the_clock_goes_back_but_not_for_jitter(
    back: float, next_time: float | None
) -> None:
    made = schedule(200.0)
    list(made.due(200.0))
    assert list(made.due(200.0 - back)) == ([] if next_time is None else [next_time])
    after = (200.0 if next_time is None else next_time) + PERIOD_S
    assert list(made.due(after)) == [pytest.approx(after)]


def test_clocks_that_run_alike_give_no_step_however_rarely_they_are_compared() -> None:
    watch = ClockWatch(0.1)
    for now in (0.0, 0.01, 5.0, 1000.0):
        assert not watch.was_set(1e9 + now * 1.00001, now, now)

    for t in (50.0, 50.5):  # an interruption between two readings
        watch = ClockWatch(0.1)
        readings = ((50.0, 1.0, 1.0), (t, 1.0, 1.5), (50.6, 1.6, 1.6), (51.7, 1.7, 1.7))
        assert [watch.was_set(*reading) for reading in readings] == [False, False, False, True]


@pytest.mark.parametrize("by", [-3600.0, -0.11, 0.11, 3600.0])
def test_a_clock_step_is_reported_once_and_not_after_a_restart(by: float) -> None:
    watch = ClockWatch(0.1)
    watch.was_set(50.0, 1.0, 1.0)
    assert watch.was_set(50.01 + by, 1.01, 1.01)
    assert not watch.was_set(50.02 + by, 1.02, 1.02)
    watch.restart()
    assert not watch.was_set(0.0, 1.03, 1.03)


def between(clock: Clock, time: NodeTime) -> bool:
    """Whether our time is between two readings of the clock."""
    before, ours, after = clock.now().nanoseconds, time.nanoseconds(), clock.now().nanoseconds
    return before <= ours <= after


def test_node_time_is_system_time_or_simulated_time() -> None:
    for kind in (ClockType.ROS_TIME, ClockType.SYSTEM_TIME, ClockType.STEADY_TIME):
        of_system = Clock(clock_type=kind)
        time = NodeTime(of_system)
        assert between(of_system, time), kind
        time.close()
    clock = ROSClock()
    time = NodeTime(clock)
    clock.set_ros_time_override(Time(nanoseconds=5, clock_type=ClockType.ROS_TIME))
    assert between(clock, time)
    clock._set_ros_time_is_active(True)
    assert time.nanoseconds() == 5
    clock.set_ros_time_override(Time(nanoseconds=7, clock_type=ClockType.ROS_TIME))
    late = NodeTime(clock)
    assert time.nanoseconds() == late.nanoseconds() == 7
    clock._set_ros_time_is_active(False)
    for one in (time, late):
        assert between(clock, one)
        one.close()


OFFSET_S = 1000.0


def readings(pauses: Sequence[float]) -> Iterator[float]:
    """Each reading of a clock takes 1 us; some readings come after a pause."""
    now = 0.0
    for pause in chain(pauses, repeat(0.0)):
        now += 1e-6 + pause
        yield now


@pytest.mark.parametrize(
    ("pauses", "apart"),
    [
        *(([], 5e-5), ([0.1], 5e-5), ([0.0, 0.1], 5e-5), ([0.0, 0.0, 0.1], 5e-5)),
        *(([0.0, 0.1, 0.0, 0.0, 0.0, 0.1], 5e-5), ([0.0, 0.1, 0.0] * 4, 5e-5)),
        ([0.1] * 1000, 0.3),  # it ends despite this
    ],
)
def test_two_clocks_are_read_at_the_same_moment(pauses: Sequence[float], apart: float) -> None:
    clock = readings(pauses).__next__
    steady, other = simultaneous_times(clock, lambda: round(1e9 * (clock() + OFFSET_S)))
    assert 1e-9 * other - OFFSET_S == pytest.approx(steady, abs=apart)


EPOCH_NS = 1_700_000_000 * 10**9


@pytest.mark.promise("run-clock")
@pytest.mark.parametrize("by", [-3600.0, -0.2, 0.2, 3600.0])
def test_stamps_report_a_step_of_the_system_clock_once(by: float, monkeypatch: pytest.MonkeyPatch) -> None:
    now, ahead = [10.0], [0.0]
    monkeypatch.setattr(NodeTime, "nanoseconds", lambda _: EPOCH_NS + round(1e9 * (now[0] + ahead[0])))
    told: list[float] = []
    stamps = StampClock(ROSClock(), 0.1, told.append, lambda: now[0])
    for _ in range(3):
        now[0] += 0.02
        stamps.check_clock()
    assert not told
    ahead[0] = by
    now[0] += 0.02
    fresh = Stamp(*divmod(EPOCH_NS + round(1e9 * (now[0] + by)), 10**9))
    assert stamps.time_of("joint state", fresh) == pytest.approx(stamps.now)
    stamps.check_clock()
    assert told == [pytest.approx(by, abs=1e-6)]
    with refused("stamp-too-old" if by > 0.1 else "stamp-in-future", age=abs(by)):
        stamps.time_of("joint state", Stamp(*divmod(EPOCH_NS + round(1e9 * now[0]), 10**9)))
    stamps.close()


@pytest.mark.promise("run-clock")
def test_stamps_report_leaps_of_simulated_time_but_not_fast_time() -> None:
    clock = ROSClock()
    clock._set_ros_time_is_active(True)

    def set_time(seconds: float) -> None:
        clock.set_ros_time_override(Time(seconds=seconds, clock_type=clock.clock_type))

    set_time(100.0)
    told: list[float] = []
    stamps = StampClock(clock, 0.1, told.append)
    for seconds in (100.5, 101.0, 101.9, 101.9, 101.9):
        set_time(seconds)
        stamps.check_clock()
    assert not told
    set_time(0.0)
    set_time(50.0)
    assert told == [pytest.approx(-101.9), pytest.approx(50.0)]
    stamps.close()
    set_time(0.0)
    assert len(told) == 2


def earlier_samples(times: Iterable[float]) -> list[int | None]:
    delayed, earlier = DelayedSample[int](0.1), []
    for k, t in enumerate(times):
        delayed.add(t, k)
        earlier.append(delayed.earlier)
    return earlier


def test_a_delayed_sample_is_as_old_as_its_span_and_hardly_older() -> None:
    """Samples start again where time goes back."""
    earlier = earlier_samples(0.01 * k for k in range(1000))
    assert earlier[:10] == [None] * 10
    assert all(e is not None and 10 <= k - e <= 22 for k, e in enumerate(earlier[10:], start=10))
    assert earlier_samples((5.0, 6.0, 1.0, 1.5)) == [None, 0, None, 2]


STEP_S = 0.001


def simulated(pacing: Pacing, begin: float, end: float, cost_s: float, tick_s: float = 0.001) -> int:
    """Periods simulated from `begin` to `end` if each takes `cost_s` of the clock."""
    now, done = begin, 0
    while now < end:
        now += tick_s
        pacing.real_time_factor(now)
        while pacing.overdue(now) >= 0.0 and now < end:
            pacing.count()
            done += 1
            now += cost_s
    return done


@pytest.mark.parametrize("factor", [0.1, 1.0, 5.0])
def test_periods_keep_up_with_the_clock(factor: float) -> None:
    pacing = Pacing(STEP_S, factor, 100.0)
    assert simulated(pacing, 100.0, 103.0, 0.0) == pytest.approx(3000 * factor, abs=5)
    assert pacing.real_time_factor(103.0) == pytest.approx(factor, rel=0.01)


def test_a_million_periods_have_no_drift_and_a_slow_machine_reports_its_factor() -> None:
    """Periods begin late at random."""
    pacing = Pacing(STEP_S, 1.0, 0.0)
    assert simulated(pacing, 0.0, 1000.0, 0.0, tick_s=0.00137) == pytest.approx(1_000_000, abs=2)
    pacing = Pacing(STEP_S, 1.0, 0.0)
    assert simulated(pacing, 0.0, 5.0, 0.004) == pytest.approx(5.0 / 0.004, rel=0.01)
    assert pacing.real_time_factor(5.0) == pytest.approx(0.25, rel=0.02)
    # The factor is known only after a second.
    pacing = Pacing(STEP_S, 1.0, 0.0)
    assert pacing.real_time_factor(0.5) is None
    pacing.restart(2.0)
    assert (pacing.real_time_factor(2.9), pacing.real_time_factor(3.0)) == (None, 0.0)


@pytest.mark.parametrize(("now", "longest"), [(10.0, MAX_LAG_S), (0.0105, 0.0095)])
def test_a_pause_of_the_machine_is_caught_up_for_a_limited_time(now: float, longest: float) -> None:
    """Each period of the burst has its own delay."""
    pacing = Pacing(STEP_S, 1.0, 0.0)
    delays = []
    while (late := pacing.overdue(now)) >= 0.0:
        pacing.count()
        delays.append(late)
    assert len(delays) == pytest.approx(longest / STEP_S, abs=1)
    assert delays == pytest.approx([longest - STEP_S * k for k in range(len(delays))], abs=1e-9)
    assert simulated(pacing, now, now + 1.0, 0.0) == pytest.approx(1000, abs=2)
