# SPDX-License-Identifier: Apache-2.0
"""A palletising arm with three parallelograms: torques of its four motors."""

from pathlib import Path

import numpy as np

import dyn_core as dyn

ROBOTS = Path(__file__).parents[1] / "config" / "robots"

# The URDF is a tree; the side file says where its branches are joined and which joints have no motor.
robot = dyn.load_robot(ROBOTS / "palletizer.urdf", loops=ROBOTS / "palletizer.yaml")
report = dyn.loop_report(robot)
print(f"{report.joints} joints, {len(report.loops)} loops, {report.dof} degrees of freedom")

# How each passive joint follows the motors.
for relation in report.relations.relations:
    print(relation.text)

# All vectors are those of the joints with motors.
model = dyn.compile_model(robot)
q = np.array([0.0, 0.3, 0.0, 0.1])  # rad, in the order of model.joint_names
qd = np.array([0.5, 0.2, 0.0, -0.1])  # rad/s
qdd = np.array([1.0, 0.0, 0.0, 0.0])  # rad/s^2
tau = model.inverse_dynamics(q, qd, qdd)  # N m
for name, torque in zip(model.joint_names, tau, strict=True):
    print(f"{name}: {torque:9.2f} N m")
assert np.allclose(model.forward_dynamics(q, qd, tau), qdd)

# Positions of the passive joints: the fork stays level in all positions of the arm.
passive = dict(zip(model.passive_joint_names, model.solve_loops(q), strict=True))  # rad
axis_2 = q[model.joint_names.index("axis_2")]
assert np.isclose(axis_2 + passive["elbow"] + passive["tilt"], 0.0)
