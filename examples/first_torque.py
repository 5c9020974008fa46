# SPDX-License-Identifier: Apache-2.0
"""Load a robot, compile its model, and compute the torques of a motion."""

from pathlib import Path

import numpy as np

import dyn_core as dyn

ROBOTS = Path(__file__).parents[1] / "config" / "robots"

robot = dyn.load_robot(ROBOTS / "rx90.urdf")
model = dyn.compile_model(robot)  # C code for this robot only, cached for later use

q = [0.0, 0.5, -0.5, 0.0, 0.3, 0.0]  # rad, in the order of model.joint_names
qd = [0.1, 0.1, 0.1, 0.1, 0.1, 0.1]  # rad/s
qdd = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]  # rad/s^2

tau = model.inverse_dynamics(q, qd, qdd)  # N m
weight = model.gravity_torques(q)  # N m, the part against gravity
for name, total, part in zip(model.joint_names, tau, weight, strict=True):
    print(f"{name}: {total:8.3f} N m, of which {part:8.3f} N m hold the weight")

# Forward dynamics is the inverse function: these torques give that acceleration.
assert np.allclose(model.forward_dynamics(q, qd, tau), qdd)

# Both are the equation of motion, A(q) qdd + H(q, qd) = tau.
A, H = model.inertia_matrix(q), model.bias_torques(q, qd)  # kg m^2, N m
assert np.allclose(A @ qdd + H, tau)
