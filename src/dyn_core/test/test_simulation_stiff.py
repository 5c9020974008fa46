# SPDX-License-Identifier: Apache-2.0
"""Simulated motion against independent solvers, and its energy."""

from __future__ import annotations

import numpy as np
import pytest
from depth import some
from elastic_oracle import ElasticOracle
from refusals import refused
from robots import example
from scipy.integrate import solve_ivp
from simulated_motion import EXAMPLES, difference_after_a_second, energy_drift, run, simulator, smooth_robot

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
    """Seven joints in two branches, prismatic and revolute: three springs behind motors, two without."""
    links = "".join(f'<link name="l{j}">{INERTIAL.format(3.0 / j)}</link>' for j in range(1, 8))
    joints = "".join(
        f'<joint name="{name}" type="{kind}"><parent link="l{parent}"/><child link="l{child}"/>'
        f'<axis xyz="{axis}"/><origin xyz="{xyz}" rpy="0.2 -0.3 0.4"/>'
        '<limit lower="-9" upper="9" velocity="0" effort="0"/></joint>'
        for name, kind, parent, child, axis, xyz in JOINTS
    )
    urdf = f'<robot name="tree"><link name="l0"/>{links}{joints}</robot>'
    spring = {"stiffness": stiffness, "damping": damping}
    springs = {
        "b": spring | {"rest": 0.02},
        "c": spring | {"rest": -0.1, "motor": {"inertia": 1e-4, "gear": 60}},
        "e": spring | {"rest": 0.05, "motor": {"inertia": 1e-4, "gear": -100}},
        "f": spring | {"motor": {"inertia": 0.4}},
        "g": spring | {"rest": 0.3},
    }
    sides = ({"elastic": springs}, None)
    robot, rigid = (dyn_core.load_robot(urdf, side, gravity=GRAVITY, snap=0) for side in sides)
    return robot, ElasticOracle(urdf, rigid, springs, [joint.Ia for joint in robot.joints])


SPRINGS = [
    *((1e7, 0.0, 5.0), (1e9, 1e6, 5.0)),
    *some([(1e7, 0.0, 60.0), (1e9, 1e6, 60.0), (1e5, 100.0, 10.0), (1e7, 1e4, 10.0), (1e9, 0.0, 10.0)]),
]


@pytest.mark.parametrize(("stiffness", "damping", "seconds"), SPRINGS)
def test_the_energy_balance(stiffness: float, damping: float, seconds: float) -> None:
    """Energy of Pinocchio, rotors and springs, with the work of a motor that holds a prismatic joint."""
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
        after = run(simulator, 1, tau)
        work += tau @ (after.q - before.q)
        if damping:
            rate = 0.5 * (before.qd + after.qd)
            stretched = sum((rate[j] - rate[motor]) ** 2 for j, motor in pairs) + (rate[lumped] ** 2).sum()
            lost += damping * stretched * 1e-3
        if k % 50 == 49:
            now = oracle.energy(after.q, after.qd)
            kinetic = max(kinetic, now - oracle.energy(after.q, np.zeros(robot.dof)))
            off.append(abs(now - first - work + lost))
    assert kinetic > 20.0  # the robot swings
    assert max(off) <= 1e-5 * kinetic
    tenth = len(off) // 10
    assert max(off[-tenth:]) <= 4.0 * max(off[:tenth])  # the energy does not grow


