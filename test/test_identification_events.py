# SPDX-License-Identifier: Apache-2.0
"""Events at the node `identification` while the robot moves, over DDS."""

from __future__ import annotations

import math
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import rclpy
from action_msgs.msg import GoalStatus
from identification_client import (
    JOINTS,
    PATIENT,
    START,
    Asked,
    Identified,
    children_of,
    exciting,
    identification,
    standing_arm,
    start_robot,
    trajectory,
    wait_until_it_stands,
)
from lifecycle_msgs.msg import Transition
from message_makers import stamp_at
from rclpy.action import ActionClient
from rclpy.context import Context
from robot_files import ROBOTS, urdf
from ros_graph import ATTEMPTS, Graph, NodeProcess
from sensor_msgs.msg import JointState
from sentence_patterns import said
from simulation_client import hosted, overrides
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory

import dyn_core
from dyn_core.core.messages import sentence
from dyn_msgs.action import RunTrajectory
from dyn_msgs.msg import IdentificationProgress
from dyn_nodes.common import qos
from dyn_nodes.common.clocks import NodeTime
from dyn_nodes.identification.node import Identification
from dyn_nodes.identification.session import Session

WISHES = "identification/joint_trajectory"
REST = [0.0] * 3
STANDING = {"position": START, "velocity": REST, "effort": REST}


def stopped_at_rest(asked: Asked, code: str) -> bool:
    """Whether the robot was brought to rest for this reason."""
    return asked.says("motion-stopped-at-rest", cause=sentence(code, {}))


@contextmanager
def joint_states(graph: Graph, fields: Callable[[], dict[str, Any]]) -> Iterator[None]:
    """Publish joint states with these fields instead of a robot."""
    states = graph.node.create_publisher(JointState, "joint_states", qos.COMMAND)

    def publish() -> None:
        states.publish(JointState(**{"header": Header(stamp=graph.now()), "name": JOINTS, **fields()}))

    graph.wait_for(lambda: states.get_subscription_count() == 2)  # the node, and the test
    timer = graph.node.create_timer(0.01, publish)
    yield
    graph.node.destroy_timer(timer)


@pytest.mark.promise("run-description")
def test_another_description_stops_the_moving_robot(graph: Graph, tmp_path: Path) -> None:
    """Joint states during the stop are still read for the old robot.

    The motion takes a minute: on a busy machine, a robot is loaded in more than the 6 s of one.
    """
    graph.describe(urdf("rrp"))
    with standing_arm(graph, tmp_path, description_file="") as (ours, node):
        asked = ours.moving(0.02, repetitions=10)
        # One joint less, in another order.
        graph.describe((ROBOTS["rrp"].parent / "two_branch.urdf").read_text())
        result = asked.result()
        assert stopped_at_rest(asked, "robot-replaced"), result.message
        lines = Path(result.log_file).read_text().splitlines()
        assert {line.count(",") for line in lines} == {9}
        assert len(lines) - 1 == result.samples
        graph.wait_for(ours.is_at_rest)
        assert node.failure is None


@pytest.mark.promise("run-transition")
@pytest.mark.parametrize("output", ["joint_trajectory", "reference"])
def test_a_node_that_is_shut_down_stops_the_robot_first(output: str, graph: Graph, tmp_path: Path) -> None:
    slack, topic = ("-p", "reference_slack:=0.2"), {"output": output}
    kind = output.removeprefix("joint_")
    with standing_arm(graph, tmp_path, *slack, robot=topic, output=kind) as (ours, _):
        asked = ours.moving()
        assert graph.change("identification", Transition.TRANSITION_ACTIVE_SHUTDOWN)
        assert stopped_at_rest(asked, "node-closing")
        graph.wait_for(ours.is_at_rest)
        graph.wait_for(lambda: graph.node.count_publishers(f"identification/{output}") == 0)


