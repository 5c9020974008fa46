# SPDX-License-Identifier: Apache-2.0
"""Simulated robots with springs: stiff ones at 1 kHz, their energy, and what another integrator says."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from elastic_oracle import ROBOTS, ElasticOracle, example
from extrapolation import integrated

import dyn_core
from dyn_core import ModelWarning, SimulationSettings, Simulator
from dyn_core.cli.main import main
from dyn_core.robot.joints import Joint
from dyn_core.robot.robot import Robot

JOINTS = [f"joint_{k}" for k in range(1, 7)]
POSE = dict(zip(JOINTS, (0.3, 1.0, -0.4, 0.5, 0.3, 0.2), strict=True))
FREE = {"friction": False, "position_limits": False, "effort_limits": False}


def arm(stiffness: float, damping: float = 0.0, only: tuple[str, ...] = ()) -> tuple[Robot, ElasticOracle]:
    """The RX90 with springs behind its motors, and its oracle."""
    rotors = dict(zip(JOINTS, (2.5, 3.0, 1.0, 0.2, 0.15, 0.06), strict=True))
    names = only or tuple(JOINTS)
    springs: dict[str, Any] = {
        name: {"stiffness": stiffness, "damping": damping, "motor": {"inertia": rotors[name]}}
        for name in names
    }
    path = ROBOTS / "rx90.urdf"
    robot = dyn_core.load_robot(path, loops={"elastic": springs}, snap=0)
    return robot, ElasticOracle(
        path.read_text(), dyn_core.load_robot(path, snap=0), springs, [joint.Ia for joint in robot.joints]
    )


@pytest.mark.parametrize("stiffness", [1e3, 1e5, 1e7, 1e9])
def test_energy_of_an_arm_that_swings_at_1_khz(stiffness: float) -> None:
    robot, oracle = arm(stiffness)
    simulator = Simulator(robot, SimulationSettings(1e-3, **FREE), q=POSE)
    assert simulator.integrator == "implicit_midpoint"
    first = oracle.energy(simulator.state.q, simulator.state.qd)
    drifts, kinetic = [], 0.0
    for k in range(4000):
        simulator.step()
        if k % 20 == 0:
            state = simulator.state
            now = oracle.energy(state.q, state.qd)
            drifts.append(now - first)
            kinetic = max(kinetic, now - oracle.energy(state.q, np.zeros(12)))
    assert kinetic > 100.0  # it did swing
    worst = np.abs(drifts)
    assert worst.max() <= 1e-5 * kinetic
    assert worst[100:].max() <= 2.0 * worst[:100].max()  # it does not grow
    stretch = np.abs(state.q[:6] - state.q[6:]).max()
    assert stretch <= 200.0 / stiffness  # the springs hold what the arm weighs, and no more


def test_the_step_keeps_its_energy_exactly_where_only_springs_act() -> None:
    """A mass on a spring that would turn up to 30 rad of its swing within a step."""
    text = """<robot name="mass"><link name="a"/><link name="b"><inertial><mass value="2"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="x" type="prismatic"><parent link="a"/><child link="b"/><axis xyz="1 0 0"/></joint></robot>"""
    for stiffness in (10.0, 1e7, 2e9):
        robot = dyn_core.load_robot(text, loops={"elastic": {"x": {"stiffness": stiffness, "rest": 0.5}}})
        simulator = Simulator(robot, q=[0.6])
        energy = 0.5 * stiffness * 0.1**2
        for _ in range(1000):
            state = simulator.step()
            now = 0.5 * stiffness * (state.q[0] - 0.5) ** 2 + state.qd[0] ** 2
            assert now == pytest.approx(energy, rel=1e-9)


@pytest.mark.parametrize("damping", [0.0, 30.0])
def test_energy_balance(damping: float) -> None:
    """What actuators and springs give and take is what the energy changes by."""
    robot, oracle = arm(2e4, damping)
    simulator = Simulator(robot, SimulationSettings(1e-3, **FREE), q=POSE)
    first = oracle.energy(simulator.state.q, simulator.state.qd)
    work = lost = 0.0
    for k in range(1000):
        before = simulator.state
        tau = 40.0 * np.sin(0.01 * k + np.arange(6.0))
        simulator.set_effort(np.concatenate((np.zeros(6), tau)))
        after = simulator.step()
        work += simulator.effort @ (after.q - before.q)
        middle = 0.5 * (before.qd + after.qd)
        lost += damping * ((middle[:6] - middle[6:]) ** 2).sum() * 1e-3
    now = oracle.energy(simulator.state.q, simulator.state.qd)
    assert lost > 0.0 or damping == 0.0
    assert abs(now - first - work + lost) <= 1e-4 * abs(work)


def test_the_motion_of_another_integrator() -> None:
    """Of order 2, beside Pinocchio's inertia matrix integrated by a method of order 16."""
    robot, oracle = arm(1e3, 4.0, only=("joint_2", "joint_5"))
    robot = replace(robot, joints=tuple(map(_frictionless, robot.joints)))
    n = robot.dof
    tau = np.array([5.0, 0.0, -3.0, 1.0, 0.0, 0.2, 30.0, 0.5])  # none on elastic joints
    start = np.concatenate([Simulator(robot, q=POSE).state.q, np.zeros(n)])

    def derivative(x: np.ndarray) -> np.ndarray:
        return np.concatenate((x[n:], oracle.forward_dynamics(x[:n], x[n:], tau)))

    expected = integrated(derivative, start, 0.1, steps=40)
    errors = []
    for integrator, substeps in (("auto", 1), ("auto", 4), ("rk4", 1), ("semi_implicit_euler", 4)):
        simulator = Simulator(robot, SimulationSettings(1e-3, integrator, substeps, **FREE), q=POSE)
        simulator.set_effort(tau)
        for _ in range(100):
            state = simulator.step()
        errors.append(float(np.abs(np.concatenate((state.q, state.qd)) - expected).max()))
    assert errors[0] < 2e-3
    assert errors[0] / errors[1] == pytest.approx(16.0, rel=0.1)
    assert errors[2] < 1e-5
    assert errors[3] < 0.2


