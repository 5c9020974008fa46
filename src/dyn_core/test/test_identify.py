# SPDX-License-Identifier: Apache-2.0
"""From the signals of a motion to parameters and their deviations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from depth import each, some
from identification_study import ARMS, MISTAKES, Arm, arm_of, is_named, run
from refusals import refused
from simulated_truth import SEVEN, SIX, arm, exact_motion, measured, true_values, with_drives

import dyn_core
from dyn_core.core.messages import Message
from dyn_core.identification.estimators.identification_settings import IdentificationSettings
from dyn_core.identification.estimators.physical_consistency import is_possible
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.output.identified_parameters import Identified
from dyn_core.identification.pipeline import identify
from dyn_core.identification.regressor.base_columns import base_columns
from dyn_core.logs.conditioning.signals import Signals

SETTINGS = IdentificationSettings(diagnose=False)


@pytest.fixture(scope="module")
def seven() -> tuple[dyn_core.Robot, Signals, Identified]:
    robot = with_drives(arm(SEVEN))
    moved = measured(exact_motion(robot, 30.0), seed=0)
    return robot, moved, identify(arm(SEVEN), moved, replace(SETTINGS, diagnose=True))


def test_every_parameter_has_its_value_unit_and_prior(seven: tuple) -> None:
    robot, _, found = seven
    assert found.joint_names == robot.joint_names
    assert tuple(p.name for p in found.base) == base_columns(robot).names
    assert tuple(p.name for p in found.standard) == robot.parameter_names
    assert set(found.parameters) == set(robot.parameter_names)
    assert tuple(p.prior for p in found.standard) == arm(SEVEN).parameters
    assert all(p.unit for p in found.standard)
    units = {p.name: p.unit for p in found.standard}
    of_third = [units[f"{letters}3"] for letters in ("XX", "Ia", "MX", "M", "Fv", "Fo")]
    assert of_third == ["kg m^2", "kg m^2", "kg m", "kg", "N m s/rad", "N m"]
    assert found.findings == found.remarks == ()
    assert found.procedure.estimator == "wls"
    assert found.condition < 200.0


def test_errors_agree_with_the_noise(seven: tuple) -> None:
    """The filter leaves a fifth of 1 % of noise; consistent parameters hardly increase the error."""
    errors, consistent = seven[2].errors, seven[2].consistent_errors
    assert errors.held_out.relative < 0.01
    assert consistent.held_out.relative < errors.held_out.relative + 5e-4
    assert len(errors.fitted.by_joint) == 7


def test_standard_parameters_are_possible_and_give_the_torques(seven: tuple) -> None:
    robot, _, found = seven
    values = np.array([p.value for p in found.standard]).reshape(7, 14)
    assert all(is_possible(body) for body in values[:, :10])
    assert np.all(values[:, 10:13] >= 0.0)
    other = exact_motion(robot, 6.0, seed=9)
    model = dyn_core.compile_model(arm(SEVEN).with_parameters(found.parameters), backend="python")
    torques = model.inverse_dynamics(other.q, other.qd, other.qdd)
    assert np.linalg.norm(torques - other.tau) < 0.01 * np.linalg.norm(other.tau)


def test_robust_identification_survives_outliers() -> None:
    robot = with_drives(arm(SIX))
    moved = measured(exact_motion(robot, 12.0), seed=2, decimate=5)
    moved.tau[np.random.default_rng(2).random(moved.tau.shape) < 5e-4] += 200.0
    expected = true_values(robot, base_columns(robot))
    errors = {}
    for estimator in ("wls", "irls"):
        settings = replace(SETTINGS, estimator=estimator, friction=(FrictionModel(),) * 6)
        found = identify(arm(SIX), moved, settings)
        values = [*found.base, *(p for friction in found.friction for p in friction.parameters)]
        errors[estimator] = np.abs(np.array([p.value for p in values]) - expected).mean()
    assert errors["irls"] < 0.5 * errors["wls"]


def test_a_torque_that_was_not_measured_is_left_out() -> None:
    robot = with_drives(arm(SIX))
    moved = measured(exact_motion(robot, 12.0), seed=3)
    moved.tau[:, 5] = np.nan
    found = identify(arm(SIX), moved, SETTINGS)
    assert Message("torque-not-measured", joints=("joint_6",)) in found.remarks
    unknown, other = found.friction[5].parameters[0], found.friction[2].parameters[0]
    assert (unknown.name, unknown.identifiable, unknown.essential) == ("Fv6", False, False)
    assert unknown.deviation == np.inf
    assert other.value == pytest.approx(robot.joints[2].friction.Fv, rel=0.05)


def still(joint: int, position: float, duration: float) -> Signals:
    """Return the exact motion of an arm with one joint at rest."""
    robot = with_drives(arm(SIX))
    exact = exact_motion(robot, duration)
    exact.q[:, joint], exact.qd[:, joint], exact.qdd[:, joint] = position, 0.0, 0.0
    tau = dyn_core.compile_model(robot, backend="python").inverse_dynamics(exact.q, exact.qd, exact.qdd)
    return replace(exact, tau=tau)


def test_a_resting_joint_is_named() -> None:
    found = identify(arm(SIX), measured(still(4, 0.3, 12.0), seed=4, position_noise=0.0), SETTINGS)
    assert Message("joint-taken-as-fixed", joints=("joint_5",)) in found.remarks
    assert "joint_5" in found.fixed


@pytest.mark.parametrize(
    ("change", "settings", "code", "values"),
    [
        (lambda m: m.part(0, 400), {}, "joint-equations-too-few", {}),
        (lambda m: replace(m, q=0.0 * m.q), {}, "signals-without-motion", {}),
        (lambda m: m.of_joints(m.joint_names[:5]), {}, "signals-joint-missing", {"missing": ["joint_6"]}),
        (lambda m: replace(m, train=0.0), {}, "argument-range", {"argument": "train"}),
        (lambda m: m, {"parts": 1}, "argument-range", {"argument": "parts"}),
        (lambda m: m, {"prior_weight": 0.0}, "argument-range", {"argument": "prior_weight"}),
        (lambda m: m, {"friction": (FrictionModel(),) * 2}, "friction-count", {"given": 2}),
    ],
)
def test_refused_motions_and_settings(change, settings: dict, code: str, values: dict) -> None:
    moved = measured(exact_motion(with_drives(arm(SIX)), 4.0), seed=5)
    with refused(code, **values):
        identify(arm(SIX), change(moved), replace(SETTINGS, **settings))


def test_friction_of_a_resting_joint_is_that_of_the_description() -> None:
    robot = with_drives(arm(SIX))
    found = identify(robot, still(3, 0.3, 20.0), SETTINGS)
    known = robot.joints[3].friction
    values = {p.name: p for p in found.consistent_friction[3].parameters}
    for name, expected in (("Fv4", known.Fv), ("Fs4", known.Fs)):
        assert (values[name].value, values[name].deviation) == (expected, np.inf)
    standard = next(p for p in found.standard if p.name == "Fv4")
    assert (standard.identifiable, standard.value) == (False, pytest.approx(known.Fv))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_motion_without_noise(sign: float) -> None:
    """Residuals are 0, and the unconstrained bodies would be negative; a minimum is still found."""
    robot = arm(SIX)
    moved = exact_motion(robot, 20.0)
    found = identify(robot, replace(moved, tau=sign * moved.tau), SETTINGS)
    assert found.errors.fitted.relative < 1e-3
    assert ("bodies-fit-badly" in [remark.code for remark in found.remarks]) == (sign < 0.0)


# A short form of `make truth`: logs of arms with known parameters, with default settings.

SEEDS = each(range(3), 0, 1)


@pytest.fixture(scope="module", params=some(ARMS, "6R"))
def case(request: pytest.FixtureRequest) -> Arm:
    return arm_of(request.param)


def test_essential_parameters_are_within_three_deviations(case: Arm) -> None:
    runs = [run(case, seed) for seed in SEEDS]
    assert all(one.possible and set(one.names) == set(case.expected) for one in runs)
    assert min(one.essential.mean() for one in runs) > 0.8
    errors = np.concatenate([one.errors[one.essential] for one in runs])
    assert np.abs(errors).max() <= 3.0
    # Deviations that are far too large are as wrong as too small ones.
    assert 0.6 < np.sqrt(np.mean(errors**2)) < 1.1


@pytest.mark.parametrize("mistake", some(MISTAKES, "swapped joints", "5 ms delay", "nothing"))
def test_mistakes_are_named(case: Arm, mistake: str) -> None:
    assert is_named(case, mistake, seed=1)
