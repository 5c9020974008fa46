# SPDX-License-Identifier: Apache-2.0
"""Friction models: their formulas, and the selection of the model that the data need."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from depth import some
from refusals import refused
from simulated_truth import SIX, arm, exact_motion, measured, true_values, with_drives

import dyn_core
from dyn_core.identification.estimators.identification_settings import IdentificationSettings
from dyn_core.identification.friction import friction_model
from dyn_core.identification.friction.friction_model import STANDARD, TERMS, FrictionModel, friction_torques
from dyn_core.identification.output.identified_parameters import Identified
from dyn_core.identification.output.parameter_tables import ChosenFriction, nearest_standard
from dyn_core.identification.pipeline import identify
from dyn_core.identification.regressor.base_columns import base_columns
from dyn_core.identification.regressor.motion_equations import Equations, rigid_torques
from dyn_core.logs.conditioning.signals import Signals, signals_of_arrays
from dyn_core.robot.joints import Joint, Sigma

REAL = with_drives(arm(SIX))
ALL = FrictionModel(TERMS, v0=0.1, vt=0.2, vx=0.3)


def test_terms_agree_with_their_formulas() -> None:
    random = np.random.default_rng(0)
    values = random.normal(size=len(TERMS))
    x = {friction_model.SYMBOLS[term]: value for term, value in zip(ALL.terms, values, strict=True)}
    qd, load = random.normal(size=(2, 20))
    s, size = np.tanh(qd / 0.1), np.abs(load)
    expected = x["Fv"] * qd + x["Fs"] * s + x["Fo"] + x["Fa"] * abs(qd) + x["Fq"] * qd * abs(qd)
    expected += x["Fc"] * qd**3 + x["Fx"] * np.tanh(qd / 0.3) + x["Ft"] * s * np.exp(-((qd / 0.2) ** 2))
    expected += x["Fl"] * size * s + x["Fw"] * size * qd
    np.testing.assert_allclose(ALL.columns(qd, load) @ values, expected, rtol=1e-12)
    torques = friction_torques([ALL], values)
    np.testing.assert_allclose(torques(qd[:, None], load[:, None])[:, 0], expected, rtol=1e-12)
    apart = np.concatenate([element.columns(qd, load) for element in ALL.elements], axis=1)
    np.testing.assert_array_equal(ALL.columns(qd, load), apart)
    assert ALL.without("stribeck").having("stribeck", 0.2) == ALL
    assert (ALL.loaded, FrictionModel().loaded) == (True, False)
    assert ALL.names(3)[:3] == ("Fv3", "Fs3", "Fo3")


def test_each_velocity_is_a_field_and_described() -> None:
    assert ["terms", *friction_model.VELOCITIES] == [field.name for field in fields(FrictionModel)]
    assert ALL.description.endswith("sign smoothed over 0.1, Stribeck velocity 0.2, saturating at 0.3")


def test_sharp_signs_are_zero_at_rest() -> None:
    at_rest = FrictionModel().columns(np.zeros(1), np.zeros(1))
    np.testing.assert_array_equal(at_rest, [[0.0, 0.0, 1.0]])
    torques = friction_torques([FrictionModel()], np.array([2.0, 3.0, 0.5]))
    np.testing.assert_array_equal(torques(np.zeros(1), np.zeros(1)), [0.5])
    np.testing.assert_allclose(torques(np.array([-1e-9]), np.zeros(1)), [-2.5], rtol=1e-6)


def test_invalid_models_are_refused() -> None:
    for settings, code, values in (
        ({"terms": ("viscous", "viscous")}, "friction-terms-invalid", {"given": ("viscous", "viscous")}),
        ({"terms": ("dry",)}, "friction-terms-invalid", {"given": ("dry",)}),
        ({"v0": -1.0}, "setting-range", {"setting": "friction: v0", "given": -1.0}),
        ({"v0": np.nan}, "setting-range", {"setting": "friction: v0"}),
        ({"terms": ("stribeck",)}, "friction-velocity-mismatch", {"term": "stribeck", "setting": "vt"}),
        ({"vx": 0.1}, "friction-velocity-mismatch", {"term": "saturating", "setting": "vx"}),
    ):
        with refused(code, **values):
            FrictionModel(**settings)  # type: ignore[arg-type]


def test_units() -> None:
    terms = ("viscous", "cubic", "saturating", "coulomb", "load", "load_viscous", "quadratic")
    turning = ("N m s/rad", "N m s^3/rad^3", "N m", "N m", "1", "s/rad", "N m s^2/rad^2")
    sliding = ("N s/m", "N s^3/m^3", "N", "N", "1", "s/m", "N s^2/m^2")
    for sigma, expected in ((Sigma.REVOLUTE, turning), (Sigma.PRISMATIC, sliding)):
        joint = Joint("j", 0, sigma, mdh=None, origin=(0.0, 0.0, 0.0))  # type: ignore[arg-type]
        assert tuple(friction_model.unit(term, joint) for term in terms) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize("v0", [0.0, 0.1])
def test_nearest_standard_model(v0: float) -> None:
    """The parameters of standard friction and its transition velocity are found."""
    t = np.arange(20_000) * 1e-3
    qd = np.sin(2.0 * np.pi * 0.2 * t)
    random = np.random.default_rng(0)
    load = np.cos(t)
    tau = load + FrictionModel(v0=v0).columns(qd, qd) @ [2.0, 3.0, -0.5] + 0.1 * random.normal(size=len(t))
    signals = signals_of_arrays(["j"], t, *np.array([t, qd, qd, tau])[:, :, None], decimate=10)
    loaded = ChosenFriction(FrictionModel((*STANDARD, "load")), np.zeros(4), np.ones(4))
    found = nearest_standard(loaded, signals, 0, load)
    assert found.v0 == pytest.approx(v0, abs=1e-6)
    wrong = (np.array(found.values) - [2.0, 3.0, -0.5]) / found.deviations
    assert np.abs(wrong).max() < 3.0
    own = ChosenFriction(FrictionModel(v0=v0), np.array([2.0, 3.0, -0.5]), np.full(3, 7.0))
    assert nearest_standard(own, signals, 0, load) == own.standard()
    wrong_sign = ChosenFriction(FrictionModel(v0=v0), np.array([-2.0, 3.0, -0.5]), np.full(3, 7.0))
    assert nearest_standard(wrong_sign, signals, 0, load) == found
    assert nearest_standard(loaded, signals, 0, load, (0.0,)).v0 == 0.0
    unknown = replace(signals, tau=np.full_like(signals.tau, np.nan))
    assert nearest_standard(own, unknown, 0, load) == own.standard()
    # Parameters that brake are not negative.
    driving = replace(signals, tau=signals.tau - 8.0 * signals.qd)
    assert nearest_standard(loaded, driving, 0, load).values[0] == 0.0


def moved_with(model: FrictionModel, x: list[float], joint: int, load: bool = False) -> Signals:
    """A measured motion in which a joint has this friction instead of standard friction."""
    exact = exact_motion(REAL, 24.0)
    qd = exact.qd[:, joint]
    known = REAL.parameters[14 * joint + 11 : 14 * joint + 14]
    torque = exact.tau[:, joint] - FrictionModel().columns(qd, qd) @ known
    of_bodies = torque if load else np.zeros_like(torque)
    tau = exact.tau.copy()
    tau[:, joint] = torque + model.columns(qd, of_bodies) @ x
    return measured(replace(exact, tau=tau), seed=0, decimate=10)


def of(moved: Signals, friction: tuple[FrictionModel, ...] | None) -> Identified:
    return identify(arm(SIX), moved, IdentificationSettings(friction, diagnose=False))


CASES = {
    "smooth": (FrictionModel(v0=0.12), [4.0, 6.0, 0.2]),
    "asymmetric": (FrictionModel((*STANDARD, "asymmetry")), [4.0, 5.0, 0.5, 1.2]),
    "stribeck": (FrictionModel((*STANDARD, "stribeck"), vt=0.12), [4.0, 5.0, 0.2, 3.0]),
    "bent": (FrictionModel((*STANDARD, "cubic")), [6.0, 5.0, 0.2, -1.2]),
    "loaded": (FrictionModel((*STANDARD, "load")), [4.0, 5.0, 0.2, 0.12]),
}


@pytest.mark.parametrize("name", some(CASES, "asymmetric", "stribeck", "loaded"))
def test_the_true_friction_model_is_selected(name: str) -> None:
    """It predicts held-out data as well as the true model; the standard model does not."""
    model, x = CASES[name]
    moved = moved_with(model, x, joint=1, load=name == "loaded")
    standard = (FrictionModel(),) * 6
    found = [of(moved, friction) for friction in (None, (FrictionModel(), model, *standard[2:]), standard)]
    error, of_true, of_standard = (one.errors.held_out.by_joint[1] for one in found)
    chosen = found[0].friction[1]
    assert error < 1.1 * of_true
    assert error < 0.9 * of_standard
    assert chosen.tried[0][1] > chosen.tried[-1][1]
    assert chosen.tried[-1][0] == chosen.model.description


def test_standard_friction_is_kept_where_it_is_true() -> None:
    """No term is added where none improves the prediction."""
    found = of(measured(exact_motion(REAL, 24.0), seed=1, decimate=10), None)
    assert [friction.model for friction in found.friction] == [FrictionModel()] * 6


def test_the_load_is_the_torque_of_the_bodies() -> None:
    exact, base = exact_motion(REAL, 2.0), base_columns(REAL)
    model = dyn_core.compile_model(REAL, backend="python", friction=False)
    expected = model.inverse_dynamics(exact.q, exact.qd, exact.qdd)
    found = rigid_torques(Equations(exact, base), true_values(REAL, base))
    np.testing.assert_allclose(found, expected, atol=1e-9)
