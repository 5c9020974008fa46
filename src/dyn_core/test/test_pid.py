# SPDX-License-Identifier: Apache-2.0
"""PID controllers, against closed forms and against one written plainly for one joint."""

from __future__ import annotations

import math

import numpy as np
import pytest
from properties import examples, given, st

from dyn_core import DynError
from dyn_core.control.laws.pid import Pid

NAMES = ("a", "b")
ZERO = np.zeros(2)
ANTI_WINDUP = ("clamping", "back_calculation")


def vector(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)


def test_the_terms() -> None:
    pid = Pid(NAMES, kp=[2.0, 3.0], ki=[0.5, 0.0], kd=[0.1, 0.2])
    first = pid.update(
        0.0, vector(1.0, 1.0), vector(0.4, 2.0), vector(1.0, 0.0), vector(0.5, 0.5), vector(7.0, 8.0)
    )
    np.testing.assert_allclose(first.proportional, [1.2, -3.0])
    np.testing.assert_allclose(first.derivative, [0.05, -0.1])
    np.testing.assert_array_equal(first.integral, 0.0)
    np.testing.assert_allclose(first.torques, [1.2 + 0.05 + 7.0, -3.0 - 0.1 + 8.0])
    np.testing.assert_array_equal(first.excess, 0.0)
    second = pid.update(0.02, vector(1.0, 1.0), vector(0.6, 2.0), vector(1.0, 0.0), vector(0.5, 0.5))
    np.testing.assert_allclose(second.integral, [0.5 * 0.02 * 0.5 * (0.6 + 0.4), 0.0])


def test_a_steady_error_is_integrated_whatever_the_periods_are() -> None:
    pid = Pid(NAMES, kp=0.0, ki=[2.0, 5.0])
    times = np.concatenate(([3.0], 3.0 + np.cumsum(np.random.default_rng(0).uniform(1e-4, 0.05, 200))))
    for t in times:
        output = pid.update(t, vector(0.3, -0.1), ZERO)
    np.testing.assert_allclose(
        output.torques, [0.6 * (times[-1] - 3.0), -0.5 * (times[-1] - 3.0)], rtol=1e-12
    )


def test_a_rising_error_is_integrated_exactly() -> None:
    pid = Pid(NAMES, kp=0.0, ki=2.0)
    for t in np.linspace(0.0, 1.0, 101) ** 2:
        output = pid.update(t, vector(t, -t), ZERO)
    np.testing.assert_allclose(output.integral, [1.0, -1.0], rtol=1e-12)


@pytest.mark.parametrize("of", ["error", "measurement"])
def test_the_derivative_of_positions_that_run_in_a_straight_line(of) -> None:
    """From rest, d = r (1 - e^-wt)."""
    pid = Pid(NAMES, kp=0.0, kd=[1.0, 2.0], derivative=of, cutoff=10.0)
    w = 20.0 * math.pi
    times = np.concatenate(([0.0], np.cumsum(np.random.default_rng(1).uniform(1e-4, 5e-3, 50))))
    for t in times:
        d = pid.update(t, vector(0.5 + t, 0.5), vector(3.0 * t, -t)).torques
        rate = vector(-2.0, 1.0) if of == "error" else vector(-3.0, 1.0)
        np.testing.assert_allclose(d, [1.0, 2.0] * rate * (1.0 - math.exp(-w * t)), atol=1e-11)


@pytest.mark.parametrize("of", ["error", "measurement"])
def test_velocities_that_are_given(of) -> None:
    pid = Pid(NAMES, kp=0.0, kd=1.0, derivative=of)
    d = pid.update(0.0, ZERO, ZERO, vector(1.0, 2.0), vector(0.4, 0.5)).torques
    np.testing.assert_allclose(d, [0.6, 1.5] if of == "error" else [-0.4, -0.5])
    filtered = Pid(NAMES, kp=0.0, kd=1.0, derivative=of, cutoff=5.0)
    filtered.update(0.0, ZERO, ZERO, ZERO, ZERO)
    step = filtered.update(0.01, ZERO, ZERO, ZERO, vector(1.0, -1.0)).torques
    rise = 1.0 - math.exp(-10.0 * math.pi * 0.01)
    np.testing.assert_allclose(step, [-rise, rise])


