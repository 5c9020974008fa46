# SPDX-License-Identifier: Apache-2.0
"""Ramps, fades, and transitions between parameters."""

from __future__ import annotations

import math

import numpy as np
import pytest
from properties import given, st
from refusals import refusal, refused
from robots import example

import dyn_core
from dyn_core.control.watchdog import STEEPEST, Fade, ParameterBlend, Ramp, smooth_step

NAMES = ("a", "b")
UNIT = st.floats(0.0, 1.0)


def test_the_smooth_step_is_the_quintic_with_flat_ends() -> None:
    polynomial = np.polynomial.Polynomial([0.0, 0.0, 0.0, 10.0, -15.0, 6.0])
    for u in np.linspace(0.0, 1.0, 101):
        assert smooth_step(u) == pytest.approx(polynomial(u), abs=1e-15)
    for derivative in (1, 2):
        assert polynomial.deriv(derivative)(0.0) == polynomial.deriv(derivative)(1.0) == 0.0
    assert polynomial.deriv()(0.5) == polynomial.deriv()(np.linspace(0.0, 1.0, 1001)).max() == STEEPEST


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_the_smooth_step_rises_from_0_to_1(u: float, v: float) -> None:
    low, high = smooth_step(min(u, v)), smooth_step(max(u, v))
    assert 0.0 <= low <= 1.0
    assert low <= high + 1e-15
    if max(u, v) <= 0.0:
        assert high == 0.0
    if min(u, v) >= 1.0:
        assert low == 1.0


TIME, DURATION = st.floats(-1e3, 1e3), st.floats(0.0, 10.0)


@given(TIME, DURATION, UNIT, UNIT, TIME, UNIT, DURATION)
def test_ramps(begin, duration, initial, final, t, other, again) -> None:
    ramp = Ramp(begin, duration, initial, final)
    assert min(initial, final) - 1e-15 <= ramp.at(t) <= max(initial, final) + 1e-15
    assert 0.0 <= ramp.at(t) <= 1.0
    assert ramp.at(begin - 1.0) == initial
    assert ramp.at(begin + duration + 1.0) == final
    assert ramp.over(begin + duration + 1.0)
    assert not ramp.over(begin - 1.0)
    # The reverse begins at the present value of the ramp.
    turned = ramp.toward(t, other, again)
    assert turned.at(t) == pytest.approx(ramp.at(t) if again else other, abs=1e-15)
    assert turned.at(t + again + 1.0) == other


def test_a_ramp_is_no_steeper_than_it_says_and_has_possible_times_and_factors() -> None:
    ramp = Ramp(1.0, 0.5, 0.2, 0.9)
    times = np.linspace(0.5, 2.0, 20001)
    rate = np.abs(np.diff([ramp.at(t) for t in times])).max() / (times[1] - times[0])
    assert rate == pytest.approx(STEEPEST * 0.7 / 0.5, rel=1e-5)
    for arguments, expected in (
        ((math.nan, 1.0), "ramp-times-not-finite: nan, 1"),
        ((0.0, -1.0), "ramp-times-not-finite: 0, -1"),
        ((0.0, 1.0, 0.0, 1.5), "ramp-factors-out-of-range: 1.5, 0"),
        ((0.0, 1.0, math.nan), "ramp-factors-out-of-range: 1, nan"),
    ):
        assert refusal(Ramp, *arguments) == expected
    with refused("argument-time-not-finite", argument="t"):
        Ramp(0.0, 1.0).at(math.nan)


