# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the time of logs, and what is done about it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from log_case import Motion, assert_same, motion, said, write_csv

import dyn_core
from dyn_core import DynError, Log
from dyn_core.logs.pace import period_of


@pytest.fixture(scope="module")
def m() -> Motion:
    return motion()


def of(m: Motion, time: np.ndarray | None = None, index: np.ndarray | None = None) -> Log:
    m = m if index is None else m.part(index)
    return dyn_core.log_of_arrays(m.joints, m.time if time is None else time, m.q, m.tau)


def on_course(log: Log, m: Motion, tolerance: float = 1e-9) -> None:
    """Check that each sample is where the motion was at its time."""
    start = float(m.time[0])
    np.testing.assert_allclose(log.q, motion(time=log.time + start).q, atol=tolerance)


@pytest.mark.parametrize(
    ("name", "factor", "epoch"),
    [
        ("time_ms", 1e3, 0.0),
        ("time_us", 1e6, 0.0),
        ("timestamp [ns]", 1e9, 0.0),
        ("stamp", 1.0, 1.7e9),
        ("t (s)", 1.0, 100.0),
        ("time_ms", 1e3, 1.7e9),
        ("time", 1.0, -5.0),
    ],
)
def test_units_of_time(m: Motion, name: str, factor: float, epoch: float, tmp_path: Path) -> None:
    table = m.table.copy()
    table[:, 0] = (table[:, 0] + epoch) * factor
    path = write_csv(tmp_path / "log.csv", table, [name, *m.names[1:]], digits=17)
    log = dyn_core.read_log(path)
    np.testing.assert_allclose(log.time, m.time, atol=1e-6)
    np.testing.assert_allclose(log.q, m.q, atol=1e-9)
    assert log.findings == ()


@pytest.mark.parametrize(("unit", "factor"), [("ms", 1e3), ("us", 1e6), ("ns", 1e9)])
def test_units_of_time_that_nobody_has_named(m: Motion, unit: str, factor: float, tmp_path: Path) -> None:
    table = m.table.copy()
    table[:, 0] *= factor
    path = write_csv(tmp_path / "log.csv", table, m.names)
    log = dyn_core.read_log(path)
    np.testing.assert_allclose(log.time, m.time, atol=1e-9)
    assert f"cannot be s: taken for {unit}, 200 Hz; give the unit in a map" in said(log)
    log = dyn_core.read_log(path, {"units": {"time": unit}})
    np.testing.assert_allclose(log.time, m.time, atol=1e-9)
    assert log.findings == ()


