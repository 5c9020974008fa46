# SPDX-License-Identifier: Apache-2.0
"""The watchdog for data: its table, and properties for random input."""

from __future__ import annotations

import math

import numpy as np
import pytest
from properties import examples, given, st
from refusals import refused

from dyn_core.control import watchdog
from dyn_core.control.watchdog import NO_DATA, Fade, Status, Target, Watch, WatchSettings, watched

TIMEOUT, DOWN, UP = 0.1, 0.5, 0.25
REACTIONS = ("hold", "ramp_to_zero", "stop")
ON_STALE = {
    "hold": (Status.HOLDING, Target.HELD, 0.0),
    "ramp_to_zero": (Status.RAMPING_DOWN, Target.ZERO, 0.0),
    "stop": (Status.STOPPED, Target.NOTHING, 0.0),
}


def made(reaction) -> WatchSettings:
    return WatchSettings(TIMEOUT, reaction, ramp_down=DOWN, ramp_up=UP)


def at(status: Status, since: float) -> Watch:
    return Watch(status, since, Target.ZERO, 0.5)


@pytest.mark.parametrize("reaction", REACTIONS)
def test_the_table_of_states(reaction) -> None:
    settings_ = made(reaction)
    now = 100.0
    fresh, stale = now - 0.5 * TIMEOUT, now - 1.5 * TIMEOUT
    early, late = now - 0.2, now - 0.6  # before and after both ramps
    stopped = (Status.STOPPED, *((Target.NOTHING, 0.0) if reaction == "stop" else (Target.ZERO, 1.0)))
    nothing, good = (Status.NO_DATA, Target.NOTHING, 0.0), (Status.GOOD, Target.LIVE, 1.0)
    recovering, reacting = (Status.RECOVERING, Target.LIVE, 0.0), ON_STALE[reaction]
    part_up, part_down = watchdog.smooth_step(0.2 / UP), watchdog.smooth_step(0.2 / DOWN)
    table = [
        (Status.NO_DATA, early, fresh, recovering),
        (Status.NO_DATA, early, stale, nothing),
        (Status.NO_DATA, early, None, nothing),
        (Status.RECOVERING, early, fresh, (Status.RECOVERING, Target.LIVE, part_up)),
        (Status.RECOVERING, late, fresh, good),
        (Status.RECOVERING, early, stale, reacting),
        (Status.GOOD, late, fresh, good),
        (Status.GOOD, late, stale, reacting),
        (Status.HOLDING, early, stale, (Status.HOLDING, Target.HELD, part_down)),
        (Status.HOLDING, late, stale, (Status.HOLDING, Target.HELD, 1.0)),
        (Status.HOLDING, early, fresh, recovering),
        (Status.RAMPING_DOWN, early, stale, (Status.RAMPING_DOWN, Target.ZERO, part_down)),
        (Status.RAMPING_DOWN, late, stale, stopped),
        (Status.RAMPING_DOWN, early, fresh, recovering),
        (Status.STOPPED, late, stale, stopped),
        (Status.STOPPED, late, fresh, recovering),
    ]
    for status, since, last_good, (expected, target, factor) in table:
        got = watched(settings_, at(status, since), now, last_good)
        assert (got.status, got.target) == (expected, target), (status, last_good)
        assert got.factor == pytest.approx(factor, abs=1e-12), (status, last_good)
        assert got.since == (since if expected is status else now)
        assert got.publishes == (target is not Target.NOTHING)


def test_timeouts_and_invalid_times() -> None:
    """Data are fresh up to the timeout; a last time that is not finite or in the future is stale."""
    for last_good in (math.nan, math.inf, -math.inf, 100.2):
        assert watched(made("hold"), at(Status.GOOD, 0.0), 100.0, last_good).status is Status.HOLDING
    good = at(Status.GOOD, 0.0)
    assert watched(WatchSettings(0.5), good, 100.5, 100.0).status is Status.GOOD
    assert watched(WatchSettings(0.5), good, 100.501, 100.0).status is Status.RAMPING_DOWN
    for now in (math.nan, math.inf):
        with refused("argument-time-not-finite", argument="now"):
            watched(made("hold"), NO_DATA, now, 0.0)


@pytest.mark.parametrize("reaction", REACTIONS)
def test_without_ramps_changes_are_immediate(reaction) -> None:
    settings_ = WatchSettings(TIMEOUT, reaction, ramp_down=0.0, ramp_up=0.0)
    watch = watched(settings_, NO_DATA, 1.0, 1.0)
    assert (watch.target, watch.factor) == (Target.LIVE, 1.0)
    assert watched(settings_, watch, 2.0, 1.0).factor == (0.0 if reaction == "stop" else 1.0)


def test_wrong_settings_are_refused() -> None:
    for code, setting, options in (
        ("setting-range", "the timeout (s)", {"timeout": 0.0}),
        ("setting-range", "ramp_up (s)", {"ramp_up": -1.0}),
        ("setting-range", "ramp_down (s)", {"ramp_down": math.inf}),
        ("choice-unknown", "the reaction", {"reaction": "panic"}),
    ):
        with refused(code, setting=setting, given=next(iter(options.values()))):
            WatchSettings(**{"timeout": 1.0, **options})


CYCLES = st.lists(st.tuples(st.floats(0.0, 0.3), st.booleans()), min_size=1, max_size=60)


@given(st.sampled_from(REACTIONS), CYCLES)
@examples(100)
def test_properties_for_random_data(reaction, cycles) -> None:
    """Live torques only for fresh data, none before any data, a factor in [0, 1], recovery after the ramp."""
    settings_ = made(reaction)
    watch, now, last_good, fresh_since = NO_DATA, 0.0, None, None
    for dt, good in cycles:
        now += dt
        last_good = now if good else last_good
        watch = watched(settings_, watch, now, last_good)
        fresh = last_good is not None and now - last_good <= TIMEOUT
        assert 0.0 <= watch.factor <= 1.0
        assert watch.since <= now
        assert (watch.target is Target.LIVE) == fresh
        assert (watch.status is Status.NO_DATA) == (last_good is None)
        if watch.target is Target.NOTHING:
            assert last_good is None or (reaction == "stop" and not fresh)
        fresh_since = (now if fresh_since is None else fresh_since) if fresh else None
        if fresh_since is not None and now - fresh_since >= UP + 1e-9:
            assert watch.status is Status.GOOD
        if last_good is not None and not fresh and watch.status is Status.STOPPED:
            assert reaction == "stop" or now - last_good >= DOWN


@given(st.sampled_from(REACTIONS), CYCLES, st.floats(0.001, 0.01))
@examples(100)
def test_sent_torques_have_no_step(reaction, cycles, period: float) -> None:
    """Live, held and zero torques of up to 10 N m: the rate is at most that of the steepest ramp."""
    settings_ = made(reaction)
    fade, watch, now, last_good, sent = Fade(("a",)), NO_DATA, 0.0, None, 0.0
    torques = {Target.LIVE: np.array([10.0]), Target.HELD: np.array([-10.0]), Target.ZERO: np.array([0.0])}
    steepest = watchdog.STEEPEST * 20.0 / min(UP, DOWN)
    for duration, good in cycles:
        for _ in range(1 + int(duration / period)):
            now += period
            last_good = now if good else last_good
            watch = watched(settings_, watch, now, last_good)
            if watch.publishes:
                (torque,) = fade.toward(watch.change, watch.factor, torques[watch.target])
                assert abs(torque) <= 10.0
                # A status lasts at most one period longer than its ramp.
                assert abs(torque - sent) <= steepest * 2.0 * period
                sent = torque
