# SPDX-License-Identifier: Apache-2.0
"""Identification from measured logs reaches the published results."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from measured_data_sets import (
    EMPS_PROTOCOL,
    EMPS_PUBLISHED,
    EMPS_URDF,
    UR10_PROTOCOL,
    emps_signals,
    ur10,
    ur10_signals,
)

import dyn_core
from dyn_core import FrictionModel, IdentificationSettings, Identified, Protocol, Signals, identify
from dyn_core.identification.estimators.physical_consistency import is_possible
from dyn_core.identification.friction.friction_model import STANDARD
from dyn_core.identification.output.parameter_set import standard_friction, torque_error

PROTOCOLS = {"published": EMPS_PROTOCOL, "default": Protocol(train=1.0)}  # of EMPS
PROTOCOL = pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS)


def of_emps(signals: Signals, friction: FrictionModel | None) -> Identified:
    models = None if friction is None else (friction,)
    return identify(dyn_core.load_robot(EMPS_URDF), signals, IdentificationSettings(models, loaded=False))


@PROTOCOL
def test_emps_gives_the_published_parameters(protocol: Protocol) -> None:
    found = of_emps(emps_signals("DATA_EMPS.mat", protocol), FrictionModel())
    values = {p.name: p for p in (*found.base, *found.friction[0].parameters)}
    for name, (value, deviation) in EMPS_PUBLISHED.items():
        assert abs(values[name].value - value) <= deviation, name
        assert values[name].essential
    assert found.errors.fitted.relative <= 0.0408
    assert found.consistent_errors.fitted.relative <= found.errors.fitted.relative + 0.002


@PROTOCOL
def test_emps_with_selected_friction_predicts_another_motion_better(protocol: Protocol) -> None:
    fitted = emps_signals("DATA_EMPS.mat", protocol)
    other = emps_signals("DATA_EMPS_PULSES.mat", replace(protocol, decimate=fitted.decimate))
    other = replace(other, time=fitted.time[-1] + 1.0 + other.time)
    names, count = ("time", "q", "qd", "qdd", "tau"), len(fitted)
    arrays = [np.concatenate([getattr(fitted, k), getattr(other, k)]) for k in names]
    parts = {"segments": ((0, count), (count, len(arrays[0]))), "train": count / len(arrays[0])}
    both = dyn_core.signals_of_arrays(fitted.joint_names, *arrays, decimate=fitted.decimate, **parts)
    standard, chosen = (of_emps(both, one).errors.held_out.relative for one in (FrictionModel(), None))
    assert chosen < 0.95 * standard


@pytest.fixture(scope="module")
def identified() -> Identified:
    return identify(ur10(), ur10_signals())


def test_ur10_predicts_held_out_data(identified: Identified) -> None:
    """Consistent parameters hardly increase the error."""
    assert identified.errors.held_out.relative <= 0.055  # the published error is 0.076
    assert any(friction.model.terms != STANDARD or friction.model.v0 for friction in identified.friction)
    assert identified.consistent_errors.held_out.relative <= identified.errors.held_out.relative + 0.002
    values = np.array([parameter.value for parameter in identified.standard]).reshape(6, 14)
    assert all(is_possible(body[:10]) for body in values)
    assert np.all(values[:, 10:13] >= 0.0)


def test_ur10_feedforward_torques_explain_most_of_the_measurement(identified: Identified) -> None:
    """Bodies with smooth viscous and Coulomb friction and offsets, fitted for feedforward: 5.8 %."""
    robot = ur10().with_parameters(identified.parameters)
    _, held_out = ur10_signals().split()
    model = dyn_core.compile_model(robot, backend="python", friction=False)
    load = model.inverse_dynamics(held_out.q, held_out.qd, held_out.qdd)
    torque = load + standard_friction(robot, held_out.qd, identified.coulomb_velocity)
    assert torque_error(held_out, torque).relative <= 0.062


def test_ur10_with_the_standard_model_agrees_with_the_published_error() -> None:
    """WLS with viscous and Coulomb friction only leaves 8.29 %."""
    found = identify(ur10(), ur10_signals(), IdentificationSettings((FrictionModel(),) * 6, diagnose=False))
    assert found.errors.held_out.relative == pytest.approx(0.0829, abs=2e-4)


def test_ur10_without_any_setting() -> None:
    """Cutoff and decimation chosen from the data are as good as the protocol."""
    signals = ur10_signals(Protocol())
    assert signals.cutoff != UR10_PROTOCOL.cutoff
    found = identify(ur10(), signals)
    assert found.errors.held_out.relative <= 0.06
    assert found.consistent_errors.held_out.relative <= found.errors.held_out.relative + 0.002
    assert found.findings == ()
