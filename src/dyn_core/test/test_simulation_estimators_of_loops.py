# SPDX-License-Identifier: Apache-2.0
"""Estimators that simulate robots with loops: simulated truth with friction in passive joints, too."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from loop_robots import ROBOTS, loop_robot
from simulated_truth import DROPPED, RATE, excitation, low_pass, sensed, true_values
from test_identification_of_loops import REACH, truth

import dyn_core
from dyn_core.control.closed_motion import assembly
from dyn_core.control.joint_gains import joint_gains
from dyn_core.identification.estimators.estimators import Estimator
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.identify import identify
from dyn_core.identification.output.identified_parameters import Identified
from dyn_core.identification.passive_torques import PassiveTorques
from dyn_core.identification.regressor.base_columns import base_columns
from dyn_core.identification.settings import IdentificationSettings
from dyn_core.logs.conditioning.signals import Signals
from dyn_core.logs.control import Control
from dyn_core.signals.of_arrays import signals_of_arrays

V0 = 0.15
"""Velocity over which friction of actuated joints changes its sign (rad/s)."""
SUBSTEPS = 5
DURATION = {"five_bar": 12.0, "sr400": 12.0}
POSITION_NOISE = 1e-5


def under_control(robot: dyn_core.Robot, control: Control, count: int) -> Signals:
    """What a robot does whose torques are held for a sample, in steps of a fifth of one.

    Friction of passive joints changes its sign at once, and that of actuated joints over `V0`.
    """
    values = np.array(robot.parameters).reshape(-1, 14).copy()
    own = values[[j - 1 for j in robot.coordinates], 11:].copy()
    values[[j - 1 for j in robot.coordinates], 11:] = 0.0
    model = dyn_core.compile_model(robot.with_parameters(values.ravel().tolist()))
    h = 1.0 / (RATE * SUBSTEPS)

    def acceleration(q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> np.ndarray:
        friction = own[:, 0] * qd + own[:, 1] * np.tanh(qd / V0) + own[:, 2]
        return np.asarray(model.forward_dynamics(q, qd, tau - friction))

    rows = np.empty((4, count, robot.dof))
    q, qd = control.q[0].copy(), control.qd[0].copy()
    for k in range(count):
        tau = control.kp * (control.q[k] - q) + control.kd * (control.qd[k] - qd)
        rows[:, k] = q, qd, acceleration(q, qd, tau), tau
        for _ in range(SUBSTEPS):
            a1 = acceleration(q, qd, tau)
            a2 = acceleration(q + 0.5 * h * qd, qd + 0.5 * h * a1, tau)
            a3 = acceleration(q + 0.5 * h * qd + 0.25 * h * h * a1, qd + 0.5 * h * a2, tau)
            a4 = acceleration(q + h * qd + 0.5 * h * h * a2, qd + h * a3, tau)
            q = q + h * qd + h * h / 6.0 * (a1 + a2 + a3)
            qd = qd + h / 6.0 * (a1 + 2.0 * (a2 + a3) + a4)
    return signals_of_arrays(robot.coordinate_names, np.arange(count) / RATE, *rows)


@cache
def recorded(name: str) -> Signals:
    """What sensors say of it, with the control."""
    robot = loop_robot(name)
    t, q, qd, _ = excitation(robot.dof, DURATION[name])
    q, qd = assembly(robot) + REACH[name] * q, REACH[name] * qd
    gains = joint_gains(dyn_core.compile_model(robot), q[::50], 5.0, 0.7)
    control = Control(q, qd, np.zeros_like(q), gains.kp, gains.kd, np.full(robot.dof, np.inf))
    moved = under_control(truth(robot), control, len(t))
    positions, tau = sensed(moved, 3, position_noise=POSITION_NOISE)
    positions = low_pass(positions, 15.0)
    qd = np.gradient(positions, 1.0 / RATE, axis=0)
    inner = slice(DROPPED, -DROPPED)
    arrays = (a[inner] for a in (t, positions, qd, np.gradient(qd, 1.0 / RATE, axis=0), tau))
    signals = signals_of_arrays(robot.coordinate_names, *arrays, decimate=20, train=0.65)
    return replace(signals, control=control.part(DROPPED, len(t) - DROPPED))


@cache
def found(name: str, estimator: Estimator) -> Identified:
    robot = loop_robot(name)
    friction = (FrictionModel(v0=V0),) * robot.dof
    settings = IdentificationSettings(friction, estimator=estimator, diagnose=False)
    return identify(robot, recorded(name), settings)


@pytest.mark.parametrize("estimator", ["iv", "oe"])
@pytest.mark.parametrize("name", DURATION)
def test_parameters_and_held_out_error(name: str, estimator: Estimator) -> None:
    robot = loop_robot(name)
    identified, plain = found(name, estimator), found(name, "wls")
    expected = true_values(truth(robot), base_columns(robot))
    parameters = [*identified.base, *(p for one in identified.friction for p in one.parameters)]
    z = np.array(
        [
            (p.value - value) / p.deviation
            for p, value in zip(parameters, expected, strict=True)
            if p.identifiable
        ]
    )
    assert len(z) > 0.8 * len(parameters)
    assert np.abs(z).max() < 3.0
    assert np.sqrt(np.mean(z**2)) > 0.4, "deviations are not much too great"
    assert identified.errors.held_out is not None
    assert plain.errors.held_out is not None
    # Least squares make the errors along the measured positions least, and the others do not: 0.88 to 1.10.
    assert identified.errors.held_out.relative < 1.15 * plain.errors.held_out.relative


@pytest.mark.parametrize("name", ["five_bar", "sr400", "delta"])
def test_friction_of_passive_joints(name: str) -> None:
    """Beyond the width it is that of the model; within, columns and torques go through 0 together."""
    robot = truth(loop_robot(name))
    base = base_columns(robot)
    model = dyn_core.compile_model(robot, friction=False)
    known = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    values = np.array([known[parameter] for parameter in base.passive])
    at = assembly(robot)
    friction = PassiveTorques(base).of(values, model, at, 1e-3)
    assert friction is not None
    random = np.random.default_rng(0)
    q = at + 0.1 * random.uniform(-1.0, 1.0, (50, robot.dof))
    qd = 2.0 * random.uniform(-1.0, 1.0, q.shape)
    joints = {robot.joints[int(parameter[2:]) - 1].name for parameter in base.passive}
    rates = np.asarray(model.solve_loops(q, qd)[1])[:, np.isin(model.passive_joint_names, list(joints))]
    fast = (np.abs(rates) > 0.1).all(axis=1)
    assert fast.sum() > 5
    table = np.zeros((len(robot.joints), 14))
    for parameter, value in zip(base.passive, values, strict=True):
        table[int(parameter[2:]) - 1, {"Fv": 11, "Fs": 12}[parameter[:2]]] = value
    only = dyn_core.compile_model(robot.with_parameters(table.ravel().tolist()))
    expected = only.friction_torques(qd, q)
    found = [friction.torques(*state) for state in zip(q[fast], qd[fast], strict=True)]
    np.testing.assert_allclose(found, expected[fast], rtol=1e-9, atol=1e-9)
    # Of slow motions both are continuous, where the sign is not.
    coulomb = [k for k, n in enumerate(base.kept) if n in base.passive and n.startswith("Fs")]
    slow = 1e-10 * qd
    for column in (base.columns, friction.base.columns):
        W = column(q, qd, 0.0 * qd)
        np.testing.assert_allclose(W[fast], base.columns(q, qd, 0.0 * qd)[fast], rtol=1e-9, atol=1e-9)
        still = np.abs(column(q, slow, 0.0 * qd)[..., coulomb]).max()
        steep = column == base.columns
        assert (still > 0.1) if steep else (still < 0.02)
    assert max(np.abs(friction.torques(*state)).max() for state in zip(q, slow, strict=True)) < 0.02


def test_without_passive_joints_there_is_no_friction_of_theirs() -> None:
    robot = dyn_core.load_robot(ROBOTS / "rrp.urdf")
    base = base_columns(robot)
    model = dyn_core.compile_model(robot, friction=False)
    assert PassiveTorques(base).of(np.empty(0), model, np.zeros(3), 1e-3) is None
