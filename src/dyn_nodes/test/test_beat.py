# SPDX-License-Identifier: Apache-2.0
"""Times that are a period apart, asked for by a timer that is early, late, or not there for a while."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.common.clocks import MADE_UP_S, Beat

PERIOD_S = 0.01


def beat(t: float = 0.0) -> Beat:
    made = Beat(1.0 / PERIOD_S)
    made.begin(t)
    return made


def test_a_timer_that_is_early_or_late_misses_nothing() -> None:
    made, random = beat(5.0), np.random.default_rng(0)
    calls = 5.0 + PERIOD_S * (np.arange(1000) + random.uniform(-0.45, 1.5, 1000))
    times = [time for t in sorted(calls.tolist()) for time in made.due(t)]
    np.testing.assert_allclose(times, 5.0 + PERIOD_S * np.arange(len(times)), atol=1e-9)
    assert 999 <= len(times) <= 1001


def test_each_time_comes_once() -> None:
    made = beat()
    assert list(made.due(0.0)) == [0.0]
    assert list(made.due(0.0)) == []
    assert list(made.due(0.4 * PERIOD_S)) == []
    assert list(made.due(0.6 * PERIOD_S)) == [PERIOD_S]


def test_a_long_delay_is_not_made_up_for() -> None:
    made = beat()
    list(made.due(0.0))
    times = list(made.due(10.0))
    assert len(times) == pytest.approx(MADE_UP_S / PERIOD_S, abs=1)
    assert times[-1] == pytest.approx(10.0)
    assert times[0] >= 10.0 - MADE_UP_S - 1e-9
    assert list(made.due(10.0 + PERIOD_S)) == [pytest.approx(10.0 + PERIOD_S)]


@pytest.mark.parametrize("back", [0.1, 100.0])
def test_a_clock_that_goes_back_begins_anew(back: float) -> None:
    made = beat(200.0)
    list(made.due(200.0))
    assert list(made.due(200.0 - back)) == [200.0 - back]
    assert list(made.due(200.0 - back + PERIOD_S)) == [pytest.approx(200.0 - back + PERIOD_S)]


def test_a_clock_that_jitters_does_not() -> None:
    made = beat(200.0)
    list(made.due(200.0))
    assert list(made.due(200.0 - 0.9 * PERIOD_S)) == []
    assert list(made.due(200.0 + PERIOD_S)) == [pytest.approx(200.0 + PERIOD_S)]
