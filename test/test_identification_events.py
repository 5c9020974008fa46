# SPDX-License-Identifier: Apache-2.0
"""What happens to the node `identification` itself while the robot moves, over DDS."""

from __future__ import annotations

import math
import os
import re
import signal
import time
from pathlib import Path

import pytest
import rclpy
from identified import (
    JOINTS,
    PATIENT,
    START,
    Asked,
    Identified,
    children_of,
    exciting,
    identification,
    start_robot,
    wait_until_it_stands,
)
from lifecycle_msgs.msg import Transition
from rclpy.action import ActionClient
from rclpy.context import Context
from robot_files import ROBOTS, urdf
from ros_graph import Graph
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory

from dyn_msgs.action import RunTrajectory
from dyn_msgs.msg import IdentificationProgress
from dyn_nodes.common import qos
from dyn_nodes.identification.session import Session
from dyn_nodes.node_time import NodeTime


def moves(ours: Identified, asked: Asked) -> None:
    """Wait until the robot is in the middle of the motion."""
    ours.graph.wait_for(lambda: asked.is_over or any(f.fraction > 0.15 for f in asked.feedback))
    assert not asked.is_over, asked.result().message
    ours.graph.wait_for(lambda: max(map(abs, ours.robot.states[-1].velocity)) > 1e-2)


def assert_at_rest(ours: Identified) -> None:
    ours.graph.wait_for(lambda: max(map(abs, ours.robot.states[-1].velocity)) < 1e-3)


def test_another_description_stops_the_robot_that_is_there(graph: Graph, tmp_path: Path) -> None:
    """Its joint states are read as those of the robot that moves, and not of the new one."""
    start_robot(graph)
    graph.describe(urdf("rrp"))
    with identification(graph, directory=str(tmp_path), description_file="") as (ours, node):
        wait_until_it_stands(ours)
        asked = ours.run(exciting(6.0))
        moves(ours, asked)
        # One joint less, in another order.
        graph.describe((ROBOTS["rrp"].parent / "two_branch.urdf").read_text())
        result = asked.result()
        assert "another robot description came; the robot was brought to rest; the " in result.message
        lines = Path(result.log_file).read_text().splitlines()
        assert {line.count(",") for line in lines} == {9}
        assert len(lines) - 1 == result.samples
        assert_at_rest(ours)
        assert node.failure is None


@pytest.mark.parametrize("output", ["joint_trajectory", "reference"])
def test_a_node_that_is_shut_down_brings_the_robot_to_rest_first(
    output: str, graph: Graph, tmp_path: Path
) -> None:
    slack = ("-p", "reference_slack:=0.2")
    start_robot(graph, *slack, output=output)
    kind = output.removeprefix("joint_")
    with identification(graph, directory=str(tmp_path), output=kind) as (ours, _):
        wait_until_it_stands(ours)
        asked = ours.run(exciting(6.0))
        moves(ours, asked)
        assert graph.change("identification", Transition.TRANSITION_ACTIVE_SHUTDOWN)
        assert "the node was closed; the robot was brought to rest" in asked.result().message
        assert_at_rest(ours)
        topic = f"identification/{output}"
        graph.wait_for(lambda: graph.node.count_publishers(topic) == 0)


def test_a_node_that_is_cleaned_up_can_be_configured_when_the_robot_stands(
    graph: Graph, tmp_path: Path
) -> None:
    start_robot(graph)
    with identification(graph, directory=str(tmp_path), stop__shortest=1.0) as (ours, _):
        wait_until_it_stands(ours)
        asked = ours.run(exciting(6.0))
        moves(ours, asked)
        for transition in (Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP):
            assert graph.change("identification", transition)
        assert not graph.change("identification", Transition.TRANSITION_CONFIGURE)
        assert "the node was deactivated; the robot was brought to rest" in asked.result().message
        graph.wait_for(lambda: graph.node.count_publishers("identification/joint_trajectory") == 0)
        for transition in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
            assert graph.change("identification", transition)
        wait_until_it_stands(ours)


