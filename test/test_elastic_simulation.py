# SPDX-License-Identifier: Apache-2.0
"""The node `simulation` with springs, over DDS: names of commands, and initial state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from refusals import refused
from robot_files import ROBOTS
from ros_graph import Graph
from sensor_msgs.msg import JointState
from simulation_client import Simulated, hosted, overrides, simulated

import dyn_core
from dyn_nodes.common.torques.effort_messages import CommandOrder, with_motors
from dyn_nodes.simulation.node import Simulation

NAMES = [f"joint_{k}" for k in range(1, 7)]
SIDE = """\
elastic:
  joint_2: {stiffness: 1.0e+4, rest: 0.1, motor: {inertia: 1.0}}
  joint_4: {stiffness: 1.0e+3, rest: 0.2}
"""
"""Joint 2 has a motor behind a spring, joint 4 has a spring and no motor."""
RX90 = {"description_file": str(ROBOTS["rx90"])}
COMMANDED = ["joint_1", "joint_2_motor", "joint_3", "joint_5", "joint_6"]


@pytest.fixture
def arm(tmp_path: Path) -> dict[str, Any]:
    side = tmp_path / "springs.yaml"
    side.write_text(SIDE)
    return {**RX90, "side_file": str(side), "paused": True, "publish_clock": True}


def efforts(ours: Simulated) -> dict[str, float]:
    state = ours.next_state()
    return {name: effort for name, effort in zip(state.name, state.effort, strict=True) if effort}


def test_arrays_are_in_the_order_of_the_links() -> None:
    robot = dyn_core.load_robot(ROBOTS["rx90"], loops=SIDE)
    assert list(CommandOrder(robot, ()).names) == COMMANDED
    for name in ("joint_2", "joint_2_motor"):
        order = CommandOrder(robot, ("joint_3", name))
        assert order.names == ("joint_3", "joint_2_motor")
        assert order.efforts([1.0, 2.0]).tolist() == [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0]
    with refused("command-joint-passive", joint="joint_4"):
        CommandOrder(robot, ("joint_4",))
    with refused("command-joint-repeated", joint="joint_2_motor"):
        CommandOrder(robot, ("joint_2", "joint_2_motor"))
    assert with_motors(robot, ["joint_2", "joint_4"]) == ["joint_2_motor", "joint_4"]
    assert with_motors(robot, ["joint_2", "joint_2_motor"]) == ["joint_2", "joint_2_motor"]


def test_an_effort_by_link_name_acts_on_the_motor_behind_the_spring(
    graph: Graph, arm: dict[str, Any]
) -> None:
    with simulated(graph, **arm) as (ours, _):
        expected = dict(zip(COMMANDED, [1.0, 2.0, 3.0, 0.5, 0.25], strict=True))
        ours.send(list(expected.values()))
        graph.wait_for(lambda: efforts(ours) == expected)
        ours.send_by_name({"joint_2": 4.0, "joint_1": 1.0})
        graph.wait_for(lambda: efforts(ours) == {"joint_1": 1.0, "joint_2_motor": 4.0})
        ours.send_by_name({"joint_2_motor": 5.0, "joint_2": 0.0, "joint_4": 0.0})
        graph.wait_for(lambda: efforts(ours) == {"joint_2_motor": 5.0})


@pytest.mark.promise("effort-without-actuator", "effort-twice")
def test_efforts_without_an_actuator_are_reported_or_refused(graph: Graph, arm: dict[str, Any]) -> None:
    with simulated(graph, **arm) as (ours, _):
        ours.send_by_name({"joint_1": 7.0})
        graph.wait_for(lambda: efforts(ours) == {"joint_1": 7.0})
        ours.send_by_name({"joint_2": 1.0, "joint_2_motor": 2.0})
        graph.wait_for(lambda: graph.diagnosis("commands refused") == "1")
        assert graph.told.about("effort-on-spring-with-motor", joint="joint_2", motor="joint_2_motor")
        assert efforts(ours) == {"joint_1": 7.0}  # the last command stays active
        ours.send_by_name({"joint_1": 8.0, "joint_4": 1.0})
        graph.wait_for(lambda: efforts(ours) == {"joint_1": 8.0})
        graph.wait_for(lambda: graph.diagnosis("efforts without actuators") == "1")
        assert graph.told.about("efforts-without-actuators", joints=["joint_4"])


def test_springs_are_at_rest_in_the_initial_state(graph: Graph, arm: dict[str, Any]) -> None:
    initial = {"initial__joint_1__position": 0.3, "initial__joint_2__position": 0.5}
    with simulated(graph, **arm, **initial) as (ours, _):
        state = ours.next_state()
        assert list(state.name) == [*NAMES, "joint_2_motor"]
        assert list(state.position) == [0.3, 0.5, 0.0, 0.2, 0.0, 0.0, 0.4]
        answer = ours.call("set_state", name=["joint_2"], position=[-0.5], velocity=[0.2])
        assert answer.success, answer.message
        placed = ([0.3, -0.5, 0.0, 0.2, 0.0, 0.0, -0.6], [0.0, 0.2, 0.0, 0.0, 0.0, 0.0, 0.2])
        ours.state_when(lambda state: (list(state.position), list(state.velocity)) == placed)


def test_feedforward_holds_the_simulated_arm(graph: Graph) -> None:
    """Its torques for the links move the motors; otherwise the arm would be far away."""
    given = {**RX90, "side_file": str(ROBOTS["rx90"].with_name("rx90_elastic.yaml"))}
    start = [0.1, 0.3, -0.2, 0.2, 0.3, 0.1]
    initial = {f"initial__{name}__position": value for name, value in zip(NAMES, start, strict=True)}
    states: list[JointState] = []
    remapped = ["--ros-args", "-r", "simulation/torques:=feedforward/torques"]
    parameters = overrides(**given, **initial, brakes=True, friction=False, rate=200.0)
    with hosted(graph, Simulation, parameter_overrides=parameters, cli_args=remapped):
        graph.feedforward(mode="gravity", ramp_up=0.0, **given)
        graph.node.create_subscription(JointState, "joint_states", states.append, 1000)
        graph.wait_for(lambda: states and any(states[-1].effort))
        begun = len(states)
        graph.wait_for(lambda: len(states) > begun + 100)
    assert list(states[-1].name) == [*NAMES, *(f"{name}_motor" for name in NAMES)]
    assert not any(states[-1].effort[:6])
    assert abs(states[-1].effort[7]) > 10.0  # effort of the shoulder motor
    assert max(abs(a - b) for a, b in zip(states[-1].position[:6], start, strict=True)) < 0.05
    assert states[-1].position[:6] != states[begun].position[:6]  # the brakes are off
