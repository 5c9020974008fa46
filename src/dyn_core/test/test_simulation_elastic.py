# SPDX-License-Identifier: Apache-2.0
"""Simulated robots with springs: stiff springs at 1 kHz, energy, and another integrator."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import Command
from depth import some
from elastic_oracle import ROBOTS, ElasticOracle, example
from extrapolation import integrated
from planar_chains import block
from refusals import refused
from simulated_motion import run

import dyn_core
from dyn_core import ModelWarning, SimulationSettings, Simulator
from dyn_core.robot.joints import Friction
from dyn_core.robot.robot import Robot

RX90 = ROBOTS / "rx90.urdf"
JOINTS = [f"joint_{k}" for k in range(1, 7)]
POSE = dict(zip(JOINTS, (0.3, 1.0, -0.4, 0.5, 0.3, 0.2), strict=True))
SPRUNG = {"joint_2": {"stiffness": 1e4, "rest": 0.1, "motor": {"inertia": 1.0}}}
SPRUNG["joint_3"] = {"stiffness": 1e4}
FREE = {"friction": False, "position_limits": False, "effort_limits": False}


def arm(stiffness: float, damping: float = 0.0, only: tuple[str, ...] = ()) -> tuple[Robot, ElasticOracle]:
    """The RX90 with springs behind its motors, and its oracle."""
    rotors = dict(zip(JOINTS, (2.5, 3.0, 1.0, 0.2, 0.15, 0.06), strict=True))
    spring = {"stiffness": stiffness, "damping": damping}
    springs = {name: spring | {"motor": {"inertia": rotors[name]}} for name in only or JOINTS}
    robot, rigid = (dyn_core.load_robot(RX90, side, snap=0) for side in ({"elastic": springs}, None))
    return robot, ElasticOracle(RX90.read_text(), rigid, springs, [joint.Ia for joint in robot.joints])


def swinging(robot: Robot, step: float = 1e-3, integrator: Any = "auto", substeps: int = 1) -> Simulator:
    """A simulator of an arm without friction and limits."""
    return Simulator(robot, SimulationSettings(step, integrator, substeps, **FREE), q=POSE)


@pytest.mark.parametrize("stiffness", some([1e3, 1e5, 1e7, 1e9], 1e7))
def test_energy_of_an_arm_that_swings_at_1_khz(stiffness: float) -> None:
    robot, oracle = arm(stiffness)
    simulator = swinging(robot)
    assert simulator.integrator == "implicit_midpoint"
    first = oracle.energy(simulator.state.q, simulator.state.qd)
    drifts, kinetic = [], 0.0
    for _ in range(200):
        state = run(simulator, 20)
        drifts.append(oracle.energy(state.q, state.qd) - first)
        kinetic = max(kinetic, first + drifts[-1] - oracle.energy(state.q, np.zeros(12)))
    assert kinetic > 100.0  # the arm swings
    worst = np.abs(drifts)
    assert worst.max() <= 1e-5 * kinetic
    assert worst[100:].max() <= 2.0 * worst[:100].max()  # the energy does not grow
    stretch = np.abs(state.q[:6] - state.q[6:]).max()
    assert stretch <= 200.0 / stiffness  # the springs hold the weight of the arm


def test_the_step_conserves_energy_exactly_where_only_springs_act() -> None:
    """A mass on a spring whose phase advances by up to 30 rad within a step."""
    text = dyn_core.write_urdf(block(mass=2.0))
    for stiffness in (10.0, 1e7, 2e9):
        robot = dyn_core.load_robot(text, {"elastic": {"slide": {"stiffness": stiffness, "rest": 0.5}}})
        simulator, energy = Simulator(robot, q=[0.6]), 0.5 * stiffness * 0.1**2
        for _ in range(1000):
            state = simulator.step()
            now = 0.5 * stiffness * (state.q[0] - 0.5) ** 2 + state.qd[0] ** 2
            assert now == pytest.approx(energy, rel=1e-9)


@pytest.mark.parametrize("damping", some([0.0, 30.0], 30.0))
def test_energy_balance(damping: float) -> None:
    """The energy changes by the work of actuators and springs."""
    robot, oracle = arm(2e4, damping)
    simulator = swinging(robot)
    first = oracle.energy(simulator.state.q, simulator.state.qd)
    work = lost = 0.0
    for k in range(1000):
        before = simulator.state
        after = run(simulator, 1, [*np.zeros(6), *(40.0 * np.sin(0.01 * k + np.arange(6.0)))])
        work += simulator.effort @ (after.q - before.q)
        middle = 0.5 * (before.qd + after.qd)
        lost += damping * ((middle[:6] - middle[6:]) ** 2).sum() * 1e-3
    now = oracle.energy(simulator.state.q, simulator.state.qd)
    assert lost > 0.0 or damping == 0.0
    assert abs(now - first - work + lost) <= 1e-4 * abs(work)


def test_motion_agrees_with_another_integrator() -> None:
    """The simulator has order 2; Pinocchio's inertia matrix is integrated by a method of order 16."""
    robot, oracle = arm(1e3, 4.0, only=("joint_2", "joint_5"))
    robot = replace(robot, joints=tuple(replace(joint, friction=Friction()) for joint in robot.joints))
    n = robot.dof
    tau = np.array([5.0, 0.0, -3.0, 1.0, 0.0, 0.2, 30.0, 0.5])  # no friction on elastic joints
    start = np.concatenate([Simulator(robot, q=POSE).state.q, np.zeros(n)])

    def derivative(x: np.ndarray) -> np.ndarray:
        return np.concatenate((x[n:], oracle.forward_dynamics(x[:n], x[n:], tau)))

    expected = integrated(derivative, start, 0.1, steps=40)
    errors = []
    for integrator, substeps in (("auto", 1), ("auto", 4), ("rk4", 1), ("semi_implicit_euler", 4)):
        state = run(swinging(robot, 1e-3, integrator, substeps), 100, tau)
        errors.append(float(np.abs(np.concatenate((state.q, state.qd)) - expected).max()))
    assert errors[0] / errors[1] == pytest.approx(16.0, rel=0.1)
    assert (np.array(errors)[[0, 2, 3]] < [2e-3, 1e-5, 0.2]).all()


