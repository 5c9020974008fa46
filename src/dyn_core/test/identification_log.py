# SPDX-License-Identifier: Apache-2.0
"""A small robot with known parameters, and logs of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from simulated_truth import excitation

import dyn_core
from dyn_core.core.arrays import Array

URDF = """<?xml version="1.0"?>
<robot name="two">
  <!-- a comment that has to stay -->
  <material name="grey"><color rgba="0.5 0.5 0.5 1"/></material>
  <link name="base">
    <inertial><mass value="9"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <link name="upper">
    <visual><geometry><mesh filename="package://two/meshes/upper.stl"/></geometry></visual>
    <inertial><origin xyz="0.2 0.01 0.03" rpy="0.1 0 0"/><mass value="4"/>
      <inertia ixx="0.03" iyy="0.08" izz="0.07" ixy="0.001" ixz="0" iyz="-0.002"/>
    </inertial>
    <collision><geometry><box size="0.4 0.1 0.1"/></geometry></collision>
  </link>
  <link name="fore"/>
  <link name="tool"><inertial><origin xyz="0.1 0 0"/><mass value="1.5"/>
    <inertia ixx="0.004" iyy="0.01" izz="0.011" ixy="0" ixz="0" iyz="0"/></inertial
    ><visual><geometry><sphere radius="0.05"/></geometry></visual></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <origin xyz="0 0 0.3" rpy="0.3 0.2 0"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="200" velocity="4"/>
    <dynamics damping="1.0" friction="1.0" spring_stiffness="0"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="fore"/>
    <origin xyz="0.4 0 0" rpy="0.2 0 0.1"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="200" velocity="4"/></joint>
  <joint name="flange" type="fixed"><parent link="fore"/><child link="tool"/>
    <origin xyz="0.05 0 0" rpy="0 0.4 0"/></joint>
  <transmission name="t1"><joint name="shoulder"/><actuator name="m1"/></transmission>
  <gazebo reference="upper"><mu1>0.2</mu1></gazebo>
</robot>
"""


def true_robot(text: str = URDF) -> dyn_core.Robot:
    """Return the true robot; its bodies, rotors and friction differ from the description."""
    robot = dyn_core.load_robot(text, snap=0)
    values = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    for j, size in ((1, 1.2), (2, 0.85)):
        values |= {name: size * value for name, value in values.items() if name.endswith(str(j))}
        values |= {f"Ia{j}": 0.3 / j, f"Fv{j}": 2.0 / j, f"Fs{j}": 3.0 / j, f"Fo{j}": 0.4 * (-1) ** j}
    return robot.with_parameters(values)


def write_log(
    path: Path,
    robot: dyn_core.Robot,
    duration: float = 8.0,
    seed: int = 0,
    noise: float = 0.02,
    sign: tuple[float, ...] | None = None,
) -> Path:
    """Write a CSV log of a robot that follows a Fourier series at 1 kHz, and return its path.

    `noise` is the standard deviation of the efforts (N m); `sign` has the sign of each joint's effort.
    """
    t, q, qd, qdd = excitation(robot.dof, duration, seed, speed=2.5)
    tau = dyn_core.compile_model(robot, backend="python").inverse_dynamics(q, qd, qdd)
    tau = tau + noise * np.random.default_rng(seed).normal(size=tau.shape)
    tau = tau * (1.0 if sign is None else np.array(sign))
    return write_table(path, robot.joint_names, t, np.round(q / 1e-6) * 1e-6, tau, "%.7g")


def write_table(
    path: Path, joints: Sequence[str], t: Array, q: Array, tau: Array, form: str = "%.9g"
) -> Path:
    """Write a CSV log of positions and efforts of joints, and return its path."""
    names = ["time", *(f"{what}.{joint}" for what in ("position", "effort") for joint in joints)]
    np.savetxt(path, np.column_stack([t, q, tau]), form, ",", header=",".join(names), comments="")
    return path