def test_a_reference_that_jumps_does_not_kick_through_the_measurement() -> None:
    for of, kick in (("error", 100.0), ("measurement", 0.0)):
        pid = Pid(NAMES, kp=0.0, kd=1.0, derivative=of)
        pid.update(0.0, ZERO, ZERO)
        np.testing.assert_allclose(pid.update(0.01, vector(1.0, 1.0), ZERO).torques, kick)


def test_limits() -> None:
    pid = Pid(NAMES, kp=10.0, limits={"a": 5.0, "b": math.inf})
    output = pid.update(0.0, vector(2.0, -2.0), ZERO)
    np.testing.assert_array_equal(output.torques, [5.0, -20.0])
    np.testing.assert_array_equal(output.excess, [15.0, 0.0])
    output = pid.update(0.01, vector(-2.0, -2.0), ZERO, feedforward=vector(8.0, 100.0))
    np.testing.assert_array_equal(output.torques, [-5.0, 80.0])
    np.testing.assert_array_equal(output.excess, [-7.0, 0.0])


@pytest.mark.parametrize("anti_windup", ANTI_WINDUP)
@pytest.mark.parametrize("feedforward", [0.0, 4.0])
def test_a_joint_at_its_limit_does_not_wind_up(anti_windup, feedforward: float) -> None:
    """A second at the limit, then the error turns round: the torque leaves the limit at once."""
    options = {"limits": 5.0, "anti_windup": anti_windup, "tracking_time": 0.02}
    pid = Pid(NAMES, kp=2.0, ki=20.0, **options)
    add = vector(feedforward, feedforward)
    for k in range(1000):
        output = pid.update(1e-3 * k, vector(1.0, 1.0), ZERO, feedforward=add)
        assert (np.abs(output.torques) <= 5.0).all()
    np.testing.assert_array_equal(output.torques, 5.0)
    if anti_windup == "clamping":
        assert (output.integral <= max(0.0, 5.0 - feedforward - 2.0 + 0.021)).all()
    else:  # where it rests, ki e = excess / tracking time; a period of integration, 0.02, comes on top
        np.testing.assert_allclose(output.excess, 20.0 * 0.02, atol=0.021)
    turned = pid.update(1.0, vector(-0.5, -0.5), ZERO, feedforward=add)
    assert (turned.torques < 5.0).all()


@pytest.mark.parametrize("anti_windup", ANTI_WINDUP)
def test_an_integral_that_winds_down_is_not_hindered(anti_windup) -> None:
    """At the upper limit because of the feedforward, with an error that takes away from it."""
    pid = Pid(NAMES, kp=0.0, ki=10.0, limits=5.0, anti_windup=anti_windup, tracking_time=1e9)
    for k in range(11):
        output = pid.update(0.01 * k, vector(-1.0, -1.0), ZERO, feedforward=vector(9.0, 9.0))
    np.testing.assert_allclose(output.integral, -1.0, rtol=1e-6)


@pytest.mark.parametrize("anti_windup", ANTI_WINDUP)
def test_a_joint_without_integral_gets_none_from_its_limit(anti_windup) -> None:
    pid = Pid(NAMES, kp=10.0, ki=[0.0, 1.0], limits=1.0, anti_windup=anti_windup)
    for k in range(20):
        output = pid.update(0.01 * k, vector(1.0, 1.0), ZERO)
    assert output.integral[0] == 0.0


def test_the_integral_has_a_limit_of_its_own() -> None:
    pid = Pid(NAMES, kp=0.0, ki=10.0, integral_limits=[0.5, 0.2])
    for k in range(100):
        output = pid.update(0.01 * k, vector(1.0, -1.0), ZERO)
    np.testing.assert_array_equal(output.integral, [0.5, -0.2])


