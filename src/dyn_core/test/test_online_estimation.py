# SPDX-License-Identifier: Apache-2.0
"""Recursive estimation from samples as they come, against the parameters that made them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from robot_files import ROBOTS

from dyn_core import Robot, compile_model, load_robot, with_model_error
from dyn_core.control.rich_motion import rich_motion
from dyn_core.identification.online.online import Convergence, OnlineEstimator
from dyn_core.identification.online_standard import online_standard
from dyn_core.identification.pseudo_inertia import is_possible
from dyn_core.identification.regressor.base_columns import BaseColumns, base_columns

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


def test_standard_parameters_make_the_same_torques_and_are_those_of_bodies(base: BaseColumns) -> None:
    """What is known of a robot that is described badly goes into all parameters that its models take."""
    described = with_model_error(ROBOT, 0.2, 0)
    estimator = OnlineEstimator(base_columns(described))
    noise = np.random.default_rng(0).normal(0.0, 0.2, TAU.shape)
    for t, q, qd, tau in zip(T.tolist(), Q, QD, TAU + noise, strict=True):
        estimator.add(t, q, qd, tau)
    knowledge = estimator.knowledge()
    assert knowledge is not None
    found = online_standard(knowledge)
    assert found.names == ROBOT.parameter_names
    robot = described.with_parameters(dict(zip(found.names, found.values, strict=True)))
    for j in range(len(robot.joints)):
        assert is_possible(np.array(robot.parameters[14 * j : 14 * j + 10]))
    q, qd, qdd = rich_motion(compile_model(ROBOT), 8.0, seed=7).at_many(T)
    tau = compile_model(ROBOT).inverse_dynamics(q, qd, qdd)

    def error_of(one: Robot) -> float:
        return float(
            np.linalg.norm(compile_model(one).inverse_dynamics(q, qd, qdd) - tau) / np.linalg.norm(tau)
        )

    assert error_of(robot) < 0.005 < 0.08 < error_of(described)


def test_before_there_is_enough_nothing_is_known(base: BaseColumns) -> None:
    assert OnlineEstimator(base).knowledge() is None


@pytest.mark.parametrize("tau", [np.zeros(3), np.array([1.0, 0.0, 0.0]), np.full(3, 1e9)])
@pytest.mark.parametrize("forgetting", [math.inf, 0.1])
def test_torques_that_are_always_the_same_do_no_harm(
    tau: np.ndarray, forgetting: float, base: BaseColumns
) -> None:
    estimator = OnlineEstimator(base, memory=forgetting)
    for k in range(2000):
        estimator.add(float(T[k]), Q[k], QD[k], tau)
    for _ in range(3):
        estimate = estimator.estimate()
        assert estimate is None or np.isfinite(estimate.values).all()
