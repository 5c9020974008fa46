# SPDX-License-Identifier: Apache-2.0
"""A clock that is set while it is looked at."""

from __future__ import annotations

import pytest

from dyn_nodes.clock_watch import ClockWatch


def test_clocks_that_go_together_are_in_order_however_long_nobody_looks() -> None:
    watch = ClockWatch(0.1)
    for now in (0.0, 0.01, 5.0, 1000.0):
        assert not watch.was_set(1e9 + now * 1.00001, now, now)


@pytest.mark.parametrize("by", [-3600.0, -0.11, 0.11, 3600.0])
def test_a_clock_that_was_set_is_told_once(by: float) -> None:
    watch = ClockWatch(0.1)
    watch.was_set(50.0, 1.0, 1.0)
    assert watch.was_set(50.01 + by, 1.01, 1.01)
    assert not watch.was_set(50.02 + by, 1.02, 1.02)


def test_what_was_before_a_restart_does_not_count() -> None:
    watch = ClockWatch(0.1)
    watch.was_set(50.0, 1.0, 1.0)
    watch.restart()
    assert not watch.was_set(0.0, 1.01, 1.01)


@pytest.mark.parametrize("t", [50.0, 50.5])
def test_whoever_is_interrupted_between_two_clocks_sees_none_set(t: float) -> None:
    watch = ClockWatch(0.1)
    watch.was_set(50.0, 1.0, 1.0)
    assert not watch.was_set(t, 1.0, 1.5)
    assert not watch.was_set(50.6, 1.6, 1.6)
    assert watch.was_set(51.7, 1.7, 1.7)