def test_taking_over_without_a_step() -> None:
    pid = Pid(NAMES, kp=3.0, ki=[2.0, 0.0], kd=0.5)
    pid.update(0.0, vector(9.0, 9.0), ZERO)
    pid.reset(torques=vector(4.0, 4.0))
    arguments = (vector(0.2, 0.2), vector(0.1, 0.1), vector(0.3, 0.3), ZERO, vector(1.0, 1.0))
    first = pid.update(5.0, *arguments)
    plain = 3.0 * 0.1 + 0.5 * 0.3 + 1.0
    np.testing.assert_allclose(first.torques, [4.0, plain])
    second = pid.update(5.001, *arguments)
    np.testing.assert_allclose(second.torques, [4.0 + 2.0 * 0.1 * 1e-3, plain])
    pid.reset()
    np.testing.assert_allclose(pid.update(5.002, *arguments).torques, plain)


def test_taking_over_within_the_limits() -> None:
    pid = Pid(NAMES, kp=1.0, ki=1.0, limits=2.0, integral_limits=[9.0, 0.5])
    pid.reset(torques=vector(4.0, 4.0))
    np.testing.assert_array_equal(pid.update(0.0, ZERO, ZERO).torques, [2.0, 0.5])
    with pytest.raises(ValueError, match="the torque of joint 'b' is nan"):
        pid.reset(torques=vector(1.0, math.nan))