@pytest.mark.parametrize("damping", some([0.0, 1e4], 1e4))
def test_motion_agrees_with_a_stiff_solver(damping: float) -> None:
    """Springs of 10^7 N m/rad; undamped ones vibrate at kilohertz, which steps of 1 ms do not resolve."""
    robot, oracle = tree(1e7, damping)
    n, rates = robot.dof, {"a": 1.0, "d": -2.0, "c": 0.5}
    simulator = Simulator(robot, SimulationSettings(1e-3, **FREE), q=START, qd=rates)
    simulator.set_effort({"f_motor": 3.0, "a": -2.0})
    tau, begin = simulator.effort, np.concatenate((simulator.state.q, simulator.state.qd))

    def derivative(_: float, x: np.ndarray) -> np.ndarray:
        return np.concatenate((x[n:], oracle.forward_dynamics(x[:n], x[n:], tau)))

    # Undamped vibration has to be resolved fully: an explicit method of order 8 is faster there.
    method, steps = ("Radau", 100) if damping else ("DOP853", 60)
    solution = solve_ivp(derivative, (0.0, 1e-3 * steps), begin, method=method, rtol=1e-9, atol=1e-12)
    expected, state = solution.y[:, -1], run(simulator, steps)
    assert np.abs(expected[:n] - begin[:n]).max() > 0.1
    assert np.abs(state.q - expected[:n]).max() < 2e-6
    assert np.abs(state.qd - expected[n:]).max() < (1e-5 if damping else 5e-3)


# Simulated motion against the integration of Pinocchio's direct dynamics.


@pytest.mark.parametrize("backend", ["c", "python"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_second_of_motion_agrees_with_pinocchio(name: str, backend: str) -> None:
    assert difference_after_a_second(name, backend) < 1e-8


def test_a_frictionless_swing_conserves_energy() -> None:
    assert energy_drift(60.0) < 1e-6


@pytest.mark.parametrize(("integrator", "order"), [("rk4", 4), ("semi_implicit_euler", 1)])
def test_the_order_of_convergence(integrator: str, order: int) -> None:
    ends = []
    # The reference, which is the last one, must be more accurate than the others.
    for step, method in ((4e-3, integrator), (2e-3, integrator), (1e-3, integrator), (1e-4, "rk4")):
        one = simulator(smooth_robot("rx90"), method, step=step, **FREE)
        ends.append(run(one, round(0.4 / step), [10.0, -20.0, 8.0, 1.0, -1.0, 0.2]).q)
    errors = np.array([np.abs(end - ends[-1]).max() for end in ends[:-1]])
    np.testing.assert_allclose(np.log2(errors[:-1] / errors[1:]), order, atol=0.25)


@pytest.mark.parametrize("integrator", ["rk4", "semi_implicit_euler"])
def test_substeps_are_shorter_steps(integrator: str) -> None:
    ends = []
    for step, substeps in ((1e-2, 10), (1e-3, 1)):
        one = simulator(example("rx90"), integrator, step=step, substeps=substeps)
        ends.append(run(one, round(0.1 / step), [0.0, 50.0, 0.0, 3.0, 0.0, 1.5]))
    np.testing.assert_allclose(ends[0].q, ends[1].q, atol=1e-12)
    assert ends[0].time == pytest.approx(ends[1].time, abs=1e-15)


def test_strong_viscous_friction_needs_no_small_steps() -> None:
    """Fv / A is about 1e6 / s at steps of 1 ms; the arm creeps with tau = H."""
    robot = example("rx90").with_parameters({f"Fv{j}": 1e4 for j in range(1, 7)})
    one = simulator(robot, "semi_implicit_euler")
    state = run(one, 100, [100.0, 200.0, 60.0, 20.0, 20.0, 10.0])
    needed = dyn_core.compile_model(robot).bias_torques(state.q, state.qd)
    np.testing.assert_allclose(needed, one.effort, rtol=0.0, atol=1e-3)
    assert np.abs(state.qd).max() < 0.05


def test_divergence_is_an_error_and_the_state_is_kept() -> None:
    robot = smooth_robot("rx90").with_parameters({"Fv3": 1e6})
    with pytest.warns(dyn_core.ModelWarning) as warned:
        simulator = Simulator(robot)
    found = [(one.message.code, one.message.values["joint"]) for one in warned]
    assert found == [("viscous-friction-too-strong", "joint_3")]
    simulator.set_effort([0.0, 150.0, 20.0, 1.0, 1.0, 1.0])
    states = [simulator.state]
    with refused("simulation-diverged") as caught:
        states.extend(simulator.step() for _ in range(100))
    assert simulator.state is states[-1]
    assert np.isfinite((simulator.state.q, simulator.state.qd)).all()
    assert "semi_implicit_euler" in caught.value.values["remedy"]
