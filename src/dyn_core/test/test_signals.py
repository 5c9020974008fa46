# SPDX-License-Identifier: Apache-2.0
"""Filters, differences, decimation and resampling, against formulas and measured data."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.signal
from log_case import Motion, log_of, motion
from measured_data_sets import EMPS_MAP, EMPS_PROTOCOL, EMPS_PUBLISHED, UR10_PROTOCOL, dataset
from refusals import refused

import dyn_core
from dyn_core import Protocol, Signals
from dyn_core.core.messages import Message
from dyn_core.logs.conditioning.filters import (
    coefficients,
    differences,
    gains,
    low_pass,
    propose_cutoff,
    settling_samples,
)
from dyn_core.logs.conditioning.sample_rate import even_segment

RATE = 500.0
M = motion(rate=RATE, duration=10.0)


def conditioned(m: Motion, time: np.ndarray | None = None, **settings: object) -> Signals:
    """Return the signals of a motion with a cutoff of 40 Hz and, if given, other stamps."""
    log = log_of(m, time=m.time if time is None else time)
    return dyn_core.condition(log, Protocol(**{"cutoff": 40.0, **settings}))


def assert_accelerations(signals: Signals, start: float = 0.0, tolerance: float = 2e-3) -> None:
    """Compare with the motion at times that begin `start` before the first stamp."""
    truth = motion(time=signals.time + start).qdd
    np.testing.assert_allclose(signals.qdd, truth, atol=tolerance * np.abs(truth).max())


def codes(signals: Signals) -> list[str]:
    return [step.code for step in signals.done]


@pytest.mark.parametrize("order", [1, 2, 4, 8])
@pytest.mark.parametrize("ratio", [0.2, 0.5, 1.0, 1.5])
def test_the_gain_of_the_low_pass_agrees_with_the_formula(order: int, ratio: float) -> None:
    cutoff = 20.0
    t = np.arange(20_000) / 1000.0
    wave = np.sin(2 * np.pi * ratio * cutoff * t)
    filtered = low_pass(wave, 1000.0, cutoff, order)[5000:-5000]
    # The bilinear transform warps frequencies by tan(pi f / rate).
    warped = np.tan(np.pi * ratio * cutoff / 1000.0) / np.tan(np.pi * cutoff / 1000.0)
    gain = 1.0 / (1.0 + warped ** (2 * order))
    np.testing.assert_allclose(filtered, gain * wave[5000:-5000], atol=1e-6)


def test_filter_transients_end_within_the_margin() -> None:
    t = np.arange(4000) / RATE
    wave = np.sin(2 * np.pi * 0.7 * t + 0.4) + 0.3 * t
    for cutoff in (5.0, 20.0, 60.0):
        margin = settling_samples(RATE, cutoff)
        part = low_pass(wave[1000:3000], RATE, cutoff)
        worst = np.abs(part - low_pass(wave, RATE, cutoff)[1000:3000])
        assert worst[margin:-margin].max() < 0.02 * max(worst.max(), 1e-9)


def test_coefficients_of_the_tables_and_impossible_cutoffs() -> None:
    np.testing.assert_allclose(coefficients(1), ([0.5], [1.0]))
    np.testing.assert_allclose(coefficients(2), ([2 / 3, -1 / 12], [4 / 3, -1 / 12]))
    np.testing.assert_allclose(coefficients(3), ([3 / 4, -3 / 20, 1 / 60], [3 / 2, -3 / 20, 1 / 90]))
    for cutoff in (0.0, -1.0, 250.0, 300.0, np.nan):
        with refused("cutoff-too-high", rate=500.0, most=250.0):
            low_pass(np.zeros(100), RATE, cutoff)
    with refused("filter-samples-too-few", count=3):
        low_pass(np.zeros(3), RATE, 10.0)


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_differences_are_exact_for_polynomials(m: int) -> None:
    t = np.arange(40) * 0.1 - 2.0
    for degree in range(2 * m + 1):
        qd, qdd = differences(t**degree, 0.1, m)
        inner = t[m:-m]
        np.testing.assert_allclose(qd, degree * inner ** max(degree - 1, 0) * (degree > 0), atol=1e-9)
        second = degree * (degree - 1) * inner ** max(degree - 2, 0) * (degree > 1)
        np.testing.assert_allclose(qdd, second, atol=1e-7)


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("frequency", [1.0, 10.0, 40.0])
def test_the_gain_of_differences_agrees_with_the_formula(m: int, frequency: float) -> None:
    w, T = 2 * np.pi * frequency, 1.0 / RATE
    t = np.arange(1000) * T
    qd, qdd = differences(np.sin(w * t), T, m)
    first, second = gains(frequency, T, m)
    np.testing.assert_allclose(qd, first * w * np.cos(w * t[m:-m]), atol=1e-9 * w)
    np.testing.assert_allclose(qdd, -second * w**2 * np.sin(w * t[m:-m]), atol=1e-9 * w**2)
    if w * T < 0.2:
        small = [(w * T) ** (2 * m) / part for part in {1: (6, 12), 2: (30, 90), 3: (140, 560)}[m]]
        assert [1.0 - first, 1.0 - second] == pytest.approx(small, rel=0.02, abs=1e-12)


def test_parallel_filtering_keeps_the_parameters() -> None:
    generator = np.random.default_rng(0)
    W = np.cumsum(generator.standard_normal((6000, 2, 5)), axis=0)
    K = generator.standard_normal(5)
    tau = W @ K
    time, none, segments = np.arange(6000.0), np.zeros((6000, 2)), ((0, 2500), (2500, 6000))
    signals = dyn_core.signals_of_arrays("ab", time, none, none, none, tau, segments, decimate=10)
    filtered, efforts = signals.parallel(W, tau)
    assert signals.decimated_segments == ((0, 238), (238, 576))
    assert (filtered.shape, efforts.shape) == ((576, 2, 5), (576, 2))
    np.testing.assert_allclose(filtered @ K, efforts, atol=1e-8)
    apart = [signals.part(a, b).parallel(tau[a:b])[0] for a, b in segments]
    np.testing.assert_allclose(np.concatenate(apart), efforts, atol=1e-10)
    with refused("array-length", expected=6000, given=10):
        signals.parallel(tau[:10])
    none = np.zeros((20, 2))
    signals = dyn_core.signals_of_arrays("ab", np.arange(20.0), none, none, none, none, decimate=10)
    assert signals.parallel(none)[0].shape == (0, 2)
    (same,) = replace(signals, decimate=1).parallel(np.arange(20.0))
    np.testing.assert_array_equal(same, np.arange(20.0))


def test_signals_of_joints_are_found_by_name() -> None:
    values = np.arange(30.0).reshape(10, 3)
    signals = dyn_core.signals_of_arrays("abc", np.arange(10.0), values, values, values, values)
    some = signals.of_joints(("c", "a"))
    assert some.joint_names == ("c", "a")
    for name in ("q", "qd", "qdd", "tau"):
        np.testing.assert_array_equal(getattr(some, name), values[:, [2, 0]])
    assert signals.of_joints("abc") is signals
    with refused("signals-joint-missing", missing=["d"], known=["a", "b", "c"]):
        signals.of_joints("ad")


def test_a_motion_is_conditioned_with_its_derivatives() -> None:
    signals = conditioned(M)
    truth = motion(time=signals.time)
    for name in ("q", "qd", "qdd", "tau"):
        scale = np.abs(getattr(truth, name)).max()
        np.testing.assert_allclose(getattr(signals, name), getattr(truth, name), atol=5e-4 * scale)
    assert signals.period == pytest.approx(1.0 / RATE)
    assert signals.done[0].code == "segments-even-at-rate"
    assert signals.done[0].values == {"count": 1, "rate": pytest.approx(500.0)}


def test_noise_and_quantisation() -> None:
    m = motion(rate=1000.0, duration=20.0)
    generator = np.random.default_rng(0)
    q = np.round((m.q + 2e-5 * generator.standard_normal(m.q.shape)) / 1e-4) * 1e-4
    tau = m.tau + 0.5 * generator.standard_normal(m.tau.shape)
    signals = dyn_core.condition(log_of(m, q=q, tau=tau), Protocol(filter_effort=True))
    truth = motion(time=signals.time)
    for name, share in (("q", 2e-4), ("qd", 1e-3), ("qdd", 0.02), ("tau", 0.01)):
        error = getattr(signals, name) - getattr(truth, name)
        assert np.sqrt(np.mean(error**2)) < share * np.sqrt(np.mean(getattr(truth, name) ** 2)), name
    assert 6.0 < signals.cutoff < 40.0


def test_segments_are_filtered_separately() -> None:
    m = motion(rate=RATE, duration=12.0)
    part = m.part(np.r_[0:2000, 2600:6000])
    # In the second segment the robot was elsewhere.
    part.q[2000:] += 1.0
    signals = conditioned(part, cutoff=30.0, margin=50, decimate=4)
    assert signals.segments == ((0, 1900), (1900, 5200))
    assert_accelerations(signals)
    W, tau = signals.parallel(signals.qdd, signals.tau)
    assert len(W) == len(tau) == signals.decimated_segments[-1][1] == 462 + 812


def test_the_log_is_split_into_fitted_and_held_out_parts() -> None:
    signals = conditioned(M.part(np.r_[0:2000, 2500:5000]), cutoff=30.0, margin=0, half_width=1)
    train, held_out = signals.split()
    assert len(train.time) == round(0.65 * len(signals.time)) == len(signals.time) - len(held_out.time)
    np.testing.assert_array_equal(np.concatenate([train.qdd, held_out.qdd]), signals.qdd)
    assert train.segments == ((0, 1998), (1998, len(train.time)))
    assert held_out.segments == ((0, len(held_out.time)),)


def test_segments_after_a_cut() -> None:
    signals = conditioned(M.part(np.r_[0:3240, 3600:5000]), cutoff=30.0, margin=10, decimate=8)
    assert signals.segments == ((0, 3220), (3220, 4600))
    train, held_out = replace(signals, train=0.699).split()
    assert (len(train), len(held_out)) == (3215, 1385)
    # Nothing is left of the last 5 samples of the first segment, which are too few to be filtered.
    assert held_out.segments == ((0, 5), (5, 1385))
    assert held_out.decimated_segments[0] == (0, 0)
    for part in (train, held_out):
        (filtered,) = part.parallel(part.qdd)
        assert len(filtered) == part.decimated_segments[-1][1]
    whole, nothing = replace(signals, train=1.0).split()
    assert len(whole) == 4600
    assert nothing.segments == ()
    assert nothing.parallel(nothing.qdd)[0].shape == (0, 3)


def test_wrong_settings_are_refused() -> None:
    small, wrong = "setting-too-small", "setting-range"
    cutoffs = [("cutoff", given, small) for given in (-1.0, float("nan"))]
    for name, given, code in (*cutoffs, ("order", 0, small), ("margin", -1, wrong), ("decimate", 0, wrong)):
        with refused(code, setting=name, given=given):
            Protocol(**{name: given})  # type: ignore[arg-type]
    with refused("train-part-out-of-range", given=1.5):
        Protocol(train=1.5)
    m = motion(rate=RATE)
    with refused("log-segments-too-short", margin=3000):
        conditioned(m, cutoff=20.0, margin=3000)
    with refused("cutoff-too-high", cutoff=400.0):
        conditioned(m, cutoff=400.0)
    with refused("rate-above-log", rate=1000000000.0, log_rate=500.0):
        conditioned(m, cutoff=None, rate=1e9)


def test_joints_without_efforts_stay_without_efforts() -> None:
    m = motion(rate=RATE)
    m.tau[:, 1] = np.nan
    rng = np.random.default_rng(0)
    for time in (m.time, m.time + rng.uniform(-5e-4, 5e-4, len(m.time))):
        signals = conditioned(m, time, cutoff=30.0)
        assert signals.has_effort == (True, False, True)
        assert np.isfinite(signals.qdd).all()
        assert np.isfinite(signals.tau[:, [0, 2]]).all()


@pytest.mark.parametrize("jitter", [0.1, 0.3, 0.45, "some"])
def test_irregular_samples_are_resampled_by_their_stamps(jitter: float | str) -> None:
    """All samples are irregular, or only two late ones."""
    time = np.arange(5000) / RATE
    if isinstance(jitter, str):
        time[[1000, 3000]] += 0.6 / RATE
    else:
        time += jitter / RATE * np.random.default_rng(0).uniform(-1.0, 1.0, 5000)
    m = motion(time=np.sort(time))
    signals = conditioned(m)
    assert "segments-resampled-at-rate" in codes(signals)
    assert_accelerations(signals, m.time[0])


@pytest.mark.parametrize("jitter", [0.1, 0.3, 1.0])
def test_late_stamps_of_regular_samples_are_ignored(jitter: float) -> None:
    stamps = np.sort(M.time + jitter / RATE * np.random.default_rng(0).exponential(1.0, len(M.time)))
    signals = conditioned(M, stamps)
    assert "segments-stamps-ignored-at-rate" in codes(signals)
    assert_accelerations(signals, stamps[0] - jitter / RATE, 0.05)


def test_joints_at_rest_do_not_affect_stamps() -> None:
    generator = np.random.default_rng(0)
    m = motion(rate=RATE, duration=10.0)
    m.q[:, 1:] = 0.3 + 1e-5 * generator.standard_normal((len(m.q), 2))
    late = np.sort(m.time + 0.3 / RATE * generator.exponential(1.0, len(m.time)))
    assert "segments-stamps-ignored-at-rate" in codes(conditioned(m, late))


@pytest.mark.parametrize("late", [0.5, 0.997, 0.99999])
def test_a_single_late_stamp_does_not_distort_the_motion(late: float) -> None:
    stamps = M.time.copy()
    stamps[[1000, 3000]] += late / RATE
    signals = conditioned(M, stamps)
    assert "segments-stamps-ignored-at-rate" in codes(signals)
    assert_accelerations(signals, stamps[0])


def test_stamps_in_bursts() -> None:
    """A few bursts among regular stamps, and bursts only."""
    stamps = M.time.copy()
    for first in range(300, 4500, 700):
        stamps[first : first + 5] = stamps[first + 5] - 1e-6 * np.arange(5, 0, -1)
    assert_accelerations(conditioned(M, stamps), stamps[0])
    stamps = (np.arange(5000) // 10 * 10 + 9) / RATE + (np.arange(5000) % 10) * 1e-5
    signals = conditioned(M, stamps)
    assert "segments-stamps-ignored-at-rate" in codes(signals)
    assert_accelerations(signals, stamps[0] - 0.5 * 9 / RATE, 0.05)


def test_lost_samples_and_another_rate() -> None:
    keep = np.random.default_rng(0).random(5000) > 0.1
    assert_accelerations(conditioned(M.part(np.flatnonzero(keep))))
    signals = conditioned(motion(rate=333.0), cutoff=30.0, rate=RATE)
    assert signals.period == pytest.approx(1.0 / RATE)
    assert_accelerations(signals)


def test_samples_that_are_too_close_for_a_spline_are_refused() -> None:
    generator = np.random.default_rng(0)
    time = np.sort(np.concatenate([np.arange(2000) / RATE, generator.uniform(0.0, 3.99, 500)]))
    m = motion(time=time)
    log = log_of(m, q=m.q + 1e-4 * generator.standard_normal(m.q.shape))
    (segment,) = log.segments
    even = even_segment(log, segment, (log.q,), 1.0 / RATE)
    assert np.abs(even.arrays[0] - motion(time=even.time + m.time[0]).q).max() < 2e-3


@pytest.mark.parametrize("noise", [1e-6, 1e-4, 1e-3])
@pytest.mark.parametrize("rate", [125.0, 1000.0])
def test_the_cutoff_keeps_the_motion_and_removes_the_noise(noise: float, rate: float) -> None:
    m = motion(rate=rate, duration=30.0)
    q = m.q + noise * np.random.default_rng(0).standard_normal(m.q.shape)
    proposal = propose_cutoff(q, rate, [(0, len(q))], m.joints)
    # The motion goes up to 2.5 Hz: it may lose 0.1 %, and the cutoff may be no higher than necessary.
    assert 2.4 * 2.5 - 0.5 < proposal.cutoff < 60.0
    assert proposal.reason.code in ("cutoff-by-noise", "cutoff-by-band")
    assert proposal.reason.values["cutoff"] == proposal.cutoff


@pytest.mark.parametrize("protocol", [EMPS_PROTOCOL, Protocol()], ids=["published", "by_the_data"])
def test_emps_gives_the_published_parameters(protocol: Protocol) -> None:
    """Janot, Gautier and Brunot 2019: IDIM-LS of the electro-mechanical positioning system."""
    log = dyn_core.read_log(dataset("emps") / "DATA_EMPS.mat", EMPS_MAP)
    assert log.units == ("m",)
    signals = dyn_core.condition(log, protocol)
    v = signals.qd[:, 0]
    columns = np.column_stack([signals.qdd[:, 0], v, np.sign(v), np.ones(len(v))])
    W, tau = signals.parallel(columns, signals.tau[:, 0])
    found, *_ = np.linalg.lstsq(W, tau, rcond=None)
    # Mass (kg), viscous and Coulomb friction (N s/m, N), offset (N).
    published, deviations = np.transpose([EMPS_PUBLISHED[name] for name in ("MR1", "Fv1", "Fs1", "Fo1")])
    assert np.all(np.abs(found - published) < deviations)
    # The zero-phase filter drops 63 samples at each end, where the axis hardly moves.
    assert np.linalg.cond(W) == pytest.approx(25.9883, abs=0.1)
    assert np.linalg.norm(tau - W @ found) / np.linalg.norm(tau) < 0.0408


def test_the_protocol_of_ur10() -> None:
    log = dyn_core.read_log(dataset("ur10_unisa") / "ur10_exciting_trajectory.db3")
    assert log.joint_names[0] == "shoulder_pan_joint"
    assert len(log.time) == 3441
    signals = dyn_core.condition(log, UR10_PROTOCOL)
    sections = scipy.signal.butter(4, 10.0, fs=125.0, output="sos")
    for ours, raw in ((signals.q, log.q), (signals.tau, log.tau)):
        np.testing.assert_allclose(ours, scipy.signal.sosfiltfilt(sections, raw, axis=0)[25:-25], atol=1e-9)
    # The recorded velocities are differences by the authors.
    assert log.qd is not None
    np.testing.assert_allclose(signals.qd, log.qd[25:-25], atol=0.05)
    train, held_out = signals.split()
    assert (len(train.time), len(held_out.time)) == (2204, 1187)


def test_scipy_is_imported_on_first_use() -> None:
    code = "import sys, dyn_core as d; d.Protocol(); print('scipy' in sys.modules, 'rosbags' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


@pytest.mark.parametrize("kind", ["noise", "last bit"])
def test_joints_at_rest_do_not_affect_the_cutoff(kind: str) -> None:
    rng = np.random.default_rng(6)
    t = np.arange(0.0, 20.0, 1.0 / RATE)
    moving = np.sin(2 * np.pi * 0.4 * t) + 1e-5 * rng.normal(size=len(t))
    bit = 0.0015 * (np.sin(2 * np.pi * 1.3 * t) + 0.5 * rng.normal(size=len(t)) > 0.3)
    standing = 0.3 + (1e-4 * rng.normal(size=len(t)) if kind == "noise" else bit)
    alone = propose_cutoff(moving[:, None], RATE, [(0, len(t))], ["a"])
    both = propose_cutoff(np.column_stack([moving, standing]), RATE, [(0, len(t))], ["a", "b"])
    assert (both.cutoff, both.band) == (alone.cutoff, alone.band)
    assert both.noise[1] > 0.0
    still = propose_cutoff(np.zeros((1000, 2)), 100.0, [(0, 1000)], ["a", "b"])
    assert still.cutoff == 40.0
    assert still.reason == Message("cutoff-for-still-joints", part=0.4, cutoff=40.0)
