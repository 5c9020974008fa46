# SPDX-License-Identifier: Apache-2.0
"""PID controllers against closed forms and against a plain implementation for one joint."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from properties import examples, given, st
from refusals import refusal, refused
from robots import example

import dyn_core
from dyn_core.control.laws.pid import (
    Pid,
    SampledLoop,
    armature_of,
    assumed_armature,
    gain_margin,
    sampled_positions,
    weights,
)
from dyn_core.control.trajectories.piecewise_polynomials import together, tracking_error

NAMES, JOINT = ("a", "b"), "joint-setting-range"
ZERO = np.zeros(2)
ANTI_WINDUP = ("clamping", "back_calculation")


def vector(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)


BOTH = vector(1.0, 1.0)


def test_the_terms_and_limits() -> None:
    pid = Pid(NAMES, kp=[2.0, 3.0], ki=[0.5, 0.0], kd=[0.1, 0.2])
    rates = (vector(1.0, 0.0), vector(0.5, 0.5))
    first = pid.update(0.0, BOTH, vector(0.4, 2.0), *rates, vector(7.0, 8.0))
    np.testing.assert_allclose([first.proportional, first.derivative], [[1.2, -3.0], [0.05, -0.1]])
    np.testing.assert_array_equal([first.integral, first.excess], 0.0)
    np.testing.assert_allclose(first.torques, [1.2 + 0.05 + 7.0, -3.0 - 0.1 + 8.0])
    second = pid.update(0.02, BOTH, vector(0.6, 2.0), *rates)
    np.testing.assert_allclose(second.integral, [0.5 * 0.02 * 0.5 * (0.6 + 0.4), 0.0])
    pid = Pid(NAMES, kp=10.0, limits={"a": 5.0, "b": math.inf})
    output = pid.update(0.0, vector(2.0, -2.0), ZERO)
    np.testing.assert_array_equal([output.torques, output.excess], [[5.0, -20.0], [15.0, 0.0]])
    output = pid.update(0.01, vector(-2.0, -2.0), ZERO, feedforward=vector(8.0, 100.0))
    np.testing.assert_array_equal([output.torques, output.excess], [[-5.0, 80.0], [-7.0, 0.0]])


def test_errors_are_integrated_for_any_periods() -> None:
    """A constant and a rising error, exactly."""
    pid = Pid(NAMES, kp=0.0, ki=[2.0, 5.0])
    times = np.concatenate(([3.0], 3.0 + np.cumsum(np.random.default_rng(0).uniform(1e-4, 0.05, 200))))
    for t in times:
        output = pid.update(t, vector(0.3, -0.1), ZERO)
    np.testing.assert_allclose(output.torques, np.array([0.6, -0.5]) * (times[-1] - 3.0), rtol=1e-12)
    pid = Pid(NAMES, kp=0.0, ki=2.0)
    for t in np.linspace(0.0, 1.0, 101) ** 2:
        output = pid.update(t, vector(t, -t), ZERO)
    np.testing.assert_allclose(output.integral, [1.0, -1.0], rtol=1e-12)


@pytest.mark.parametrize("of", ["error", "measurement"])
def test_the_derivative(of) -> None:
    """For positions on a straight line from rest, d = r (1 - e^-wt); for velocities; for a jump."""
    pid, w = Pid(NAMES, kp=0.0, kd=[1.0, 2.0], derivative=of, cutoff=10.0), 20.0 * math.pi
    rate = vector(-2.0, 1.0) if of == "error" else vector(-3.0, 1.0)
    for t in np.concatenate(([0.0], np.cumsum(np.random.default_rng(1).uniform(1e-4, 5e-3, 50)))):
        d = pid.update(t, vector(0.5 + t, 0.5), vector(3.0 * t, -t)).torques
        np.testing.assert_allclose(d, [1.0, 2.0] * rate * (1.0 - math.exp(-w * t)), atol=1e-11)
    given, jumping = (Pid(NAMES, kp=0.0, kd=1.0, derivative=of) for _ in range(2))
    d = given.update(0.0, ZERO, ZERO, vector(1.0, 2.0), vector(0.4, 0.5)).torques
    np.testing.assert_allclose(d, [0.6, 1.5] if of == "error" else [-0.4, -0.5])
    filtered = Pid(NAMES, kp=0.0, kd=1.0, derivative=of, cutoff=5.0)
    filtered.update(0.0, ZERO, ZERO, ZERO, ZERO)
    step = filtered.update(0.01, ZERO, ZERO, ZERO, vector(1.0, -1.0)).torques
    np.testing.assert_allclose(step, vector(-1.0, 1.0) * (1.0 - math.exp(-10.0 * math.pi * 0.01)))
    jumping.update(0.0, ZERO, ZERO)
    kick = jumping.update(0.01, BOTH, ZERO).torques
    np.testing.assert_allclose(kick, 100.0 if of == "error" else 0.0)


@pytest.mark.parametrize("anti_windup", ANTI_WINDUP)
@pytest.mark.parametrize("feedforward", [0.0, 4.0])
def test_a_joint_at_its_limit_does_not_wind_up(anti_windup, feedforward: float) -> None:
    """After a second at the limit the error changes its sign, and the torque leaves the limit at once."""
    pid = Pid(NAMES, kp=2.0, ki=20.0, limits=5.0, anti_windup=anti_windup, tracking_time=0.02)
    add = feedforward * BOTH
    for k in range(1000):
        output = pid.update(1e-3 * k, BOTH, ZERO, feedforward=add)
        assert (np.abs(output.torques) <= 5.0).all()
    np.testing.assert_array_equal(output.torques, 5.0)
    if anti_windup == "clamping":
        assert (output.integral <= max(0.0, 5.0 - feedforward - 2.0 + 0.021)).all()
    else:  # at equilibrium, ki e = excess / tracking time; one period of integration, 0.02, is added
        np.testing.assert_allclose(output.excess, 20.0 * 0.02, atol=0.021)
    assert (pid.update(1.0, -0.5 * BOTH, ZERO, feedforward=add).torques < 5.0).all()


@pytest.mark.parametrize("anti_windup", ANTI_WINDUP)
def test_the_integral_at_a_limit(anti_windup) -> None:
    """It decreases at a limit that feedforward causes; without ki there is none; it has its own limit."""
    pid = Pid(NAMES, kp=0.0, ki=10.0, limits=5.0, anti_windup=anti_windup, tracking_time=1e9)
    for k in range(11):
        output = pid.update(0.01 * k, -BOTH, ZERO, feedforward=9.0 * BOTH)
    np.testing.assert_allclose(output.integral, -1.0, rtol=1e-6)
    pid = Pid(NAMES, kp=10.0, ki=[0.0, 1.0], limits=1.0, anti_windup=anti_windup)
    for k in range(20):
        output = pid.update(0.01 * k, BOTH, ZERO)
    assert output.integral[0] == 0.0
    pid = Pid(NAMES, kp=0.0, ki=10.0, integral_limits=[0.5, 0.2], anti_windup=anti_windup)
    for k in range(100):
        output = pid.update(0.01 * k, vector(1.0, -1.0), ZERO)
    np.testing.assert_array_equal(output.integral, [0.5, -0.2])


def test_a_controller_takes_over_without_a_torque_step() -> None:
    pid = Pid(NAMES, kp=3.0, ki=[2.0, 0.0], kd=0.5)
    pid.update(0.0, 9.0 * BOTH, ZERO)
    pid.reset(torques=4.0 * BOTH)
    arguments, plain = (0.2 * BOTH, 0.1 * BOTH, 0.3 * BOTH, ZERO, BOTH), 3.0 * 0.1 + 0.5 * 0.3 + 1.0
    np.testing.assert_allclose(pid.update(5.0, *arguments).torques, [4.0, plain])
    np.testing.assert_allclose(pid.update(5.001, *arguments).torques, [4.0 + 2.0 * 0.1 * 1e-3, plain])
    pid.reset()
    np.testing.assert_allclose(pid.update(5.002, *arguments).torques, plain)
    pid = Pid(NAMES, kp=1.0, ki=1.0, limits=2.0, integral_limits=[9.0, 0.5])
    pid.reset(torques=4.0 * BOTH)
    np.testing.assert_array_equal(pid.update(0.0, ZERO, ZERO).torques, [2.0, 0.5])
    assert refusal(pid.reset, torques=vector(1.0, math.nan)) == "joint-value-not-finite: nan, b, torque"


@pytest.mark.parametrize("later", [0.2, -0.3])
def test_gaps_and_times_that_go_back_keep_the_integral_and_reset_the_rest(later: float) -> None:
    """A repeated time changes neither."""
    pid = Pid(NAMES, kp=0.0, ki=2.0, kd=1.0, max_gap=0.1)
    for k in range(6):
        before = pid.update(0.1 * k, vector(1.0, 0.1 * k), ZERO)
    twice = pid.update(0.5, 2.0 * BOTH, ZERO)
    np.testing.assert_array_equal([twice.integral, twice.derivative], [before.integral, before.derivative])
    after = pid.update(0.5 + later, vector(50.0, -50.0), ZERO)
    np.testing.assert_array_equal([after.integral, after.derivative], [before.integral, ZERO])
    again = pid.update(0.51 + later, vector(50.1, -50.0), ZERO)
    np.testing.assert_allclose(again.derivative, [10.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(again.integral - after.integral, [2.0 * 0.01 * 50.05, -2.0 * 0.01 * 50.0])


QUANTITIES = ("desired position", "position", "desired velocity", "velocity", "feedforward")


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("what", QUANTITIES)
def test_values_that_are_not_finite_are_refused_without_a_change_of_state(what: str, bad: float) -> None:
    pids = [Pid(NAMES, kp=[1.0, 0.0], ki=[1.0, 0.0], kd=[1.0, 0.0], cutoff=9.0) for _ in range(2)]
    for k in range(5):
        good = [vector(k, -k), ZERO, vector(1.0, 2.0), ZERO, ZERO]
        wrong = [v.copy() for v in good]
        wrong[QUANTITIES.index(what)][1] = bad
        with refused("joint-value-not-finite", quantity=what, joint="b", given=bad):
            pids[0].update(0.01 * k, *wrong)
        with refused("argument-time-not-finite", argument="t"):
            pids[0].update(bad, *good)
        expected, got = (pid.update(0.01 * k, *good) for pid in pids)
        np.testing.assert_array_equal(expected, got)


@pytest.mark.parametrize(
    ("options", "code", "values"),
    [
        ({"kp": -1.0}, JOINT, ("the gain kp", -1.0, "a")),
        ({"kp": 1.0, "ki": [1.0, math.inf]}, JOINT, ("the gain ki", math.inf, "b")),
        ({"kp": 1.0, "limits": -1.0}, JOINT, ("the effort limit", -1.0, "a")),
        ({"kp": 1, "integral_limits": -1}, JOINT, ("the limit of the integral", -1, "a")),
        ({"kp": 1.0, "anti_windup": "none"}, "choice-unknown", ("anti_windup", "none")),
        ({"kp": 1.0, "cutoff": 0.0}, "setting-range", ("the cutoff of d (Hz)", 0.0)),
        ({"kp": 1.0, "tracking_time": 0.0}, "setting-range", ("the tracking time (s)", 0.0)),
        ({"kp": 1.0, "max_gap": 0.0}, "setting-range", ("the longest gap of a PID controller (s)", 0.0)),
    ],
)
def test_wrong_settings(options, code: str, values: tuple) -> None:
    with refused(code, **dict(zip(("setting", "given", "joint"), values, strict=False))):
        Pid(NAMES, **options)
    assert refusal(Pid, NAMES, kp=1.0, kd={"a": 1.0}) == "setting-joint-missing: [b], the gain kd"
    assert refusal(Pid, NAMES, kp=1.0, derivative="noise") == "pid-derivative-unknown: noise"
    with refused("argument-shape", argument="velocity"):
        Pid(NAMES, kp=1.0).update(0.0, ZERO, ZERO, ZERO, np.zeros(1))


@dataclass
class Plain:
    """One joint, implemented step by step."""

    kp: float
    ki: float
    kd: float
    clamping: bool
    limit: float = 6.0
    w: float = 30.0 * math.pi
    tracking_time: float = 0.05
    integral: float = 0.0
    d: float = 0.0
    last: float | None = None
    excess: float = 0.0

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
def test_it_agrees_with_the_plain_implementation(gains, anti_windup, samples) -> None:
    """Also where the caller later changes the arrays that it passed."""
    gains = np.reshape(gains, (3, 2))
    pid = Pid(NAMES, *gains, limits=6.0, cutoff=15.0, anti_windup=anti_windup, tracking_time=0.05)
    plain = [Plain(*of_joint, anti_windup == "clamping") for of_joint in gains.T]
    t = 0.0
    for T, e0, e1, f0, f1 in samples:
        before, t = t, t + T
        output = pid.update(t, vector(e0, e1), ZERO, feedforward=vector(f0, f1))
        expected = [plain[0].torque(t - before, e0, f0), plain[1].torque(t - before, e1, f1)]
        np.testing.assert_allclose(output.torques, expected, rtol=1e-7, atol=1e-7)
        assert (np.abs(output.torques) <= 6.0).all()
        for values in output:
            values[:] = 7.0


def decays(A: np.ndarray, kp: np.ndarray, ki: np.ndarray, kd: np.ndarray, loop: SampledLoop) -> bool:
    """Whether an error decays under torques that are late, by the law itself and by the exact motion."""
    T, n = 1.0 / loop.rate, len(A)
    pid = Pid(("a", "b"), kp, ki, kd, cutoff=loop.cutoff)
    q, qd, late = np.array([1e-3, -2e-3]), np.zeros(n), [np.zeros(n)] * loop.delay
    greatest = []
    for k in range(6000):
        late.append(pid.update(k * T, np.zeros(n), q, np.zeros(n), qd).torques)
        qdd = np.linalg.solve(A, late.pop(0))
        q, qd = q + T * qd + 0.5 * T * T * qdd, qd + T * qdd
        greatest.append(np.abs(q).max())
        if greatest[-1] > 1.0:
            return False
    return max(greatest[-1000:]) < max(greatest[2000:3000])


@pytest.mark.parametrize("ki", [0.0, 30.0])
@pytest.mark.parametrize("cutoff", [None, 40.0])
@pytest.mark.parametrize("delay", [1, 2, 3])
def test_the_gain_margin_is_where_the_delayed_loop_begins_to_swing(
    delay: int, cutoff: float | None, ki: float
) -> None:
    """Two coupled joints under the law of `Pid`, 3 % below and above the margin."""
    A, loop = np.array([[2.0, 0.6], [0.6, 0.3]]), SampledLoop(500.0, delay, cutoff)
    gains = np.array([400.0, 90.0]), np.full(2, ki), np.array([20.0, 6.0])
    margin = gain_margin(A[None], *gains, loop)
    limit = 10.0 ** (margin.decibel / 20.0)
    assert 1.0 < limit < 60.0
    assert decays(A, *(0.97 * limit * g for g in gains), loop)
    assert not decays(A, *(1.03 * limit * g for g in gains), loop)


def test_the_gain_margin_of_one_joint_in_closed_form() -> None:
    """A damper alone is stable up to ``kd T / a = 2 sin(pi / (2 (2 delay + 1)))``; a spring alone never."""
    A, none = np.full((1, 1, 1), 0.5), np.zeros(1)
    for delay in (1, 2, 3):
        most = 2.0 * math.sin(math.pi / (2.0 * (2 * delay + 1)))
        margin = gain_margin(A, none, none, np.array([0.1 * most * 0.5 * 1000.0]), SampledLoop(1000.0, delay))
        assert margin.decibel == pytest.approx(20.0, abs=0.05)
    assert gain_margin(A, np.array([1e4]), none, none, SampledLoop(1000.0)).decibel == -math.inf


def test_the_least_margin_counts_and_its_joint_is_named() -> None:
    """With weighted gains no position is worse than another; a joint with much too high a gain is named."""
    robot = example("rx90")
    A = dyn_core.compile_model(robot).inertia_matrix(sampled_positions(robot))
    one, w = np.ones(6), 2.0 * math.pi * 5.0
    loop = SampledLoop(500.0)
    weighted = gain_margin(A, w * w * one, 0.0 * one, 2.0 * w * one, loop, A).decibel
    alone = gain_margin(np.eye(1)[None], np.array([w * w]), np.zeros(1), np.array([2.0 * w]), loop).decibel
    assert weighted == pytest.approx(alone, abs=0.02)
    own = np.arange(6) != 3
    kp, kd = np.where(own, w * w, 1e4), np.where(own, 2.0 * w, 100.0)
    worst = gain_margin(A, kp, 0.0 * one, kd, loop, weights(A, own))
    assert (worst.joint, worst.decibel < 0.0) == (3, True)
    least = min(gain_margin(a[None], kp, 0.0 * one, kd, loop, weights(a, own)[None]).decibel for a in A)
    assert worst.decibel == pytest.approx(least, abs=0.02)


def test_positions_over_all_ranges_begin_at_zero() -> None:
    q = sampled_positions(example("rrp"), 50)
    limits = [joint.limits for joint in example("rrp").independent_joints]
    assert q[0].tolist() == [min(max(0.0, limit.lower), limit.upper) for limit in limits]
    for values, limit in zip(q.T, limits, strict=True):
        reach = min(limit.upper - limit.lower, 2.0 * math.pi)
        assert limit.lower <= values.min() < values.max() <= limit.upper
        assert np.ptp(values) > 0.8 * reach
    np.testing.assert_array_equal(q, sampled_positions(example("rrp"), 50))


def test_the_armature_is_assumed_where_none_is_described() -> None:
    """60 N m and 2 rad/s, 80 N m and 2 rad/s, 120 N and 0.5 m/s; 0.01 s to the greatest speed."""
    robot = example("rrp")
    assert assumed_armature(robot) == pytest.approx({"turn": 0.3, "lift": 0.4, "stretch": 2.4})
    some = robot.with_rotor_inertias({"lift": 0.1})
    assert set(assumed_armature(some)) == {"turn", "stretch"}
    assert armature_of(some, 0.0, {"stretch": 1.0}) == {"stretch": 1.0}
    assert armature_of(some, 0.5, {"stretch": 0.0}) == {"turn": 0.5}
    assert armature_of(some, -1.0, {"turn": 2.0}) == pytest.approx({"turn": 2.0, "stretch": 2.4})


def test_tracking_errors_by_hand() -> None:
    desired = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [4.0, 0.0]])
    measured = np.array([[1.0, 0.0], [2.0, 0.5], [3.0, 0.0], [8.0, 0.0]])
    error = tracking_error(desired, measured)
    assert (error.rms.tolist(), error.greatest.tolist()) == ([2.0, 0.25], [4.0, 0.5])
    assert together(np.array([3.0, 4.0])) == pytest.approx(math.sqrt(12.5))
    for a, b in (((3, 2), (3, 3)), ((0, 2), (0, 2)), ((3,), (3,))):
        with refused("position-shapes-unequal"):
            tracking_error(np.zeros(a), np.zeros(b))
