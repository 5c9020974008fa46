# SPDX-License-Identifier: Apache-2.0
"""Motions of the simulator beside those that follow from Pinocchio's direct dynamics."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_motion import EXAMPLES, ROBOTS, difference_after_a_second, energy_drift, smooth_robot

import dyn_core
from dyn_core import SimulationSettings, Simulator

FREE = {"position_limits": False, "effort_limits": False}


@pytest.mark.parametrize("backend", ["c", "python"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_second_of_motion_is_that_of_pinocchio(name: str, backend: str) -> None:
    assert difference_after_a_second(name, backend) < 1e-8


def test_a_frictionless_swing_keeps_its_energy() -> None:
    assert energy_drift(60.0) < 1e-6


@pytest.mark.parametrize(("integrator", "order"), [("rk4", 4), ("semi_implicit_euler", 1)])
def test_order(integrator: str, order: int) -> None:
    robot = smooth_robot("rx90")
    tau = np.array([10.0, -20.0, 8.0, 1.0, -1.0, 0.2])
    ends = []
    for step in (4e-3, 2e-3, 1e-3, 1e-4):
        one = SimulationSettings(step=step, integrator=integrator, **FREE)
        simulator = Simulator(robot, one)
        simulator.set_effort(tau)
        for _ in range(round(0.4 / step)):
            simulator.step()
        ends.append(simulator.state.q)
    if order == 1:  # the reference has to be better than what is looked at
        reference = SimulationSettings(step=1e-3, integrator="rk4", **FREE)
        simulator = Simulator(robot, reference)
        simulator.set_effort(tau)
        for _ in range(400):
            simulator.step()
        ends[-1] = simulator.state.q
    errors = [np.abs(end - ends[-1]).max() for end in ends[:-1]]
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    np.testing.assert_allclose(orders, order, atol=0.25)


@pytest.mark.parametrize("integrator", ["rk4", "semi_implicit_euler"])
def test_substeps_are_shorter_steps(integrator: str) -> None:
    robot = dyn_core.load_robot(ROBOTS / "rx90.urdf")
    ends = []
    for step, substeps in ((1e-2, 10), (1e-3, 1)):
        simulator = Simulator(robot, SimulationSettings(step=step, substeps=substeps, integrator=integrator))
        simulator.set_effort([0.0, 50.0, 0.0, 3.0, 0.0, 1.5])
        for _ in range(round(0.1 / step)):
            simulator.step()
        ends.append(simulator.state)
    np.testing.assert_allclose(ends[0].q, ends[1].q, atol=1e-12)
    assert ends[0].time == pytest.approx(ends[1].time, abs=1e-15)


def test_strong_viscous_friction_needs_no_small_steps() -> None:
    """Fv / A is some 1e6 / s at 1 ms; the arm creeps with tau = H."""
    robot = dyn_core.load_robot(ROBOTS / "rx90.urdf")
    robot = robot.with_parameters({f"Fv{j}": 1e4 for j in range(1, 7)})
    simulator = Simulator(robot, SimulationSettings(integrator="semi_implicit_euler"))
    simulator.set_effort([100.0, 200.0, 60.0, 20.0, 20.0, 10.0])
    model = dyn_core.compile_model(robot)
    for _ in range(100):
        state = simulator.step()
    rest = simulator.effort - model.bias_torques(state.q, state.qd)
    np.testing.assert_allclose(rest, 0.0, atol=1e-3)
    assert np.abs(state.qd).max() < 0.05


def test_divergence_ends_in_a_sentence_and_the_state_stays() -> None:
    robot = smooth_robot("rx90").with_parameters({"Fv3": 1e6})
    with pytest.warns(
        dyn_core.ModelWarning, match="brings joint 'joint_3' to rest in .* s, too fast for rk4"
    ):
        simulator = Simulator(robot)
    simulator.set_effort([0.0, 150.0, 20.0, 1.0, 1.0, 1.0])
    states = [simulator.state]
    with pytest.raises(
        dyn_core.DynError, match=r"diverges at 0\.00\d+ s: .* joint '.*' becomes .*"
    ) as caught:
        states.extend(simulator.step() for _ in range(100))
    before = simulator.state
    assert before is states[-1]
    assert np.isfinite(before.q).all()
    assert np.isfinite(before.qd).all()
    assert "take a smaller step or more substeps, or the integrator semi_implicit_euler" in str(caught.value)
