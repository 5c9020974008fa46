# SPDX-License-Identifier: Apache-2.0
"""From a description to a trajectory, to a log of another, simulated robot, and from that to the truth."""

from __future__ import annotations

import numpy as np
import pytest
import simulated_truth

import dyn_core
from dyn_core.identification.regressor.base_columns import base_columns

STEP_S = 2e-3
GAINS = 1e4, 200.0
"""Of positions and velocities, in accelerations (1/s^2, 1/s)."""


def log_along(
    excitation: dyn_core.Excitation, real: dyn_core.Robot, sensors: dyn_core.SensorSettings
) -> dyn_core.Log:
    """Answer what sensors say of a robot that follows the trajectory, by computed torque."""
    model = dyn_core.compile_model(excitation.robot)
    settings = dyn_core.SimulationSettings(step=STEP_S, integrator="rk4")
    times = np.arange(0.0, excitation.duration, STEP_S)
    wanted = excitation.trajectory.at_many(times)
    simulator = dyn_core.Simulator(real, settings, sensors, q=wanted.q[0])
    q, tau = np.empty_like(wanted.q), np.empty_like(wanted.q)
    state = simulator.state
    for k in range(len(times)):
        acceleration = (
            wanted.qdd[k] + GAINS[0] * (wanted.q[k] - state.q) + GAINS[1] * (wanted.qd[k] - state.qd)
        )
        simulator.set_effort(model.inverse_dynamics(state.q, state.qd, acceleration))
        measured = simulator.measure()
        q[k], tau[k] = measured.q, measured.effort
        state = simulator.step()
    return dyn_core.log_of_arrays(real.joint_names, times, q, tau)


@pytest.fixture(scope="module")
def description() -> dyn_core.Robot:
    return simulated_truth.arm(simulated_truth.SIX)


@pytest.fixture(scope="module")
def real(description: dyn_core.Robot) -> dyn_core.Robot:
    """Other masses, and rotors and friction, of which the description says nothing."""
    return simulated_truth.with_drives(description)


@pytest.fixture(scope="module")
def excitation(description: dyn_core.Robot) -> dyn_core.Excitation:
    settings = dyn_core.ExcitationSettings(
        duration=16.0, blend=1.5, tries=1, iterations=40, velocity_scale=0.6
    )
    return dyn_core.excite(description, settings)


def test_a_log_along_the_trajectory_gives_all_base_parameters(
    description: dyn_core.Robot, real: dyn_core.Robot, excitation: dyn_core.Excitation
) -> None:
    sensors = dyn_core.SensorSettings(position_noise=1e-5, effort_noise=0.05, seed=1)
    signals = dyn_core.condition(log_along(excitation, real, sensors), dyn_core.Protocol(cutoff=15.0))
    # An effort acts from its sample to the next, half a step late: the diagnosis would tell of it.
    found = dyn_core.identify(description, signals, dyn_core.IdentificationSettings(diagnose=False))
    parameters = [*found.base, *(one for joint in found.friction for one in joint.parameters[:3])]
    assert all(one.identifiable for one in parameters)
    base = base_columns(description)
    truth = simulated_truth.true_values(real, base)[: len(found.base)]
    values = np.array([one.value for one in found.base])
    deviations = np.array([one.deviation for one in found.base])
    off = np.abs(values - truth) / deviations
    assert (off < 5.0).all(), "five deviations, of 40 parameters in one run"
    assert (np.abs(values - truth) < 0.1 * np.abs(truth).max()).all()
    assert found.errors.held_out is not None
    assert found.errors.held_out.relative < 0.02
