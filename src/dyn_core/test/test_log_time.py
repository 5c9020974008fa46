# SPDX-License-Identifier: Apache-2.0
"""Faults in the time of logs, and their repair."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from log_case import Motion, assert_same, codes, edited, found, log_of, motion, write_csv
from refusals import refused

import dyn_core
from dyn_core import Log, Severity
from dyn_core.logs.repair.sampling_gaps import period_of

STEP = 2.0 * np.pi / 2**13
"""Resolution of a coarse encoder (rad)."""
M, FAST = motion(), motion(rate=1000.0)


def on_course(log: Log, start: float = 0.0, tolerance: float = 1e-9) -> None:
    """Check that each sample agrees with the motion at its time."""
    np.testing.assert_allclose(log.q, motion(time=log.time + start).q, atol=tolerance)


@pytest.mark.parametrize(
    ("name", "factor", "epoch"),
    [
        *(("time_ms", 1e3, 0.0), ("time_us", 1e6, 0.0), ("timestamp [ns]", 1e9, 0.0), ("stamp", 1.0, 1.7e9)),
        *(("t (s)", 1.0, 100.0), ("time_ms", 1e3, 1.7e9), ("time", 1.0, -5.0)),
    ],
)
def test_units_of_time(name: str, factor: float, epoch: float, tmp_path: Path) -> None:
    table = edited(M.table, (np.s_[:, 0], (M.time + epoch) * factor))
    log = dyn_core.read_log(write_csv(tmp_path / "log.csv", table, [name, *M.names[1:]], digits=17))
    np.testing.assert_allclose(log.time, M.time, atol=1e-6)
    np.testing.assert_allclose(log.q, M.q, atol=1e-9)
    assert log.findings == ()


@pytest.mark.parametrize(("unit", "factor"), [("ms", 1e3), ("us", 1e6), ("ns", 1e9)])
def test_unnamed_units_of_time_are_guessed(unit: str, factor: float, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "log.csv", edited(M.table, (np.s_[:, 0], M.time * factor)), M.names)
    log = dyn_core.read_log(path)
    np.testing.assert_allclose(log.time, M.time, atol=1e-9)
    found(log, "time-unit-guessed", "time", unit=unit, rate=200.0)
    log = dyn_core.read_log(path, {"units": {"time": unit}})
    np.testing.assert_allclose(log.time, M.time, atol=1e-9)
    assert log.findings == ()


def test_seconds_and_nanoseconds_in_two_columns(tmp_path: Path) -> None:
    ns = 1_700_000_000_123_456_789 + np.round(M.time * 1e9).astype(np.int64)
    table = np.column_stack([ns // 1_000_000_000, ns % 1_000_000_000, M.table[:, 1:]])
    names = ["header.stamp.sec", "header.stamp.nanosec", *M.names[1:]]
    assert_same(dyn_core.read_log(write_csv(tmp_path / "log.csv", table, names)), M)


def test_misplaced_single_samples_are_repaired() -> None:
    """Samples that are late, repeated, added, or without time."""
    order = edited(np.arange(len(M.time)), ([100, 101, 102], [102, 100, 101]), ([500, 501], [501, 500]))
    log = log_of(M.part(order))
    assert_same(log, M)
    assert found(log, "samples-late", count=3, latest=0.01).kind == "time"
    log = log_of(M.part(np.sort(np.concatenate([np.arange(len(M.time)), [10, 700, 700, 1200]]))))
    assert_same(log, M)
    assert found(log, "samples-repeated", count=4).kind == "time"
    other = M.part(np.sort(np.concatenate([np.arange(len(M.time)), [100, 200]])))
    other.q[[101, 202]] += 1e-5
    log = log_of(other)
    assert_same(log, M)
    found(log, "stamps-repeated", count=2)
    log = log_of(M, time=edited(M.time, ([5, 6, 900], np.nan)))
    assert len(log.time) == len(M.time) - 3
    assert found(log, "samples-without-time", count=3).kind == "time"


def test_joined_recordings_are_separated() -> None:
    log = log_of(M, time=edited(M.time, (np.s_[1000:], M.time[1000:] - 3.0)))
    assert len(log.time) == len(M.time)
    assert log.segments == ((0, 1000), (1000, 1600))
    assert np.all(np.diff(log.time) > 0.0)
    np.testing.assert_array_equal(log.q, M.q)
    found(log, "recordings-joined", count=1, step=2.995, sample=1000, recordings=2)


def test_unusable_times_are_refused() -> None:
    for time in (M.time[::-1], np.random.default_rng(0).permutation(M.time)):
        with refused("time-backwards", steps=1599):
            log_of(M, time=time)
    with refused("time-constant"):
        log_of(M, time=np.full(len(M.time), 3.0))
    for rate in (0.5, 3.0, 200_000.0):
        with refused("log-rate-implausible"):
            log_of(motion(duration=400.0 / rate, rate=rate))


@pytest.mark.parametrize("size", [2, 5])
@pytest.mark.parametrize("late", [False, True])
def test_samples_that_share_a_stamp_are_spread(size: int, late: bool) -> None:
    stamps = ((slice(k, k + size), M.time[k + size - 1 if late else k]) for k in (100, 200))
    log = log_of(M, time=edited(M.time, *stamps))
    assert_same(log, M)
    found(log, "stamps-spread", count=2 * size)


@pytest.mark.parametrize("digits", [0.02, 0.05, 0.1])
def test_a_coarse_clock_is_refined(digits: float) -> None:
    log = log_of(M, time=np.floor(M.time / digits + 1e-9) * digits)
    assert len(log.time) == len(M.time)
    np.testing.assert_allclose(log.time, M.time, atol=1e-9)
    found(log, "clock-coarse", total=1600)


@pytest.mark.parametrize("times", [2, 4, 5])
def test_a_logger_that_is_faster_than_the_robot_is_decimated(times: int) -> None:
    held = np.arange(len(M.time)) // times * times
    log = log_of(M, q=M.q[held], tau=M.tau[held])
    assert log.rate == pytest.approx(200.0 / times)
    on_course(log)
    found(log, "samples-held", times=times)
    # A robot at rest also repeats its values.
    index = np.concatenate([np.full(700, 0), np.arange(900)])
    assert len(log_of(M, q=M.q[index], tau=M.tau[index]).time) == len(M.time)


def test_gaps_cut_the_log() -> None:
    log = log_of(M.part(np.r_[0:400, 450:1000, 1300:1600]))
    assert log.segments == ((0, 400), (400, 950), (950, 1250))
    on_course(log)
    assert log.rate == pytest.approx(200.0)
    gaps = found(log, "gaps-cut", count=2, longest=1.505)
    assert gaps.kind == "time"
    assert (gaps.values["cut"].code, gaps.values["cut"].values["segments"]) == ("log-cut", 3)
    log = log_of(M.part(np.r_[0:400, 450:460, 500:1600]))
    assert log.segments == ((0, 400), (400, 1500))
    on_course(log)
    cut = found(log, "gaps-cut").values["cut"]
    assert (cut.code, cut.values["lost"], cut.values["least"]) == ("log-cut-with-losses", 10, 30)
    with refused("log-gaps", count=29, least=30):
        log_of(motion(time=np.concatenate([k + np.arange(20) / 200.0 for k in range(30)])))


@pytest.mark.parametrize("lost", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("jitter", [0.0, 0.03, 0.3])
def test_the_period_is_found_despite_lost_samples_and_jitter(lost: float, jitter: float) -> None:
    generator = np.random.default_rng(3)
    time = np.arange(5000) / 500.0
    time += jitter / 500.0 * generator.uniform(-1.0, 1.0, len(time))
    time = np.sort(time[generator.random(len(time)) >= lost])
    # With strong jitter and many lost samples, a lost sample cannot be told from a late one.
    tolerance = 0.45 if jitter == 0.3 and lost else 0.005
    assert period_of(time) * 500.0 == pytest.approx(1.0, abs=tolerance)


def test_irregular_stamps_are_reported() -> None:
    log = log_of(motion(time=M.time + np.random.default_rng(1).uniform(-0.001, 0.001, len(M.time))))
    irregular = found(log, "time-irregular", period_ms=5.0)
    assert (irregular.kind, irregular.severity) == ("time", Severity.NOTE)
    assert irregular.values["usual_ms"] == pytest.approx(0.81, abs=0.04)
    assert log.rate == pytest.approx(200.0, rel=1e-3)


# Short gaps are filled; longer gaps, and gaps of other kinds of motion, are not.


def without(m: Motion, lost: int, every: int = 700) -> Motion:
    """Return a motion that loses this many samples now and then."""
    return m.part(np.flatnonzero(np.arange(len(m.time)) % every < every - lost))


@pytest.mark.parametrize("lost", [5, 12, 20])
def test_short_gaps_are_filled_with_the_motion(lost: int) -> None:
    log = log_of(without(FAST, lost))
    count = len(FAST.time) // 700
    assert log.segments == ((0, len(log.time)),)
    found(log, "gaps-filled", count=count, longest_ms=lost + 1.0, samples=count * lost)
    on_course(log, tolerance=1e-6)
    np.testing.assert_allclose(log.tau, motion(time=log.time).tau, atol=1e-3 * np.abs(FAST.tau).max())


def test_coarse_positions_are_filled_without_steep_ends() -> None:
    part = without(FAST, 15)
    log = log_of(part, q=np.round(part.q / STEP) * STEP)
    assert len(log.segments) == 1
    on_course(log, tolerance=2.0 * STEP)


def test_irregular_samples_are_not_gaps() -> None:
    """At random sample times, steps of five periods are common, and none exceeds 25 ms."""
    steps = 2e-4 + np.random.default_rng(0).exponential(8e-4, 8000)
    log = log_of(motion(time=np.cumsum(steps)))
    lengths = [b - a for a, b in log.segments]
    assert sum(lengths) == len(log.time)
    assert max(lengths) > 3000
    on_course(log, float(steps[0]), 2e-5)


def test_longer_gaps_other_motions_and_recordings_cut_the_log() -> None:
    log = log_of(without(FAST, 30, every=4000))
    assert len(log.segments) == 2
    assert "gaps-filled" not in codes(log)
    part = without(FAST, 10, every=4000)
    moved = edited(part.q, (np.s_[3990:, 1], part.q[3990:, 1] + 0.2))
    assert len(log_of(part, q=moved).segments) == 2
    time = edited(FAST.time, (np.s_[4000:], FAST.time[4000:] - 3.9))
    assert log_of(FAST, time=time).segments == ((0, 4000), (4000, 8000))
