# SPDX-License-Identifier: Apache-2.0
"""Identify the dynamic parameters of a robot from arrays of a recorded motion."""

from pathlib import Path

import numpy as np

import dyn_core as dyn

ROBOTS = Path(__file__).parents[1] / "config" / "robots"

robot = dyn.load_robot(ROBOTS / "rrp.urdf")  # the nominal robot

# A simulated recording: the real robot differs by up to 20 % and has friction.
real = dyn.with_model_error(robot, 0.2, seed=3)
rng = np.random.default_rng(0)
time = np.arange(0.0, 20.0, 2e-3)  # s
w = 2.0 * np.pi * 0.2 * np.arange(1, 5)[:, None, None]  # rad/s, four sines for each joint
a, phase = rng.normal(size=(2, 4, 1, 3)) * 0.3
angle = w * time[:, None] + phase
q = (a * np.sin(angle)).sum(axis=0)  # rad and m, (N, 3)
qd, qdd = (a * w * np.cos(angle)).sum(axis=0), -(a * w**2 * np.sin(angle)).sum(axis=0)
tau = dyn.compile_model(real).inverse_dynamics(q, qd, qdd) + 2.0 * qd + 0.5 * np.sign(qd)  # N m and N
tau += rng.normal(scale=0.05, size=tau.shape)  # noise of the sensors

# From arrays to parameters: repair, filter and differentiate, then fit.
log = dyn.log_of_arrays(robot.joint_names, time, q, tau)
found = dyn.identify(robot, dyn.condition(log))
for parameter in found.base:
    print(f"{parameter.name:6} {parameter.value:9.4f} +- {parameter.deviation:.4f} {parameter.unit}")
print(f"relative torque error of the fit: {found.errors.fitted.relative:.2%}")

identified = robot.with_parameters(found.parameters)  # for all models, simulations and files from here on
for name, value in zip(("expected", "real", "identified"), (robot, real, identified), strict=True):
    print(f"mass of the last link, {name}: {value.bodies[-1].M:.3f} kg")
assert abs(identified.bodies[-1].M - real.bodies[-1].M) < 0.01  # kg
