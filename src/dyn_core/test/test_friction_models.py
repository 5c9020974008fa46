# SPDX-License-Identifier: Apache-2.0
"""Models of friction compute what they say, and the one that data need is chosen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated_truth import SIX, arm, exact_motion, measured, with_drives

import dyn_core
from dyn_core.identification.friction.friction_model import STANDARD, SYMBOLS, TERMS, FrictionModel, unit
from dyn_core.identification.friction_torques import friction_torques
from dyn_core.identification.identify import identify
from dyn_core.identification.output.identified_parameters import Identified
from dyn_core.identification.output.parameter_tables import ChosenFriction, nearest_standard
from dyn_core.identification.regressor.base_columns import base_columns
from dyn_core.identification.regressor.motion_equations import Equations
from dyn_core.identification.rigid_torques import rigid_torques
from dyn_core.identification.settings import IdentificationSettings
from dyn_core.logs.conditioning.signals import Signals
from dyn_core.robot.joints import Joint, Sigma
from dyn_core.signals.of_arrays import signals_of_arrays

ALL = FrictionModel(TERMS, v0=0.1, vt=0.2, vx=0.3)


def by_hand(x: dict[str, float], qd: float, load: float) -> float:
    s = np.tanh(qd / 0.1)
    return (
        x["Fv"] * qd
        + x["Fs"] * s
        + x["Fo"]
        + x["Fa"] * abs(qd)
        + x["Fq"] * qd * abs(qd)
        + x["Fc"] * qd**3
        + x["Fx"] * np.tanh(qd / 0.3)
        + x["Ft"] * s * np.exp(-((qd / 0.2) ** 2))
        + x["Fl"] * abs(load) * s
        + x["Fw"] * abs(load) * qd
    )


def test_terms_are_what_they_say() -> None:
    random = np.random.default_rng(0)
    values = random.normal(size=len(TERMS))
    x = {SYMBOLS[term]: value for term, value in zip(ALL.terms, values, strict=True)}
    qd, load = random.normal(size=(2, 20))
    expected = [by_hand(x, *pair) for pair in zip(qd, load, strict=True)]
    np.testing.assert_allclose(ALL.columns(qd, load) @ values, expected, rtol=1e-12)
    torques = friction_torques([ALL], values)
    np.testing.assert_allclose(torques(qd[:, None], load[:, None])[:, 0], expected, rtol=1e-12)


def test_a_model_is_the_sum_of_its_elements() -> None:
    qd, load = np.random.default_rng(1).normal(size=(2, 20))
    apart = np.concatenate([element.columns(qd, load) for element in ALL.elements], axis=1)
    np.testing.assert_array_equal(ALL.columns(qd, load), apart)
    assert ALL.without("stribeck").having("stribeck", 0.2) == ALL
    assert ALL.loaded
    assert not FrictionModel().loaded
    assert ALL.names(3)[:3] == ("Fv3", "Fs3", "Fo3")


def test_sharp_signs_are_zero_at_rest() -> None:
    at_rest = FrictionModel().columns(np.zeros(1), np.zeros(1))
    np.testing.assert_array_equal(at_rest, [[0.0, 0.0, 1.0]])
    torques = friction_torques([FrictionModel()], np.array([2.0, 3.0, 0.5]))
    np.testing.assert_array_equal(torques(np.zeros(1), np.zeros(1)), [0.5])
    np.testing.assert_allclose(torques(np.array([-1e-9]), np.zeros(1)), [-2.5], rtol=1e-6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"terms": ("viscous", "viscous")}, "expected some of"),
        ({"terms": ("dry",)}, "expected some of"),
        ({"v0": -1.0}, "v0 is -1.0"),
        ({"v0": np.nan}, "v0 is nan"),
        ({"terms": ("stribeck",)}, "stribeck and a velocity vt > 0 go together"),
        ({"vx": 0.1}, "saturating and a velocity vx > 0 go together"),
    ],
)
def test_models_that_are_none_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FrictionModel(**settings)


def test_units() -> None:
    joints = {sigma: Joint("j", 0, sigma, mdh=None, origin=(0.0, 0.0, 0.0)) for sigma in Sigma}  # type: ignore[arg-type]
    turning, sliding = joints[Sigma.REVOLUTE], joints[Sigma.PRISMATIC]
    assert unit("viscous", turning) == "N m s/rad"
    assert unit("viscous", sliding) == "N s/m"
    assert unit("cubic", turning) == "N m s^3/rad^3"
    assert unit("saturating", turning) == unit("coulomb", turning) == "N m"
    assert unit("load", sliding) == "1"
    assert unit("load_viscous", sliding) == "s/m"
    assert unit("quadratic", sliding) == "N s^2/m^2"


@pytest.mark.parametrize("v0", [0.0, 0.1])
def test_nearest_standard_model(v0: float) -> None:
    """Parameters of standard friction, and the velocity of its transition, are found."""
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
    at_once = nearest_standard(loaded, signals, 0, load, (0.0,))
    assert at_once.v0 == 0.0
    unknown = replace(signals, tau=np.full_like(signals.tau, np.nan))
    assert nearest_standard(own, unknown, 0, load) == own.standard()
    # What brakes is not negative.
    driving = replace(signals, tau=signals.tau - 8.0 * signals.qd)
    assert nearest_standard(loaded, driving, 0, load).values[0] == 0.0


def moved_with(model: FrictionModel, x: list[float], joint: int, load: bool = False) -> Signals:
    """A measured motion in which a joint has this friction instead of the standard one."""
    robot = with_drives(arm(SIX))
    exact = exact_motion(robot, 24.0)
    plain = FrictionModel()
    names = plain.names(joint + 1)
    known = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    qd = exact.qd[:, joint]
    torque = exact.tau[:, joint] - plain.columns(qd, qd) @ [known[name] for name in names]
    of_bodies = torque if load else np.zeros_like(torque)
    tau = exact.tau.copy()
    tau[:, joint] = torque + model.columns(qd, of_bodies) @ x
    return measured(replace(exact, tau=tau), seed=0, decimate=10)


def of(moved: Signals, friction: tuple[FrictionModel, ...] | None) -> Identified:
    settings = IdentificationSettings(friction, diagnose=False)
    return identify(arm(SIX), moved, settings)


CASES = {
    "smooth": (FrictionModel(v0=0.12), [4.0, 6.0, 0.2]),
    "asymmetric": (FrictionModel((*STANDARD, "asymmetry")), [4.0, 5.0, 0.5, 1.2]),
    "stribeck": (FrictionModel((*STANDARD, "stribeck"), vt=0.12), [4.0, 5.0, 0.2, 3.0]),
    "bent": (FrictionModel((*STANDARD, "cubic")), [6.0, 5.0, 0.2, -1.2]),
    "loaded": (FrictionModel((*STANDARD, "load")), [4.0, 5.0, 0.2, 0.12]),
}


@pytest.mark.parametrize("name", CASES)
def test_friction_that_is_there_is_chosen(name: str) -> None:
    """What is chosen predicts what was held out as well as the true model; the standard model does not."""
    model, x = CASES[name]
    moved = moved_with(model, x, joint=1, load=name == "loaded")
    standard = (FrictionModel(),) * 6
    true = (FrictionModel(), model, *standard[2:])
    errors = {}
    for what, friction in (("chosen", None), ("true", true), ("standard", standard)):
        found = of(moved, friction)
        assert found.errors.held_out is not None
        errors[what] = found.errors.held_out.by_joint[1]
        if what == "chosen":
            chosen = found.friction[1]
    assert errors["chosen"] < 1.1 * errors["true"]
    assert errors["chosen"] < 0.9 * errors["standard"]
    assert chosen.tried[0][1] > chosen.tried[-1][1]
    assert chosen.tried[-1][0] == chosen.model.description


def test_standard_friction_stays_standard() -> None:
    """Nothing is added where there is nothing to gain."""
    found = of(measured(exact_motion(with_drives(arm(SIX)), 24.0), seed=1, decimate=10), None)
    assert [friction.model for friction in found.friction] == [FrictionModel()] * 6


def test_load_is_what_bodies_exert() -> None:
    robot = with_drives(arm(SIX))
    exact = exact_motion(robot, 2.0)
    base = base_columns(robot)
    known = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    x = base.matrix @ np.array([known[name] for name in base.standard_names])
    frictionless = robot.with_parameters({f"{f}{j}": 0.0 for f in ("Fv", "Fs", "Fo") for j in range(1, 7)})
    expected = dyn_core.compile_model(frictionless, backend="python").inverse_dynamics(
        exact.q, exact.qd, exact.qdd
    )
    np.testing.assert_allclose(rigid_torques(Equations(exact, base), x), expected, atol=1e-9)
