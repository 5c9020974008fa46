# SPDX-License-Identifier: Apache-2.0
"""Consistent parameters are physically possible, optimal, and equal to the prior where data show nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from simulated_truth import SIX, arm, exact_motion, measured, true_values, with_drives

from dyn_core.identification.diagnosis.reliability import cost_of_possible, of_impossible
from dyn_core.identification.estimators import physical_consistency as physical
from dyn_core.identification.estimators.described_parameters import consistent_parameters, expected_bodies
from dyn_core.identification.estimators.least_squares import factors, residual_squares, system, weighted
from dyn_core.identification.estimators.physical_consistency import is_possible, pseudo_inertia
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.friction.friction_selection import rows_of
from dyn_core.identification.regressor.base_columns import base_columns
from dyn_core.identification.regressor.motion_equations import Equations
from dyn_core.robot.links import InertialParameters, in_frame
from dyn_core.symbolic.transform import Transform

POINT = st.tuples(*[st.floats(-1.0, 1.0)] * 3, st.floats(0.1, 2.0))
POINTS = st.lists(POINT.map(np.array), min_size=5, max_size=8)


def of_points(points: list[np.ndarray]) -> np.ndarray:
    """Ten parameters of some point masses."""
    J = sum(m * (np.dot(r, r) * np.eye(3) - np.outer(r, r)) for *r, m in points)
    MS = sum(m * np.array(r) for *r, m in points)
    return np.array([J[0, 0], J[0, 1], J[0, 2], J[1, 1], J[1, 2], J[2, 2], *MS, sum(p[3] for p in points)])


@given(POINTS)
@settings(max_examples=50, deadline=None)
def test_pseudo_inertia_of_point_masses(points: list[np.ndarray]) -> None:
    k = of_points(points)
    P = pseudo_inertia(k)
    expected = sum(m * np.outer((*r, 1.0), (*r, 1.0)) for *r, m in points)
    np.testing.assert_allclose(P, expected, atol=1e-12)
    np.testing.assert_allclose(physical.parameters_of(P), k, atol=1e-12)
    assert np.linalg.eigvalsh(P).min() > -1e-12


def test_congruence_is_a_change_of_frame() -> None:
    k = of_points(list(np.array([(0.1, 0.2, 0.3, 1.0), (-0.3, 0.1, 0.0, 2.0), (0.0, -0.2, 0.5, 0.5)])))
    c, s = np.cos(0.4), np.sin(0.4)
    R, p = ((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0)), (0.3, -0.1, 0.2)
    moved = in_frame(Transform(R, p), InertialParameters(*k.tolist())).values
    T = np.block([[np.array(R), np.array(p)[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])
    np.testing.assert_allclose(physical.congruence(T) @ k, moved, atol=1e-12)


BALL = [0.1, 0.0, 0.0, 0.1, 0.0, 0.1, 0.0, 0.0, 0.0, 2.0]


@pytest.mark.parametrize(
    ("body", "possible", "nearly"),
    [
        (BALL, True, True),
        ([0.0, 0.0, 0.0, 0.02, 0.0, 0.02, 0.2, 0.0, 0.0, 2.0], False, True),  # a rod
        ([0.0] * 9 + [2.0], False, True),  # a point
        ([0.0] * 10, False, True),
        ([*BALL[:9], -2.0], False, False),  # negative mass
        ([-0.001, *BALL[1:]], False, False),
        ([0.3, *BALL[1:]], False, False),  # violates the triangle inequality
        ([0.1, 0.15, *BALL[2:]], False, False),  # not positive definite
        ([*BALL[:6], 5.0, *BALL[7:]], False, False),  # centre of mass too far out
        ([*BALL[:9], np.nan], False, False),
    ],
)
def test_possible_bodies_and_bodies_at_the_boundary(body: list[float], possible: bool, nearly: bool) -> None:
    assert is_possible(np.array(body)) == possible
    assert physical.is_nearly_possible(np.array(body)) == nearly
    if np.isfinite(body).all():
        repaired = physical.nearest_possible(np.array(body), 0.01, 0.01)
        assert is_possible(repaired)
        if possible:
            np.testing.assert_allclose(repaired, body, atol=1e-9)


def identified(robot, moved, weight=1.0):
    base = base_columns(robot)
    models = (FrictionModel(),) * 6
    data = factors(rows_of(Equations(moved, base), models))
    solution = weighted(data)
    rows = system(data, solution.sigma)
    found = consistent_parameters(base, models, rows, int(data.count.max()), weight)
    assert all(is_possible(body) for body in found.standard)
    assert np.all(found.Ia >= 0.0)
    return base, data, solution, found


EXPECTED, REAL = arm(SIX), with_drives(arm(SIX))


def test_truth_is_found_and_possible() -> None:
    """Unidentifiable parameters keep the prior, as the mass of the first link of an arm on the floor."""
    base, data, solution, found = identified(EXPECTED, measured(exact_motion(REAL, 12.0), seed=0))
    assert np.all(found.x[len(base.kept) :].reshape(6, 3)[:, :2] >= 0.0)
    z = (found.x - true_values(REAL, base)) / solution.deviations
    assert np.sqrt(np.mean(z**2)) < 1.5
    assert np.all(residual_squares(data, found.x) < 1.02 * residual_squares(data, solution.x))
    standard = np.column_stack([found.standard, found.Ia]).ravel()
    np.testing.assert_allclose(base.matrix @ standard, found.x[: len(base.kept)])
    bodies, impossible = expected_bodies(EXPECTED)
    assert impossible == ()
    np.testing.assert_allclose(found.standard[0, 9], bodies[0, 9], rtol=0.35)
    assert found.informed[0, 9] < 0.2  # for M1
    assert found.informed[5, 6] > 0.9  # for MX6


def test_impossible_estimates_become_possible() -> None:
    """With very noisy torques, least squares give impossible bodies and rotors with negative inertia."""
    noisy = measured(exact_motion(REAL, 6.0), seed=1, torque_noise=3.0)
    base, _, solution, _ = identified(EXPECTED, noisy)
    assert min(x for name, x in zip(base.kept, solution.x, strict=False) if name.startswith("Ia")) < 0.0


def test_impossible_descriptions_are_repaired() -> None:
    """A link without mass is allowed."""
    values = np.array(EXPECTED.parameters).reshape(6, 14)
    values[3, :10] = 0.0
    assert of_impossible(EXPECTED.with_parameters(values.ravel())) == ()
    values[4, 0] = 5.0
    wrong = EXPECTED.with_parameters(values.ravel())
    (one,) = of_impossible(wrong)
    assert (one.code, one.values["joints"]) == ("described-body-impossible", ("joint_5",))
    bodies, impossible = expected_bodies(wrong)
    assert impossible == (4, 5)
    assert all(is_possible(body) for body in bodies)
    identified(wrong, measured(exact_motion(REAL, 6.0), seed=2))
    values[2, 0] = 50.0
    (two,) = of_impossible(EXPECTED.with_parameters(values.ravel()))
    assert (two.code, two.values["joints"]) == ("described-bodies-impossible", ("joint_3", "joint_5"))


@example(3400, -2.96875)  # noise for which the objective has too few digits to descend further
@given(st.integers(0, 10_000), st.floats(-3.0, 3.0))
@settings(max_examples=40, deadline=None)
def test_the_result_is_the_minimum(seed: int, exponent: float) -> None:
    """No possible parameters nearby are better. The problem is convex, so there is no other minimum."""
    random = np.random.default_rng(seed)
    body = of_points([np.append(random.normal(size=3), random.uniform(0.2, 1.0)) for _ in range(6)])
    W = random.normal(size=(6, 12))
    truth = np.concatenate([body * random.uniform(0.5, 2.0, 10), random.normal(size=2)])
    tau = W @ truth + random.normal(size=6)
    sigma = 10.0**exponent
    nonnegative, centres = np.array([True, False]), np.array([1.0, 0.3])
    prior = physical.Prior(body[None, :], 0.5, np.ones(2), np.full(2, 0.1), nonnegative, centres)
    found = physical.consistent([np.column_stack([W, tau])], np.array([sigma]), [np.eye(12)], prior)

    def cost(x: np.ndarray) -> float:
        P = np.linalg.solve(pseudo_inertia(body), pseudo_inertia(x[:10]))
        sign, logarithm = np.linalg.slogdet(P)
        if sign <= 0.0 or not is_possible(x[:10]) or x[10] <= 0.0:
            return np.inf
        rest = np.sum((W @ x - tau) ** 2) / (2.0 * sigma**2)
        barrier = 0.5 * (np.trace(P) - logarithm) + 0.1 * (x[10] - np.log(x[10]))
        return float(rest + barrier + 0.05 * (x[11] - 0.3) ** 2)

    least = cost(found.x)
    assert np.isfinite(least)
    spread = np.sqrt(np.diag(found.covariance))
    for _ in range(30):
        step = spread * random.normal(size=12) * 10.0 ** random.uniform(-3.0, 0.5)
        assert cost(found.x + step) >= least - 1e-5 * max(1.0, abs(least)) * 1e-3 - 2e-6


def test_the_weight_of_the_prior_matters_where_little_is_measured() -> None:
    moved = measured(exact_motion(REAL, 6.0), seed=3, torque_noise=0.2)
    found = [identified(EXPECTED, replace(moved), weight)[3].standard for weight in (1e-2, 1e2)]
    far = [np.abs(bodies - expected_bodies(EXPECTED)[0]).mean() for bodies in found]
    assert far[1] < 0.7 * far[0]


def test_slopes_of_the_objective_are_those_of_its_value() -> None:
    """A body, a parameter that cannot be negative and one that can."""
    random = np.random.default_rng(0)
    W = random.normal(size=(20, 12))
    held = np.array([True, False])
    prior = physical.Prior(
        np.zeros((1, 10)), 0.3, np.ones(2), np.array([2.0, 30.0]), held, np.array([1.0, -0.5])
    )
    objective = physical._Objective(W.T @ W, random.normal(size=12), prior)
    y = np.concatenate([physical._UNIT + 0.1 * random.normal(size=10), [0.7, 0.4]])
    T, gradient, _ = objective.derivatives(y)
    for k in range(12):
        h = 1e-5 * T[:, k]
        assert (objective.value(y + h) - objective.value(y - h)) / 2e-5 == pytest.approx(
            gradient[k], rel=1e-6
        )


@pytest.mark.parametrize(
    ("plain", "possible", "is_told"),
    [(0.02, 0.05, False), (0.001, 0.009, False), (0.02, 0.07, True), (0.001, 0.02, True)],
)
def test_possible_bodies_have_to_fit_three_times_worse_to_be_doubtful(
    plain: float, possible: float, is_told: bool
) -> None:
    """And by more than 1 % of the torque."""
    codes = [remark.code for remark in cost_of_possible(plain, possible)]
    assert codes == (["bodies-fit-badly"] if is_told else [])
