# SPDX-License-Identifier: Apache-2.0
"""Compute the torques of a whole motion in one call, and compare them with the effort limits."""

from pathlib import Path
from time import perf_counter

import numpy as np

import dyn_core as dyn

ROBOTS = Path(__file__).parents[1] / "config" / "robots"

robot = dyn.load_robot(ROBOTS / "rx90.urdf")
model = dyn.compile_model(robot)

# Each joint swings by 0.4 rad at its own frequency: 10 000 samples of 10 s.
time = np.linspace(0.0, 10.0, 10_000)[:, None]  # s, (N, 1)
w = 2.0 * np.pi * np.array([0.2, 0.3, 0.4, 0.5, 0.6, 0.7])  # rad/s
q = 0.4 * np.sin(w * time)  # rad, (N, 6)
qd = 0.4 * w * np.cos(w * time)  # rad/s
qdd = -0.4 * w**2 * np.sin(w * time)  # rad/s^2

begin = perf_counter()
tau = model.inverse_dynamics(q, qd, qdd)  # N m, (N, 6)
print(f"{len(tau)} samples in {1e3 * (perf_counter() - begin):.1f} ms")

peak = np.abs(tau).max(axis=0)  # N m
for name, torque in zip(model.joint_names, peak, strict=True):
    print(f"{name}: {torque:7.2f} N m at most, {torque / robot.limits[name].effort:4.0%} of the limit")

# The same for a single sample.
assert np.allclose(tau[1234], model.inverse_dynamics(q[1234], qd[1234], qdd[1234]))
