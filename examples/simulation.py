# SPDX-License-Identifier: Apache-2.0
"""Simulate a robot that differs from its description, under PD control with and without the model."""

from pathlib import Path

import numpy as np

import dyn_core as dyn

ROBOTS = Path(__file__).parents[1] / "config" / "robots"

robot = dyn.load_robot(ROBOTS / "rx90.urdf")
model = dyn.compile_model(robot)
real = dyn.with_model_error(robot, 0.05, seed=1)  # masses, centres and inertias differ by up to 5 %

kp = np.array([2000.0, 2000.0, 1000.0, 100.0, 100.0, 30.0])  # N m/rad
kd = np.array([200.0, 200.0, 100.0, 5.0, 5.0, 1.0])  # N m s/rad
w = 2.0 * np.pi * 0.5  # rad/s


def tracking_error(feedforward: bool) -> float:
    """Return the RMS error of all joints over a swing of 2 s, in rad."""
    simulator = dyn.Simulator(real, dyn.SimulationSettings(step=1e-3))
    errors = []
    for time in np.arange(0.0, 2.0, 1e-3):  # s
        q_d = np.full(6, 0.3 * (1.0 - np.cos(w * time)))  # rad: the desired motion
        qd_d, qdd_d = np.full(6, 0.3 * w * np.sin(w * time)), np.full(6, 0.3 * w**2 * np.cos(w * time))
        q, qd = simulator.state.q, simulator.state.qd
        of_model = model.inverse_dynamics(q_d, qd_d, qdd_d) if feedforward else 0.0
        simulator.set_effort(kp * (q_d - q) + kd * (qd_d - qd) + of_model)  # N m
        simulator.step()
        errors.append(q_d - q)
    return float(np.sqrt(np.mean(np.square(errors))))


without, with_model = tracking_error(feedforward=False), tracking_error(feedforward=True)
print(f"tracking error: {1e3 * without:.2f} mrad by PD alone, {1e3 * with_model:.2f} mrad with the model")
assert with_model < 0.2 * without
