# SPDX-License-Identifier: Apache-2.0
"""Simulated robots and the accuracy of their motion, by Pinocchio and by their energy."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from extrapolation import integrated
from pinocchio_oracle import Oracle
from robots import ROBOTS, example

import dyn_core
from dyn_core import SimulationSettings, Simulator

EXAMPLES = ("rrp", "rx90", "two_branch")
METHODS = ("rk4", "semi_implicit_euler")


def simulator(robot: dyn_core.Robot, integrator: Any, step: float = 1e-3, **options: Any) -> Simulator:
    """Return a simulator with initial `q`, `qd` and other settings."""
    start = {name: options.pop(name) for name in ("q", "qd") if name in options}
    return Simulator(robot, SimulationSettings(step=step, integrator=integrator, **options), **start)


def run(simulator: Any, steps: int, effort: Any = None) -> Any:
    """Set the given efforts, step the simulator, and return the last state."""
    if effort is not None:
        simulator.set_effort(effort)
    for _ in range(steps):
        state = simulator.step()
    return state


def smooth_robot(name: str) -> dyn_core.Robot:
    """Return a robot with rotors and viscous friction, without Coulomb friction."""
    robot = example(name)
    coulomb = {f"{term}{j}": 0.0 for j in range(1, robot.dof + 1) for term in ("Fs", "Fo")}
    rotors = {f"Ia{j}": 0.05 * j for j in range(1, robot.dof + 1)}
    return robot.with_parameters({**coulomb, **rotors})


def difference_after_a_second(name: str, backend: Literal["c", "python"]) -> float:
    """Return the greatest difference of positions and velocities from Pinocchio's dynamics after 1 s.

    The arm moves under efforts, friction and a wrench. The simulator has steps of 1 ms, rk4; Pinocchio's
    direct dynamics are integrated by another method, of order 16.
    """
    robot, random = smooth_robot(name), np.random.default_rng(3)
    n, link = robot.dof, robot.link_names[-1]
    start, tau = random.uniform(-0.5, 0.5, 2 * n), random.uniform(-5.0, 5.0, n)
    wrench = random.uniform(-5.0, 5.0, 6)
    settings = SimulationSettings(1e-3, "rk4", backend=backend, position_limits=False, effort_limits=False)
    simulator = Simulator(robot, settings, q=start[:n], qd=start[n:])
    simulator.set_wrenches({link: wrench})
    state = run(simulator, 1000, tau)
    assert abs(state.time - 1.0) < 1e-15
    oracle = Oracle((ROBOTS / f"{name}.urdf").read_text(), robot.joint_names, robot.gravity)
    Fv, Ia = np.array([(joint.friction.Fv, joint.Ia) for joint in robot.joints]).T

    def derivative(x: np.ndarray) -> np.ndarray:
        torques = tau - Fv * x[n:]
        return np.concatenate((x[n:], oracle.direct_dynamics(x[:n], x[n:], torques, {link: -wrench}, Ia)))

    expected = integrated(derivative, start, 1.0, steps=50)
    return float(np.abs(np.concatenate((state.q, state.qd)) - expected).max())


def energy_drift(seconds: float) -> float:
    """Greatest relative change of the energy of the 6R arm that swings without friction, rk4 at 1 ms.

    The change is relative to the greatest kinetic energy or to the initial energy, whichever is smaller, both
    by Pinocchio.
    """
    robot, start = example("rx90"), np.array([0.3, 1.0, -0.4, 0.5, 0.3, 0.2])
    oracle = Oracle((ROBOTS / "rx90.urdf").read_text(), robot.joint_names, robot.gravity)
    settings = SimulationSettings(1e-3, "rk4", friction=False, position_limits=False, effort_limits=False)
    simulator = Simulator(robot, settings, q=start)
    first = oracle.energy(start, np.zeros(6))
    kinetic = drift = 0.0
    for _ in range(round(seconds / 0.02)):
        state = run(simulator, 20)
        now = oracle.energy(state.q, state.qd)
        kinetic = max(kinetic, now - oracle.energy(state.q, np.zeros(6)))
        drift = max(drift, abs(now - first))
    assert kinetic > 100.0  # the arm swings
    return drift / min(kinetic, abs(first))
