# SPDX-License-Identifier: Apache-2.0
"""Each identification model gives the parameters of motions that Pinocchio has made, without noise."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pinocchio_oracle import Oracle
from simulated_truth import SEVEN, SIX, arm, arm_urdf, excitation

import dyn_core

FRICTION = ("Fv", "Fs", "Fo")
ALL = ("dynamic", "filtered", "energy", "power")
TURNED = dyn_core.MotorCoupling("w", {"joint_5": 1.0, "joint_6": -0.5})
OF_MOTOR = {"Iamw": 0.05, "Fvmw": 0.6, "Fsmw": 0.9}


def moved(
    axes: Sequence, motor: bool = False, decimate: int = 10
) -> tuple[dyn_core.Robot, dyn_core.Signals, dict[str, float]]:
    """An arm, a motion of it by Pinocchio with rotors and friction by hand, and its parameters."""
    robot = arm(axes)
    n = robot.dof
    t, q, qd, qdd = excitation(n, 12.0)
    oracle = Oracle(arm_urdf(axes), robot.joint_names, robot.gravity)
    rigid = np.array([oracle.inverse_dynamics(*state, {}) for state in zip(q, qd, qdd, strict=True)])
    size = np.linspace(1.0, 0.2, n)
    drives = {"Ia": 0.4 * size, "Fv": 3.0 * size, "Fs": 2.0 * size, "Fo": 0.3 * size}
    tau = rigid + drives["Ia"] * qdd + drives["Fv"] * qd + drives["Fs"] * np.sign(qd) + drives["Fo"]
    known = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    known |= {f"{name}{j}": x for name, values in drives.items() for j, x in enumerate(values.tolist(), 1)}
    if motor:
        a = np.array([0.0, 0.0, 0.0, 0.0, 1.0, -0.5])
        Ia, Fv, Fs = OF_MOTOR.values()
        tau += np.outer(Ia * (qdd @ a) + Fv * (qd @ a) + Fs * np.sign(qd @ a), a)
        known |= OF_MOTOR
    signals = dyn_core.signals_of_arrays(robot.joint_names, t, q, qd, qdd, tau, decimate=decimate)
    return robot, signals, known


def truth(model: dyn_core.IdentificationModel, known: dict[str, float]) -> np.ndarray:
    values = model.base.matrix @ np.array([known[name] for name in model.base.standard_names])
    return np.array([*values, *(known[name] for name in model.names[len(values) :])])


@pytest.mark.parametrize("axes", [SIX, SEVEN], ids=["six", "seven"])
@pytest.mark.parametrize("kind", ALL)
def test_a_model_gives_the_parameters(kind: str, axes: Sequence) -> None:
    """To what the jumps of Coulomb friction leave of integrals and differences; the dynamic one exactly."""
    robot, signals, known = moved(axes)
    model = dyn_core.identification_model(robot, signals, kind)
    base = dyn_core.base_parameters(robot)
    assert model.names == (*base.names, *(f"{f}{j}" for j in range(1, robot.dof + 1) for f in FRICTION))
    found, expected = model.estimate(), truth(model, known)
    tolerance = {"dynamic": 1e-8, "filtered": 2e-3, "energy": 2e-2, "power": 2e-2}[kind]
    np.testing.assert_allclose(found.values, expected, atol=tolerance * np.abs(expected).max())
    assert found.parameters["Fv1"] == found.values[model.names.index("Fv1")]
    assert np.isfinite(found.deviations).all()
    # The equations that can be looked at are those that were solved.
    left = model.measured - model.columns @ expected
    assert np.linalg.norm(left) < 0.02 * np.linalg.norm(model.measured)
    again = np.linalg.lstsq(model.columns, model.measured, rcond=None)[0]
    np.testing.assert_allclose(again, expected, atol=2.0 * tolerance * np.abs(expected).max())
    assert len(model.units) == model.columns.shape[1] == len(model.names)
    if kind in ("energy", "power"):
        assert set(model.joints.tolist()) == {-1}
    else:
        assert set(model.joints.tolist()) == set(range(robot.dof))
        for i in range(robot.dof):
            assert not np.any(model.columns[model.joints == i][:, ~model.structure[i]])


@pytest.mark.parametrize("kind", ["dynamic", "filtered"])
@pytest.mark.parametrize("axes", [SIX, SEVEN], ids=["six", "seven"])
def test_link_by_link(kind: str, axes: Sequence) -> None:
    """The equations are triangular: the last joint knows nothing of the links before it."""
    robot, signals, known = moved(axes)
    model = dyn_core.identification_model(robot, signals, kind)
    counts = model.structure.sum(axis=1).tolist()
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] < 0.3 * len(model.names)
    found, expected = model.link_by_link(), truth(model, known)
    tolerance = {"dynamic": 1e-7, "filtered": 2e-2}[kind]
    np.testing.assert_allclose(found.values, expected, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize("kind", ALL)
def test_motors_of_several_joints_are_in_every_model(kind: str) -> None:
    robot, signals, known = moved(SIX, motor=True)
    model = dyn_core.identification_model(robot, signals, kind, couplings=[TURNED])
    assert set(OF_MOTOR) <= set(model.names)
    found = model.estimate()
    for name, expected in OF_MOTOR.items():
        assert found.parameters[name] == pytest.approx(expected, abs=2e-2), name
    without = dyn_core.identification_model(robot, signals, kind).estimate()
    assert np.max(without.sigma) > 3.0 * np.max(found.sigma)
    if kind == "dynamic":
        by_link = model.link_by_link()
        expected = truth(model, known)
        np.testing.assert_allclose(by_link.values, expected, atol=1e-6 * np.abs(expected).max())


def test_what_a_model_cannot_do_is_said() -> None:
    robot, signals, _ = moved(SIX)
    with pytest.raises(ValueError, match="expected one of dynamic, filtered, energy, power"):
        dyn_core.identification_model(robot, signals, "kinetic")  # type: ignore[arg-type]
    loaded = (dyn_core.FrictionModel(("viscous", "load")),) * 6
    with pytest.raises(ValueError, match="the dynamic model cannot have it"):
        dyn_core.identification_model(robot, signals, friction=loaded)
    viscous = (dyn_core.FrictionModel(("viscous",)),) * 6
    with pytest.raises(ValueError, match="the energy model cannot have it"):
        dyn_core.identification_model(robot, signals, "energy", friction=viscous)
    assert "Fs1" not in dyn_core.identification_model(robot, signals, friction=viscous).names
    for kind in ("energy", "power"):
        model = dyn_core.identification_model(robot, signals, kind)
        for asked in (lambda model: model.structure, lambda model: model.link_by_link()):
            with pytest.raises(dyn_core.DynError, match=f"the {kind} model has one equation for all joints"):
                asked(model)
    with pytest.raises(dyn_core.DynError, match="the motion gives 5 equations of energy"):
        dyn_core.identification_model(robot, signals, "energy", interval=2000)
    with pytest.raises(dyn_core.DynError, match="there are no signals of 'joint_7'"):
        dyn_core.identification_model(arm(SEVEN), signals)
    _, whole, _ = moved(SIX, decimate=1)
    for kind in ("filtered", "power"):
        with pytest.raises(dyn_core.DynError, match="keep one sample of 2 or more"):
            dyn_core.identification_model(robot, whole, kind)
    tau = signals.tau.copy()
    tau[:, 2] = np.nan
    signals = replace(signals, tau=tau)
    with pytest.raises(dyn_core.DynError, match="the effort of 'joint_3' was not measured: the power model"):
        dyn_core.identification_model(robot, signals, "power")
    model = dyn_core.identification_model(robot, signals)
    assert 2 not in model.joints


def test_public_names_are_in_the_documentation() -> None:
    """Each has its place in docs/api.md."""
    text = (Path(__file__).resolve().parents[3] / "docs" / "api.md").read_text()
    missing = [
        name for name in dyn_core.__all__ if not re.search(rf":: dyn_core\.{name}$", text, re.MULTILINE)
    ]
    assert missing == []
