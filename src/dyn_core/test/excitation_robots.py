# SPDX-License-Identifier: Apache-2.0
"""Robots for exciting trajectories, and an independent check of their limits."""

from __future__ import annotations

import numpy as np

import dyn_core

QUICK = {"duration": 10.0, "blend": 1.5, "tries": 1, "iterations": 20}
"""Settings of a short search."""

BOB = (
    '<inertial><origin xyz="0.1 0.05 0.2"/><mass value="2"/>'
    '<inertia ixx="0.03" iyy="0.02" izz="0.04" ixy="0.001" ixz="0" iyz="0.002"/></inertial>'
)


def robot_of(*joints: str, links: int | None = None, **options: object) -> dyn_core.Robot:
    """Return a chain of joints, each with type, attributes and content as in `joint`."""
    bodies = "".join(f'<link name="l{k}">{BOB}</link>' for k in range(1, len(joints) + 1))
    text = f'<robot name="chain"><link name="l0"/>{bodies}{"".join(joints)}</robot>'
    return dyn_core.load_robot(text, **options)


def joint(
    k: int, kind: str = "revolute", axis: str = "0 1 0", rest: str = "", parent: int | None = None
) -> str:
    """Return the element of joint j<k>, which carries link l<k>."""
    return (
        f'<joint name="j{k}" type="{kind}"><parent link="l{k - 1 if parent is None else parent}"/>'
        f'<child link="l{k}"/><origin xyz="0 0 0.3" rpy="0.4 0 0"/><axis xyz="{axis}"/>{rest}</joint>'
    )


def limit(lower: float = -2.0, upper: float = 2.0, velocity: float = 2.0, effort: float = 80.0) -> str:
    """Return the URDF element of joint limits."""
    return f'<limit lower="{lower}" upper="{upper}" velocity="{velocity}" effort="{effort}"/>'


def two_links(**options: object) -> dyn_core.Robot:
    """Return an arm with two joints that lift against gravity."""
    return robot_of(joint(1, rest=limit()), joint(2, rest=limit()), **options)


def assert_keeps_limits(excitation: dyn_core.Excitation) -> None:
    """Check the limits of the URDF, scaled by hand, on a dense time grid that the library does not use."""
    robot, settings = excitation.robot, excitation.settings
    random = np.random.default_rng(1).uniform(0, excitation.duration, 3000)
    t = np.sort(np.concatenate([np.linspace(0.0, excitation.duration, 6007), random]))
    q, qd, qdd = excitation.trajectory.at_many(t)
    tau = dyn_core.compile_model(robot).inverse_dynamics(q, qd, qdd)
    for k, one in enumerate(robot.independent_joints):
        limits = one.limits
        low, high = limits.lower, limits.upper
        if low is None or high is None:
            high = np.pi if one.position_unit == "rad" else 0.25
            low = -high
        middle, half = 0.5 * (low + high), 0.5 * settings.position_scale * (high - low)
        assert np.abs(q[:, k] - middle).max() <= half, one.name
        speed = limits.velocity or (1.0 if one.position_unit == "rad" else 0.25)
        assert np.abs(qd[:, k]).max() <= settings.velocity_scale * speed, one.name
        fastest = settings.accelerations.get(one.name, settings.velocity_scale * speed / 0.5)
        assert np.abs(qdd[:, k]).max() <= settings.acceleration_scale * fastest, one.name
        if limits.effort:
            assert np.abs(tau[:, k]).max() <= settings.effort_scale * limits.effort, one.name
    for box in settings.boxes:
        inside = np.ones(len(t), dtype=bool)
        for name, (low, high) in box.ranges.items():
            values = q[:, robot.joint_names.index(name)]
            inside &= (values >= low) & (values <= high)
        assert not inside.any(), box.name
