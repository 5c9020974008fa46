# SPDX-License-Identifier: Apache-2.0
"""Payload identification, and recursive estimation from single samples."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from refusals import refused
from robots import example
from simulated_truth import SEVEN, SIX, arm, exact_motion, measured, true_values, with_drives

import dyn_core
from dyn_core import IdentificationSettings, Robot, compile_model, with_model_error
from dyn_core.control.trajectories.fourier_motion import rich_motion
from dyn_core.identification.estimators.least_squares import factors, weighted
from dyn_core.identification.estimators.physical_consistency import is_possible
from dyn_core.identification.estimators.standard_deviations import Fit
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.friction.friction_selection import Rows
from dyn_core.identification.online.recursive_estimator import Convergence, OnlineEstimator, online_standard
from dyn_core.identification.payload.payload_estimate import payload_of_known_arm, payload_of_pair
from dyn_core.identification.payload.payload_identification import WITH
from dyn_core.identification.payload.payload_parameters import Payload
from dyn_core.identification.regressor.base_columns import base_columns
from dyn_core.identification.regressor.motion_equations import Equations

MASS, CENTRE, INERTIA = 1.5, (0.03, -0.02, 0.08), (0.004, 0.0005, -0.0002, 0.006, 0.0001, 0.003)


def record(robot: Robot, seed: int, duration: float = 20.0, train: float = 0.65) -> dyn_core.Signals:
    return measured(exact_motion(robot, duration, seed), seed, train=train)


def data_of(robot: dyn_core.Robot, seed: int, friction: FrictionModel | None = None) -> Fit:
    models = ((friction or FrictionModel(),),) * robot.dof
    rows = Rows(Equations(record(robot, seed), base_columns(robot)), models)
    data = factors(rows)
    return Fit(rows, weighted(data), data)


def with_box(robot: Robot, link: str = "link_6") -> Robot:
    return robot.with_payload(link, MASS, CENTRE, INERTIA)


def assert_right(found: Payload) -> None:
    assert found.mass == pytest.approx(MASS, abs=4.0 * found.deviations[9])
    assert found.mass == pytest.approx(MASS, rel=0.01)
    np.testing.assert_allclose(found.centre, CENTRE, atol=1e-3)
    np.testing.assert_allclose(found.inertia, INERTIA, atol=2e-3)
    assert is_possible(found.parameters)
    assert np.all(np.isfinite(found.least_squares_deviations))


@pytest.mark.parametrize("axes", [SIX, SEVEN], ids=["six", "seven"])
def test_payload_is_found(axes: tuple) -> None:
    robot = with_drives(arm(axes))
    link = f"link_{len(axes)}"
    loaded = with_box(robot, link)
    base, with_it = base_columns(robot), data_of(loaded, seed=2)
    assert_right(payload_of_pair(link, base, data_of(robot, seed=1), with_it).payload)
    for friction in (True, False):
        found = payload_of_known_arm(link, base, with_it, true_values(robot, base), friction).payload
        assert_right(found)
        again = robot.with_payload(link, found.mass, found.centre, found.inertia)
        assert pytest.approx(loaded.bodies[-1].M, rel=0.01) == again.bodies[-1].M


def test_payload_is_found_from_signals() -> None:
    """From a motion without payload, and from its identified parameters."""
    robot = with_drives(arm(SIX))
    without, with_it = record(robot, 1, train=1.0), record(with_box(robot), 2, train=1.0)
    settings = IdentificationSettings(diagnose=False)
    known = dyn_core.identify(arm(SIX), without, settings)
    for arm_alone in (without, known):
        assert_right(dyn_core.identify_payload(arm(SIX), "link_6", with_it, arm_alone, settings))
    with refused("arm-parameters-mismatch"):
        dyn_core.identify_payload(arm(SIX), "link_6", with_it, replace(known, base=known.base[1:]))


def test_payload_of_an_arm_with_a_fixed_joint() -> None:
    """Neither the identified parameters nor the motion with payload contain that joint."""
    robot = with_drives(arm(SIX))

    def held(one: dyn_core.Robot, seed: int, at: float = 0.4) -> dyn_core.Signals:
        exact = exact_motion(one, 20.0, seed)
        exact.q[:, 3], exact.qd[:, 3], exact.qdd[:, 3] = at, 0.0, 0.0
        tau = compile_model(one, backend="python").inverse_dynamics(exact.q, exact.qd, exact.qdd)
        return measured(replace(exact, tau=tau), seed, position_noise=0.0, train=1.0)

    settings = IdentificationSettings(diagnose=False)
    known = dyn_core.identify(arm(SIX), held(robot, 1), settings)
    assert set(known.fixed) == {"joint_4"}
    of_all = replace(settings, friction=(FrictionModel(),) * 6)  # ignored: the friction of the arm counts
    found = dyn_core.identify_payload(arm(SIX), "link_6", held(with_box(robot), 2), known, of_all)
    assert found.mass == pytest.approx(MASS, rel=0.02)
    np.testing.assert_allclose(found.centre, CENTRE, atol=2e-3)
    with refused("payload-motion-unusable", motion=WITH) as caught:
        dyn_core.identify_payload(arm(SIX), "link_6", held(with_box(robot), 2, at=1.2), known, settings)
    cause = caught.value.values["cause"]
    assert (cause.code, cause.values["joint"]) == ("fixed-joint-moved", "joint_4")
    assert (cause.values["expected"], cause.values["given"]) == pytest.approx((0.4, 1.2), abs=1e-3)


def test_changed_friction_is_not_taken_for_a_payload() -> None:
    """Friction that changed with temperature is estimated again.

    With the old friction the payload is wrong.
    """
    robot = with_drives(arm(SIX))
    base = base_columns(robot)
    warmer = robot.with_parameters({f"Fv{j}": 0.7 * robot.joints[j - 1].friction.Fv for j in range(1, 7)})
    data, known = data_of(with_box(warmer), seed=3), true_values(robot, base)
    assert_right(payload_of_known_arm("link_6", base, data, known, friction=True).payload)
    trusting = payload_of_known_arm("link_6", base, data, known, friction=False).payload
    assert np.abs(np.array(trusting.inertia) - INERTIA).max() > 2e-3


def test_held_out_data_can_contradict_a_payload() -> None:
    """The payload is removed where the held-out part begins."""
    robot = with_drives(arm(SIX))
    settings = IdentificationSettings((FrictionModel(),) * 6, diagnose=False)
    without, moved, held = record(robot, 1, 12.0), record(robot, 2, 12.0), record(with_box(robot), 2, 12.0)
    part = round(moved.train * len(moved))
    moved.tau[:part] = held.tau[:part]
    found = dyn_core.identify_payload(arm(SIX), "link_6", moved, without, settings)
    assert found.errors.with_it.fitted.relative < found.errors.without.fitted.relative
    assert "held-out-against-payload" in [remark.code for remark in found.remarks]


def test_without_payload_the_mass_is_almost_zero() -> None:
    robot = with_drives(arm(SIX))
    data = (data_of(robot, seed) for seed in (4, 5))
    found = payload_of_pair("link_6", base_columns(robot), *data).payload
    assert found.mass < 0.02
    assert is_possible(found.parameters)


def test_wrong_links_and_friction_are_refused() -> None:
    robot = with_drives(arm(SIX))
    base, data = base_columns(robot), data_of(robot, seed=6)
    for link, code in (("base", "motion-shows-no-payload"), ("hand", "link-unknown")):
        with refused(code, link=link):
            payload_of_pair(link, base, data, data)
    other = data_of(robot, seed=6, friction=FrictionModel(("viscous",)))
    with refused("payload-friction-models-unequal"):
        payload_of_pair("link_6", base, data, other, friction=False)


# Recursive estimation from single samples, against the true parameters.

ROBOT = example("rrp")
PERIOD = 2e-3
T = np.arange(0.0, 8.0, PERIOD)
Q, QD, QDD = rich_motion(compile_model(ROBOT), 8.0).at_many(T)
TAU = compile_model(ROBOT).inverse_dynamics(Q, QD, QDD)
BASE = base_columns(ROBOT)
TRUTH = true_values(ROBOT, BASE)[: len(BASE.kept)]
EVERY = range(len(T))


def fed(estimator: OnlineEstimator, kept: Iterable[int] = EVERY, velocities: bool = True) -> OnlineEstimator:
    for k in kept:
        estimator.add(float(T[k]), Q[k], QD[k] if velocities else None, TAU[k])
    return estimator


def error(estimator: OnlineEstimator) -> float:
    found = estimator.estimate().values[: len(TRUTH)]
    return float(np.linalg.norm(found - TRUTH) / np.linalg.norm(TRUTH))


@pytest.mark.parametrize("velocities", [True, False])
def test_the_parameters_are_found(velocities: bool) -> None:
    estimator = OnlineEstimator(BASE)
    assert estimator.knowledge() is None
    assert error(fed(estimator, velocities=velocities)) < 0.01
    assert estimator.period == pytest.approx(PERIOD)


def test_gaps_and_repetitions_do_not_disturb_the_estimate() -> None:
    kept = (np.arange(len(T)) % 500 >= 100) | (np.arange(len(T)) < 500) | (np.arange(len(T)) >= 3500)
    assert error(fed(OnlineEstimator(BASE), np.repeat(np.flatnonzero(kept), 2))) < 0.01


def test_a_disturbed_beginning_does_not_fix_the_period_for_ever() -> None:
    """The first samples come ten times more slowly than all others."""
    estimator = fed(OnlineEstimator(BASE), range(0, 600, 10))
    assert estimator.period == pytest.approx(10.0 * PERIOD)
    assert error(fed(estimator, range(600, len(T)))) < 0.01
    assert estimator.period == pytest.approx(PERIOD)
    assert estimator.samples > 2000


def test_a_robot_at_rest_gives_no_information() -> None:
    estimator = fed(OnlineEstimator(BASE))
    before = estimator.samples
    for k in range(2000):  # stiction holds it at any torque up to breakaway
        estimator.add(float(T[-1] + PERIOD * (k + 1)), Q[-1], np.zeros(3), TAU[-1] + 0.3)
    assert estimator.samples < before + 100
    assert error(estimator) < 0.01


def test_convergence_needs_several_estimates() -> None:
    estimator = fed(OnlineEstimator(BASE))
    convergence = Convergence(0.05)
    changes = [convergence.look(estimator.estimate()) for _ in range(6)]
    assert convergence.reached
    assert (changes.count(True), any(changes[:2])) == (1, False)


def test_standard_parameters_give_the_torques_and_are_physically_possible() -> None:
    """Base estimates of a robot with a wrong description are extended to all parameters of its models."""
    described = with_model_error(ROBOT, 0.2, 0)
    estimator = OnlineEstimator(base_columns(described))
    noise = np.random.default_rng(0).normal(0.0, 0.2, TAU.shape)
    for t, q, qd, tau in zip(T.tolist(), Q, QD, TAU + noise, strict=True):
        estimator.add(t, q, qd, tau)
    found = online_standard(estimator.knowledge())
    assert found.names == ROBOT.parameter_names
    robot = described.with_parameters(dict(zip(found.names, found.values, strict=True)))
    assert all(map(is_possible, np.array(robot.parameters).reshape(-1, 14)[:, :10]))
    other = rich_motion(compile_model(ROBOT), 8.0, seed=7).at_many(T)
    tau, *taus = (compile_model(one).inverse_dynamics(*other) for one in (ROBOT, robot, described))
    identified, before = (np.linalg.norm(one - tau) / np.linalg.norm(tau) for one in taus)
    assert identified < 0.005
    assert before > 0.08


@pytest.mark.parametrize("tau", [np.zeros(3), np.array([1.0, 0.0, 0.0]), np.full(3, 1e9)])
@pytest.mark.parametrize("memory", [math.inf, 0.1])
def test_constant_torques_give_finite_estimates_or_none(tau: np.ndarray, memory: float) -> None:
    estimator = OnlineEstimator(BASE, memory=memory)
    for k in range(2000):
        estimator.add(float(T[k]), Q[k], QD[k], tau)
    for estimate in (estimator.estimate() for _ in range(3)):
        assert estimate is None or np.isfinite(estimate.values).all()
