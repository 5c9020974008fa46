# SPDX-License-Identifier: Apache-2.0
"""Estimators answer what NumPy, algebra and repeated measurements say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated_truth import SIX, arm, exact_motion, excitation, measured, true_values, with_drives

import dyn_core
from dyn_core.identification.diagnosis.reliability import whiteness
from dyn_core.identification.essential import essential
from dyn_core.identification.estimators.least_squares import (
    ordinary,
    residual_squares,
    torque_squares,
    weighted,
)
from dyn_core.identification.estimators.standard_deviations import (
    SAFETY,
    deviations,
    of_robust_weights,
    residual_rows,
    residuals,
)
from dyn_core.identification.factors import Factors, factors
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.instrumental import instrumental
from dyn_core.identification.online.recursive_estimator import RecursiveEstimator
from dyn_core.identification.regressor import motion_equations as equations_module
from dyn_core.identification.regressor.base_columns import BaseColumns, base_columns
from dyn_core.identification.regressor.motion_equations import Equations
from dyn_core.identification.robust import huber_weights, reweighted
from dyn_core.identification.rows import Rows
from dyn_core.identification.total_least_squares import total_least_squares
from dyn_core.logs.conditioning.signals import Signals
from dyn_core.signals.of_arrays import signals_of_arrays

STANDARD = (FrictionModel(),)


@pytest.fixture(scope="module")
def case() -> tuple[dyn_core.Robot, BaseColumns, Signals]:
    robot = with_drives(arm(SIX))
    return robot, base_columns(robot), measured(exact_motion(robot, 10.0), seed=0)


def rows_of(case: tuple, factor: int = 20) -> Rows:
    _, base, moved = case
    return Rows(Equations(replace(moved, decimate=factor), base), (STANDARD,) * 6)


def stacked(rows: Rows, sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All equations in one matrix."""
    blocks, right = [], []
    for _, pieces in rows.pieces():
        for i, piece in enumerate(pieces):
            block = np.zeros((len(piece), rows.shared + 18))
            block[:, : rows.shared] = piece[:, : rows.shared]
            block[:, rows.shared + 3 * i : rows.shared + 3 * i + 3] = piece[:, rows.shared : -1]
            blocks.append(block / sigma[i])
            right.append(piece[:, -1] / sigma[i])
    return np.concatenate(blocks), np.concatenate(right)


def test_ordinary_least_squares_are_numpys(case: tuple) -> None:
    rows = rows_of(case)
    W, tau = stacked(rows, np.ones(6))
    found = ordinary(factors(rows, parts=3))
    expected, rest, _, _ = np.linalg.lstsq(W, tau, rcond=None)
    np.testing.assert_allclose(found.x, expected, rtol=1e-7, atol=1e-9)
    variance = rest[0] / (len(tau) - W.shape[1])
    spread = np.sqrt(variance * np.diag(np.linalg.inv(W.T @ W)))
    np.testing.assert_allclose(found.deviations, spread, rtol=1e-6)
    assert found.condition == pytest.approx(np.linalg.cond(W / np.linalg.norm(W, axis=0)), rel=1e-6)


def test_weighted_least_squares_are_numpys_with_the_weights_that_were_found(case: tuple) -> None:
    rows = rows_of(case)
    found = weighted(factors(rows))
    W, tau = stacked(rows, found.sigma)
    np.testing.assert_allclose(found.x, np.linalg.lstsq(W, tau, rcond=None)[0], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found.deviations, np.sqrt(np.diag(np.linalg.inv(W.T @ W))), rtol=1e-6)
    errors = residual_rows(rows, found.x)
    expected = found.sigma**2 * len(rows)
    np.testing.assert_array_less(np.sum(errors**2, axis=0), expected)
    np.testing.assert_array_less(0.9 * expected, np.sum(errors**2, axis=0))