def test_stiff_springs_move_like_rigid_joints() -> None:
    robot, _ = arm(1e7)
    rotors = {name: robot.joint(f"{name}_motor").Ia for name in JOINTS}
    rigid = swinging(dyn_core.load_robot(RX90, loops={"rotor_inertia": rotors}))
    assert rigid.integrator == "rk4"
    one, other = run(swinging(robot), 500), run(rigid, 500)
    assert np.abs(other.qd).max() > 1.0
    np.testing.assert_allclose(one.q[:6], other.q, rtol=0.0, atol=1e-4)


@pytest.mark.parametrize("integrator", ["auto", "semi_implicit_euler"])
def test_friction_stops_and_wrenches_with_stiff_springs(integrator: Any) -> None:
    robot = dyn_core.load_robot(ROBOTS / "high_speed_machine.urdf", loops=ROBOTS / "high_speed_machine.yaml")
    simulator = Simulator(robot, SimulationSettings(integrator=integrator))
    state = run(simulator, 300, {"axis_x": 59.0, "axis_y": -79.0})  # below Coulomb friction
    axes = [robot.joint_names.index(name) for name in ("axis_x", "axis_y")]
    assert not state.qd[axes].any()
    assert np.abs(state.q[axes]).max() < 1e-4  # the base swung when the arm was put on it
    assert np.isfinite(run(simulator, 600, {"axis_x": 3000.0, "axis_y": 1500.0}).q).all()
    assert simulator.at_stop == ("axis_x", "axis_y")
    simulator.set_effort({})
    simulator.set_wrenches({"head": [0.0, 0.0, 1000.0, 0.0, 0.0, 0.0]})
    state, weight = run(simulator, 3000), 9.81 * (110 + 6 + 4 + 38)
    assert np.abs(state.qd).max() < 1e-3
    assert state.q[robot.joint_names.index("cart_z")] == pytest.approx((1000.0 - weight) / 6e7, rel=1e-3)


