# SPDX-License-Identifier: Apache-2.0
"""Stiff springs of a whole tree at 1 kHz: energy over a minute, and the motion that SciPy's Radau finds."""

from __future__ import annotations

import numpy as np
import pytest
from elastic_oracle import ElasticOracle
from scipy.integrate import solve_ivp

import dyn_core
from dyn_core import SimulationSettings, Simulator
from dyn_core.robot.robot import Robot

GRAVITY = (1.0, -2.0, -9.0)
FREE = {"position_limits": False, "effort_limits": False}
START = {"a": 0.5, "c": 0.4, "d": -0.6, "f": 0.3}
INERTIAL = (
    '<inertial><mass value="{}"/><origin xyz="0.2 0.05 -0.1" rpy="0.3 0.2 0.1"/>'
    '<inertia ixx="0.05" iyy="0.06" izz="0.04" ixy="0.002" ixz="0" iyz="0.001"/></inertial>'
)
JOINTS = (
    ("a", "revolute", 0, 1, "0 1 0", "0 0 1"),
    ("b", "prismatic", 1, 2, "1 0 0.2", "0.3 0 0"),
    ("c", "revolute", 2, 3, "0 1 0.3", "0.3 0 0.1"),
    ("d", "revolute", 3, 4, "1 0 0", "0.2 0 0"),
    ("e", "prismatic", 3, 5, "0 0 1", "0 0.2 0"),
    ("f", "revolute", 1, 6, "1 1 0", "-0.3 0 0"),
    ("g", "revolute", 6, 7, "0 0 1", "0 0.3 0"),
)


def tree(stiffness: float, damping: float) -> tuple[Robot, ElasticOracle]:
    """Seven joints in two branches: three springs behind motors, two without, sliding and turning."""
    links = [
        '<link name="l0"/>',
        *(f'<link name="l{j}">{INERTIAL.format(3.0 / j)}</link>' for j in range(1, 8)),
    ]
    joints = [
        f'<joint name="{name}" type="{kind}"><parent link="l{parent}"/><child link="l{child}"/>'
        f'<axis xyz="{axis}"/><origin xyz="{xyz}" rpy="0.2 -0.3 0.4"/>'
        '<limit lower="-9" upper="9" velocity="0" effort="0"/></joint>'
        for name, kind, parent, child, axis, xyz in JOINTS
    ]
    urdf = f'<robot name="tree">{"".join(links + joints)}</robot>'
    spring = {"stiffness": stiffness, "damping": damping}
    springs = {
        "b": spring | {"rest": 0.02},
        "c": spring | {"rest": -0.1, "motor": {"inertia": 1e-4, "gear": 60}},
        "e": spring | {"rest": 0.05, "motor": {"inertia": 1e-4, "gear": -100}},
        "f": spring | {"motor": {"inertia": 0.4}},
        "g": spring | {"rest": 0.3},
    }
    robot = dyn_core.load_robot(urdf, loops={"elastic": springs}, snap=0, gravity=GRAVITY)
    rigid = dyn_core.load_robot(urdf, snap=0, gravity=GRAVITY)
    return robot, ElasticOracle(urdf, rigid, springs, [joint.Ia for joint in robot.joints])


@pytest.mark.parametrize(
    ("stiffness", "damping", "seconds"),
    [(1e7, 0.0, 60.0), (1e9, 1e6, 60.0), (1e5, 100.0, 10.0), (1e7, 1e4, 10.0), (1e9, 0.0, 10.0)],
)
def test_the_balance_of_energy(stiffness: float, damping: float, seconds: float) -> None:
    """Energy of Pinocchio, rotors and springs, with the work of a motor that holds a sliding joint."""
    robot, oracle = tree(stiffness, damping)
    simulator = Simulator(robot, SimulationSettings(1e-3, **FREE), q=START)
    held = oracle.names.index("e_motor")
    pairs = [(oracle.names.index(j), oracle.names.index(f"{j}_motor")) for j in ("c", "e", "f")]
    lumped = [oracle.names.index(j) for j in ("b", "g")]
    first = oracle.energy(simulator.state.q, simulator.state.qd)
    tau, work, lost, kinetic, off = np.zeros(robot.dof), 0.0, 0.0, 0.0, []
    for k in range(round(seconds / 1e-3)):
        before = simulator.state
        tau[held] = -150.0 * before.q[held] - 15.0 * before.qd[held]
        simulator.set_effort(tau)
        after = simulator.step()
        work += tau @ (after.q - before.q)
        if damping:
            rate = 0.5 * (before.qd + after.qd)
            stretched = sum((rate[j] - rate[motor]) ** 2 for j, motor in pairs) + (rate[lumped] ** 2).sum()
            lost += damping * stretched * 1e-3
        if k % 50 == 49:
            now = oracle.energy(after.q, after.qd)
            kinetic = max(kinetic, now - oracle.energy(after.q, np.zeros(robot.dof)))
            off.append(abs(now - first - work + lost))
    assert kinetic > 20.0  # it did swing
    assert max(off) <= 1e-5 * kinetic
    tenth = len(off) // 10
    assert max(off[-tenth:]) <= 4.0 * max(off[:tenth])  # it does not grow


@pytest.mark.parametrize("damping", [0.0, 1e4])
def test_the_motion_of_a_stiff_solver(damping: float) -> None:
    """Springs of 10^7 N m/rad; those without damping hum at kilohertz, which steps of 1 ms do not show."""
    robot, oracle = tree(1e7, damping)
    n = robot.dof
    tau = np.zeros(n)
    tau[[oracle.names.index("f_motor"), oracle.names.index("a")]] = 3.0, -2.0
    simulator = Simulator(
        robot, SimulationSettings(1e-3, **FREE), q=START, qd={"a": 1.0, "d": -2.0, "c": 0.5}
    )
    simulator.set_effort(tau)
    begin = np.concatenate((simulator.state.q, simulator.state.qd))

    def derivative(_: float, x: np.ndarray) -> np.ndarray:
        return np.concatenate((x[n:], oracle.forward_dynamics(x[:n], x[n:], tau)))

    # What hums undamped has to be followed all the way: an explicit method of order 8 is faster there.
    method = "Radau" if damping else "DOP853"
    steps = 100 if damping else 60
    solution = solve_ivp(derivative, (0.0, 1e-3 * steps), begin, method=method, rtol=1e-9, atol=1e-12)
    expected = solution.y[:, -1]
    for _ in range(steps):
        state = simulator.step()
    assert np.abs(expected[:n] - begin[:n]).max() > 0.1
    assert np.abs(state.q - expected[:n]).max() < 2e-6
    assert np.abs(state.qd - expected[n:]).max() < (1e-5 if damping else 5e-3)
