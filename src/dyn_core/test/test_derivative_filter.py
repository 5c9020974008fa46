# SPDX-License-Identifier: Apache-2.0
"""Filters of measured signals: gains, derivatives, and accepted times."""

from __future__ import annotations

import math

import numpy as np
import pytest
from refusals import refused

from dyn_core.control.laws.base_measurement import DerivativeFilter
from dyn_core.logs.conditioning.sample_rate import Decimation

NAMES = ("a", "b")


def made(second: bool, cutoff: float = 20.0, **options) -> DerivativeFilter:
    return DerivativeFilter(NAMES, cutoff, second=second, **options)


def irregular_times(count: int, period: float = 1e-3, seed: int = 0) -> np.ndarray:
    return np.cumsum(np.random.default_rng(seed).uniform(0.2 * period, 1.8 * period, count))


def derivatives(filter_: DerivativeFilter, times, signal) -> np.ndarray:
    """Return the derivatives of two signals, (samples, derivatives, joints)."""
    return np.array([filter_.update(t, np.array([signal(t), -2.0 * signal(t)])) for t in times])


@pytest.mark.parametrize("second", [False, True])
def test_a_ramp_from_rest_agrees_with_the_closed_form(second: bool) -> None:
    """For u = r t from x = 0: velocity r (1 - e^-wt (1 + wt [+ (wt)^2 / 2]))."""
    filter_ = made(second)
    w, r = filter_.corner, 0.7
    times = np.concatenate(([0.0], irregular_times(300)))
    got = derivatives(filter_, times, lambda t: 3.0 + r * t)
    x = w * times
    series = 1.0 + x + (0.5 * x**2 if second else 0.0)
    np.testing.assert_allclose(got[:, 0, 0], r * (1.0 - np.exp(-x) * series), atol=1e-11)
    np.testing.assert_allclose(got[:, 0, 1], -2.0 * got[:, 0, 0], atol=1e-11)
    if second:
        np.testing.assert_allclose(got[:, 1, 0], r * w * np.exp(-x) * 0.5 * x**2, atol=1e-9)