@pytest.mark.parametrize("later", [0.2, -0.3])
def test_gaps_and_times_that_go_back_keep_the_integral_and_begin_anew_for_the_rest(later: float) -> None:
    pid = Pid(NAMES, kp=0.0, ki=2.0, kd=1.0, max_gap=0.1)
    for k in range(6):
        before = pid.update(0.1 * k, vector(1.0, 0.1 * k), ZERO)
    after = pid.update(0.5 + later, vector(50.0, -50.0), ZERO)
    np.testing.assert_array_equal(after.integral, before.integral)
    np.testing.assert_array_equal(after.derivative, 0.0)
    again = pid.update(0.51 + later, vector(50.1, -50.0), ZERO)
    np.testing.assert_allclose(again.derivative, [10.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(again.integral - after.integral, [2.0 * 0.01 * 50.05, -2.0 * 0.01 * 50.0])


def test_a_time_that_comes_twice() -> None:
    pid = Pid(NAMES, kp=0.0, ki=2.0, kd=1.0)
    pid.update(0.0, ZERO, ZERO)
    one = pid.update(0.01, vector(1.0, 1.0), ZERO)
    two = pid.update(0.01, vector(2.0, 2.0), ZERO)
    np.testing.assert_array_equal(two.integral, one.integral)
    np.testing.assert_array_equal(two.derivative, one.derivative)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize(
    ("index", "what"),
    list(enumerate(("desired position", "position", "desired velocity", "velocity", "feedforward"))),
)
def test_numbers_that_are_not_finite_are_refused_and_leave_the_state(
    index: int, what: str, bad: float
) -> None:
    pids = [Pid(NAMES, kp=[1.0, 0.0], ki=[1.0, 0.0], kd=[1.0, 0.0], cutoff=9.0) for _ in range(2)]
    for k in range(5):
        good = [vector(k, -k), ZERO, vector(1.0, 2.0), ZERO, ZERO]
        wrong = [v.copy() for v in good]
        wrong[index][1] = bad
        with pytest.raises(ValueError, match=f"the {what} of joint 'b' is {bad}"):
            pids[0].update(0.01 * k, *wrong)
        with pytest.raises(ValueError, match="t: expected a finite time"):
            pids[0].update(bad, *good)
        expected, got = (pid.update(0.01 * k, *good) for pid in pids)
        np.testing.assert_array_equal(expected, got)


def test_what_is_answered_can_be_written_to() -> None:
    pids = [Pid(NAMES, kp=1.0, ki=1.0, kd=1.0, limits=1.0, anti_windup="back_calculation") for _ in range(2)]
    for k in range(5):
        expected, got = (pid.update(0.01 * k, vector(1.0, -k), ZERO) for pid in pids)
        np.testing.assert_array_equal(expected, got)
        for values in got:
            values[:] = 7.0


def test_shapes() -> None:
    pid = Pid(NAMES, kp=1.0)
    with pytest.raises(ValueError, match=r"velocity: expected the shape \(2,\), but it has \(1,\)"):
        pid.update(0.0, ZERO, ZERO, ZERO, np.zeros(1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kp": -1.0}, "the gain kp of joint 'a' is -1.0: give a finite number >= 0"),
        ({"kp": 1.0, "ki": [1.0, math.inf]}, "the gain ki of joint 'b' is inf"),
        ({"kp": 1.0, "kd": {"a": 1.0}}, "the gain kd is not given for 'b'"),
        ({"kp": 1.0, "limits": -1.0}, "the effort limit of joint 'a' is -1.0"),
        ({"kp": 1.0, "integral_limits": math.nan}, "the limit of the integral of joint 'a' is nan"),
        ({"kp": 1.0, "derivative": "noise"}, "the derivative is of 'noise': choose 'error' or 'measurement'"),
        (
            {"kp": 1.0, "anti_windup": "none"},
            "anti_windup is 'none': choose 'clamping' or 'back_calculation'",
        ),
        ({"kp": 1.0, "cutoff": 0.0}, r"the cutoff of d \(Hz\) is 0.0: give a finite number > 0"),
        ({"kp": 1.0, "tracking_time": 0.0}, r"the tracking time \(s\) is 0.0"),
        ({"kp": 1.0, "max_gap": 0.0}, r"the longest gap of a PID controller \(s\) is 0.0"),
    ],
)
def test_wrong_settings(options, message: str) -> None:
    with pytest.raises(DynError, match=message):
        Pid(NAMES, **options)


class Plain:
    """One joint, written down step by step."""

    def __init__(self, kp, ki, kd, limit, w, clamping, tracking_time) -> None:
        self.kp, self.ki, self.kd, self.limit, self.w = kp, ki, kd, limit, w
        self.clamping, self.tracking_time = clamping, tracking_time
        self.integral, self.d, self.last, self.excess = 0.0, 0.0, None, 0.0

    def torque(self, T: float, e: float, feedforward: float) -> float:
        if self.last is None:
            self.d = increment = 0.0
        else:
            slope = (e - self.last) / T
            self.d = slope + math.exp(-self.w * T) * (self.d - slope)
            increment = self.ki * T * (e + self.last) / 2.0
        rest = self.kp * e + self.kd * self.d + feedforward
        if self.clamping:
            u = rest + self.integral + increment
            if not (u > self.limit and increment > 0.0) and not (u < -self.limit and increment < 0.0):
                self.integral += increment
        else:
            self.integral += increment
            if self.ki:
                self.integral -= (1.0 - math.exp(-T / self.tracking_time)) * self.excess
        u = rest + self.integral
        torque = max(-self.limit, min(self.limit, u))
        self.excess, self.last = u - torque, e
        return torque


SAMPLES = st.lists(st.tuples(st.floats(1e-4, 0.09), *[st.floats(-3.0, 3.0)] * 4), min_size=1, max_size=30)


@given(st.lists(st.floats(0.0, 20.0), min_size=6, max_size=6), st.sampled_from(ANTI_WINDUP), SAMPLES)
@examples(100)
def test_as_one_that_is_written_plainly(gains, anti_windup, samples) -> None:
    kp, ki, kd = np.reshape(gains, (3, 2))
    pid = Pid(NAMES, kp, ki, kd, limits=6.0, cutoff=15.0, anti_windup=anti_windup, tracking_time=0.05)
    plain = [
        Plain(kp[j], ki[j], kd[j], 6.0, 30.0 * math.pi, anti_windup == "clamping", 0.05) for j in range(2)
    ]
    t = 0.0
    for T, e0, e1, f0, f1 in samples:
        before, t = t, t + T
        output = pid.update(t, vector(e0, e1), ZERO, feedforward=vector(f0, f1))
        expected = [plain[0].torque(t - before, e0, f0), plain[1].torque(t - before, e1, f1)]
        np.testing.assert_allclose(output.torques, expected, rtol=1e-7, atol=1e-7)
        assert (np.abs(output.torques) <= 6.0).all()