def _frictionless(joint: Joint) -> Joint:
    return replace(joint, friction=type(joint.friction)())


def test_stiff_springs_move_as_rigid_joints_do() -> None:
    robot, _ = arm(1e7)
    rotors = {name: robot.joint(f"{name}_motor").Ia for name in JOINTS}
    rigid = dyn_core.load_robot(ROBOTS / "rx90.urdf", loops={"rotor_inertia": rotors})
    one = Simulator(robot, SimulationSettings(1e-3, **FREE), q=POSE)
    other = Simulator(rigid, SimulationSettings(1e-3, **FREE), q=POSE)
    assert other.integrator == "rk4"
    for _ in range(500):
        one.step()
        other.step()
    assert np.abs(other.state.qd).max() > 1.0
    np.testing.assert_allclose(one.state.q[:6], other.state.q, rtol=0.0, atol=1e-4)


@pytest.mark.parametrize("integrator", ["auto", "semi_implicit_euler"])
def test_friction_stops_and_the_wrench_of_the_environment_with_stiff_springs(integrator: Any) -> None:
    robot = dyn_core.load_robot(ROBOTS / "high_speed_machine.urdf", loops=ROBOTS / "high_speed_machine.yaml")
    simulator = Simulator(robot, SimulationSettings(integrator=integrator))
    simulator.set_effort({"axis_x": 59.0, "axis_y": -79.0})  # less than Coulomb friction
    for _ in range(300):
        simulator.step()
    for name in ("axis_x", "axis_y"):
        k = robot.joint_names.index(name)
        assert simulator.state.qd[k] == 0.0
        assert abs(simulator.state.q[k]) < 1e-4  # the base swung when the arm was put on it
    simulator.set_effort({"axis_x": 3000.0, "axis_y": 1500.0})
    for _ in range(600):
        simulator.step()
    assert simulator.at_stop == ("axis_x", "axis_y")
    assert np.isfinite(simulator.state.q).all()
    simulator.set_effort({})
    simulator.set_wrenches({"head": [0.0, 0.0, 1000.0, 0.0, 0.0, 0.0]})
    for _ in range(3000):
        simulator.step()
    assert np.abs(simulator.state.qd).max() < 1e-3
    lifted = simulator.state.q[robot.joint_names.index("cart_z")]
    weight = 9.81 * (110 + 6 + 4 + 38)
    assert lifted == pytest.approx((1000.0 - weight) / 6e7, rel=1e-3)


