# SPDX-License-Identifier: Apache-2.0
"""Gaps that are short in time are filled with what was there; others, and other motions, are not."""

from __future__ import annotations

import numpy as np
import pytest
from log_case import Motion, motion, said

import dyn_core
from dyn_core import Log

RATE = 1000.0
STEP = 2.0 * np.pi / 2**13
"""Of a coarse encoder (rad)."""


@pytest.fixture(scope="module")
def m() -> Motion:
    return motion(joints=3, duration=8.0, rate=RATE)


def without(m: Motion, lost: int, every: int = 700) -> Motion:
    """Answer a motion that loses so many samples now and then."""
    return m.part(np.flatnonzero(np.arange(len(m.time)) % every < every - lost))


def of(m: Motion, q: np.ndarray | None = None) -> Log:
    return dyn_core.log_of_arrays(m.joints, m.time, m.q if q is None else q, m.tau)


@pytest.mark.parametrize("lost", [5, 12, 20])
def test_short_gaps_are_filled_with_the_motion(m: Motion, lost: int) -> None:
    log = of(without(m, lost))
    count = len(without(m, 0).time) // 700
    assert log.segments == ((0, len(log.time)),)
    assert f"{count} short gaps, the longest of {lost + 1} ms: filled with {count * lost} samples" in said(
        log
    )
    truth = motion(joints=3, time=log.time)
    np.testing.assert_allclose(log.q, truth.q, atol=1e-6)
    np.testing.assert_allclose(log.tau, truth.tau, atol=1e-3 * np.abs(m.tau).max())


def test_coarse_positions_are_filled_without_steep_ends(m: Motion) -> None:
    part = without(m, 15)
    log = of(part, np.round(part.q / STEP) * STEP)
    assert len(log.segments) == 1
    assert np.abs(log.q - motion(joints=3, time=log.time).q).max() < 2.0 * STEP


def test_irregular_samples_are_no_gaps() -> None:
    """Of samples at random times steps of five periods are some, and none of 25 ms."""
    steps = 2e-4 + np.random.default_rng(0).exponential(8e-4, 8000)
    log = of(motion(joints=3, time=np.cumsum(steps)))
    assert sum(b - a for a, b in log.segments) == len(log.time)
    assert max(b - a for a, b in log.segments) > 3000
    start = float(steps[0])
    np.testing.assert_allclose(log.q, motion(joints=3, time=log.time + start).q, atol=2e-5)


def test_longer_gaps_cut_the_log(m: Motion) -> None:
    log = of(without(m, 30, every=4000))
    assert len(log.segments) == 2
    assert "short gaps" not in said(log)


def test_a_position_that_is_another_behind_a_gap_cuts_the_log(m: Motion) -> None:
    part = without(m, 10, every=4000)
    q = part.q.copy()
    q[3990:, 1] += 0.2
    assert len(of(part, q).segments) == 2


def test_recordings_one_after_the_other_stay_apart(m: Motion) -> None:
    time = m.time.copy()
    time[4000:] -= 3.9
    log = dyn_core.log_of_arrays(m.joints, time, m.q, m.tau)
    assert log.segments == ((0, 4000), (4000, 8000))
