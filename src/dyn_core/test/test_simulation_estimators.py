# SPDX-License-Identifier: Apache-2.0
"""Estimators that simulate the robot: unbiased despite noisy positions, and from torques alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from refusals import refused
from robots import example
from simulated_truth import true_values

import dyn_core
from dyn_core.identification.estimators.simulation_estimators import by_simulation, simulated
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.regressor.base_columns import BaseColumns, base_columns
from dyn_core.identification.regressor.motion_equations import Equations
from dyn_core.logs.conditioning.signals import Signals, signals_of_arrays
from dyn_core.logs.log import Control

MODELS = (FrictionModel(),) * 3
FRICTION = np.array([1.2, 0.4, 0.1, 0.9, 0.3, -0.1, 8.0, 1.0, 0.2])


@pytest.fixture(scope="module")
def case() -> tuple[dyn_core.Robot, BaseColumns, Control, Signals]:
    """A robot under a controller, and its motion; its description has no friction."""
    robot = example("rrp")
    t = np.arange(8000) * 1e-3
    wish = np.stack([np.sin(1.3 * t), 0.8 * np.sin(1.9 * t + 1.0), 0.2 + 0.1 * np.sin(2.4 * t)], axis=1)
    speed = np.gradient(wish, 1e-3, axis=0)
    gains = np.array([[400.0, 400.0, 900.0], [40.0, 40.0, 60.0], [1e4] * 3])
    control = Control(wish, speed, np.zeros_like(wish), *gains)
    model = dyn_core.compile_model(robot, friction=False)
    start = signals_of_arrays(robot.joint_names, t, wish, speed, 0.0 * wish, 0.0 * wish)
    return robot, base_columns(robot), control, simulated(model, MODELS, FRICTION, control, start)


def test_the_simulated_motion_obeys_the_model(case: tuple) -> None:
    """Its torques agree with inverse dynamics, and it follows the desired motion."""
    robot, _, control, moved = case
    model = dyn_core.compile_model(robot, friction=False)
    friction = FRICTION.reshape(3, 3)
    torque = model.inverse_dynamics(moved.q, moved.qd, moved.qdd)
    torque += friction[:, 0] * moved.qd + friction[:, 1] * np.sign(moved.qd) + friction[:, 2]
    slow = np.abs(moved.qd) < 0.05  # where the sign function is smoothed
    np.testing.assert_allclose(np.where(slow, 0.0, torque), np.where(slow, 0.0, moved.tau), atol=2e-2)
    integrated = moved.q[0] + np.cumsum(moved.qd * 1e-3, axis=0)
    np.testing.assert_allclose(integrated, moved.q, atol=2e-3)
    assert np.abs(moved.q - control.q).max() < 0.3


@pytest.mark.parametrize("method", ["iv", "oe"])
def test_parameters_are_found_despite_noise(case: tuple, method: str) -> None:
    robot, base, control, moved = case
    random = np.random.default_rng(0)
    rough = moved.q + 2e-4 * random.normal(size=moved.q.shape)
    kernel = np.hanning(41) / np.hanning(41).sum()
    q = np.stack([np.convolve(column, kernel, mode="same") for column in rough.T], axis=1)
    qd = np.gradient(q, 1e-3, axis=0)
    qdd = np.gradient(qd, 1e-3, axis=0)
    tau = moved.tau + 0.02 * np.abs(moved.tau).max(axis=0) * random.normal(size=moved.tau.shape)
    arrays = (array[100:-100] for array in (moved.time, q, qd, qdd, tau))
    noisy = signals_of_arrays(moved.joint_names, *arrays, decimate=10)
    noisy = replace(noisy, control=control.part(100, len(moved) - 100))
    found = by_simulation(Equations(noisy, base), MODELS, method)  # type: ignore[arg-type]
    expected = np.concatenate([true_values(robot, base)[: len(base.kept)], FRICTION])
    z = (found.fit.solution.x - expected) / found.fit.solution.deviations
    assert np.sqrt(np.mean(z**2)) < 3.0
    assert found.rounds <= 5
    np.testing.assert_allclose(found.signals.q, moved.q[100:-100], atol=5e-3)


def test_after_a_gap_the_simulation_restarts(case: tuple) -> None:
    """The parameters agree with those of the whole motion, although the motion in the gap is unknown."""
    _, base, control, moved = case
    arrays = (moved.time, moved.q, moved.qd, moved.qdd, moved.tau)
    kept = (array[np.r_[0:4000, 5000:8000]] for array in arrays)
    gap = signals_of_arrays(moved.joint_names, *kept, ((0, 4000), (4000, 7000)), decimate=10)
    gap = replace(gap, control=control.at(gap.time, moved.time))
    whole = replace(moved, decimate=10, control=control)
    found, expected = (
        by_simulation(Equations(motion, base), MODELS, "oe").fit.solution for motion in (gap, whole)
    )
    np.testing.assert_allclose(found.x, expected.x, rtol=0.02, atol=0.05)


def test_divergence_is_refused(case: tuple) -> None:
    robot, _, control, moved = case
    model = dyn_core.compile_model(robot, friction=False)
    wrong = replace(control, kp=-1e5 * control.kp, limit=np.full(3, np.inf))
    with refused("simulated-robot-diverges"), np.errstate(all="ignore"):
        simulated(model, MODELS, FRICTION, wrong, moved)