@pytest.mark.promise("run-transition")
def test_after_a_cleanup_the_node_can_be_configured_once_the_robot_rests(
    graph: Graph, tmp_path: Path
) -> None:
    with standing_arm(graph, tmp_path, stop__shortest=1.0) as (ours, _):
        asked = ours.moving()
        assert graph.change("identification", Transition.TRANSITION_DEACTIVATE)
        assert ours.run(exciting(1.0)).says("node-inactive")
        assert graph.change("identification", Transition.TRANSITION_CLEANUP)
        assert not graph.change("identification", Transition.TRANSITION_CONFIGURE)
        assert stopped_at_rest(asked, "node-deactivated")
        assert asked.status() == GoalStatus.STATUS_ABORTED
        graph.wait_for(ours.is_at_rest)
        graph.wait_for(lambda: graph.node.count_publishers(WISHES) == 0)
        for transition in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
            assert graph.change("identification", transition)
        wait_until_it_stands(ours)


@pytest.mark.promise("run-transition", "program-error")
def test_an_exception_stops_the_robot(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with standing_arm(graph, tmp_path) as (ours, node):
        asked = ours.moving()
        measure = Session.measure

        def broken(*_: object) -> None:
            monkeypatch.setattr(Session, "measure", measure)
            raise KeyError("a bug")

        monkeypatch.setattr(Session, "measure", broken)
        assert stopped_at_rest(asked, "node-deactivated")
        assert node.failure is not None
        assert (node.failure.code, node.failure.values["error_type"]) == ("node-failed", "KeyError")
        graph.wait_for(ours.is_at_rest)


@pytest.mark.promise("run-other-node")
def test_two_nodes_cannot_move_one_robot(graph: Graph, tmp_path: Path) -> None:
    start_robot(graph)
    given = {"directory": tmp_path / "second", "description_file": ROBOTS["rrp"], **PATIENT}
    second = tuple(word for name, value in given.items() for word in ("-p", f"{name}:={value}"))
    remapped = ("-r", "__node:=second", "-r", f"second/joint_trajectory:={WISHES}")
    graph.start("-m", "dyn_nodes.identification", "--ros-args", *second, *remapped)
    with identification(graph, directory=str(tmp_path / "first")) as (ours, _):
        wait_until_it_stands(ours)
        client = ActionClient(graph.node, RunTrajectory, "second/run_trajectory")
        graph.wait_for(client.server_is_ready)
        goal = RunTrajectory.Goal(trajectory=exciting(1.0, seed=5), repetitions=1)
        for _ in range(ATTEMPTS):
            asked = ours.moving()
            refused = Asked(graph, client, goal).says("robot-moving")
            if refused and not asked.is_over:
                break
            wait_until_it_stands(ours)
        assert refused
        assert not asked.is_over
        assert asked.cancel()
        assert stopped_at_rest(asked, "goal-cancelled")


@pytest.mark.promise("run-client")
def test_a_client_that_dies_changes_nothing(graph: Graph, tmp_path: Path) -> None:
    with standing_arm(graph, tmp_path) as (ours, node):
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
        reached = sentence("goal-reached", {"goal": "a run of a trajectory"})
        graph.wait_for(lambda: node.values()["last"] == reached)
        (log,) = tmp_path.glob("*/log.csv")
        assert log.read_text().endswith("\n")
        ours.done(lambda: ours.run(exciting(0.5)))


@pytest.mark.promise("goal-without-velocities")
def test_a_robot_that_moves_without_velocities_is_detected(graph: Graph, tmp_path: Path) -> None:
    graph.node.create_subscription(JointTrajectory, WISHES, print, 10)
    turned = count(0.0, 0.001)
    with (
        identification(graph, directory=str(tmp_path)) as (ours, _),
        joint_states(graph, lambda: {"position": [next(turned), *START[1:]]}),
    ):
        graph.wait_for(lambda: ours.run(exciting(1.0)).says("robot-moving", joint="turn"))


@pytest.mark.promise("computation-killed")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_killed_computation_ends_the_goal(number: signal.Signals, graph: Graph, tmp_path: Path) -> None:
    graph.node.create_subscription(JointTrajectory, WISHES, print, 10)
    with (
        identification(graph, directory=str(tmp_path), excitation__iterations=100000) as (ours, _),
        joint_states(graph, lambda: STANDING),
    ):
        graph.wait_for(lambda: ours.run(JointTrajectory()).says("goal-without-points"))
        graph.wait_for(lambda: len(ours.robot.states) > 5)
        asked = ours.identify()
        asked.wait_for_stage(IdentificationProgress.STAGE_EXCITATION)
        (child,) = children_of(os.getpid(), "computation_process")
        # It has a lower priority than the robot's controller.
        graph.wait_for(lambda: os.sched_getscheduler(child) == os.SCHED_BATCH)
        graph.wait_for(lambda: os.getpriority(os.PRIO_PROCESS, child) >= min(19, os.nice(0) + 10))
        os.kill(child, number)
        code = "computation-killed-outright" if number == signal.SIGKILL else "computation-killed"
        assert asked.says(code, signal=int(number))


def test_online_estimation_begins_where_it_was_prepared_before_the_executor_ran(
    graph: Graph, tmp_path: Path
) -> None:
    """On a busy machine, a node gets its executor late."""

    def late(**options: Any) -> Identification:
        node = Identification(**options)
        job = node._online._job
        graph.wait_for(lambda: job._process.poll() is not None)
        return node

    given = overrides(description_file=str(ROBOTS["rrp"]), directory=str(tmp_path), online__enabled=True)
    with hosted(graph, late, parameter_overrides=given):
        few = said("online-samples-too-few", samples=0)
        graph.wait_for(lambda: few.fullmatch(graph.diagnosis("online") or ""))


def test_after_a_clock_was_set_back_online_estimation_continues(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Joint states with stamps before the last ones are then new ones."""
    ahead = [0]
    monkeypatch.setattr(NodeTime, "nanoseconds", lambda _: time.time_ns() + ahead[0])
    begin = time.monotonic()

    def swinging() -> dict[str, Any]:
        phase = 3.0 * (time.monotonic() - begin)
        q = [q + 0.1 * math.sin(phase) for q in START]
        header = Header(stamp=stamp_at(time.time_ns() + ahead[0]))
        return {"header": header, "position": q, "velocity": [0.3 * math.cos(phase)] * 3, "effort": REST}

    def samples() -> int:
        found = re.search(r"(\d+) samples", graph.diagnosis("online") or "")
        return int(found[1]) if found else 0

    given = {"online__enabled": True, "online__rate": 5.0, "max_age": 0.5}
    with (
        identification(graph, directory=str(tmp_path), **given) as (_, node),
        joint_states(graph, swinging),
    ):
        graph.wait_for(lambda: samples() > 20)
        ahead[0] = -(10**12)
        before = samples()
        graph.wait_for(lambda: samples() > before + 100)
        assert node.failure is None


@pytest.mark.promise("goal-not-ready")
def test_missing_subscribers_and_joint_states_are_reported(graph: Graph, tmp_path: Path) -> None:
    states = graph.node.create_publisher(JointState, "joint_states", qos.COMMAND)
    with identification(graph, directory=str(tmp_path), timeout=0.5) as (ours, _):
        graph.wait_for(lambda: states.get_subscription_count() == 2)  # the node, and the test
        assert ours.run(exciting(1.0)).says("output-without-subscriber", topic=f"/{WISHES}")
        graph.node.create_subscription(JointTrajectory, WISHES, print, 10)
        graph.wait_for(lambda: graph.node.count_subscribers(WISHES))
        assert ours.run(exciting(1.0)).says("joint-states-missing")

        def publish(**more: Any) -> None:
            known = len(ours.robot.states)
            values = {**STANDING, **more}
            states.publish(JointState(header=Header(stamp=graph.now()), name=JOINTS, **values))
            graph.wait_for(lambda: len(ours.robot.states) > known)

        publish(position=[0.0, math.nan, 0.1])
        values = {"joint": "lift", "quantity": "position", "given": math.nan}
        assert ours.run(exciting(1.0)).says("message-value-implausible", **values)
        publish(velocity=[0.0, 0.5, 0.0])
        assert ours.run(exciting(1.0)).says("robot-moving", joint="lift", speed=0.5, unit="rad")
        publish(effort=[])
        assert ours.identify(exciting(1.0)).says("joint-states-without-efforts")
        assert not list(tmp_path.iterdir())


@pytest.mark.promise("run-joint-states")
def test_bad_joint_states_stop_the_robot(graph: Graph, tmp_path: Path) -> None:
    """The test acts as the robot, which is at rest and gets references at rest."""
    sent: list[JointTrajectory] = []
    graph.node.create_subscription(JointTrajectory, WISHES, sent.append, 10)
    position = list(START)
    with (
        identification(graph, directory=str(tmp_path), timeout=0.3) as (ours, _),
        joint_states(graph, lambda: {**STANDING, "position": position}),
    ):
        graph.wait_for(lambda: ours.robot.states and graph.node.count_publishers(WISHES))
        asked = ours.run(trajectory([0.0, 6.0], [START, START], [REST] * 2))
        graph.wait_for(lambda: asked.is_over or (sent and any(f.fraction > 0.0 for f in asked.feedback)))
        position[1] = math.nan
        assert asked.says("joint-states-refused"), asked.result().message
        assert asked.says("message-value-implausible", joint="lift", quantity="position", given=math.nan)
        _, stop = sent
        assert list(stop.points[-1].velocities) == REST
        assert list(stop.points[-1].positions) == pytest.approx(START)


# The node as a process that is ended by signals, and in simulated time


def start_node(graph: Graph, directory: Path, *more: str) -> NodeProcess:
    """Run the node in its own process."""
    patient = [word for name, value in PATIENT.items() for word in ("-p", f"{name}:={value}")]
    return graph.start(
        *("-m", "dyn_nodes.identification", "--ros-args", "-p", f"description_file:={ROBOTS['rrp']}"),
        *("-p", f"directory:={directory}", "-p", "excitation.iterations:=100000", *patient, *more),
    )


def standing(graph: Graph, directory: Path) -> tuple[NodeProcess, Identified]:
    """The node with a robot at rest, and its client."""
    start_robot(graph)
    node, ours = start_node(graph, directory), Identified(graph)
    wait_until_it_stands(ours)
    return node, ours


def samples_of(file: Path) -> int:
    return file.read_text().count("\n") - 1


@pytest.mark.promise("run-signals")
@pytest.mark.parametrize(
    ("number", "output"), [(signal.SIGINT, "joint_trajectory"), (signal.SIGTERM, "reference")]
)
def test_a_signal_while_the_robot_moves_brings_it_to_rest(
    number: signal.Signals, output: str, graph: Graph, tmp_path: Path
) -> None:
    """Also where a stop within the effort limits would take longer than the 1.5 s of the process.

    On a busy machine, the robot may not come to rest within this time.
    """
    start_robot(graph, "-p", "reference_slack:=0.2", output=output)
    ours = Identified(graph)
    given = ("-p", f"output:={output.removeprefix('joint_')}", "-p", "stop.shortest:=2.0")
    for _ in range(ATTEMPTS):
        node = start_node(graph, tmp_path, *given)
        wait_until_it_stands(ours)
        asked = ours.moving()
        began = time.monotonic()
        node.process.send_signal(number)
        result = asked.result()
        node.ends_in_order(began)
        if asked.says("motion-stopped-at-rest", cause=sentence("node-ending", {})):
            break
    else:
        pytest.fail(result.message)
    assert samples_of(Path(result.log_file)) == result.samples > 100
    graph.wait_for(ours.is_at_rest)


@pytest.mark.promise("run-signals")
@pytest.mark.parametrize("stage", ["EXCITATION", "ESTIMATION"])
def test_a_signal_while_another_process_computes_ends_both(stage: str, graph: Graph, tmp_path: Path) -> None:
    node, ours = standing(graph, tmp_path)
    for _ in range(ATTEMPTS):
        asked = ours.identify(None if stage == "EXCITATION" else exciting(1.5))
        asked.wait_for_stage(getattr(IdentificationProgress, f"STAGE_{stage}"))
        if children := children_of(node.process.pid):
            break
        assert asked.result().success or asked.is_spoiled, asked.result().message
        wait_until_it_stands(ours)
    (child,) = children
    node.end(signal.SIGTERM)
    graph.wait_for(lambda: not Path(f"/proc/{child}").exists())
    assert not list(tmp_path.glob("*/.*")), "no half-written files"


@pytest.mark.promise("run-kill")
def test_kill_9_keeps_the_recorded_data_and_a_new_node_works(graph: Graph, tmp_path: Path) -> None:
    node, ours = standing(graph, tmp_path)
    ours.moving(0.5)
    node.kill()
    file = max(tmp_path.glob("*/log.csv"))  # of the last run, where the machine spoiled one
    # 500 a second, except for at most the last tenth of a second.
    assert samples_of(file) > 500
    assert dyn_core.read_log(file, robot=dyn_core.load_robot(ROBOTS["rrp"])).joint_names == tuple(JOINTS)
    start_node(graph, tmp_path / "again")
    # The killed process is still in the graph for a while.
    graph.wait_for(lambda: graph.node.get_node_names().count("identification") == 2)
    # The controller completes the trajectory; until then the new node rejects goals.
    graph.wait_for(lambda: ours.run(exciting(0.5)).result().success)


@pytest.mark.promise("run-kill")
def test_kill_9_while_another_process_computes_ends_it_too(graph: Graph, tmp_path: Path) -> None:
    node, ours = standing(graph, tmp_path)
    asked = ours.identify()
    asked.wait_for_stage(IdentificationProgress.STAGE_EXCITATION)
    (child,) = children_of(node.process.pid)
    node.kill()
    graph.wait_for(lambda: not Path(f"/proc/{child}").exists())


@pytest.mark.promise("run-kill")
def test_references_end_with_a_killed_node(graph: Graph, tmp_path: Path) -> None:
    """After kill -9 the controller holds the robot at the last reference."""
    start_robot(graph, "-p", "timeout:=0.3", "-p", "reference_slack:=0.2", output="reference")
    node = start_node(graph, tmp_path, "-p", "output:=reference")
    ours = Identified(graph)
    ours.done(lambda: ours.run(exciting(1.0)))
    asked = ours.moving()
    assert asked.cancel()
    assert asked.says("motion-stopped-at-rest")
    ours.moving()
    node.kill()
    graph.wait_for(ours.is_at_rest)


def test_a_run_in_simulated_time_at_double_speed(graph: Graph, tmp_path: Path) -> None:
    fast = ("-p", "rate:=200.0", "-p", "step:=0.001", "-p", "real_time_factor:=2.0")
    start_robot(graph, "-p", "publish_clock:=true", "-p", "use_sim_time:=true", *fast)
    start_node(graph, tmp_path, "-p", "use_sim_time:=true", "-p", "max_tracking_error:=1.0")
    ours = Identified(graph)
    wait_until_it_stands(ours)
    for _ in range(ATTEMPTS):
        began = time.monotonic()
        result = ours.done(lambda: ours.run(exciting(6.0))).result()
        took = time.monotonic() - began
        if took < 6.0 and result.samples > 1100:
            break
    assert 1100 < result.samples < 1300
    assert took < 6.0
