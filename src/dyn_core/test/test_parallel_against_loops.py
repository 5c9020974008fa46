# SPDX-License-Identifier: Apache-2.0
"""Closed forms of platforms on legs against the general method for closed loops: two ways to one result."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from parallel_cases import case

import dyn_core

NAMES = ("gough_stewart", "delta", "six_legs")
"""The planar robot of the other tests is singular in its assembly, from which the general method starts."""

RELATIVE = 1e-9


@cache
def both(name: str) -> tuple[dyn_core.Model, dyn_core.ParallelModel]:
    robot = case(name).load()
    general = dyn_core.compile_model(robot, backend="python")
    return general, dyn_core.compile_parallel(robot, "platform", backend="python")


def states(general: dyn_core.Model, count: int) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Actuated positions near the assembly, velocities, accelerations."""
    random = np.random.default_rng(11)
    assembly = dict(general.robot.assembly)
    middle = np.array([assembly.get(joint, 0.0) for joint in general.joint_names])
    spread = [0.02 if joint.position_unit == "m" else 0.1 for joint in general.robot.independent_joints]
    n = len(middle)
    return [
        (middle + spread * random.uniform(-1.0, 1.0, n), 0.3 * random.normal(size=n), random.normal(size=n))
        for _ in range(count)
    ]


def agree(found: np.ndarray, expected: np.ndarray) -> None:
    scale = max(1.0, float(np.abs(expected).max()))
    assert np.abs(found - expected).max() <= RELATIVE * scale


@pytest.mark.parametrize("name", NAMES)
def test_dynamics(name: str) -> None:
    general, closed_form = both(name)
    assert general.joint_names == closed_form.joint_names
    for q, qd, qdd in states(general, 4):
        T = general.forward_kinematics(q, "platform")
        V = general.link_velocity(q, qd, "platform")
        Vd = general.link_acceleration(q, qd, qdd, "platform")
        for found, expected in zip(closed_form.inverse_kinematics(T, V, Vd), (q, qd, qdd), strict=True):
            agree(found, expected)
        tau = general.inverse_dynamics(q, qd, qdd)
        agree(closed_form.inverse_dynamics(T, V, Vd), tau)
        agree(closed_form.forward_dynamics(T, V, tau), Vd)
        agree(general.forward_dynamics(q, qd, tau), qdd)
        agree(general.bias_torques(q, qd) + general.inertia_matrix(q) @ qdd, tau)
        if closed_form.mobility.shape[1] == 6:
            J = general.jacobian(q, "platform")
            agree(J.T @ closed_form.inertia_matrix(T) @ J, general.inertia_matrix(q))