@pytest.mark.parametrize("second", [False, True])
def test_irregular_samples_agree_with_an_integration_of_the_equation(second: bool) -> None:
    """Runge-Kutta 4 with small steps along the straight lines between samples."""
    filter_ = made(second, cutoff=8.0)
    w, m = filter_.corner, filter_.order
    times = np.concatenate(([0.0], irregular_times(60, period=4e-3, seed=2)))
    values = np.random.default_rng(3).uniform(-1.0, 1.0, (61, 2))

    def rate(x, u):
        last = w**m * (u - x[0]) - sum(math.comb(m, k) * w ** (m - k) * x[k] for k in range(1, m))
        return np.vstack((x[1:], last[None]))

    x = np.zeros((m, 2))
    x[0] = values[0]
    for k, t in enumerate(times):
        got = filter_.update(t, values[k])
        if k:
            T, steps = t - times[k - 1], 120
            h, line = T / steps, (values[k] - values[k - 1]) / T
            for i in range(steps):
                u = [values[k - 1] + line * h * (i + c) for c in (0.0, 0.5, 1.0)]
                k1 = rate(x, u[0])
                k2 = rate(x + 0.5 * h * k1, u[1])
                k3 = rate(x + 0.5 * h * k2, u[1])
                k4 = rate(x + h * k3, u[2])
                x = x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        np.testing.assert_allclose(np.array(got), x[1:], rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("frequency", [0.5, 5.0, 20.0, 60.0])
def test_a_sine_agrees_with_the_transfer_function(second: bool, frequency: float) -> None:
    filter_ = made(second)
    w, m, s = filter_.corner, filter_.order, 2j * math.pi * frequency
    gain = 1.0 / (1.0 + s / w) ** m
    times = np.concatenate(([0.0], irregular_times(9000, period=1e-4)))
    got = derivatives(filter_, times, lambda t: math.sin(2.0 * math.pi * frequency * t))
    late = times > 0.4  # the initial transient has decayed
    for k in range(m - 1):
        expected = (gain * s ** (k + 1) * np.exp(s * times)).imag
        # Straight lines between samples reduce a sine by the fraction (s T)^2 / 12.
        np.testing.assert_allclose(got[late, k, 0], expected[late], atol=3e-3 * abs(gain * s ** (k + 1)))


@pytest.mark.parametrize("second", [False, True])
def test_cutoff_and_delay_agree_with_their_definitions(second: bool) -> None:
    filter_ = made(second, cutoff=30.0)
    w, m = filter_.corner, filter_.order
    assert abs(1.0 / (1.0 + 2j * math.pi * 30.0 / w) ** m) == pytest.approx(math.sqrt(0.5))
    assert filter_.delay == pytest.approx(m / w)
    # With constant acceleration, the velocity lags by the delay once the initial transient has decayed.
    # The straight lines between samples have no acceleration; the error of their corners falls with w T.
    times = np.arange(0.0, 0.5, 1e-4)
    got = derivatives(filter_, times, lambda t: 0.5 * 4.0 * t * t)
    assert got[-1, 0, 0] == pytest.approx(4.0 * (times[-1] - filter_.delay), rel=1e-5)
    if second:
        assert got[-1, 1, 0] == pytest.approx(4.0, rel=1e-5)


@pytest.mark.parametrize("second", [False, True])
def test_noise_gain_agrees_with_the_formula(second: bool) -> None:
    period, sigma = 1e-4, 1e-3
    filter_ = DerivativeFilter([str(j) for j in range(50)], 20.0, second=second)
    noise = np.random.default_rng(5).normal(0.0, sigma, (6000, 50))
    got = np.array([filter_.update(k * period, sample) for k, sample in enumerate(noise)])[1500:]
    measured = got.std(axis=(0, 2)) / sigma
    # The formulas hold for w T << 1, here 0.025; some 1e4 independent values give 1 %.
    np.testing.assert_allclose(measured, filter_.noise_gain(period), rtol=0.05)


@pytest.mark.parametrize("second", [False, True])
def test_the_first_sample_causes_no_transient(second: bool) -> None:
    filter_ = made(second)
    assert filter_.started is None
    for t in (5.0, 5.001, 5.0015, 5.01):
        np.testing.assert_array_equal(filter_.update(t, np.array([100.0, -3.0])), 0.0)
    assert filter_.started == 5.0


@pytest.mark.parametrize("jump_in_time", [0.11, -0.001, -50.0, 1000.0])
def test_gaps_and_times_that_go_back_restart_the_filter(jump_in_time: float) -> None:
    filter_ = made(second=True, max_gap=0.1)
    derivatives(filter_, np.arange(0.0, 0.5, 1e-3), lambda t: math.sin(9.0 * t))
    t = 0.499 + jump_in_time
    np.testing.assert_array_equal(filter_.update(t, np.array([7.0, 8.0])), 0.0)
    assert filter_.started == t
    fresh = made(second=True)
    fresh.update(t, np.array([7.0, 8.0]))
    for k in range(1, 20):
        now, sample = t + 1e-3 * k, np.array([7.0 + k * k, 8.0])
        np.testing.assert_array_equal(filter_.update(now, sample), fresh.update(now, sample))


def test_a_short_gap_is_a_straight_line_and_a_reset_restarts_the_filter() -> None:
    filter_ = made(second=False, max_gap=0.1)
    filter_.update(0.0, np.zeros(2))
    (qd,) = filter_.update(0.1, np.array([0.1, 0.2]))
    np.testing.assert_allclose(qd, [1.0, 2.0], rtol=1e-3)
    assert filter_.started == 0.0
    filter_.reset()
    assert filter_.started is None
    np.testing.assert_array_equal(filter_.update(0.121, np.array([9.0, 9.0])), 0.0)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_only_new_valid_samples_change_the_state(bad: float) -> None:
    """Non-finite numbers, repeated times, and later writes to the input vectors have no effect."""
    filter_, other = made(second=True), made(second=True)
    for k in range(10):
        t, sample = 1e-3 * k, np.array([k**2, -k], dtype=float)
        with refused("joint-value-not-finite", quantity="value", joint="b"):
            filter_.update(t, np.array([1.0, bad]))
        with refused("argument-time-not-finite", argument="t"):
            filter_.update(bad, sample)
        expected = other.update(t, sample.copy())
        for given in (sample, sample + 5.0):
            found = filter_.update(t, given)
            np.testing.assert_array_equal(found, expected)
            for vector in (given, *found):
                vector[:] = 1e3


def test_periods_of_a_nanosecond() -> None:
    filter_ = made(second=True)
    filter_.update(0.0, np.zeros(2))
    for k in range(1, 200):
        qd, qdd = filter_.update(1e-9 * k, np.full(2, 3.0 * 1e-9 * k))
    x = filter_.corner * 199e-9
    np.testing.assert_allclose(qd, 3.0 * x**3 / 6.0, atol=1e-9)
    np.testing.assert_allclose(qdd, 3.0 * filter_.corner * 0.5 * x**2, atol=1e-6)


def test_wrong_settings_are_refused() -> None:
    cutoff, gap = "the cutoff of a derivative filter (Hz)", "the longest gap of a derivative filter (s)"
    for options, setting, given in (
        *(({"cutoff": value}, cutoff, value) for value in (0.0, math.nan)),
        ({"cutoff": 5.0, "max_gap": -1.0}, gap, -1.0),
    ):
        with refused("setting-range", setting=setting, given=given):
            DerivativeFilter(NAMES, **options)


# The zero-phase filter keeps slow signals, removes fast ones, and differentiates.


def sines(frequency: float, count: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    phase = 2.0 * np.pi * frequency * np.arange(count)
    return np.sin(phase), 2.0 * np.pi * frequency * np.cos(phase)


@pytest.mark.parametrize("factor", [2, 5, 10, 40])
def test_slow_waves_pass(factor: int) -> None:
    decimation = Decimation(factor)
    value, slope = sines(0.2 / factor)
    kept = slice(decimation.reach, decimation.reach + factor * decimation.count(4000), factor)
    np.testing.assert_allclose(decimation.of(value), value[kept], atol=5e-3)
    np.testing.assert_allclose(decimation.derivative(value), slope[kept], atol=5e-3 * slope.max())


@pytest.mark.parametrize("factor", [5, 10, 40])
def test_differentiation_and_filtering_commute(factor: int) -> None:
    """The derivative of the filtered signal is the filtered derivative, to many digits."""
    decimation = Decimation(factor)
    value, slope = sines(0.3 / factor)
    difference = decimation.derivative(value) - decimation.of(slope)
    assert np.abs(difference).max() < 2e-4 * np.abs(slope).max()


def test_fast_waves_are_removed_and_lines_are_exact() -> None:
    decimation = Decimation(10)
    assert np.abs(decimation.of(sines(0.08)[0])).max() < 5e-3
    line = np.arange(500.0)
    np.testing.assert_allclose(decimation.of(np.ones(500)), 1.0, rtol=1e-14)
    np.testing.assert_allclose(decimation.derivative(line), 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.diff(decimation.of(line)), 10.0, rtol=1e-12)


def test_counts() -> None:
    decimation = Decimation(10)
    counts = [decimation.count(2 * decimation.reach + more) for more in (0, 1, 10, 11)]
    assert counts == [0, 1, 1, 2]
    assert Decimation(1).count(7) == 7
    values = np.random.default_rng(0).normal(size=(300, 2, 3))
    assert decimation.of(values).shape == (decimation.count(300), 2, 3)
    np.testing.assert_array_equal(Decimation(1).of(values), values)
    with refused("argument-range", expected="a whole number from 1"):
        Decimation(0)
    with refused("decimation-without-filter"):
        Decimation(1).derivative(np.zeros(10))


@pytest.mark.parametrize("factor", [1, 2, 5, 20])
def test_the_memory_of_the_filter_agrees_with_white_noise(factor: int) -> None:
    """The variance of sums of kept samples, compared with sums of as many independent samples."""
    decimation = Decimation(factor)
    noise = np.random.default_rng(0).normal(size=(1000, 100 * factor + 2 * decimation.reach))
    left = decimation.of(noise.T)
    ratio = left.sum(axis=0).var() / (len(left) * left.var())
    # The variance of 1000 sums is known to about 4.5 %.
    assert ratio == pytest.approx(decimation.memory, rel=0.15)