def test_a_fade_goes_from_the_last_sent_to_the_desired_torques() -> None:
    fade = Fade(NAMES)
    np.testing.assert_array_equal(fade.sent, 0.0)
    first, second = np.array([10.0, -4.0]), np.array([2.0, 8.0])
    np.testing.assert_array_equal(fade.toward("up", 0.0, first), [0.0, 0.0])
    np.testing.assert_array_equal(fade.toward("up", 0.5, first), [5.0, -2.0])
    np.testing.assert_array_equal(fade.toward("up", 0.75, second), [1.5, 6.0])
    np.testing.assert_array_equal(fade.toward("other", 0.0, second), [1.5, 6.0])
    np.testing.assert_array_equal(fade.toward("other", 1.0, second), second)
    np.testing.assert_array_equal(fade.toward("down", 0.25, np.zeros(2)), [1.5, 6.0])
    fade.reset()
    np.testing.assert_array_equal(fade.toward("down", 0.5, second), [1.0, 4.0])
    # Rounding does not make equal torques exceed themselves.
    limit, factor = 5.13771663187637, 0.9524673882682695
    assert (1.0 - factor) * limit + factor * limit > limit
    fade.toward(1, 1.0, np.array([limit, -limit]))
    np.testing.assert_array_equal(fade.toward(2, factor, np.array([limit, -limit])), [limit, -limit])


STEPS = st.tuples(st.integers(0, 2), UNIT, st.floats(-7.3, 7.3), st.floats(-0.1, 0.1))


@given(st.lists(STEPS, min_size=1, max_size=20))
def test_a_fade_stays_within_limits_that_both_ends_keep(steps) -> None:
    fade = Fade(NAMES)
    for change, factor, *torques in steps:
        sent = fade.toward(change, factor, np.array(torques))
        assert (np.abs(sent) <= [7.3, 0.1]).all()


@given(st.lists(STEPS, min_size=1, max_size=20))
def test_a_fade_with_a_greatest_step_takes_no_greater_one_and_arrives(steps) -> None:
    fade, step = Fade(NAMES), np.array([0.5, 0.02])
    for change, factor, *torques in steps:
        before = fade.sent
        sent = fade.toward(change, factor, np.array(torques), step)
        assert (np.abs(sent - before) <= step + 1e-12).all()
        assert (np.abs(sent) <= [7.3, 0.1]).all()
    goal = np.array([-7.3, 0.1])
    for _ in range(31):
        fade.toward("goal", 1.0, goal, step)
    np.testing.assert_array_equal(fade.sent, goal)
    assert not fade.behind
    fade.toward("goal", 1.0, goal * [1.0, -1.0], step)
    assert fade.behind


def test_a_fade_refuses_values_that_are_not_finite_and_keeps_its_state() -> None:
    fade = Fade(NAMES)
    fade.toward(1, 1.0, np.array([3.0, 4.0]))
    for bad in (math.nan, math.inf):
        with refused("joint-value-not-finite", quantity="torque", joint="b"):
            fade.toward(2, 0.5, np.array([1.0, bad]))
        with refused("argument-not-fraction", argument="factor"):
            fade.toward(2, bad, np.array([1.0, 2.0]))
    np.testing.assert_array_equal(fade.toward(2, 0.0, np.zeros(2)), [3.0, 4.0])
    with pytest.raises(ValueError, match="read-only"):
        fade.sent[:] = 1.0


STATE = np.random.default_rng(7).uniform(-1.0, 1.0, (3, 3))


def runtime(**options) -> dyn_core.Model:
    return dyn_core.compile_model(example("rrp"), "runtime", backend="python", **options)


def M3(model: dyn_core.Model) -> float:
    return float(model.parameters[model.parameter_names.index("M3")])