def test_parts_and_pieces_do_not_matter(case: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    one = weighted(factors(rows_of(case)))
    monkeypatch.setattr(equations_module, "PIECE", 2000)
    monkeypatch.setattr(equations_module, "KEPT", 0)
    parts = factors(rows_of(case), parts=7)
    other = weighted(parts)
    np.testing.assert_allclose(one.x, other.x, rtol=1e-9, atol=1e-11)
    assert sum(parts.counts).tolist() == [len(rows_of(case))] * 6
    errors = residual_rows(rows_of(case), one.x)
    np.testing.assert_allclose(residual_squares(parts.merged(), one.x), np.sum(errors**2, axis=0), rtol=1e-7)


def test_segments_are_not_filtered_together(case: tuple) -> None:
    """Two halves of a motion with a gap give the equations of each, and none across the gap."""
    _, base, moved = case
    half = len(moved) // 2
    gap = replace(moved, segments=((0, half), (half, len(moved))))
    together = Equations(gap, base)
    apart = [Equations(moved.part(*part), base) for part in gap.segments]
    assert len(together) == sum(map(len, apart))
    np.testing.assert_array_equal(together.times, np.concatenate([one.times for one in apart]))
    found, expected = (
        np.concatenate([one.filtered(piece)[1] for one in several for piece in one.pieces()])
        for several in ([together], apart)
    )
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_columns_that_cannot_be_told_apart_are_said() -> None:
    random = np.random.default_rng(0)
    W = random.normal(size=(200, 4))
    W[:, 2] = W[:, 0] - 2.0 * W[:, 1]
    R = np.linalg.qr(np.column_stack([W, W @ [1.0, 2.0, 0.0, 3.0]]), mode="r")
    found = weighted(Factors(4, ((R,),), (np.array([200]),)))
    assert found.identifiable.tolist() == [True, True, False, True]
    np.testing.assert_allclose(found.x, [1.0, 2.0, 0.0, 3.0], atol=1e-9)
    assert np.isinf(found.deviations[2])


def test_deviations_are_those_of_repeated_measurements(case: tuple) -> None:
    """60 times the same motion with other noise of the torques: each spread is known to some 9 %."""
    robot, base, _ = case
    exact = exact_motion(robot, 6.0)
    greatest = np.abs(exact.tau).max(axis=0)
    random = np.random.default_rng(1)
    found = []
    for _ in range(60):
        noisy = replace(exact, tau=exact.tau + 0.01 * greatest * random.normal(size=exact.tau.shape))
        rows = Rows(Equations(replace(noisy, decimate=40), base), (STANDARD,) * 6)
        found.append(weighted(factors(rows)))
    spread = np.std([one.x for one in found], axis=0)
    # The filter of both sides leaves noise that resembles that of the sample before.
    memory = rows.equations.decimation.memory
    claimed = np.sqrt(memory) * np.mean([one.deviations for one in found], axis=0)
    np.testing.assert_allclose(spread, claimed, rtol=0.35)
    assert np.mean(spread / claimed) == pytest.approx(1.0, abs=0.06)
    reported = deviations(rows, found[-1], residual_rows(rows, found[-1].x))
    assert np.all(reported >= SAFETY * np.sqrt(memory) * found[-1].deviations * (1.0 - 1e-12))


def test_residuals_that_remember_raise_the_deviations(case: tuple) -> None:
    robot, base, _ = case
    exact = exact_motion(robot, 8.0)
    random = np.random.default_rng(2)
    slow = np.zeros_like(exact.tau)
    for k in range(1, len(slow)):
        slow[k] = 0.98 * slow[k - 1] + random.normal(size=6)
    noisy = replace(exact, tau=exact.tau + 0.1 * slow, decimate=10)
    rows = Rows(Equations(noisy, base), (STANDARD,) * 6)
    solution = weighted(factors(rows))
    errors = residual_rows(rows, solution.x)
    like = residuals(errors)
    kept = noisy.decimation.segments(noisy.segments)
    assert np.all(whiteness(errors, rows.used, noisy.decimation, kept) < 1e-6)
    assert np.all(like.effective < 0.5 * len(errors))
    reported = deviations(rows, solution, errors)
    assert np.median(reported / solution.deviations) > 1.8
    white = residuals(random.normal(size=(2000, 3)))
    np.testing.assert_allclose(white.effective, 2000, rtol=0.3)


def test_outliers_count_less(case: tuple) -> None:
    robot, base, moved = case
    spoiled = replace(moved, tau=moved.tau.copy())
    random = np.random.default_rng(3)
    hit = random.random(spoiled.tau.shape) < 0.002
    spoiled.tau[hit] += 300.0
    expected = true_values(robot, base)
    rows = Rows(Equations(replace(spoiled, decimate=1), base), (STANDARD,) * 6)
    plain = weighted(factors(rows))
    robust, weights = reweighted(rows, plain.x)
    clean = weighted(factors(Rows(Equations(replace(moved, decimate=1), base), (STANDARD,) * 6)))
    scale = clean.deviations
    assert np.sqrt(np.mean(((robust.x - expected) / scale) ** 2)) < 3.0
    assert np.sqrt(np.mean(((plain.x - expected) / scale) ** 2)) > 10.0
    assert weights[hit].max() < 0.2 < np.median(weights)


@pytest.mark.parametrize("outliers", [0.0, 0.05])
def test_deviations_of_robust_estimates_are_those_of_repeated_measurements(outliers: float) -> None:
    """3000 times the robust mean of 200 numbers, of which some may be wrong."""
    random = np.random.default_rng(7)
    numbers = random.normal(size=(200, 3000))
    numbers += 10.0 * random.normal(size=numbers.shape) * (random.random(numbers.shape) < outliers)
    mean = numbers.mean(axis=0)
    for _ in range(20):
        w = huber_weights(numbers - mean) ** 2
        mean = (w * numbers).sum(axis=0) / w.sum(axis=0)
    spread = mean.std()
    claims = []
    for k in range(300):
        errors = numbers[:, k, None] - mean[k]
        weights = huber_weights(errors)
        curvature, inflation = of_robust_weights(errors, weights)
        claimed = np.sum(weights**2 * errors**2) / 200 / np.sum(weights**2)
        claims.append((inflation * np.sqrt(claimed), np.sqrt(claimed), curvature))
    honest, naive, curvature = np.mean(claims, axis=0)
    assert honest == pytest.approx(spread, rel=0.04)
    assert abs(naive / spread - 1.0) > 0.04  # too small without outliers, too large with them
    assert 0.8 < curvature < 1.0


def test_total_least_squares_undo_noise_of_columns() -> None:
    random = np.random.default_rng(4)
    x = np.array([1.0, 2.0, -3.0])
    W = random.normal(size=(200_000, 3))
    W[:, 0] = 1.0
    deviations = np.array([0.0, 0.3, 0.5, 0.4])
    noise = np.diag(deviations**2)
    rows = np.column_stack([W, W @ x]) + deviations * random.normal(size=(len(W), 4))
    found, least = total_least_squares(rows, noise)
    np.testing.assert_allclose(found, x, atol=0.02)
    assert least == pytest.approx(len(W), rel=0.02)
    assert abs(np.linalg.lstsq(rows[:, :3], rows[:, 3], rcond=None)[0][2] + 3.0) > 0.5
    with pytest.raises(ValueError, match="the last is > 0"):
        total_least_squares(rows, np.zeros((4, 4)))


def test_instruments_undo_noise_of_positions(case: tuple) -> None:
    """Positions with much noise bias least squares; the motion that was asked for is not biased."""
    robot, base, _ = case
    smooth = {f"Fs{j}": 0.0 for j in range(1, 7)}  # of a sign, noise has another effect
    robot = robot.with_parameters(smooth)
    exact = exact_motion(robot, 20.0)
    noisy = measured(exact, seed=5, position_noise=1e-3, cutoff=40.0)
    inner = slice(250, -250)
    without = replace(noisy, q=exact.q[inner], qd=exact.qd[inner], qdd=exact.qdd[inner])
    rows, instruments = (
        Rows(Equations(replace(one, decimate=10), base), (STANDARD,) * 6) for one in (noisy, without)
    )
    plain = weighted(factors(rows))
    found = instrumental(rows, instruments, plain.sigma, plain.identifiable)
    expected = true_values(robot, base)
    error, biased = np.abs(found.x - expected), np.abs(plain.x - expected)
    rotors = [k for k, name in enumerate(base.kept) if name.startswith("Ia")]
    assert error[rotors].mean() < 0.2 * biased[rotors].mean()
    with pytest.raises(dyn_core.DynError, match="simulate the same times"):
        instrumental(rows, rows_of(case), plain.sigma, plain.identifiable)


def test_essential_parameters_are_those_that_matter(case: tuple) -> None:
    robot, base, _ = case
    solution = weighted(factors(rows_of(case)))
    needed = essential(solution, np.ones(len(solution.x)))
    expected = true_values(robot, base)
    large = np.abs(expected) > 8.0 * solution.deviations
    small = np.abs(expected) < 0.1 * solution.deviations
    assert needed[large].mean() > 0.95
    assert not needed[small].any()


def test_recursive_estimate_is_that_of_all_samples(case: tuple) -> None:
    robot, base, _ = case
    t, q, qd, qdd = excitation(6, 12.0, seed=6)
    tau = dyn_core.compile_model(robot, backend="python").inverse_dynamics(q, qd, qdd)
    random = np.random.default_rng(6)
    tau += 0.01 * np.abs(tau).max(axis=0) * random.normal(size=tau.shape)
    estimator = RecursiveEstimator(base, STANDARD * 6, 1e-3)
    assert estimator.estimate() is None
    for k in range(len(t)):
        estimator.add(q[k], qd[k], tau[k])
        if k == len(t) // 4:
            early = estimator.estimate()
    late = estimator.estimate()
    assert early is not None
    assert late is not None
    assert not early.converged()
    assert late.samples == len(t)
    z = (late.values - true_values(robot, base)) / late.deviations
    assert np.sqrt(np.mean(z**2)) < 1.5
    assert np.abs(z).max() < 4.5
    assert np.median(late.deviations / early.deviations) < 0.7
    assert estimator.names == (*base.names, *(f"{f}{j}" for j in range(1, 7) for f in ("Fv", "Fs", "Fo")))


def test_recursive_estimate_forgets(case: tuple) -> None:
    """A payload that comes in the middle is what a short memory sees."""
    robot, base, _ = case
    loaded = robot.with_payload("link_6", 2.0, (0.0, 0.0, 0.1))
    t, q, qd, qdd = excitation(6, 20.0, seed=7)
    half = len(t) // 2
    models = [dyn_core.compile_model(r, backend="python") for r in (robot, loaded)]
    tau = np.concatenate(
        [
            model.inverse_dynamics(q[part], qd[part], qdd[part])
            for model, part in zip(models, (slice(half), slice(half, None)), strict=True)
        ]
    )
    estimator = RecursiveEstimator(base, STANDARD * 6, 1e-3, memory=1.5)
    for k in range(len(t)):
        estimator.add(q[k], qd[k], tau[k])
    found = estimator.estimate()
    assert found is not None
    gravity = [k for k, name in enumerate(base.kept) if name.startswith(("MX", "MY"))]
    expected = true_values(loaded, base)
    np.testing.assert_allclose(found.values[gravity], expected[gravity], atol=0.03)


def test_noise_free_torques_have_no_residual(case: tuple) -> None:
    robot, base, _ = case
    data = factors(Rows(Equations(exact_motion(robot, 8.0), base), (STANDARD,) * 6))
    found = weighted(data)
    np.testing.assert_allclose(found.x, true_values(robot, base), rtol=1e-7, atol=1e-8)
    rest = residual_squares(data.merged(), found.x) / torque_squares(data.merged())
    assert np.all(rest < 1e-18)


def test_motions_that_are_none_are_refused() -> None:
    t = np.arange(5.0)
    good = np.zeros((5, 2))
    with pytest.raises(ValueError, match="qd: expected a row for each of the 5 times"):
        signals_of_arrays("ab", t, good, good[:4], good, good)
    bad = good.copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="tau: sample 3 is not finite"):
        signals_of_arrays("ab", t, good, good, good, bad)
    with pytest.raises(ValueError, match="time: it does not increase after sample 1"):
        signals_of_arrays("ab", [0.0, 1.0, 1.0, 2.0, 3.0], good, good, good, good)
    with pytest.raises(ValueError, match="no effort was measured"):
        signals_of_arrays("ab", t, good, good, good, np.full((5, 2), np.nan))
    with pytest.raises(ValueError, match="two samples or more"):
        signals_of_arrays("ab", [0.0], good[:1], good[:1], good[:1], good[:1])


def test_dependent_columns_take_nothing_from_those_behind_them() -> None:
    """Nine rows of rank 5, the first columns of which are 0 or alike: all 5 are found."""
    random = np.random.default_rng(8)
    a = random.normal(size=(9, 5))
    zero = np.zeros(9)
    columns = np.column_stack(
        [zero, zero, a[:, 0], zero, a[:, 0], a[:, 1], zero, *a[:, 2:].T, a[:, 1] - a[:, 4]]
    )
    x = np.zeros(columns.shape[1])
    x[[2, 5, 7, 8, 9]] = [1.0, -2.0, 3.0, 0.5, 4.0]
    data = Factors(columns.shape[1], ((np.column_stack([columns, columns @ x]),),), (9,))
    found = ordinary(data)
    assert np.flatnonzero(found.identifiable).tolist() == [2, 5, 7, 8, 9]
    np.testing.assert_allclose(found.x, x, atol=1e-12)