def test_an_error_in_the_program_stops_the_robot(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start_robot(graph)
    with identification(graph, directory=str(tmp_path)) as (ours, node):
        wait_until_it_stands(ours)
        asked = ours.run(exciting(6.0))
        moves(ours, asked)
        measure = Session.measure

        def broken(*_: object) -> None:
            monkeypatch.setattr(Session, "measure", measure)
            raise KeyError("a bug")

        monkeypatch.setattr(Session, "measure", broken)
        assert "the node was deactivated; the robot was brought to rest; the " in asked.result().message
        assert node.failure is not None
        assert "KeyError" in node.failure
        assert_at_rest(ours)


def test_two_nodes_do_not_move_one_robot(graph: Graph, tmp_path: Path) -> None:
    start_robot(graph)
    given = {"directory": tmp_path / "second", "description_file": ROBOTS["rrp"], **PATIENT}
    second = tuple(word for name, value in given.items() for word in ("-p", f"{name}:={value}"))
    remapped = (
        *("-r", "__node:=second"),
        *("-r", "second/joint_trajectory:=identification/joint_trajectory"),
    )
    graph.start("-m", "dyn_nodes.identification", "--ros-args", *second, *remapped)
    with identification(graph, directory=str(tmp_path / "first")) as (ours, _):
        wait_until_it_stands(ours)
        client = ActionClient(graph.node, RunTrajectory, "second/run_trajectory")
        graph.wait_for(client.server_is_ready)
        asked = ours.run(exciting(6.0))
        moves(ours, asked)
        goal = RunTrajectory.Goal(trajectory=exciting(1.0, seed=5), repetitions=1)
        other = Asked(graph, client, goal).result()
        assert "the robot has to stand still before a run" in other.message
        assert not asked.is_over
        asked.cancel()
        assert "the robot was brought to rest" in asked.result().message


def test_a_client_that_dies_changes_nothing(graph: Graph, tmp_path: Path) -> None:
    start_robot(graph)
    with identification(graph, directory=str(tmp_path)) as (ours, _):
        wait_until_it_stands(ours)
        context = Context()
        rclpy.init(args=[], context=context, signal_handler_options=rclpy.signals.SignalHandlerOptions.NO)
        client_node = rclpy.create_node("client", context=context)
        graph.executor.add_node(client_node)
        client = ActionClient(client_node, RunTrajectory, "identification/run_trajectory")
        asked = Asked(graph, client, RunTrajectory.Goal(trajectory=exciting(1.0), repetitions=1))
        graph.wait_for(lambda: asked.feedback)
        graph.executor.remove_node(client_node)
        client.destroy()
        client_node.destroy_node()
        context.shutdown()
        graph.wait_for(lambda: graph.logged("a run of a trajectory was done"))
        (log,) = tmp_path.glob("*/log.csv")
        assert log.read_text().endswith("\n")
        assert ours.run(exciting(0.5)).result().success


def test_a_robot_that_moves_is_noticed_by_its_positions_too(graph: Graph, tmp_path: Path) -> None:
    states = graph.node.create_publisher(JointState, "joint_states", qos.COMMAND)
    graph.node.create_subscription(JointTrajectory, "identification/joint_trajectory", print, 10)
    with identification(graph, directory=str(tmp_path)) as (ours, _):
        position = list(START)

        def publish() -> None:
            position[0] += 0.001
            states.publish(JointState(header=Header(stamp=graph.now()), name=JOINTS, position=position))

        timer = graph.node.create_timer(0.01, publish)
        graph.wait_for(lambda: "joint 'turn' moves with" in ours.run(exciting(1.0)).result().message)
        graph.node.destroy_timer(timer)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_computation_that_is_killed_ends_the_goal(
    number: signal.Signals, graph: Graph, tmp_path: Path
) -> None:
    states = graph.node.create_publisher(JointState, "joint_states", qos.COMMAND)
    graph.node.create_subscription(JointTrajectory, "identification/joint_trajectory", print, 10)

    def publish() -> None:
        numbers = {"position": START, "velocity": [0.0] * 3, "effort": [0.0] * 3}
        states.publish(JointState(header=Header(stamp=graph.now()), name=JOINTS, **numbers))

    with identification(graph, directory=str(tmp_path), excitation__iterations=100000) as (ours, _):
        timer = graph.node.create_timer(0.02, publish)
        graph.wait_for(lambda: "have no" not in ours.run(JointTrajectory()).result().message)
        graph.wait_for(lambda: len(ours.robot.states) > 5)
        asked = ours.identify()
        stage = IdentificationProgress.STAGE_EXCITATION
        graph.wait_for(lambda: asked.is_over or any(f.progress.stage == stage for f in asked.feedback))
        (child,) = children_of(os.getpid(), "computation_process")
        # It leaves the processor to the controller of the robot.
        graph.wait_for(lambda: os.sched_getscheduler(child) == os.SCHED_BATCH)
        graph.wait_for(lambda: os.getpriority(os.PRIO_PROCESS, child) >= min(19, os.nice(0) + 10))
        os.kill(child, number)
        assert f"the process that computes has been killed by signal {number:d}" in asked.result().message
        graph.node.destroy_timer(timer)


def test_after_a_clock_was_set_back_estimation_goes_on(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Joint states with stamps before the last ones are those of the present then."""
    ahead = [0]
    monkeypatch.setattr(NodeTime, "nanoseconds", lambda _: time.time_ns() + ahead[0])
    states = graph.node.create_publisher(JointState, "joint_states", qos.COMMAND)
    begin = time.monotonic()

    def publish() -> None:
        t = time.monotonic() - begin
        state = JointState(name=JOINTS, position=START, effort=[0.0] * 3)
        state.position = [q + 0.1 * math.sin(3.0 * t) for q in START]
        state.velocity = [0.3 * math.cos(3.0 * t)] * 3
        now = time.time_ns() + ahead[0]
        state.header.stamp.sec, state.header.stamp.nanosec = divmod(now, 10**9)
        states.publish(state)

    def samples() -> int:
        found = re.search(r"(\d+) samples", graph.diagnosis("online") or "")
        return int(found[1]) if found else 0

    given = {"online__enabled": True, "online__rate": 5.0, "max_age": 0.5}
    with identification(graph, directory=str(tmp_path), **given) as (_, node):
        timer = graph.node.create_timer(0.01, publish)
        graph.wait_for(lambda: samples() > 20)
        ahead[0] = -(10**12)
        before = samples()
        graph.wait_for(lambda: samples() > before + 100)
        graph.node.destroy_timer(timer)
        assert node.failure is None
