# SPDX-License-Identifier: Apache-2.0
"""Placement and velocity of the tool, and the motor torques due to a force on it."""

from pathlib import Path

import numpy as np

import dyn_core as dyn

ROBOTS = Path(__file__).parents[1] / "config" / "robots"

robot = dyn.load_robot(ROBOTS / "rx90.urdf")
model = dyn.compile_model(robot, links=["tool0"])  # compile now instead of at the first call for this link

q = np.array([0.2, 0.5, -0.5, 0.1, 0.3, 0.0])  # rad
qd = np.array([0.1, -0.2, 0.3, 0.0, 0.2, 0.5])  # rad/s

T = model.forward_kinematics(q, "tool0")  # 4 x 4, placement in the frame of the root link
J = model.jacobian(q, "tool0")  # 6 x n, [linear; angular] on the axes of the root link
print("tool at", T[:3, 3].round(4), "m")
print("tool moves at", (J @ qd)[:3].round(4), "m/s")

# The Jacobian is the derivative of the placement.
dt = 1e-6  # s
moved = model.forward_kinematics(q + qd * dt, "tool0")
assert np.allclose((moved - T)[:3, 3] / dt, (J @ qd)[:3], atol=1e-5)

# The tool presses with 50 N along its z axis. A wrench is exerted by the link on its environment.
wrench = np.array([0.0, 0.0, 50.0, 0.0, 0.0, 0.0])  # [force; moment], N and N m, in the frame of the link
rest = np.zeros(6)
tau = model.inverse_dynamics(q, rest, rest, wrenches={"tool0": wrench})  # N m
added = tau - model.inverse_dynamics(q, rest, rest)
print("pressing takes", added.round(3), "N m")
assert np.allclose(added, model.jacobian(q, "tool0", expressed_in="tool0").T @ wrench)
