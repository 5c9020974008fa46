# SPDX-License-Identifier: Apache-2.0
"""Simulation steps in compiled code, against the integrators in Python."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from depth import some
from five_bar import UP, five_bar
from robots import example, loop_robot
from simulated_motion import run

import dyn_core
from dyn_core import DynError, SimulationSettings, Simulator
from dyn_core.simulation.integrators import integration_step as advance

TREES = ("rrp", "rx90", "two_branch")
LOOPS = ("five_bar", "sr400", "palletizer", "delta")


def counted() -> Any:
    """Count the steps that Python makes."""
    return patch.object(advance, "_step_with_events", wraps=advance._step_with_events)


def in_python(simulator: Simulator) -> Simulator:
    """The same simulator with all steps in Python."""
    for name in ("usual_step", "usual_mode"):
        object.__setattr__(simulator._mechanism, name, None)
    return simulator


def both(robot: dyn_core.Robot, settings: SimulationSettings, **start: Any) -> tuple[Simulator, Simulator]:
    return Simulator(robot, settings, **start), in_python(Simulator(robot, settings, **start))


@pytest.mark.parametrize("integrator", ["rk4", "semi_implicit_euler"])
@pytest.mark.parametrize("name", some([*TREES, *LOOPS], "rrp", "rx90", "five_bar", "delta"))
def test_compiled_and_python_steps_give_the_same_motion(name: str, integrator: Any) -> None:
    """With friction, limits and substeps, under efforts that make joints reverse and hit their stops."""
    robot = loop_robot(name) if name in LOOPS else example(name)
    one, other = both(robot, SimulationSettings(2e-3, integrator, substeps=2))
    model = dyn_core.compile_model(robot)
    gravity, A = model.gravity_torques(one.state.q), model.inertia_matrix(one.state.q)
    swing = 1.5 * np.array(one._mechanism.Fs) + 40.0 * np.diag(A)
    efforts = [gravity + swing * np.sin(0.06 * k * (1.0 + 0.2 * np.arange(robot.dof))) for k in range(100)]
    with counted() as of_python:
        _follow(one, efforts)
    assert of_python.call_count < 60  # of 200
    _follow(other, efforts)
    assert np.abs(one.state.q - other._initial.q).max() > 1e-3  # the joints move
    np.testing.assert_allclose(one.state.q, other.state.q, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(one.state.qd, other.state.qd, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(one.passive_state.q, other.passive_state.q, rtol=1e-9, atol=1e-11)
    assert one.state.time == other.state.time
    for array in (one.state.q, one.state.qd):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def _follow(simulator: Simulator, efforts: list[np.ndarray]) -> None:
    for effort in efforts:
        simulator.set_effort(effort)
        simulator.step()


def pendulum(friction: float = 0.0, limit: float = 2.0) -> dyn_core.Robot:
    """One joint about a horizontal axis, 1 kg at 1 m."""
    return dyn_core.load_robot(
        '<robot name="pendulum"><link name="base"/><link name="arm"><inertial><origin xyz="1 0 0"/>'
        '<mass value="1"/><inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>'
        '<joint name="swing" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>'
        f'<limit lower="{-limit}" upper="{limit}" effort="100" velocity="10"/>'
        f'<dynamics friction="{friction}"/></joint></robot>'
    )


STARTS: dict[str, tuple[dyn_core.Robot, dict[str, Any], int]] = {
    "free": (pendulum(), {"q": [0.3], "qd": [1.0]}, 0),
    "begins at rest": (pendulum(), {"q": [0.3]}, 0),
    "friction holds it": (pendulum(friction=20.0), {"q": [0.3]}, 0),
    "breaks away": (pendulum(friction=1.0), {"q": [0.3]}, 1),
    "comes to rest": (pendulum(friction=20.0), {"q": [0.3], "qd": [0.005]}, 1),
    "lies on its stop": (pendulum(limit=0.3), {"q": [0.3]}, 0),
    "leaves its stop": (pendulum(limit=0.3), {"q": [-0.3], "qd": [0.5]}, 0),
    "falls off its stop": (pendulum(limit=0.3), {"q": [-0.3]}, 1),
    "runs into its stop": (pendulum(limit=0.3), {"q": [0.2999], "qd": [1.0]}, 1),
    "is at its stop": (pendulum(limit=0.3), {"q": [0.3], "qd": [1.0]}, 1),
}


@pytest.mark.parametrize("what", STARTS)
def test_only_steps_with_an_event_are_made_in_python(what: str) -> None:
    robot, start, left = STARTS[what]
    one, other = both(robot, SimulationSettings(1e-3), **start)
    np.testing.assert_allclose(one.acceleration, other.acceleration, rtol=1e-13, atol=1e-15)
    with counted() as of_python:
        one.step()
    assert of_python.call_count == left
    other.step()
    np.testing.assert_allclose(one.state.q, other.state.q, rtol=1e-14, atol=1e-16)
    np.testing.assert_allclose(one.state.qd, other.state.qd, rtol=1e-13, atol=1e-15)


def test_errors_that_end_a_simulation_are_the_same() -> None:
    """Singularities, open loops, and speeds that are not finite."""
    for robot, settings, start in (
        (five_bar(gravity=UP), SimulationSettings(), {"q": [-0.2, 0.4]}),
        (five_bar(), SimulationSettings(position_limits=False), {}),
        (pendulum(), SimulationSettings(greatest_speed=0.5), {"q": [0.3]}),
    ):
        said = []
        for simulator in both(robot, settings, **start):
            with pytest.raises(DynError) as caught:
                _follow(simulator, [np.zeros(robot.dof)] * 3000)
            error = caught.value
            said.append((error.code, error.element, error.values["time"], simulator.state.time))
        assert said[0] == said[1]


def test_passive_joints_stop_the_same_way() -> None:
    one, other = both(five_bar(damping=0.05, elbow=(0.5, 1.4)), SimulationSettings())
    with counted() as of_python:
        run(one, 400)
    assert 0 < of_python.call_count < 400
    run(other, 400)
    assert "left_elbow" in one.at_stop
    np.testing.assert_allclose(one.state.q, other.state.q, atol=1e-8)


WRENCH = {"arm": [0.0, 0.0, 5.0, 0.0, 0.0, 0.0]}


def test_payloads_and_wrenches() -> None:
    """A payload is a parameter of the same code; the torques of a wrench come from Python."""
    one, other = both(pendulum(), SimulationSettings(), q=[0.3])
    for simulator in (one, other):
        simulator.set_payload("arm", 3.0, (1.0, 0.0, 0.0))
    in_python(other)
    with counted() as of_python:
        one.step()
        assert of_python.call_count == 0
        np.testing.assert_allclose(one.acceleration, 9.81 * np.cos(one.state.q), rtol=1e-9)
        one.set_wrenches(WRENCH)
        one.step()
        assert of_python.call_count == 1
    other.step()
    other.set_wrenches(WRENCH)
    other.step()
    np.testing.assert_allclose(one.state.qd, other.state.qd, rtol=1e-13)


def test_arguments_of_wrong_type_or_size_are_refused() -> None:
    """No array is read beyond its end."""
    step: Any = Simulator(pendulum())._mechanism.usual_step
    x, none = np.zeros(1), np.zeros(0)
    assert step(False, x, x, x, 1e-3, none) is not None
    for arguments in (
        (np.zeros(2), x, x, 1e-3, none),
        (x, [0.0], x, 1e-3, none),
        (x, x, np.zeros(1, dtype=np.float32), 1e-3, none),
        (x, x, x, "1", none),
        (x, x, x, 1e-3),
    ):
        with pytest.raises(TypeError):
            step(False, *arguments)
