# SPDX-License-Identifier: Apache-2.0
"""Simulated time against a clock of the test."""

from __future__ import annotations

import pytest

from dyn_nodes.pacing import MAX_LAG_S, Pacing

PERIOD_S = 0.001


def simulated(pacing: Pacing, begin: float, end: float, cost_s: float, tick_s: float = 0.001) -> int:
    """Periods that are simulated from `begin` to `end` when each takes `cost_s` of the clock."""
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
    pacing = Pacing(PERIOD_S, factor, 100.0)
    assert simulated(pacing, 100.0, 103.0, 0.0) == pytest.approx(3000 * factor, abs=5)
    assert pacing.real_time_factor(103.0) == pytest.approx(factor, rel=0.01)


def test_no_drift() -> None:
    """After a million periods of which each begins late by chance, not one is missing."""
    pacing = Pacing(PERIOD_S, 1.0, 0.0)
    assert simulated(pacing, 0.0, 1000.0, 0.0, tick_s=0.00137) == pytest.approx(1_000_000, abs=2)


def test_a_slow_machine_simulates_fewer_periods_and_says_so() -> None:
    pacing = Pacing(PERIOD_S, 1.0, 0.0)
    done = simulated(pacing, 0.0, 5.0, 0.004)
    assert done == pytest.approx(5.0 / 0.004, rel=0.01)
    assert pacing.real_time_factor(5.0) == pytest.approx(0.25, rel=0.02)


def test_a_pause_of_the_machine_is_no_burst() -> None:
    pacing = Pacing(PERIOD_S, 1.0, 0.0)
    burst = 0
    while pacing.overdue(10.0) >= 0.0:
        pacing.count()
        burst += 1
    assert burst == pytest.approx(MAX_LAG_S / PERIOD_S, abs=1)
    assert simulated(pacing, 10.0, 11.0, 0.0) == pytest.approx(1000, abs=2)


def test_the_delay_of_each_period_of_a_burst_is_told() -> None:
    pacing = Pacing(PERIOD_S, 1.0, 0.0)
    delays = []
    while (late := pacing.overdue(0.0105)) >= 0.0:
        pacing.count()
        delays.append(late)
    assert delays == pytest.approx([0.0095 - PERIOD_S * k for k in range(10)])


def test_the_factor_is_not_known_before_a_second_is_over() -> None:
    pacing = Pacing(PERIOD_S, 1.0, 0.0)
    assert pacing.real_time_factor(0.5) is None
    pacing.restart(2.0)
    assert pacing.real_time_factor(2.9) is None
    assert pacing.real_time_factor(3.0) == 0.0
