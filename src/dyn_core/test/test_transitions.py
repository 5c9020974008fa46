# SPDX-License-Identifier: Apache-2.0
"""Ramps, fades, and parameters that go over to others."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from properties import given, st

import dyn_core
from dyn_core import DynError
from dyn_core.control.fade import Fade
from dyn_core.control.parameter_blend import ParameterBlend
from dyn_core.control.ramp import STEEPEST, Ramp, smooth_step

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
NAMES = ("a", "b")
UNIT = st.floats(0.0, 1.0)


def test_the_smooth_step_is_the_quintic_with_flat_ends() -> None:
    polynomial = np.polynomial.Polynomial([0.0, 0.0, 0.0, 10.0, -15.0, 6.0])
    for u in np.linspace(0.0, 1.0, 101):
        assert smooth_step(u) == pytest.approx(polynomial(u), abs=1e-15)
    for derivative in (1, 2):
        assert polynomial.deriv(derivative)(0.0) == polynomial.deriv(derivative)(1.0) == 0.0
    assert polynomial.deriv()(0.5) == STEEPEST
    assert polynomial.deriv()(np.linspace(0.0, 1.0, 1001)).max() == STEEPEST


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_the_smooth_step_rises_from_0_to_1(u: float, v: float) -> None:
    low, high = smooth_step(min(u, v)), smooth_step(max(u, v))
    assert 0.0 <= low <= 1.0
    assert low <= high + 1e-15
    if max(u, v) <= 0.0:
        assert high == 0.0
    if min(u, v) >= 1.0:
        assert low == 1.0


@given(
    st.floats(-1e3, 1e3), st.floats(0.0, 10.0), UNIT, UNIT, st.floats(-1e3, 1e3), UNIT, st.floats(0.0, 10.0)
)
def test_ramps(begin, duration, initial, final, t, other, again) -> None:
    ramp = Ramp(begin, duration, initial, final)
    assert min(initial, final) - 1e-15 <= ramp.at(t) <= max(initial, final) + 1e-15
    assert 0.0 <= ramp.at(t) <= 1.0
    assert ramp.at(begin - 1.0) == initial
    assert ramp.at(begin + duration + 1.0) == final
    assert ramp.over(begin + duration + 1.0)
    assert not ramp.over(begin - 1.0)
    # Turning round begins where the ramp is.
    turned = ramp.toward(t, other, again)
    assert turned.at(t) == pytest.approx(ramp.at(t) if again else other, abs=1e-15)
    assert turned.at(t + again + 1.0) == other


def test_a_ramp_is_no_steeper_than_it_says() -> None:
    ramp = Ramp(1.0, 0.5, 0.2, 0.9)
    times = np.linspace(0.5, 2.0, 20001)
    values = np.array([ramp.at(t) for t in times])
    rate = np.abs(np.diff(values)).max() / (times[1] - times[0])
    assert rate == pytest.approx(STEEPEST * 0.7 / 0.5, rel=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((math.nan, 1.0), "a ramp from nan s over 1.0 s: both have to be finite"),
        ((0.0, -1.0), "a ramp from 0.0 s over -1.0 s"),
        ((0.0, 1.0, 0.0, 1.5), r"a ramp from 0.0 to 1.5: both have to be in \[0, 1\]"),
        ((0.0, 1.0, math.nan), "a ramp from nan to 1.0"),
    ],
)
def test_wrong_ramps(arguments, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Ramp(*arguments)
    with pytest.raises(ValueError, match="t: expected a finite time"):
        Ramp(0.0, 1.0).at(math.nan)


def test_a_fade_goes_from_what_was_sent_to_what_is_wanted() -> None:
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


@given(
    st.lists(
        st.tuples(st.integers(0, 2), UNIT, st.floats(-7.3, 7.3), st.floats(-0.1, 0.1)),
        min_size=1,
        max_size=20,
    )
)
def test_a_fade_stays_within_limits_that_both_ends_keep(steps) -> None:
    fade = Fade(NAMES)
    for change, factor, *torques in steps:
        sent = fade.toward(change, factor, np.array(torques))
        assert (np.abs(sent) <= [7.3, 0.1]).all()


def test_a_fade_between_equal_torques_is_not_a_rounding_beyond_them() -> None:
    limit, factor = 5.13771663187637, 0.9524673882682695
    assert (1.0 - factor) * limit + factor * limit > limit
    fade = Fade(NAMES)
    fade.toward(1, 1.0, np.array([limit, -limit]))
    np.testing.assert_array_equal(fade.toward(2, factor, np.array([limit, -limit])), [limit, -limit])


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_fade_refuses_what_is_not_finite_and_stays_as_it_was(bad: float) -> None:
    fade = Fade(NAMES)
    fade.toward(1, 1.0, np.array([3.0, 4.0]))
    with pytest.raises(ValueError, match="the torque of joint 'b' is"):
        fade.toward(2, 0.5, np.array([1.0, bad]))
    with pytest.raises(ValueError, match=r"factor: expected a number in \[0, 1\], but it is"):
        fade.toward(2, bad, np.array([1.0, 2.0]))
    np.testing.assert_array_equal(fade.toward(2, 0.0, np.zeros(2)), [3.0, 4.0])
    with pytest.raises(ValueError, match="read-only"):
        fade.sent[:] = 1.0


def runtime(**options) -> dyn_core.Model:
    robot = dyn_core.load_robot(ROBOTS / "rrp.urdf")
    return dyn_core.compile_model(robot, "runtime", backend="python", **options)


STATE = np.random.default_rng(7).uniform(-1.0, 1.0, (3, 3))


def test_a_payload_comes_without_a_step() -> None:
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
    blend = ParameterBlend(model)
    start = model.parameters
    blend.change(0.0, {"M3": 11.0}, duration=1.0)
    blend.update(0.5)
    middle, torques = model.parameters, model.inverse_dynamics(*STATE)
    assert middle[model.parameter_names.index("M3")] == pytest.approx(
        0.5 * (start[model.parameter_names.index("M3")] + 11.0)
    )
    blend.change(0.5, {"Fv1": 0.8}, gravity=(0.0, 0.0, -1.6), duration=2.0)
    blend.update(0.5)
    np.testing.assert_allclose(model.inverse_dynamics(*STATE), torques, rtol=1e-12, atol=1e-12)
    assert blend.update(2.4)
    assert not blend.update(2.5)
    values = dict(zip(model.parameter_names, model.parameters, strict=True))
    assert (values["M3"], values["Fv1"]) == (11.0, 0.8)  # what the first change wanted stays wanted
    np.testing.assert_array_equal(model.gravity, (0.0, 0.0, -1.6))
    np.testing.assert_array_equal(blend.target, model.parameters)
    np.testing.assert_array_equal(blend.gravity, model.gravity)


def test_a_change_between_updates_begins_where_the_blend_would_be() -> None:
    model = runtime()
    blend = ParameterBlend(model)
    blend.change(0.0, {"M3": 11.0}, duration=1.0)
    blend.update(0.4)
    blend.change(0.5, {"M3": 0.0}, duration=1.0)
    blend.update(0.5)
    start = model.robot.parameters[model.parameter_names.index("M3")]
    assert model.parameters[model.parameter_names.index("M3")] == pytest.approx(0.5 * (start + 11.0))


def test_at_once() -> None:
    model = runtime()
    blend = ParameterBlend(model)
    blend.change(3.0, {"M3": 11.0}, duration=0.0)
    assert not blend.update(3.0)
    assert model.parameters[model.parameter_names.index("M3")] == 11.0


def test_a_settled_blend_leaves_the_model_alone() -> None:
    model = runtime()
    blend = ParameterBlend(model)
    prepared = model._tuning.prepared[0]
    blend.update(1.0)
    assert model._tuning.prepared[0] is prepared


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": {"M9": 1.0}}, "there is no parameter 'M9'"),
        ({"values": {"M3": math.nan}}, "the parameter M3 is nan"),
        (
            {"values": {"Fs3": 1.0}},
            "the parameter Fs3 is 1.0, but the model was compiled with friction=False",
        ),
        ({"values": {"Ia1": 1.0}}, "compiled with rotor_inertia=False"),
        ({"gravity": (0.0, 1.0)}, "gravity is"),
        ({"duration": -1.0}, r"the duration of a blend \(s\) is -1.0"),
    ],
)
def test_a_wrong_change_leaves_the_running_blend(change, message: str) -> None:
    model = runtime(friction=False, rotor_inertia=False)
    blend = ParameterBlend(model)
    blend.change(0.0, {"M3": 11.0}, duration=1.0)
    with pytest.raises(DynError, match=message):
        blend.change(0.5, **change)
    blend.update(1.0)
    assert model.parameters[model.parameter_names.index("M3")] == 11.0


def test_baked_parameters_do_not_blend() -> None:
    with pytest.raises(DynError, match="are baked in: compile it with"):
        ParameterBlend(dyn_core.compile_model(dyn_core.load_robot(ROBOTS / "rrp.urdf"), backend="python"))
