# SPDX-License-Identifier: Apache-2.0
"""Physically consistent parameters are possible, the best of those, and expected where nothing is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_truth import SIX, arm, exact_motion, measured, true_values, with_drives

from dyn_core.identification.estimators.described_parameters import consistent_parameters, expected_bodies
from dyn_core.identification.estimators.least_squares import residual_squares, system, weighted
from dyn_core.identification.estimators.physical_consistency import Prior, consistent
from dyn_core.identification.factors import factors
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.pseudo_inertia import (
    congruence,
    is_possible,
    nearest_possible,
    parameters_of,
    pseudo_inertia,
)
from dyn_core.identification.regressor.base_columns import base_columns
from dyn_core.identification.regressor.motion_equations import Equations
from dyn_core.identification.remarks import of_impossible
from dyn_core.identification.rows import Rows
from dyn_core.linalg.transform import Transform
from dyn_core.robot.links import InertialParameters, in_frame

POINTS = st.lists(
    st.tuples(*[st.floats(-1.0, 1.0)] * 3, st.floats(0.1, 2.0)).map(np.array), min_size=5, max_size=8
)


def of_points(points: list[np.ndarray]) -> np.ndarray:
    """Ten parameters of some masses at points."""
    J = sum(m * (np.dot(r, r) * np.eye(3) - np.outer(r, r)) for *r, m in points)
    MS = sum(m * np.array(r) for *r, m in points)
    return np.array([J[0, 0], J[0, 1], J[0, 2], J[1, 1], J[1, 2], J[2, 2], *MS, sum(p[3] for p in points)])


@given(POINTS)
@settings(max_examples=50, deadline=None)
def test_pseudo_inertia_of_masses(points: list[np.ndarray]) -> None:
    k = of_points(points)
    P = pseudo_inertia(k)
    homogeneous = [np.append(p[:3], 1.0) for p in points]
    expected = sum(p[3] * np.outer(h, h) for p, h in zip(points, homogeneous, strict=True))
    np.testing.assert_allclose(P, expected, atol=1e-12)
    np.testing.assert_allclose(parameters_of(P), k, atol=1e-12)
    assert np.linalg.eigvalsh(P).min() > -1e-12


def test_congruence_is_a_change_of_frame() -> None:
    k = of_points([np.array(p) for p in ((0.1, 0.2, 0.3, 1.0), (-0.3, 0.1, 0.0, 2.0), (0.0, -0.2, 0.5, 0.5))])
    c, s = np.cos(0.4), np.sin(0.4)
    R, p = ((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0)), (0.3, -0.1, 0.2)
    moved = in_frame(Transform(R, p), InertialParameters(*k.tolist())).values
    T = np.block([[np.array(R), np.array(p)[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])
    np.testing.assert_allclose(congruence(T) @ k, moved, atol=1e-12)


@pytest.mark.parametrize(
    ("k", "possible"),
    [
        ([1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0], True),
        ([1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, -1.0], False),  # mass
        ([3.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0], False),  # triangle inequality
        ([1.0, 1.5, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0], False),  # not positive definite
        ([1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.9, 0.0, 0.0, 1.0], False),  # centre of mass too far out
    ],
)
def test_what_bodies_can_be(k: list[float], possible: bool) -> None:
    assert is_possible(np.array(k)) is possible
    repaired = nearest_possible(np.array(k), 0.01, 0.01)
    assert is_possible(repaired)
    if possible:
        np.testing.assert_allclose(repaired, k, atol=1e-9)


def identified(robot, moved, weight=1.0):
    base = base_columns(robot)
    models = (FrictionModel(),) * 6
    data = factors(Rows(Equations(moved, base), tuple((m,) for m in models)))
    solution = weighted(data)
    found = consistent_parameters(
        robot, base, models, system(data, solution.sigma), int(data.count.max()), weight
    )
    return base, data, solution, found


def test_truth_is_found_and_possible() -> None:
    expected, real = arm(SIX), with_drives(arm(SIX))
    base, data, solution, found = identified(expected, measured(exact_motion(real, 12.0), seed=0))
    assert all(is_possible(body) for body in found.standard)
    assert np.all(found.Ia >= 0.0)
    assert np.all(found.x[len(base.kept) :].reshape(6, 3)[:, :2] >= 0.0)
    z = (found.x - true_values(real, base)) / solution.deviations
    assert np.sqrt(np.mean(z**2)) < 1.5
    whole = data.merged()
    assert np.all(residual_squares(whole, found.x) < 1.02 * residual_squares(whole, solution.x))
    np.testing.assert_allclose(
        base.matrix @ np.column_stack([found.standard, found.Ia]).ravel(), found.x[: len(base.kept)]
    )


def test_what_is_not_shown_is_as_expected() -> None:
    """The mass of the first link of an arm on the floor moves nothing: it stays what it was."""
    expected, real = arm(SIX), with_drives(arm(SIX))
    _, _, _, found = identified(expected, measured(exact_motion(real, 12.0), seed=0))
    bodies, impossible = expected_bodies(expected)
    assert impossible == ()
    np.testing.assert_allclose(found.standard[0, 9], bodies[0, 9], rtol=0.35)
    assert found.informed[0, 9] < 0.2  # of M1
    assert found.informed[5, 6] > 0.9  # of MX6


def test_impossible_estimates_become_possible() -> None:
    """Torques so noisy that least squares have bodies that cannot be, and rotors that drive."""
    expected, real = arm(SIX), with_drives(arm(SIX))
    noisy = measured(exact_motion(real, 6.0), seed=1, torque_noise=3.0)
    base, _, solution, found = identified(expected, noisy)
    rotors = [k for k, name in enumerate(base.kept) if name.startswith("Ia")]
    assert solution.x[rotors].min() < 0.0
    assert all(is_possible(body) for body in found.standard)
    assert np.all(found.Ia >= 0.0)


def test_impossible_descriptions_are_repaired() -> None:
    robot = arm(SIX)
    values = np.array(robot.parameters).reshape(6, 14)
    values[3, :10] = 0.0
    values[4, 0] = 5.0
    robot = robot.with_parameters(values.ravel())
    bodies, impossible = expected_bodies(robot)
    assert impossible == (4, 5)
    assert all(is_possible(body) for body in bodies)
    _, _, _, found = identified(robot, measured(exact_motion(with_drives(arm(SIX)), 6.0), seed=2))
    assert all(is_possible(body) for body in found.standard)


def test_links_without_mass_are_no_mistake() -> None:
    robot = arm(SIX)
    values = np.array(robot.parameters).reshape(6, 14)
    values[3, :10] = 0.0
    assert of_impossible(robot.with_parameters(values.ravel())) == ()
    values[4, 0] = 5.0
    (one,) = of_impossible(robot.with_parameters(values.ravel()))
    assert f"to what {robot.joint_names[4]} carries: the nearest" in one.replace("'", "")
    values[2, 0] = 50.0
    (two,) = of_impossible(robot.with_parameters(values.ravel()))
    assert f"to what {robot.joint_names[2]}, {robot.joint_names[4]} carry: the" in two.replace("'", "")


@given(st.integers(0, 10_000), st.floats(-3.0, 3.0))
@settings(max_examples=40, deadline=None)
def test_it_is_the_minimum(seed: int, exponent: float) -> None:
    """No possible parameters nearby are better; there is one minimum, so none far away is either."""
    random = np.random.default_rng(seed)
    body = of_points([np.append(random.normal(size=3), random.uniform(0.2, 1.0)) for _ in range(6)])
    W = random.normal(size=(6, 12))
    truth = np.concatenate([body * random.uniform(0.5, 2.0, 10), random.normal(size=2)])
    tau = W @ truth + random.normal(size=6)
    sigma = 10.0**exponent
    prior = Prior(
        body[None, :], 0.5, np.ones(2), np.full(2, 0.1), np.array([True, False]), np.array([1.0, 0.3])
    )
    found = consistent([np.column_stack([W, tau])], np.array([sigma]), [np.eye(12)], prior)

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


def test_the_weight_of_the_description_matters_where_little_is_measured() -> None:
    expected, real = arm(SIX), with_drives(arm(SIX))
    moved = measured(exact_motion(real, 6.0), seed=3, torque_noise=0.2)
    bodies, _ = expected_bodies(expected)
    far = [
        np.abs(identified(expected, replace(moved), weight)[3].standard - bodies).mean()
        for weight in (1e-2, 1e2)
    ]
    assert far[1] < 0.7 * far[0]
