# SPDX-License-Identifier: Apache-2.0
"""From a motion to parameters that one can believe."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated_truth import SEVEN, SIX, arm, exact_motion, measured, true_values, with_drives

import dyn_core
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.identify import identify
from dyn_core.identification.output.identified_parameters import Identified
from dyn_core.identification.pseudo_inertia import is_possible
from dyn_core.identification.regressor.base_columns import base_columns
from dyn_core.identification.settings import IdentificationSettings
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
    base = base_columns(robot)
    assert tuple(p.name for p in found.base) == base.names
    assert tuple(p.name for p in found.standard) == robot.parameter_names
    assert set(found.parameters) == set(robot.parameter_names)
    description = arm(SEVEN)
    for parameter, prior in zip(found.standard, description.parameters, strict=True):
        assert parameter.prior == prior
        assert parameter.unit
    units = {p.name: p.unit for p in found.standard}
    assert units["XX3"] == units["Ia3"] == "kg m^2"
    assert units["MX3"] == "kg m"
    assert units["M3"] == "kg"
    assert units["Fv3"] == "N m s/rad"
    assert units["Fo3"] == "N m"
    assert found.findings == ()
    assert found.remarks == ()
    assert found.procedure.estimator == "wls"
    assert found.condition < 200.0


def test_errors_are_those_of_the_noise(seven: tuple) -> None:
    """About 1 % of noise, of which the filter leaves a fifth; consistent parameters cost next to nothing."""
    _, _, found = seven
    assert found.errors.held_out is not None
    assert found.consistent_errors.held_out is not None
    assert found.errors.held_out.relative < 0.01
    assert found.consistent_errors.held_out.relative < found.errors.held_out.relative + 5e-4
    assert len(found.errors.fitted.by_joint) == 7


def test_standard_parameters_are_possible_and_give_the_torques(seven: tuple) -> None:
    robot, _, found = seven
    values = np.array([p.value for p in found.standard]).reshape(7, 14)
    assert all(is_possible(body) for body in values[:, :10])
    assert np.all(values[:, 10:13] >= 0.0)
    other = exact_motion(robot, 6.0, seed=9)
    identified = arm(SEVEN).with_parameters(found.parameters)
    torques = dyn_core.compile_model(identified, backend="python").inverse_dynamics(
        other.q, other.qd, other.qdd
    )
    assert np.linalg.norm(torques - other.tau) < 0.01 * np.linalg.norm(other.tau)


def test_robust_identification_survives_outliers() -> None:
    robot = with_drives(arm(SIX))
    moved = measured(exact_motion(robot, 12.0), seed=2, decimate=5)
    random = np.random.default_rng(2)
    moved.tau[random.random(moved.tau.shape) < 5e-4] += 200.0
    expected = true_values(robot, base_columns(robot))
    errors = {}
    for estimator in ("wls", "irls"):
        found = identify(
            arm(SIX), moved, replace(SETTINGS, estimator=estimator, friction=(FrictionModel(),) * 6)
        )
        values = [*found.base, *(p for friction in found.friction for p in friction.parameters)]
        errors[estimator] = np.abs(np.array([p.value for p in values]) - expected).mean()
    assert errors["irls"] < 0.5 * errors["wls"]


def test_a_torque_that_was_not_measured_is_left_out() -> None:
    robot = with_drives(arm(SIX))
    moved = measured(exact_motion(robot, 12.0), seed=3)
    moved.tau[:, 5] = np.nan
    found = identify(arm(SIX), moved, SETTINGS)
    assert any("the torque of 'joint_6' was not measured" in remark for remark in found.remarks)
    (friction,) = [p for p in found.friction[5].parameters if p.name == "Fv6"]
    assert not friction.identifiable
    assert friction.deviation == np.inf
    assert not friction.essential
    others = [p for p in found.friction[2].parameters if p.name == "Fv3"]
    known = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    assert others[0].value == pytest.approx(known["Fv3"], rel=0.05)


def test_a_joint_that_stands_still_is_said() -> None:
    robot = with_drives(arm(SIX))
    exact = exact_motion(robot, 12.0)
    for values in (exact.qd, exact.qdd):
        values[:, 4] = 0.0
    exact.q[:, 4] = 0.3
    tau = dyn_core.compile_model(robot, backend="python").inverse_dynamics(exact.q, exact.qd, exact.qdd)
    still = measured(replace(exact, tau=tau), seed=4, position_noise=0.0)
    found = identify(arm(SIX), still, SETTINGS)
    assert any("'joint_5' did not move" in remark for remark in found.remarks)
    assert "joint_5" in found.fixed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.part(0, 400), "measure for longer"),
        (lambda m: replace(m, q=0.0 * m.q), "no joint moves in this motion"),
        (
            lambda m: m.of_joints(m.joint_names[:5]),
            "there are no signals of 'joint_6', only of 'joint_1', .* name the joints of the log",
        ),
    ],
    ids=["short", "still", "joints"],
)
def test_motions_that_do_not_do_are_refused(change, message: str) -> None:
    moved = measured(exact_motion(with_drives(arm(SIX)), 4.0), seed=5)
    with pytest.raises(dyn_core.DynError, match=message):
        identify(arm(SIX), change(moved), SETTINGS)


def test_settings_that_are_none_are_refused() -> None:
    moved = measured(exact_motion(with_drives(arm(SIX)), 4.0), seed=5)
    with pytest.raises(ValueError, match="train: expected a part of the time"):
        identify(arm(SIX), replace(moved, train=0.0), SETTINGS)
    with pytest.raises(ValueError, match="parts: expected 2 or more"):
        identify(arm(SIX), moved, replace(SETTINGS, parts=1))
    with pytest.raises(dyn_core.DynError, match="friction was given for 2 joints"):
        identify(arm(SIX), moved, replace(SETTINGS, friction=(FrictionModel(),) * 2))


def test_friction_of_a_joint_that_stood_is_that_of_the_description() -> None:
    robot = with_drives(arm(SIX))
    still = exact_motion(robot, 20.0)
    q, qd, qdd = still.q.copy(), still.qd.copy(), still.qdd.copy()
    q[:, 3], qd[:, 3], qdd[:, 3] = 0.3, 0.0, 0.0
    tau = dyn_core.compile_model(robot).inverse_dynamics(q, qd, qdd)
    found = identify(robot, replace(still, q=q, qd=qd, qdd=qdd, tau=tau), SETTINGS)
    known = robot.joints[3].friction
    values = {p.name: p for p in found.consistent_friction[3].parameters}
    assert (values["Fv4"].value, values["Fs4"].value) == (known.Fv, known.Fs)
    assert np.isinf([values["Fv4"].deviation, values["Fs4"].deviation]).all()
    standard = {p.name: p for p in found.standard}
    assert not standard["Fv4"].identifiable
    assert standard["Fv4"].value == pytest.approx(known.Fv)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_motion_without_noise(sign: float) -> None:
    """Residuals of nothing, and bodies that would have to be negative: a minimum is found nevertheless."""
    robot = arm(SIX)
    moved = exact_motion(robot, 20.0)
    found = identify(robot, replace(moved, tau=sign * moved.tau), SETTINGS)
    assert found.errors.fitted.relative < 1e-3
    assert any("bodies that can exist leave" in remark for remark in found.remarks) == (sign < 0.0)