def test_the_runge_kutta_method_says_which_springs_are_too_stiff() -> None:
    robot, _ = example("high_speed_machine")
    with pytest.warns(ModelWarning) as caught:
        Simulator(robot, SimulationSettings(integrator="rk4"))
    assert [str(warning.message) for warning in caught] == [
        "robot 'high_speed_machine': on its springs it swings at 798 Hz, too fast for rk4 with steps of "
        "0.001 s: take 3 substeps, or the integrator implicit_midpoint"
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Simulator(robot)
        Simulator(robot, SimulationSettings(integrator="rk4", substeps=3))


def test_positions_by_name_let_springs_rest() -> None:
    side = {
        "elastic": {
            "joint_2": {"stiffness": 1e4, "rest": 0.1, "motor": {"inertia": 1.0}},
            "joint_3": {"stiffness": 1e4, "rest": 0.2},
        }
    }
    robot = dyn_core.load_robot(ROBOTS / "rx90.urdf", loops=side)

    def begins(q: Any) -> dict[str, float]:
        simulator = Simulator(robot, q=q)
        found = dict(zip(simulator.joint_names, simulator.state.q.tolist(), strict=True))
        return {name: found[name] for name in ("joint_2", "joint_3", "joint_2_motor")}

    assert begins(None) == {"joint_2": 0.0, "joint_3": 0.2, "joint_2_motor": -0.1}
    assert begins({"joint_2": 0.5}) == {"joint_2": 0.5, "joint_3": 0.2, "joint_2_motor": 0.4}
    assert begins({"joint_2_motor": 0.5}) == {"joint_2": 0.6, "joint_3": 0.2, "joint_2_motor": 0.5}
    both = {"joint_2": 0.5, "joint_2_motor": 0.3, "joint_3": -0.3}
    assert begins(both) == {"joint_2": 0.5, "joint_3": -0.3, "joint_2_motor": 0.3}
    simulator = Simulator(robot)
    simulator.set_state({"joint_2": 0.5})
    assert simulator.state.q[-1] == 0.4
    simulator.set_state({"joint_2": 0.5}, {"joint_2": 0.3, "joint_1": 0.1})
    assert simulator.state.qd.tolist() == [0.1, 0.3, 0.0, 0.0, 0.0, 0.0, 0.3]
    simulator.set_state({"joint_2_motor": 0.5}, {"joint_2_motor": 0.3})
    assert simulator.state.qd.tolist() == [0.0, 0.3, 0.0, 0.0, 0.0, 0.0, 0.3]
    for bad, sentence in (({"joint_2": "far"}, "q: expected numbers"), ({"knee": 1.0}, "no joint 'knee'")):
        with pytest.raises((ValueError, dyn_core.DynError), match=sentence):
            simulator.set_state(bad)


def test_springs_rest_also_where_limits_keep_a_joint_from_0() -> None:
    side = {
        "elastic": {
            "joint_2": {"stiffness": 1e4, "motor": {"inertia": 1.0}},
            "joint_3": {"stiffness": 1e4, "rest": 9.0},
        }
    }
    text = (ROBOTS / "rx90.urdf").read_text()
    lower = text.split('name="joint_2"')[1].split('lower="')[1].split('"')[0]
    robot = dyn_core.load_robot(text.replace(f'lower="{lower}"', 'lower="0.2"'), loops=side)
    upper = robot.joint("joint_3").limits.upper
    for q in (None, {}, {"joint_1": 0.3}):
        begins = dict(zip(robot.coordinate_names, Simulator(robot, q=q).state.q.tolist(), strict=True))
        assert (begins["joint_2"], begins["joint_2_motor"], begins["joint_3"]) == (0.2, 0.2, upper)


SPRUNG = {
    "joint_2": {"stiffness": 1e4, "rest": 0.1, "motor": {"inertia": 1.0}},
    "joint_3": {"stiffness": 1e4},
}


@pytest.mark.parametrize("integrator", ["auto", "rk4"])
def test_efforts_of_joints_that_only_springs_move(integrator: Any) -> None:
    robot = dyn_core.load_robot(ROBOTS / "rx90.urdf", loops={"elastic": SPRUNG})
    simulator = Simulator(robot, SimulationSettings(1e-4, integrator))
    simulator.set_effort({"joint_2_motor": 6.0, "joint_2": 0.0})
    motor = "only its spring moves the joint: give the effort of its motor, 'joint_2_motor'"
    lumped = "only its spring moves the joint, it has no actuator: give 0, or leave it out"
    for name, value, why in (("joint_2", 5.0, motor), ("joint_3", -0.5, lumped)):
        given = [0.0] * 7
        given[robot.coordinate_names.index(name)] = value
        for effort in ({name: value}, {"joint_2_motor": 1.0, name: value}, given, np.array(given)):
            with pytest.raises(dyn_core.DynError) as caught:
                simulator.set_effort(effort)
            assert str(caught.value) == f"effort: joint '{name}' is given {value:g} N m, but {why}"
            assert caught.value.element == f"joint '{name}'"
    assert simulator.effort.tolist() == simulator.command.tolist() == [0.0] * 6 + [6.0]  # as before
    with pytest.raises(ValueError, match="expected the shape") as short:
        simulator.set_effort([0.0] * 6)
    assert str(short.value) == (
        "effort: expected the shape (7,), but it has (6,): give a number for each of the joints 'joint_1', "
        "'joint_2', 'joint_3', 'joint_4', 'joint_5', 'joint_6', 'joint_2_motor', in this order"
    )


@pytest.mark.parametrize("name", ["rrp", "sdt"])
def test_robots_without_springs(name: str) -> None:
    """They move as before; and may be simulated by the midpoint rule, too."""
    robot = dyn_core.load_robot(ROBOTS / f"{name}.urdf")
    start = np.linspace(0.1, 0.2, robot.dof)
    found = []
    for integrator in ("auto", "rk4", "implicit_midpoint"):
        simulator = Simulator(robot, SimulationSettings(integrator=integrator), q=start)
        simulator.set_effort(np.linspace(5.0, -5.0, robot.dof))
        for _ in range(200):
            simulator.step()
        found.append(simulator.state)
    np.testing.assert_array_equal(found[0].q, found[1].q)
    np.testing.assert_array_equal(found[0].qd, found[1].qd)
    np.testing.assert_allclose(found[2].q, found[0].q, rtol=0.0, atol=1e-4)


def test_loops_are_not_for_the_midpoint_rule() -> None:
    robot = dyn_core.load_robot(ROBOTS / "five_bar.urdf", loops=ROBOTS / "five_bar.yaml")
    with pytest.raises(dyn_core.DynError) as caught:
        Simulator(robot, SimulationSettings(integrator="implicit_midpoint"))
    assert str(caught.value) == (
        "robot 'five_bar' has loops, of which the integrator implicit_midpoint knows nothing: take rk4 or "
        "semi_implicit_euler"
    )


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "states.csv"
    robot = [str(ROBOTS / "rx90.urdf"), "--loops", str(ROBOTS / "rx90_elastic.yaml")]
    assert main(["simulate", *robot, "--duration", "0.05", "--out", str(out), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["integrator"] == "implicit_midpoint"
    assert summary["joint_names"][6] == "joint_1_motor"
    assert math.isfinite(summary["position"][1])
    assert "position.joint_6_motor" in out.read_text().splitlines()[0]
    efforts = tmp_path / "efforts.csv"
    efforts.write_text("time,joint_2\n0,1\n0.1,1\n")
    assert main(["simulate", *robot, "--effort", str(efforts), "--out", str(out)]) == 1
    said = capsys.readouterr().err
    assert "only its spring moves the joint: give the effort of its motor, 'joint_2_motor'" in said
