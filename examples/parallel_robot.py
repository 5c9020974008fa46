# SPDX-License-Identifier: Apache-2.0
"""A Gough-Stewart platform: forces of its six legs for a motion of the platform."""

from pathlib import Path

import numpy as np

import dyn_core as dyn

ROBOTS = Path(__file__).parents[1] / "config" / "robots"

robot = dyn.load_robot(ROBOTS / "gough_stewart.urdf", loops=ROBOTS / "gough_stewart.yaml")
model = dyn.compile_parallel(robot, platform="platform")

T = np.eye(4)  # placement of the platform in the frame of the base
T[:3, 3] = 0.0, 0.16, 0.74  # m
V = np.array([0.1, 0.0, -0.2, 0.0, 0.3, 0.0])  # its velocity, [linear; angular], m/s and rad/s
Vd = np.array([1.0, 0.5, 0.0, 0.0, 2.0, -1.0])  # its acceleration, m/s^2 and rad/s^2

tau = model.inverse_dynamics(T, V, Vd)  # N
q, qd, qdd = model.inverse_kinematics(T, V, Vd)  # m, m/s, m/s^2
for name, force, length in zip(model.joint_names, tau, q, strict=True):
    print(f"{name}: {force:8.2f} N at a length of {length:.3f} m")

# Forward dynamics and the Jacobian are the inverse functions.
assert np.allclose(model.forward_dynamics(T, V, tau), Vd)
assert np.allclose(model.jacobian(T) @ qd, V)

# The power of the legs equals that of the platform, also with a load that pushes it down.
load = {"platform": np.array([0.0, 0.0, 100.0, 0.0, 0.0, 0.0])}  # N, exerted on the environment
added = model.inverse_dynamics(T, V, Vd, wrenches=load) - tau
assert np.isclose(added @ qd, 100.0 * V[2])  # W
