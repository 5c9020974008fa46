# SPDX-License-Identifier: Apache-2.0
"""Recursive estimation from samples as they come, against the parameters that made them."""

from __future__ import annotations

import numpy as np
import pytest
from robot_files import ROBOTS

from dyn_core import compile_model, load_robot
from dyn_core.control.rich_motion import rich_motion
from dyn_core.identification.base_columns import BaseColumns, base_columns
from dyn_core.identification.online import Convergence, OnlineEstimator

ROBOT = load_robot(ROBOTS["rrp"])
PERIOD = 2e-3
T = np.arange(0.0, 8.0, PERIOD)
Q, QD, QDD = rich_motion(compile_model(ROBOT), 8.0).at_many(T)
TAU = compile_model(ROBOT).inverse_dynamics(Q, QD, QDD)


@pytest.fixture(scope="module")
def base() -> BaseColumns:
    return base_columns(ROBOT)


@pytest.fixture(scope="module")
def truth(base: BaseColumns) -> np.ndarray:
    known = dict(zip(ROBOT.parameter_names, ROBOT.parameters, strict=True))
    return np.asarray(base.matrix @ np.array([known[name] for name in base.standard_names]))


def fed(estimator: OnlineEstimator, kept: np.ndarray, *, velocities: bool = True) -> OnlineEstimator:
    for k in np.flatnonzero(kept):
        estimator.add(float(T[k]), Q[k], QD[k] if velocities else None, TAU[k])
    return estimator


def error(estimator: OnlineEstimator, truth: np.ndarray) -> float:
    estimate = estimator.estimate()
    assert estimate is not None
    found = estimate.values[: len(truth)]
    return float(np.linalg.norm(found - truth) / np.linalg.norm(truth))


def test_the_parameters_are_found(base: BaseColumns, truth: np.ndarray) -> None:
    estimator = fed(OnlineEstimator(base), np.ones(len(T), dtype=bool))
    assert estimator.period == pytest.approx(PERIOD)
    assert error(estimator, truth) < 0.01


def test_without_velocities_too(base: BaseColumns, truth: np.ndarray) -> None:
    assert error(fed(OnlineEstimator(base), np.ones(len(T), dtype=bool), velocities=False), truth) < 0.01


def test_gaps_and_repetitions_do_no_harm(base: BaseColumns, truth: np.ndarray) -> None:
    kept = np.ones(len(T), dtype=bool)
    for begin in range(500, 3500, 500):
        kept[begin : begin + 100] = False
    estimator = OnlineEstimator(base)
    for k in np.flatnonzero(kept):
        for _ in range(2):
            estimator.add(float(T[k]), Q[k], QD[k], TAU[k])
    assert error(estimator, truth) < 0.01


def test_a_robot_that_stands_shows_nothing(base: BaseColumns, truth: np.ndarray) -> None:
    estimator = fed(OnlineEstimator(base), np.ones(len(T), dtype=bool))
    before = estimator.samples
    for k in range(2000):  # stiction holds it with any torque up to what sets it off
        estimator.add(float(T[-1] + PERIOD * (k + 1)), Q[-1], np.zeros(3), TAU[-1] + 0.3)
    assert estimator.samples < before + 100
    assert error(estimator, truth) < 0.01


def test_one_estimate_alone_does_not_say_that_it_has_converged(base: BaseColumns) -> None:
    estimator = fed(OnlineEstimator(base), np.ones(len(T), dtype=bool))
    convergence = Convergence(0.05)
    changes = []
    for _ in range(6):
        estimate = estimator.estimate()
        assert estimate is not None
        changes.append(convergence.look(estimate))
    assert convergence.reached
    assert changes.count(True) == 1
    assert not any(changes[:2])
