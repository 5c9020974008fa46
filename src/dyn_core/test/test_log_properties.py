# SPDX-License-Identifier: Apache-2.0
"""Random faults in logs are found, and the remaining samples are right."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from log_case import codes, found, log_of, motion, write_csv
from properties import examples, given, st

import dyn_core
from dyn_core import DynError, Log
from dyn_core.logs.repair.column_anomalies import runs

RATE = 200.0
M = motion(joints=3, duration=8.0, rate=RATE)
COUNT = len(M.time)
ROWS = [M.names, *([f"{value:.12g}" for value in row] for row in M.table[:300])]
TEXT = "\n".join(map(",".join, ROWS)).encode()
SIZES = {"noise": 1.0, "tiny": 1e-300, "great": 1e300}
few = examples(40)
places = st.integers(50, COUNT - 50)


def true_at_its_times(log: Log, tolerance: float = 1e-9, of_efforts: float = 0.0) -> None:
    """Check a log whose first sample is the first of the motion: each sample follows the motion."""
    truth = motion(joints=3, time=log.time)
    np.testing.assert_allclose(log.q, truth.q, atol=tolerance)
    np.testing.assert_allclose(log.tau, truth.tau, atol=of_efforts or 100 * tolerance)
    assert np.all(np.diff(log.time) > 0.0)


@few
@given(st.sets(places, min_size=1, max_size=20), st.integers(1, 3))
def test_repeated_samples_are_found(at: set[int], times: int) -> None:
    index = np.sort(np.concatenate([np.arange(COUNT), *[sorted(at)] * times]))
    log = log_of(M.part(index))
    found(log, "samples-repeated", count=times * len(at))
    assert len(log.time) == COUNT
    true_at_its_times(log)


@few
@given(st.lists(places, min_size=1, max_size=10, unique_by=lambda k: k // 60), st.integers(1, 8))
def test_late_samples_are_found(at: list[int], by: int) -> None:
    index = list(range(COUNT))
    for k in at:
        index.insert(k + by, index.pop(k))
    log = log_of(M.part(np.array(index)))
    assert "samples-late" in codes(log)
    true_at_its_times(log)


@few
@given(st.lists(st.tuples(places, st.integers(6, 100)), min_size=1, max_size=5))
def test_gaps_are_found(holes: list[tuple[int, int]]) -> None:
    lost = [np.arange(start, min(start + length, COUNT - 40)) for start, length in holes]
    kept = np.delete(np.arange(COUNT), np.concatenate(lost))
    if len(kept) == COUNT:
        return
    log = log_of(M.part(kept))
    assert ("gaps-cut" in codes(log)) == bool((np.diff(kept) > 4).any())
    for a, b in log.segments:
        assert np.diff(log.time[a:b]).max() < 4.6 / RATE
    true_at_its_times(log)


@few
@given(st.lists(st.tuples(places, st.integers(1, 3), st.integers(0, 2)), min_size=1, max_size=10))
def test_short_holes_are_bridged(holes: list[tuple[int, int, int]]) -> None:
    q = M.q.copy()
    for start, length, joint in holes:
        q[start : start + length, joint] = np.nan
    longest = max(b - a for j in range(3) for a, b in runs(np.isnan(q[:, j])))
    log = log_of(M, q=q)
    assert ("values-bridged" if longest <= 3 else "samples-incomplete") in codes(log)
    assert len(log.time) == COUNT or longest > 3
    # Where samples are left out and filled again, efforts are interpolated, too.
    true_at_its_times(log, 5e-4, 0.05 if longest <= 3 else 1e-3 * np.abs(M.tau).max())


@few
@given(
    # At most 30 of 1600 samples: a signal with outliers in more than 2 % of them counts as having no spikes.
    st.lists(st.tuples(places, st.integers(1, 3)), min_size=1, max_size=10, unique_by=lambda at: at[0] // 12),
    st.floats(0.2, 100.0),
    st.sampled_from([-1.0, 1.0]),
)
def test_spikes_are_found(at: list[tuple[int, int]], height: float, sign: float) -> None:
    at = [(12 * (start // 12), length) for start, length in sorted(at)]
    q = M.q.copy()
    for start, length in at:
        q[start : start + length, 1] += sign * height
    log = log_of(M, q=q)
    found(log, "signal-spikes", count=len(at), longest=3, first=at[0][0] + 1)
    true_at_its_times(log, 2e-3)


@few
@given(st.floats(-3.0, 3.0), st.floats(-20.0, 20.0))
def test_turns_are_unwrapped(speed: float, start: float) -> None:
    whole = M.q[:, 0] + speed * M.time + start
    q = M.q.copy()
    q[:, 0] = (whole + np.pi) % (2 * np.pi) - np.pi
    wraps = bool(np.abs(np.diff(q[:, 0])).max() > 3.0)
    log = log_of(M, q=q)
    off = log.q[:, 0] - whole
    np.testing.assert_allclose(off, off[0], atol=1e-9)
    assert ("position-turns" in codes(log)) == wraps


@few
@given(st.floats(0.01, 0.45), st.integers(0, 2**32 - 1))
def test_samples_at_jittered_times_give_the_right_accelerations(jitter: float, seed: int) -> None:
    generator = np.random.default_rng(seed)
    m = motion(joints=3, time=np.arange(COUNT) / RATE + jitter / RATE * generator.uniform(-1.0, 1.0, COUNT))
    log = log_of(m)
    assert ("time-irregular" in codes(log)) == (np.std(np.diff(m.time)) > 0.05 * log.period)
    signals = dyn_core.condition(log, dyn_core.Protocol(cutoff=20.0, margin=60))
    truth = motion(joints=3, time=signals.time + m.time[0])
    np.testing.assert_allclose(signals.qdd, truth.qdd, atol=0.01 * np.abs(truth.qdd).max())


@few
@given(st.permutations(range(10)), st.integers(0, 3))
def test_columns_in_any_order(order: list[int], others: int) -> None:
    names = [*M.names, *(f"temperature_{k}" for k in range(others))]
    table = np.column_stack([M.table, np.zeros((COUNT, others))])
    order = [*order, *range(10, 10 + others)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.csv"
        log = dyn_core.read_log(write_csv(path, table[:, order], [names[k] for k in order]))
    assert log.findings == ()
    place = [log.joint_names.index(joint) for joint in M.joints]
    np.testing.assert_allclose(log.q[:, place], M.q, atol=1e-9)
    np.testing.assert_allclose(log.tau[:, place], M.tau, atol=1e-8)


@few
@given(st.data())
def test_damaged_text_is_refused_or_read_without_an_exception(data: Any) -> None:
    text = bytearray(TEXT)
    for _ in range(data.draw(st.integers(1, 8))):
        place = data.draw(st.integers(0, len(text) - 1))
        change = data.draw(st.sampled_from(["cut", "insert", "delete", "replace", "double"]))
        piece: Any = data.draw(st.binary(min_size=1, max_size=6))
        if change == "cut" and place > 2000:
            del text[place:]
        elif change == "insert":
            text[place:place] = piece
        elif change == "delete":
            del text[place : place + len(piece)]
        elif change == "replace":
            text[place : place + len(piece)] = piece
        else:
            text[place:place] = text[place : place + 500]
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        file.write(text)
        file.flush()
        report = dyn_core.examine_log(file.name)
    assert (report.log is None) == any(str(f.severity) == "error" for f in report.findings)
    if report.log is not None:
        assert np.isfinite(report.log.q).all()
        assert np.all(np.diff(report.log.time) > 0.0)


@few
@given(st.data())
def test_random_arrays_are_refused_or_conditioned(data: Any) -> None:
    count = data.draw(st.integers(0, 400))
    generator = np.random.default_rng(data.draw(st.integers(0, 1000)))

    def kinds() -> dict[str, np.ndarray]:
        even, uniform = np.arange(count) * 0.005, generator.uniform(0.0, 3.0, count)
        return {
            "even": even,
            "random": uniform,
            "sorted": np.sort(uniform),
            "constant": np.zeros(count),
            "huge": np.arange(count) * 1e15,
            "nan": np.full(count, np.nan),
            "inf": np.where(generator.random(count) < 0.1, np.inf, even),
            **{name: generator.standard_normal(count) * size for name, size in SIZES.items()},
        }

    time, q, tau = (kinds()[data.draw(st.sampled_from(sorted(kinds())))] for _ in range(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            log = dyn_core.log_of_arrays(["a"], time, q[:, None], tau[:, None])
            signals = dyn_core.condition(log)
        except DynError:
            return
    assert np.isfinite(log.q).all()
    assert np.isfinite(signals.qd).all()