def test_seconds_and_nanoseconds(m: Motion, tmp_path: Path) -> None:
    ns = 1_700_000_000_123_456_789 + np.round(m.time * 1e9).astype(np.int64)
    stamp = [ns // 1_000_000_000, ns % 1_000_000_000]
    names = ["header.stamp.sec", "header.stamp.nanosec", *m.names[1:]]
    path = write_csv(tmp_path / "log.csv", np.column_stack([*stamp, m.table[:, 1:]]), names)
    assert_same(dyn_core.read_log(path), m)


@pytest.mark.parametrize("rate", [0.5, 3.0, 200_000.0])
def test_rates_that_no_robot_has(rate: float) -> None:
    m = motion(duration=400.0 / rate, rate=rate)
    with pytest.raises(DynError, match=r"samples a second are no rate of a robot"):
        of(m)


def test_samples_that_come_late(m: Motion) -> None:
    order = np.arange(len(m.time))
    order[[100, 101, 102]] = [102, 100, 101]
    order[[500, 501]] = [501, 500]
    log = of(m, index=order)
    assert_same(log, m)
    assert "time: 3 samples come late, by 0.01 s at most: sorted by time" in said(log)


def test_a_log_that_begins_anew(m: Motion) -> None:
    time = m.time.copy()
    time[1000:] -= 3.0
    log = of(m, time)
    assert len(log.time) == len(m.time)
    assert log.segments == ((0, 1000), (1000, 1600))
    assert np.all(np.diff(log.time) > 0.0)
    np.testing.assert_array_equal(log.q, m.q)
    assert "time runs backwards 1 times, first by 3 s after sample 1000: taken for 2 recordings" in said(log)


@pytest.mark.parametrize("step", [1, -1])
def test_time_that_is_no_time(m: Motion, step: int) -> None:
    time = m.time[::-1] if step == 1 else np.random.default_rng(0).permutation(m.time)
    with pytest.raises(DynError, match=r"time runs backwards in \d+ of its 1599 steps: sort the samples"):
        of(m, time)


def test_samples_that_are_there_twice(m: Motion) -> None:
    index = np.sort(np.concatenate([np.arange(len(m.time)), [10, 700, 700, 1200]]))
    log = of(m, index=index)
    assert_same(log, m)
    assert "time: 4 samples are there twice: once is enough" in said(log)


@pytest.mark.parametrize("size", [2, 5])
@pytest.mark.parametrize("late", [False, True])
def test_a_few_samples_that_share_a_stamp(m: Motion, size: int, late: bool) -> None:
    time = m.time.copy()
    for first in (100, 200):
        time[first : first + size] = time[first + size - 1 if late else first]
    log = of(m, time)
    assert_same(log, m)
    assert f"{2 * size} samples share stamps with others, and there is time for them" in said(log)


def test_samples_that_somebody_has_added(m: Motion) -> None:
    index = np.sort(np.concatenate([np.arange(len(m.time)), [100, 200]]))
    other = m.part(index)
    other.q[[101, 202]] += 1e-5
    log = dyn_core.log_of_arrays(other.joints, other.time, other.q, other.tau)
    assert_same(log, m)
    assert "2 samples have the stamp of the one before but other values: the first of each is used" in said(
        log
    )


@pytest.mark.parametrize("digits", [0.02, 0.05, 0.1])
def test_a_coarse_clock(m: Motion, digits: float) -> None:
    log = of(m, np.floor(m.time / digits + 1e-9) * digits)
    assert len(log.time) == len(m.time)
    np.testing.assert_allclose(log.time, m.time, atol=1e-9)
    assert "the clock is coarse, they are spread evenly to the next stamp" in said(log)


def test_a_clock_that_stands_still(m: Motion) -> None:
    with pytest.raises(DynError, match="all samples have the same time: name the right column in a map"):
        of(m, np.full(len(m.time), 3.0))


@pytest.mark.parametrize("times", [2, 4, 5])
def test_a_logger_that_is_faster_than_the_robot(m: Motion, times: int) -> None:
    held = np.arange(len(m.time)) // times * times
    log = dyn_core.log_of_arrays(m.joints, m.time, m.q[held], m.tau[held])
    assert log.rate == pytest.approx(200.0 / times)
    on_course(log, m)
    assert f"samples repeat the one before, {times} times each: the logger is faster than the robot" in said(
        log
    )


def test_a_robot_at_rest_repeats_itself(m: Motion) -> None:
    index = np.concatenate([np.full(700, 0), np.arange(900)])
    log = dyn_core.log_of_arrays(m.joints, m.time, m.q[index], m.tau[index])
    assert len(log.time) == len(m.time)


def test_gaps(m: Motion) -> None:
    keep = np.ones(len(m.time), dtype=bool)
    keep[400:450] = keep[1000:1300] = False
    log = of(m, index=np.flatnonzero(keep))
    assert log.segments == ((0, 400), (400, 950), (950, 1250))
    on_course(log, m)
    assert log.rate == pytest.approx(200.0)
    assert "time: 2 gaps, the longest of 1.5 s: the log is cut there into 3 segments" in said(log)


def test_segments_that_are_too_short(m: Motion) -> None:
    keep = np.ones(len(m.time), dtype=bool)
    keep[400:450] = keep[460:500] = False
    log = of(m, index=np.flatnonzero(keep))
    assert log.segments == ((0, 400), (400, 1500))
    on_course(log, m)
    assert "10 samples in segments of less than 30 are left out" in said(log)


def test_nothing_but_gaps() -> None:
    time = np.concatenate([k + np.arange(20) / 200.0 for k in range(30)])
    with pytest.raises(
        DynError, match="it has 29 gaps, and no 30 samples between two of them: record it anew"
    ):
        of(motion(time=time))


def test_samples_without_time(m: Motion) -> None:
    time = m.time.copy()
    time[[5, 6, 900]] = np.nan
    log = of(m, time)
    assert len(log.time) == len(m.time) - 3
    assert "time: 3 samples have no time, or an absurd one: they are left out" in said(log)


@pytest.mark.parametrize("lost", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("jitter", [0.0, 0.03, 0.3])
def test_the_period_in_spite_of_lost_samples_and_jitter(lost: float, jitter: float) -> None:
    generator = np.random.default_rng(3)
    time = np.arange(5000) / 500.0
    time += jitter / 500.0 * generator.uniform(-1.0, 1.0, len(time))
    time = np.sort(time[generator.random(len(time)) >= lost])
    # With much jitter and many samples lost, nobody can tell a lost sample from a late one.
    tolerance = 0.45 if jitter == 0.3 and lost else 0.005
    assert period_of(time) * 500.0 == pytest.approx(1.0, abs=tolerance)


def test_irregular_stamps_are_said(m: Motion) -> None:
    generator = np.random.default_rng(1)
    time = m.time + generator.uniform(-0.001, 0.001, len(m.time))
    log = of(motion(time=time))
    assert "note: time: the time stamps are irregular: steps differ by 0.8" in said(log)
    assert log.rate == pytest.approx(200.0, rel=1e-3)
