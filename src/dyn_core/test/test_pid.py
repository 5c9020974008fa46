# SPDX-License-Identifier: Apache-2.0
"""PID controllers against closed forms and against a plain implementation for one joint."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from planar_chains import block
from properties import examples, given, st
from refusals import refusal, refused
from robots import example

import dyn_core
from dyn_core.control.laws.pid import Pid, fastest_rate, joint_gains
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


def moving(inertia: float, damping: float = 0.0) -> dyn_core.Model:
    return dyn_core.compile_model(block(inertia, damping), backend="python")


def test_gains_by_hand() -> None:
    """With friction above the desired damping, the derivative gain is 0."""
    q, w = np.zeros((1, 1)), 2.0 * math.pi
    for model, frequency, damping, expected in (
        (moving(2.0, damping=3.0), 0.5, 0.7, (2.0 * math.pi**2, 2.0 * 0.7 * math.pi * 2.0 - 3.0, 2.0)),
        (moving(1e-3, damping=5.0), 1.0, 1.0, (5.0 * w / 2.0, 0.0, 2.5 / w)),
        (moving(1.0, damping=5.0), 1.0, 1.0, (w**2, 2.0 * w - 5.0, 1.0)),
    ):
        gains = joint_gains(model, q, frequency, damping)
        assert (gains.kp[0], gains.kd[0], gains.inertia[0]) == pytest.approx(expected)
    for frequency, damping in ((0.0, 1.0), (-1.0, 1.0), (math.nan, 1.0), (1.0, 0.0)):
        with refused("setting-range", expected="a finite number > 0"):
            joint_gains(moving(1.0), q, frequency, damping)


@pytest.mark.parametrize("damping", [0.3, 1.0])
def test_the_error_follows_the_desired_dynamics(damping: float) -> None:
    """The simulated block against the solution of the second-order equation."""
    model, step, w = moving(0.5, damping=0.2), 1e-4, 2.0 * math.pi
    gains = joint_gains(model, np.zeros((1, 1)), 1.0, damping)
    simulator = dyn_core.Simulator(model.robot, dyn_core.SimulationSettings(step=step), q=[0.1])
    wd = w * math.sqrt(1.0 - damping**2)
    for k in range(1, 10001):
        simulator.set_effort(-gains.kp * simulator.state.q - gains.kd * simulator.state.qd)
        simulator.step()
        t = k * step
        swing = math.cos(wd * t) + damping * w / wd * math.sin(wd * t) if wd else 1.0 + w * t
        # The torque is constant during a step, which is half a step of delay.
        expected = 0.1 * math.exp(-damping * w * t) * swing
        assert simulator.state.q[0] == pytest.approx(expected, abs=1e-4)


def test_gains_use_the_greatest_inertia_and_the_fastest_rate_is_an_eigenvalue() -> None:
    model, kd = dyn_core.compile_model(example("rx90")), np.array([500.0, 600.0, 0.0, 20.0, 1.0, 0.1])
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (50, 6))
    A = model.inertia_matrix(q)
    gains = joint_gains(model, q, 500.0)  # so stiff that friction does not matter
    np.testing.assert_allclose(gains.inertia, np.diagonal(A, axis1=1, axis2=2).max(0))
    assert joint_gains(model, q[:1], 500.0).inertia[1] < gains.inertia[1]
    rates = np.linalg.eigvals(np.linalg.inv(A) @ np.diag(kd)).real
    assert fastest_rate(model, q, kd) == pytest.approx(rates.max(), rel=1e-9)


def test_tracking_errors_by_hand() -> None:
    desired = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [4.0, 0.0]])
    measured = np.array([[1.0, 0.0], [2.0, 0.5], [3.0, 0.0], [8.0, 0.0]])
    error = tracking_error(desired, measured)
    assert (error.rms.tolist(), error.greatest.tolist()) == ([2.0, 0.25], [4.0, 0.5])
    assert together(np.array([3.0, 4.0])) == pytest.approx(math.sqrt(12.5))
    for a, b in (((3, 2), (3, 3)), ((0, 2), (0, 2)), ((3,), (3,))):
        with refused("position-shapes-unequal"):
            tracking_error(np.zeros(a), np.zeros(b))
