# SPDX-License-Identifier: Apache-2.0
"""Change the payload, the friction and the mounting of a robot while the model is in use."""

from pathlib import Path

import numpy as np

import dyn_core as dyn

ROBOTS = Path(__file__).parents[1] / "config" / "robots"

robot = dyn.load_robot(ROBOTS / "rx90.urdf")
model = dyn.compile_model(robot, parameters="runtime")  # masses, inertias, friction and gravity can be set

q = [0.0, 0.0, -1.5, 0.0, 0.3, 0.0]  # rad: stretched out to the front
empty = model.gravity_torques(q)  # N m

# The hand grasps 3 kg with the centre of mass 10 cm in front of tool0.
loaded = robot.with_payload("tool0", mass=3.0, centre=(0.0, 0.0, 0.1))  # kg, m
model.set_parameters(loaded.parameters)
held = model.gravity_torques(q)
print(f"shoulder: {empty[1]:.2f} N m empty, {held[1]:.2f} N m with 3 kg")

# The difference is the weight of the body: m g J^T, at its centre of mass.
J = model.jacobian(q, "tool0")
arm = model.forward_kinematics(q, "tool0")[:3, :3] @ [0.0, 0.0, 0.1]  # m, from tool0 to the centre of mass
force = np.array([0.0, 0.0, 3.0 * 9.81])  # N, upwards
assert np.allclose(held - empty, J[:3].T @ force + J[3:].T @ np.cross(arm, force))

# One parameter by name, and gravity for a robot on a wall.
model.set_parameters({"Fv2": 5.0}, gravity=(9.81, 0.0, 0.0))  # N m s/rad, m/s^2
print(f"shoulder: {model.gravity_torques(q)[1]:.2f} N m on a wall")
assert model.friction_torques([0.0, 0.1, 0.0, 0.0, 0.0, 0.0])[1] >= 0.5  # N m