def test_a_payload_change_has_no_torque_step() -> None:
    model = runtime()
    tip = model.robot.link_names[-1]
    loaded = model.robot.with_payload(tip, 5.0, (0.1, 0.2, 0.3)).parameters
    before = model.inverse_dynamics(*STATE)
    step = model.regressor(*STATE) @ (np.array(loaded) - model.parameters)
    blend, duration, period = ParameterBlend(model), 0.2, 1e-3
    assert not blend.update(0.0)
    blend.change(0.0, loaded, duration=duration)
    np.testing.assert_array_equal(model.inverse_dynamics(*STATE), before)
    torques, running = [before], True
    for k in range(1, 300):
        running = blend.update(k * period)
        assert running == (k < 200)
        torques.append(model.inverse_dynamics(*STATE))
    np.testing.assert_array_equal(model.parameters, loaded)
    np.testing.assert_allclose(torques[-1], before + step, rtol=1e-10, atol=1e-10)
    rate = np.abs(np.diff(torques, axis=0)).max(axis=0) / period
    np.testing.assert_array_less(rate, STEEPEST * np.abs(step) / duration * (1.0 + 1e-9) + 1e-9)
    for k in (37, 100, 150):
        s = smooth_step(k * period / duration)
        np.testing.assert_allclose(torques[k], before + s * step, rtol=1e-9, atol=1e-9)


def test_a_change_during_a_blend_begins_with_the_present_values() -> None:
    model = runtime()
    blend, start = ParameterBlend(model), M3(model)
    blend.change(0.0, {"M3": 11.0}, duration=1.0)
    blend.update(0.5)
    torques = model.inverse_dynamics(*STATE)
    assert M3(model) == pytest.approx(0.5 * (start + 11.0))
    blend.change(0.5, {"Fv1": 0.8}, gravity=(0.0, 0.0, -1.6), duration=2.0)
    blend.update(0.5)
    np.testing.assert_allclose(model.inverse_dynamics(*STATE), torques, rtol=1e-12, atol=1e-12)
    assert blend.update(2.4)
    assert not blend.update(2.5)
    values = dict(zip(model.parameter_names, model.parameters, strict=True))
    assert (values["M3"], values["Fv1"]) == (11.0, 0.8)  # targets of the first change are kept
    np.testing.assert_array_equal(model.gravity, (0.0, 0.0, -1.6))
    np.testing.assert_array_equal(blend.target, model.parameters)
    np.testing.assert_array_equal(blend.gravity, model.gravity)
    # Between updates, a change begins at the present state of the blend.
    model = runtime()
    blend = ParameterBlend(model)
    blend.change(0.0, {"M3": 11.0}, duration=1.0)
    blend.update(0.4)
    blend.change(0.5, {"M3": 0.0}, duration=1.0)
    blend.update(0.5)
    assert M3(model) == pytest.approx(0.5 * (start + 11.0))


def test_changes_at_once_and_the_end_of_a_blend() -> None:
    model = runtime()
    blend = ParameterBlend(model)
    prepared = model._tuning.prepared[0]
    blend.update(1.0)
    assert model._tuning.prepared[0] is prepared
    blend.change(3.0, {"M3": 11.0}, duration=0.0)
    assert not blend.update(3.0)
    assert M3(model) == 11.0
    with refused("parameters-baked"):
        ParameterBlend(dyn_core.compile_model(example("rrp"), backend="python"))


def test_a_wrong_change_keeps_the_running_blend() -> None:
    model = runtime(friction=False, rotor_inertia=False)
    for change, expected in (
        ({"values": {"M9": 1.0}}, "parameter-unknown: [XX1, XY1, XZ1, YY1, YZ1, ZZ1], [M9]"),
        ({"values": {"M3": math.nan}}, "parameter-not-finite: nan, M3"),
        ({"values": {"Fs3": 1.0}}, "parameter-compiled-out: 1, friction, Fs3"),
        ({"values": {"Ia1": 1.0}}, "parameter-compiled-out: 1, rotor_inertia, Ia1"),
        ({"gravity": (0.0, 1.0)}, "setting-range: three numbers in m/s^2, [0, 1], gravity"),
        ({"duration": -1.0}, "setting-range: a finite number >= 0, -1, the duration of a blend (s)"),
    ):
        blend = ParameterBlend(model)
        blend.change(0.0, {"M3": 11.0}, duration=1.0)
        assert refusal(blend.change, 0.5, **change) == expected
        blend.update(1.0)
        assert M3(model) == 11.0
        model.set_parameters({"M3": 1.5})
