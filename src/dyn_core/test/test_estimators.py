# SPDX-License-Identifier: Apache-2.0
"""Estimators against NumPy, algebra and repeated measurements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from refusals import refused
from simulated_truth import SIX, arm, exact_motion, excitation, measured, true_values, with_drives

import dyn_core
from dyn_core.identification.estimators import least_squares, standard_deviations
from dyn_core.identification.estimators.estimation import huber_weights, reweighted, total_least_squares
from dyn_core.identification.estimators.least_squares import Factors, Solution, factors, ordinary, weighted
from dyn_core.identification.estimators.simulation_estimators import instrumental
from dyn_core.identification.estimators.standard_deviations import (
    deviations,
    information_rows,
    residual_rows,
    residuals,
    whiteness,
)
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.friction.friction_selection import Rows
from dyn_core.identification.online.recursive_estimator import RecursiveEstimate, RecursiveEstimator
from dyn_core.identification.regressor import motion_equations as motion
from dyn_core.identification.regressor.base_columns import BaseColumns, base_columns
from dyn_core.identification.regressor.motion_equations import Equations
from dyn_core.logs.conditioning.sample_rate import Decimation
from dyn_core.logs.conditioning.signals import Signals, signals_of_arrays

STANDARD = (FrictionModel(),)


@pytest.fixture(scope="module")
def case() -> tuple[dyn_core.Robot, BaseColumns, Signals]:
    robot = with_drives(arm(SIX))
    return robot, base_columns(robot), measured(exact_motion(robot, 10.0), seed=0)


def rows_of(case: tuple, factor: int = 20, moved: Signals | None = None) -> Rows:
    """Return the equations of the given motion, by default that of the case, with standard friction."""
    moved = replace(moved or case[2], decimate=factor)
    return Rows(Equations(moved, case[1]), (STANDARD,) * 6)


def stacked(rows: Rows, sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All equations in one matrix."""
    blocks, right = [], []
    for _, pieces in rows.pieces():
        for i, (piece, deviation) in enumerate(zip(pieces, sigma, strict=True)):
            own = np.kron(np.eye(6)[i], piece[:, rows.shared : -1])
            blocks.append(np.hstack([piece[:, : rows.shared], own]) / deviation)
            right.append(piece[:, -1] / deviation)
    return np.concatenate(blocks), np.concatenate(right)


def test_ordinary_least_squares_agree_with_numpy(case: tuple) -> None:
    rows = rows_of(case)
    W, tau = stacked(rows, np.ones(6))
    found = ordinary(factors(rows))
    expected, rest, _, _ = np.linalg.lstsq(W, tau, rcond=None)
    np.testing.assert_allclose(found.x, expected, rtol=1e-7, atol=1e-9)
    spread = np.sqrt(rest[0] / (len(tau) - W.shape[1]) * np.diag(np.linalg.inv(W.T @ W)))
    np.testing.assert_allclose(found.deviations, spread, rtol=1e-6)
    assert found.condition == pytest.approx(np.linalg.cond(W / np.linalg.norm(W, axis=0)), rel=1e-6)


def test_weighted_least_squares_agree_with_numpy_for_the_found_weights(case: tuple) -> None:
    rows = rows_of(case)
    found = weighted(factors(rows))
    W, tau = stacked(rows, found.sigma)
    np.testing.assert_allclose(found.x, np.linalg.lstsq(W, tau, rcond=None)[0], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found.deviations, np.sqrt(np.diag(np.linalg.inv(W.T @ W))), rtol=1e-6)
    part = np.sum(residual_rows(rows, found.x) ** 2, axis=0) / (found.sigma**2 * len(rows))
    assert ((part > 0.9) & (part < 1.0)).all()


