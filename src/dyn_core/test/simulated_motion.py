# SPDX-License-Identifier: Apache-2.0
"""How exact simulated motions are: beside Pinocchio, and by their energy."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
from extrapolation import integrated
from pinocchio_oracle import Oracle

import dyn_core
from dyn_core import SimulationSettings, Simulator

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
EXAMPLES = ("rrp", "rx90", "two_branch")


def smooth_robot(name: str) -> dyn_core.Robot:
    """A robot with friction, but none that jumps, and with rotors."""
    robot = dyn_core.load_robot(ROBOTS / f"{name}.urdf")
    coulomb = {f"{term}{j}": 0.0 for j in range(1, robot.dof + 1) for term in ("Fs", "Fo")}
    rotors = {f"Ia{j}": 0.05 * j for j in range(1, robot.dof + 1)}
    return robot.with_parameters({**coulomb, **rotors})


def difference_after_a_second(name: str, backend: Literal["c", "python"]) -> float:
    """Greatest difference of positions and velocities after 1 s from those that Pinocchio's dynamics give.

    The arm moves under efforts, friction and a wrench. The simulator has steps of 1 ms, rk4; Pinocchio's
    direct dynamics are integrated by another method, of order 16.
    """
    robot = smooth_robot(name)
    link = robot.link_names[-1]
    random = np.random.default_rng(3)
    q, qd = random.uniform(-0.5, 0.5, (2, robot.dof))
    tau = random.uniform(-5.0, 5.0, robot.dof)
    on_link = {link: random.uniform(-5.0, 5.0, 6)}
    settings = SimulationSettings(1e-3, "rk4", backend=backend, position_limits=False, effort_limits=False)
    simulator = Simulator(robot, settings, q=q, qd=qd)
    simulator.set_effort(tau)
    simulator.set_wrenches(on_link)
    for _ in range(1000):
        simulator.step()
    assert abs(simulator.state.time - 1.0) < 1e-15
    expected = _motion_of_pinocchio(name, robot, np.concatenate((q, qd)), tau, on_link)
    found = np.concatenate((simulator.state.q, simulator.state.qd))
    return float(np.abs(found - expected).max())


def _motion_of_pinocchio(
    name: str, robot: dyn_core.Robot, state: np.ndarray, tau: np.ndarray, on_link: dict[str, np.ndarray]
) -> np.ndarray:
    oracle = Oracle((ROBOTS / f"{name}.urdf").read_text(), robot.joint_names, robot.gravity)
    Fv, Ia, n = _parameters(robot, "Fv"), _parameters(robot, "Ia"), robot.dof
    by_link = {link: -wrench for link, wrench in on_link.items()}

    def derivative(x: np.ndarray) -> np.ndarray:
        return np.concatenate((x[n:], oracle.direct_dynamics(x[:n], x[n:], tau - Fv * x[n:], by_link, Ia)))

    return integrated(derivative, state, 1.0, steps=50)


def _parameters(robot: dyn_core.Robot, name: str) -> np.ndarray:
    named = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    return np.array([named[f"{name}{j}"] for j in range(1, robot.dof + 1)])


def energy_drift(seconds: float) -> float:
    """Greatest change of the energy of the 6R arm that swings without friction, rk4 at 1 ms.

    It is relative to the smaller of the greatest kinetic energy and the energy that there is at first, both
    of Pinocchio.
    """
    robot = dyn_core.load_robot(ROBOTS / "rx90.urdf")
    oracle = Oracle((ROBOTS / "rx90.urdf").read_text(), robot.joint_names, robot.gravity)
    settings = SimulationSettings(1e-3, "rk4", friction=False, position_limits=False, effort_limits=False)
    start = np.array([0.3, 1.0, -0.4, 0.5, 0.3, 0.2])
    simulator = Simulator(robot, settings, q=start)
    first = oracle.energy(start, np.zeros(6))
    kinetic = drift = 0.0
    for k in range(round(seconds / 1e-3)):
        simulator.step()
        if k % 20 == 0:
            state = simulator.state
            now = oracle.energy(state.q, state.qd)
            kinetic = max(kinetic, now - oracle.energy(state.q, np.zeros(6)))
            drift = max(drift, abs(now - first))
    assert kinetic > 100.0  # it did swing
    return drift / min(kinetic, abs(first))