def test_runge_kutta_refuses_springs_that_are_too_stiff() -> None:
    robot, _ = example("high_speed_machine")
    with pytest.warns(ModelWarning) as caught:
        Simulator(robot, SimulationSettings(integrator="rk4"))
    (warning,) = (one.message for one in caught)
    assert (warning.code, warning.values["robot"]) == ("springs-too-stiff", "high_speed_machine")
    assert (round(warning.values["frequency"]), warning.values["substeps"]) == (798, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Simulator(robot)
        Simulator(robot, SimulationSettings(integrator="rk4", substeps=3))


def test_positions_by_name_leave_springs_at_rest() -> None:
    springs = SPRUNG | {"joint_3": {"stiffness": 1e4, "rest": 0.2}}
    robot = dyn_core.load_robot(RX90, loops={"elastic": springs})
    names = [robot.coordinate_names.index(name) for name in ("joint_2", "joint_3", "joint_2_motor")]
    for q, expected in (
        (None, [0.0, 0.2, -0.1]),
        ({"joint_2": 0.5}, [0.5, 0.2, 0.4]),
        ({"joint_2_motor": 0.5}, [0.6, 0.2, 0.5]),
        ({"joint_2": 0.5, "joint_2_motor": 0.3, "joint_3": -0.3}, [0.5, -0.3, 0.3]),
    ):
        assert Simulator(robot, q=q).state.q[names].tolist() == expected
    simulator = Simulator(robot)
    simulator.set_state({"joint_2": 0.5})
    assert simulator.state.q[-1] == 0.4
    simulator.set_state({"joint_2": 0.5}, {"joint_2": 0.3, "joint_1": 0.1})
    assert simulator.state.qd.tolist() == [0.1, 0.3, 0.0, 0.0, 0.0, 0.0, 0.3]
    simulator.set_state({"joint_2_motor": 0.5}, {"joint_2_motor": 0.3})
    assert simulator.state.qd.tolist() == [0.0, 0.3, 0.0, 0.0, 0.0, 0.0, 0.3]
    with refused("argument-not-numbers", argument="q"):
        simulator.set_state({"joint_2": "far"})
    with refused("argument-joint-unknown", argument="q", unknown=["knee"]):
        simulator.set_state({"knee": 1.0})


def test_springs_rest_also_where_limits_exclude_0() -> None:
    motor = {"stiffness": 1e4, "motor": {"inertia": 1.0}}
    side = {"elastic": {"joint_2": motor, "joint_3": {"stiffness": 1e4, "rest": 9.0}}}
    text = RX90.read_text()
    lower = text.split('name="joint_2"')[1].split('lower="')[1].split('"')[0]
    robot = dyn_core.load_robot(text.replace(f'lower="{lower}"', 'lower="0.2"'), loops=side)
    names = [robot.coordinate_names.index(name) for name in ("joint_2", "joint_2_motor", "joint_3")]
    for q in (None, {}, {"joint_1": 0.3}):
        assert Simulator(robot, q=q).state.q[names].tolist() == [
            0.2,
            0.2,
            robot.joint("joint_3").limits.upper,
        ]


@pytest.mark.parametrize("integrator", ["auto", "rk4"])
def test_efforts_of_passive_elastic_joints_are_refused(integrator: Any) -> None:
    robot = dyn_core.load_robot(RX90, loops={"elastic": SPRUNG})
    simulator = Simulator(robot, SimulationSettings(1e-4, integrator))
    simulator.set_effort({"joint_2_motor": 6.0, "joint_2": 0.0})
    with_motor = ("joint_2", 5.0, "effort-on-spring-with-motor")
    for name, value, code in (with_motor, ("joint_3", -0.5, "effort-on-spring")):
        given = [value if name == own else 0.0 for own in robot.coordinate_names]
        for effort in ({name: value}, {"joint_2_motor": 1.0, name: value}, given, np.array(given)):
            with refused(code, joint=name, effort=value, unit="N m") as caught:
                simulator.set_effort(effort)
            assert caught.value.element == f"joint '{name}'"
            assert caught.value.values.get("motor", "joint_2_motor") == "joint_2_motor"
    assert simulator.effort.tolist() == simulator.command.tolist() == [0.0] * 6 + [6.0]  # unchanged
    with refused("joint-values-shape", argument="effort", count=7, joints=list(robot.coordinate_names)):
        simulator.set_effort([0.0] * 6)


@pytest.mark.parametrize("name", ["rrp", "sdt"])
def test_robots_without_springs(name: str) -> None:
    """They move as before, and can also be simulated by the midpoint rule."""
    robot, found = dyn_core.load_robot(ROBOTS / f"{name}.urdf"), []
    for integrator in ("auto", "rk4", "implicit_midpoint"):
        settings = SimulationSettings(integrator=integrator)
        simulator = Simulator(robot, settings, q=np.linspace(0.1, 0.2, robot.dof))
        found.append(run(simulator, 200, np.linspace(5.0, -5.0, robot.dof)))
    np.testing.assert_array_equal((found[0].q, found[0].qd), (found[1].q, found[1].qd))
    np.testing.assert_allclose(found[2].q, found[0].q, rtol=0.0, atol=1e-4)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    robot = [str(RX90), "--side-file", str(ROBOTS / "rx90_elastic.yaml")]
    simulate = Command(tmp_path, capsys, "simulate", *robot, "--out", str(tmp_path / "states.csv"))
    summary = simulate.json("--duration", "0.05")
    assert (summary["integrator"], summary["joint_names"][6]) == ("implicit_midpoint", "joint_1_motor")
    assert math.isfinite(summary["position"][1])
    assert "position.joint_6_motor" in (tmp_path / "states.csv").read_text().splitlines()[0]
    efforts = simulate.write("efforts.csv", "time,joint_2\n0,1\n0.1,1\n")
    expected = {"motor": "joint_2_motor", "element": "column 'joint_2'"}
    simulate.refused("--effort", efforts, code="effort-column-of-spring-with-motor", **expected)