def test_the_size_of_pieces_does_not_matter(case: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    one = weighted(factors(rows_of(case)))
    monkeypatch.setattr(motion, "PIECE", 2000)
    monkeypatch.setattr(motion, "KEPT", 0)
    monkeypatch.setattr(least_squares, "WAITING", 100)
    data = factors(rows_of(case))
    np.testing.assert_allclose(one.x, weighted(data).x, rtol=1e-9, atol=1e-11)
    assert data.count.tolist() == [len(rows_of(case))] * 6
    squares = np.sum(residual_rows(rows_of(case), one.x) ** 2, axis=0)
    np.testing.assert_allclose(least_squares.residual_squares(data, one.x), squares, rtol=1e-7)


def test_segments_are_not_filtered_together(case: tuple) -> None:
    """Two halves of a motion with a gap give the equations of each half, and none across the gap."""
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


def test_dependent_columns_are_reported() -> None:
    random = np.random.default_rng(0)
    W = random.normal(size=(200, 4))
    W[:, 2] = W[:, 0] - 2.0 * W[:, 1]
    R = np.linalg.qr(np.column_stack([W, W @ [1.0, 2.0, 0.0, 3.0]]), mode="r")
    found = weighted(Factors(4, (R,), np.array([200])))
    assert found.identifiable.tolist() == [True, True, False, True]
    np.testing.assert_allclose(found.x, [1.0, 2.0, 0.0, 3.0], atol=1e-9)
    assert np.isinf(found.deviations[2])


def test_deviations_agree_with_repeated_measurements(case: tuple) -> None:
    """60 runs of one motion with different torque noise: each spread is known to about 9 %."""
    exact = exact_motion(case[0], 6.0)
    noise = 0.01 * np.abs(exact.tau).max(axis=0)
    random = np.random.default_rng(1)
    found = []
    for _ in range(60):
        tau = exact.tau + noise * random.normal(size=exact.tau.shape)
        rows = rows_of(case, 40, replace(exact, tau=tau))
        found.append(weighted(factors(rows)))
    spread = np.std([one.x for one in found], axis=0)
    # The zero-phase filter correlates the noise of successive samples.
    memory = rows.equations.decimation.memory
    claimed = np.sqrt(memory) * np.mean([one.deviations for one in found], axis=0)
    np.testing.assert_allclose(spread, claimed, rtol=0.35)
    assert np.mean(spread / claimed) == pytest.approx(1.0, abs=0.06)
    reported = deviations(rows, found[-1], residual_rows(rows, found[-1].x))
    assert np.all(
        reported >= standard_deviations.SAFETY * np.sqrt(memory) * found[-1].deviations * (1.0 - 1e-12)
    )


def test_correlated_residuals_raise_the_deviations(case: tuple) -> None:
    exact = exact_motion(case[0], 8.0)
    random = np.random.default_rng(2)
    slow = np.zeros_like(exact.tau)
    for k in range(1, len(slow)):
        slow[k] = 0.98 * slow[k - 1] + random.normal(size=6)
    rows = rows_of(case, 10, replace(exact, tau=exact.tau + 0.1 * slow))
    solution = weighted(factors(rows))
    errors = residual_rows(rows, solution.x)
    noisy = rows.equations.signals
    kept = noisy.decimation.segments(noisy.segments)
    assert np.all(whiteness(errors, rows.used, noisy.decimation, kept) < 1e-6)
    assert np.all(residuals(errors).effective < 0.5 * len(errors))
    assert np.median(deviations(rows, solution, errors) / solution.deviations) > 1.8
    np.testing.assert_allclose(residuals(random.normal(size=(2000, 3))).effective, 2000, rtol=0.3)


def test_outliers_get_small_weights(case: tuple) -> None:
    robot, base, moved = case
    hit = np.random.default_rng(3).random(moved.tau.shape) < 0.002
    rows = rows_of(case, 1, replace(moved, tau=moved.tau + 300.0 * hit))
    plain = weighted(factors(rows))
    robust, weights = reweighted(rows, plain.x)
    expected, scale = true_values(robot, base), weighted(factors(rows_of(case, 1))).deviations
    assert np.sqrt(np.mean(((robust.x - expected) / scale) ** 2)) < 3.0
    assert np.sqrt(np.mean(((plain.x - expected) / scale) ** 2)) > 10.0
    assert weights[hit].max() < 0.2 < np.median(weights)


@pytest.mark.parametrize("outliers", [0.0, 0.05])
def test_deviations_of_robust_estimates_agree_with_repeated_measurements(outliers: float) -> None:
    """3000 robust means of 200 numbers with some outliers."""
    random = np.random.default_rng(7)
    numbers = random.normal(size=(200, 3000))
    numbers += 10.0 * random.normal(size=numbers.shape) * (random.random(numbers.shape) < outliers)
    mean = numbers.mean(axis=0)
    for _ in range(20):
        w = huber_weights(numbers - mean) ** 2
        mean = (w * numbers).sum(axis=0) / w.sum(axis=0)
    spread = mean.std()
    claims = []
    for errors in (numbers - mean).T[:300, :, None]:
        weights = huber_weights(errors)
        curvature, inflation = standard_deviations.of_robust_weights(errors, weights)
        claimed = np.sqrt(np.sum(weights**2 * errors**2) / 200 / np.sum(weights**2))
        claims.append((inflation * claimed, claimed, curvature))
    honest, naive, curvature = np.mean(claims, axis=0)
    assert honest == pytest.approx(spread, rel=0.04)
    assert abs(naive / spread - 1.0) > 0.04  # too small without outliers, too large with them
    assert 0.8 < curvature < 1.0


def test_total_least_squares_reduce_the_bias_of_noisy_columns() -> None:
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
    with refused("noise-covariance-invalid"):
        total_least_squares(rows, np.zeros((4, 4)))


def test_instrumental_variables_remove_the_bias_of_noisy_positions(case: tuple) -> None:
    """Noisy positions bias least squares; the desired motion does not."""
    robot, base, _ = case
    robot = robot.with_parameters({f"Fs{j}": 0.0 for j in range(1, 7)})  # noise biases a sign differently
    exact = exact_motion(robot, 20.0)
    noisy = measured(exact, seed=5, position_noise=1e-3, cutoff=40.0)
    inner = slice(250, -250)
    without = replace(noisy, q=exact.q[inner], qd=exact.qd[inner], qdd=exact.qdd[inner])
    rows, instruments = rows_of(case, 10, noisy), rows_of(case, 10, without)
    plain = weighted(factors(rows))
    found = instrumental(rows, instruments, plain.sigma, plain.identifiable)
    expected = true_values(robot, base)
    error, biased = np.abs(found.x - expected), np.abs(plain.x - expected)
    rotors = [k for k, name in enumerate(base.kept) if name.startswith("Ia")]
    assert error[rotors].mean() < 0.2 * biased[rotors].mean()
    with refused("instruments-count"):
        instrumental(rows, rows_of(case), plain.sigma, plain.identifiable)


def test_essential_parameters_are_those_with_an_effect(case: tuple) -> None:
    solution = weighted(factors(rows_of(case)))
    needed = standard_deviations.essential(solution, np.ones(len(solution.x)))
    size = np.abs(true_values(*case[:2])) / solution.deviations
    assert needed[size > 8.0].mean() > 0.95
    assert not needed[size < 0.1].any()


def test_the_recursive_estimate_equals_that_of_all_samples(case: tuple) -> None:
    robot, base, _ = case
    t, q, qd, qdd = excitation(6, 12.0, seed=6)
    tau = dyn_core.compile_model(robot, backend="python").inverse_dynamics(q, qd, qdd)
    tau += 0.01 * np.abs(tau).max(axis=0) * np.random.default_rng(6).normal(size=tau.shape)
    estimator = RecursiveEstimator(base, STANDARD * 6, 1e-3)
    assert estimator.estimate() is None
    parts = slice(len(t) // 4 + 1), slice(len(t) // 4 + 1, None)
    early, late = (fed(estimator, q[part], qd[part], tau[part]) for part in parts)
    assert not early.converged()
    assert late.samples == len(t)
    z = (late.values - true_values(robot, base)) / late.deviations
    assert np.sqrt(np.mean(z**2)) < 1.5
    assert np.abs(z).max() < 4.5
    assert np.median(late.deviations / early.deviations) < 0.7
    assert estimator.names == (*base.names, *(f"{f}{j}" for j in range(1, 7) for f in ("Fv", "Fs", "Fo")))


def fed(estimator: RecursiveEstimator, *samples: np.ndarray) -> RecursiveEstimate | None:
    for sample in zip(*samples, strict=True):
        estimator.add(*sample)
    return estimator.estimate()


def test_recursive_estimate_forgets(case: tuple) -> None:
    """With a short memory, a payload that is added halfway is found."""
    robot, base, _ = case
    loaded = robot.with_payload("link_6", 2.0, (0.0, 0.0, 0.1))
    t, q, qd, qdd = excitation(6, 20.0, seed=7)
    before, after = (
        dyn_core.compile_model(one, backend="python").inverse_dynamics(q, qd, qdd) for one in (robot, loaded)
    )
    tau = np.where(np.arange(len(t))[:, None] < len(t) // 2, before, after)
    found = fed(RecursiveEstimator(base, STANDARD * 6, 1e-3, memory=1.5), q, qd, tau)
    gravity = [k for k, name in enumerate(base.kept) if name.startswith(("MX", "MY"))]
    expected = true_values(loaded, base)
    np.testing.assert_allclose(found.values[gravity], expected[gravity], atol=0.03)


def test_noise_free_torques_have_no_residual(case: tuple) -> None:
    robot, base, _ = case
    rows = rows_of(case, 1, exact_motion(robot, 8.0))
    data = factors(rows)
    found = weighted(data)
    np.testing.assert_allclose(found.x, true_values(robot, base), rtol=1e-7, atol=1e-8)
    left, whole = (least_squares.residual_squares(data, x) for x in (found.x, 0.0 * found.x))
    assert np.all(left < 1e-18 * whole)


GOOD, BAD = np.zeros((5, 2)), np.where(np.arange(10).reshape(5, 2) == 7, np.nan, 0.0)


@pytest.mark.parametrize(
    ("t", "arrays", "code", "values"),
    [
        (range(5), (GOOD, GOOD[:4], GOOD, GOOD), "signal-array-shape", {"argument": "qd", "samples": 5}),
        (range(5), (GOOD, GOOD, GOOD, BAD), "sample-not-finite", {"argument": "tau", "sample": 3}),
        ([0, 1, 1, 2, 3], (GOOD,) * 4, "time-array-not-increasing", {"sample": 1}),
        (range(5), (GOOD, GOOD, GOOD, np.nan * GOOD), "effort-array-empty", {}),
        ([0], (GOOD[:1],) * 4, "time-array-shape", {}),
    ],
)
def test_invalid_arrays_of_a_motion(t: Any, arrays: tuple, code: str, values: dict) -> None:
    with refused(code, **values):
        signals_of_arrays("ab", np.array(t, dtype=float), *arrays)


def test_dependent_columns_do_not_affect_the_columns_after_them() -> None:
    """Nine rows of rank 5 whose first columns are 0 or equal: all 5 are found."""
    random = np.random.default_rng(8)
    a = random.normal(size=(9, 5))
    zero = np.zeros(9)
    first = [zero, zero, a[:, 0], zero, a[:, 0], a[:, 1], zero]
    columns = np.column_stack([*first, *a[:, 2:].T, a[:, 1] - a[:, 4]])
    x = np.zeros(columns.shape[1])
    x[[2, 5, 7, 8, 9]] = [1.0, -2.0, 3.0, 0.5, 4.0]
    found = ordinary(Factors(len(x), (np.column_stack([columns, columns @ x]),), np.array([9])))
    assert np.flatnonzero(found.identifiable).tolist() == [2, 5, 7, 8, 9]
    np.testing.assert_allclose(found.x, x, atol=1e-12)


# Products of scores over lags do not depend on the pieces in which the equations come.


@dataclass(frozen=True)
class Pieces:
    """Equations of one joint, in pieces as in `Rows`."""

    table: np.ndarray
    lengths: tuple[int, ...]
    columns: tuple[range, ...] = (range(3),)

    def pieces(self) -> Iterator[tuple[slice, list[np.ndarray]]]:
        for end, length in zip(np.cumsum(self.lengths).tolist(), self.lengths, strict=True):
            yield slice(end - length, end), [self.table[end - length : end]]


@pytest.mark.parametrize("lengths", [(30,), (1, 29), (2, 1, 27), (10, 1, 1, 18), (29, 1), (1,) * 30])
@pytest.mark.parametrize("lag", [0, 1, 5, 12])
def test_pieces_shorter_than_the_lag(lengths: tuple[int, ...], lag: int) -> None:
    table, errors = np.hsplit(np.random.default_rng(0).normal(size=(30, 5)), [4])
    rows: Any = Pieces(table, lengths)
    found = standard_deviations.score_products(rows, np.array([2.0]), errors, lag, np.zeros(3))
    scores = table[:, :3] * errors / 4.0
    apart = np.abs(np.subtract.outer(np.arange(30), np.arange(30)))
    expected = scores.T @ np.clip(1.0 - apart / (lag + 1.0), 0.0, None) @ scores
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


# White residuals are distinguished from those of an incomplete model, after any filter.


def white(left: np.ndarray, decimation: Decimation) -> np.ndarray:
    """Return the whiteness of residuals in one stretch, all used."""
    return whiteness(left, np.ones(left.shape, dtype=bool), decimation, [(0, len(left))])


@pytest.mark.parametrize("factor", [1, 2, 5, 20])
def test_white_noise_is_white_behind_the_filter(factor: int) -> None:
    """p-values are uniform between 0 and 1: each quarter has 50 of 200, with a standard deviation of 6."""
    decimation = Decimation(factor)
    noise = np.random.default_rng(factor).normal(size=(600 * factor, 200))
    counts, _ = np.histogram(white(decimation.of(noise), decimation), bins=4, range=(0.0, 1.0))
    assert counts.sum() == 200
    assert np.all(np.abs(counts - 50) < 4 * 6.1)


@pytest.mark.parametrize("factor", [1, 5])
def test_an_incomplete_model_is_detected(factor: int) -> None:
    decimation = Decimation(factor)
    noise = np.random.default_rng(0).normal(size=(600 * factor, 20))
    slow = np.sin(2.0 * np.pi * np.arange(len(noise)) / (40.0 * factor))[:, None]
    left = decimation.of(noise / np.sqrt(factor) + slow)
    assert np.all(white(left, decimation) < 1e-3)


def test_gaps_and_resting_joints_are_not_taken_for_correlation() -> None:
    """Zeros where equations are missing, and another level after a gap, have no effect."""
    decimation = Decimation(5)
    left = decimation.of(np.random.default_rng(0).normal(size=(5000, 50)))
    used = np.ones(left.shape, dtype=bool)
    used[600:700] = False
    left[600:700] = 50.0
    found = whiteness(left, used, decimation, [(0, 400), (400, len(left))])
    assert np.median(found) == pytest.approx(0.5, abs=0.2)


def test_too_few_residuals_give_no_result() -> None:
    left = Decimation(5).of(np.random.default_rng(0).normal(size=(600, 2)))
    assert np.isnan(white(left, Decimation(5))).all()
    assert np.isnan(white(0.0 * left, Decimation(1))).all()


def test_rows_of_an_estimate_give_its_part_to_parameters_that_no_equation_tells_apart() -> None:
    """The third column is twice the first one and three times the second one, of much smaller numbers."""
    random = np.random.default_rng(0)
    W = random.normal(size=(9, 3)) * [100.0, 0.01, 1.0]
    W[:, 2] = 2.0 * W[:, 0] + 3.0 * W[:, 1]
    kept, x = np.array([True, True, False]), np.array([0.5, -4.0, 0.0])
    R = np.zeros((3, 3))
    R[:2, :2] = np.linalg.qr(W[:, :2])[1]
    rows = information_rows(Solution(x, np.ones(1), R, kept, 1.0), np.column_stack([W, W @ x]))
    np.testing.assert_allclose(rows[:, :3], R[:2, :2] @ [[1.0, 0.0, 2.0], [0.0, 1.0, 3.0]], rtol=1e-9)
    np.testing.assert_allclose(rows[:, 3], R[:2, :2] @ x[:2])
