# SPDX-License-Identifier: Apache-2.0
"""The node `identification` over DDS, with a simulated robot and our controller."""

from __future__ import annotations

import csv
import math
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from diagnostic_msgs.msg import DiagnosticStatus
from identified import (
    JOINTS,
    START,
    Asked,
    Identified,
    exciting,
    identification,
    start_robot,
    trajectory,
    wait_until_it_stands,
)
from lifecycle_msgs.msg import Transition
from robot_files import ROBOTS
from ros_graph import Graph
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory

import dyn_core
from dyn_core.control.rich_motion import rich_motion
from dyn_core.identification.regressor.base_columns import base_columns
from dyn_msgs.msg import DynamicParameters, IdentificationProgress, IdentificationResult
from dyn_msgs.srv import SetDynamicParameters
from dyn_nodes.common import qos


def moves(asked: Asked) -> Callable[[], bool]:
    """Whether the robot is in the middle of the motion."""
    return lambda: asked.is_over or any(0.3 < f.fraction < 1.0 for f in asked.feedback)


def assert_at_rest(ours: Identified) -> None:
    """The robot comes to rest where it is, and stays there."""
    ours.graph.wait_for(lambda: max(map(abs, ours.robot.states[-1].velocity)) < 1e-3)


def lines_of(log_file: str) -> list[list[str]]:
    with Path(log_file).open() as file:
        return list(csv.reader(file))


def kept_file(message: str) -> str:
    """The file that a message names."""
    return message.rsplit(" are kept in ", 1)[1]


def test_a_trajectory_is_run_and_recorded(graph: Graph, tmp_path: Path) -> None:
    start_robot(graph)
    with identification(graph, directory=str(tmp_path)) as (ours, _):
        wait_until_it_stands(ours)
        asked = ours.run(exciting(1.0), repetitions=2)
        result = asked.result()
        assert (result.success, result.message) == (True, "")
        assert asked.status() == GoalStatus.STATUS_SUCCEEDED
        assert 0.0 < asked.feedback[-1].fraction <= 1.0
        assert asked.feedback[-1].worst_joint in JOINTS
        rows = lines_of(result.log_file)
        assert rows[0] == ["time", *(f"{k}.{j}" for k in ("position", "velocity", "effort") for j in JOINTS)]
        assert len(rows) - 1 == result.samples == pytest.approx(2 * 500, abs=100)
        log = dyn_core.read_log(result.log_file, robot=dyn_core.load_robot(ROBOTS["rrp"]))
        assert log.duration == pytest.approx(2.0, abs=0.1)
        assert log.has_effort == (True, True, True)
        # The end is where it began, and the sum of both is the motion twice.
        assert log.q[-1] == pytest.approx(log.q[0], abs=0.02)


def test_parameters_are_identified_and_handed_to_feedforward(graph: Graph, tmp_path: Path) -> None:
    start_robot(graph, "-p", "model_error:=0.2", nodes=("simulation", "controller", "feedforward"))
    with identification(graph, directory=str(tmp_path)) as (ours, _):
        wait_until_it_stands(ours)
        assert ours.hand_over().message == "there is no result yet: identify first"
        asked = ours.identify(exciting(4.0))
        answer = asked.result()
        assert (answer.success, answer.message) == (True, "")
        result = answer.result
        assert asked.status() == GoalStatus.STATUS_SUCCEEDED
        stages = [f.progress.stage for f in asked.feedback]
        assert stages == sorted(stages)
        assert {IdentificationProgress.STAGE_MOTION, IdentificationProgress.STAGE_ESTIMATION} <= set(stages)
        assert result.validation_error < 0.03
        assert result.physically_consistent
        robot = dyn_core.load_robot(ROBOTS["rrp"])
        assert result.parameters.description_hash == robot.description_hash
        graph.wait_for(lambda: ours.results)
        assert ours.results[-1] == result
        assert Path(result.directory).is_dir()
        # Of another motion the torques are those of the robot that is there, and not of its description.
        found = robot.with_parameters(dict(zip(result.parameters.name, result.parameters.value, strict=True)))
        there = dyn_core.with_model_error(robot, 0.2, 0)
        assert torque_difference(found, there) < 0.03 < 0.08 < torque_difference(robot, there)
        graph.wait_for(lambda: graph.node.count_publishers("feedforward/torques"))
        handed = ours.hand_over()
        assert handed.success, handed.message
        assert handed.message == "/feedforward/set_dynamic_parameters has taken 42 parameters"
        graph.wait_for(lambda: graph.logged("42 dynamic parameters set, blended over 1 s"))
        # The same once more, from the file.
        again = ours.identify(log_file=str(Path(result.directory) / "log.csv")).result()
        assert again.success, again.message
        assert again.result.parameters.value == result.parameters.value


def torque_difference(one: dyn_core.Robot, other: dyn_core.Robot) -> float:
    """Difference of the torques of two robots along a motion, as a part of them."""
    model = dyn_core.compile_model(other, "runtime")
    motion = rich_motion(model, 5.0, seed=7).at_many(np.linspace(0.0, 5.0, 1000))
    tau = model.inverse_dynamics(*motion)
    difference = dyn_core.compile_model(one, "runtime").inverse_dynamics(*motion) - tau
    return float(np.linalg.norm(difference) / np.linalg.norm(tau))


def test_a_log_file_alone_needs_no_robot_that_moves(graph: Graph, tmp_path: Path) -> None:
    with identification(graph, directory=str(tmp_path / "out")) as (ours, _):
        answer = ours.identify(log_file=str(tmp_path / "missing.csv")).result()
        assert not answer.success
        assert "missing.csv" in answer.message
        assert not list((tmp_path / "out").iterdir()), "nothing is left of it"
        short = tmp_path / "short.csv"
        short.write_text("time,position.turn\n0.0,1.0\n")
        answer = ours.identify(log_file=str(short)).result()
        assert not answer.success
        assert answer.message
        both = ours.identify(exciting(1.0), log_file=str(short)).result()
        assert both.message == "both a trajectory and a log_file are given: leave one of them empty"


BAD: dict[str, tuple[Any, str]] = {
    "empty": (JointTrajectory(), "has no points"),
    "unknown joint": (trajectory([1.0], [START], names=["turn", "lift", "wrist"]), "'wrist'"),
    "missing joint": (trajectory([1.0], [[0.0, 0.2]], names=["turn", "lift"]), "lacks joint 'stretch'"),
    "not finite": (trajectory([1.0], [[0.0, math.nan, 0.1]]), "'lift'"),
    "out of range": (trajectory([0.0, 2.0], [START, [0.0, 2.0, 0.1]]), "joint 'lift' to 2"),
    "between points": (
        trajectory(
            [0.0, 1.0, 2.0], [START, [0.0, 1.39, 0.1], START], [[0.0] * 3, [0.0, 1.9, 0.0], [0.0] * 3]
        ),
        "between its points",
    ),
    "too fast": (trajectory([0.0, 0.5], [START, [2.5, 0.2, 0.1]], [[0.0] * 3] * 2), "velocity"),
    "ends moving": (trajectory([0.0, 2.0], [START, START], [[0.0] * 3, [0.0, 0.5, 0.0]]), "end at rest"),
    "too strong": (
        trajectory([0.0, 0.1], [START, [0.0, 0.3, 0.15]], [[0.0] * 3] * 2, [[0.0] * 3] * 2),
        "N m are allowed",
    ),
    "velocities jump": (
        trajectory([0.0, 1.0, 2.0], [START, [0.5, 0.4, 0.15], START], [[0.0] * 3, [], [0.0] * 3]),
        "jumps at trajectory point 1",
    ),
}


def test_bad_goals_are_refused_with_a_sentence_and_nothing_moves(graph: Graph, tmp_path: Path) -> None:
    start_robot(graph)
    boxes = tmp_path / "boxes.yaml"
    boxes.write_text("boxes:\n- name: table\n  joints: {lift: [-0.5, -0.2], turn: [0.3, 0.6]}\n")
    with identification(graph, directory=str(tmp_path / "out"), forbidden_boxes=str(boxes)) as (ours, _):
        wait_until_it_stands(ours)
        sent: list[JointTrajectory] = []
        graph.node.create_subscription(JointTrajectory, "identification/joint_trajectory", sent.append, 10)
        for name, (motion, part) in BAD.items():
            asked = ours.run(motion)
            result = asked.result()
            assert not result.success, name
            assert part in result.message, (name, result.message)
            assert "\n" not in result.message
            assert asked.status() == GoalStatus.STATUS_ABORTED
        assert ours.run(exciting(1.0), repetitions=0).result().message == "repetitions are 0: give at least 1"
        into = ours.run(trajectory([0.0, 3.0], [START, [0.9, -0.5, 0.1]], [[0.0] * 3] * 2)).result()
        assert "forbidden box 'table'" in into.message
        assert not sent
        assert not (tmp_path / "out").exists()


def test_nobody_who_moves_the_robot_and_no_joint_states_are_told(graph: Graph, tmp_path: Path) -> None:
    states = graph.node.create_publisher(JointState, "joint_states", qos.COMMAND)
    with identification(graph, directory=str(tmp_path), timeout=0.5) as (ours, _):
        graph.wait_for(lambda: states.get_subscription_count() == 2)  # the node, and the test
        message = ours.run(exciting(1.0)).result().message
        assert message.startswith("nobody listens on /identification/joint_trajectory")
        graph.node.create_subscription(JointTrajectory, "identification/joint_trajectory", print, 10)
        graph.wait_for(lambda: graph.node.count_subscribers("identification/joint_trajectory"))
        message = ours.run(exciting(1.0)).result().message
        assert message == "no joint states of this robot have come on the topic joint_states"

        def publish(**more: Any) -> None:
            count = len(ours.robot.states)
            values = {"name": JOINTS, "position": START, "velocity": [0.0] * 3, "effort": [0.0] * 3, **more}
            states.publish(JointState(header=Header(stamp=graph.now()), **values))
            graph.wait_for(lambda: len(ours.robot.states) > count)

        publish(position=[0.0, math.nan, 0.1])
        assert "gives joint 'lift' the position nan" in ours.run(exciting(1.0)).result().message
        publish(velocity=[0.0, 0.5, 0.0])
        assert "joint 'lift' moves with 0.5 rad/s" in ours.run(exciting(1.0)).result().message
        publish(effort=[])
        assert "have no efforts" in ours.identify(exciting(1.0)).result().message
        assert not list(tmp_path.iterdir())


def test_a_cancelled_run_comes_to_rest_and_is_kept(graph: Graph, tmp_path: Path) -> None:
    start_robot(graph)
    with identification(graph, directory=str(tmp_path)) as (ours, _):
        wait_until_it_stands(ours)
        asked = ours.run(exciting(6.0))
        graph.wait_for(lambda: asked.is_over or any(f.fraction > 0.15 for f in asked.feedback))
        before = ours.robot.states[-1]
        asked.cancel()
        result = asked.result()
        assert asked.status() == GoalStatus.STATUS_CANCELED
        assert not result.success
        assert "it was cancelled; the robot was brought to rest; the " in result.message
        assert kept_file(result.message) == result.log_file
        assert len(lines_of(result.log_file)) - 1 == result.samples > 100
        assert_at_rest(ours)
        after = ours.robot.states[-1]
        assert np.abs(np.subtract(after.position, before.position)).max() < 0.5
        # And it can begin anew.
        assert ours.run(exciting(1.0)).result().success


@pytest.mark.parametrize("stage", ["EXCITATION", "MOTION", "ESTIMATION"])
def test_an_identification_can_be_cancelled_in_any_stage(stage: str, graph: Graph, tmp_path: Path) -> None:
    start_robot(graph)
    wanted = getattr(IdentificationProgress, f"STAGE_{stage}")
    with identification(graph, directory=str(tmp_path), excitation__iterations=100000) as (ours, _):
        wait_until_it_stands(ours)
        motion = {"EXCITATION": None, "MOTION": exciting(6.0), "ESTIMATION": exciting(1.5)}[stage]
        asked = ours.identify(motion)
        graph.wait_for(lambda: asked.is_over or any(f.progress.stage == wanted for f in asked.feedback))
        asked.cancel()
        result = asked.result()
        assert asked.status() == GoalStatus.STATUS_CANCELED
        assert not result.success
        assert result.message.startswith("it was cancelled")
        assert not result.result.parameters.name
        assert_at_rest(ours)
        files = {path.name for path in tmp_path.glob("*/*")}
        assert files == (set() if stage == "EXCITATION" else {"log.csv"}) or stage == "MOTION"


def test_a_second_goal_is_refused_and_the_first_goes_on(graph: Graph, tmp_path: Path) -> None:
    start_robot(graph)
    with identification(graph, directory=str(tmp_path)) as (ours, _):
        wait_until_it_stands(ours)
        first = ours.run(exciting(1.0))
        for second in (ours.run(exciting(1.0)), ours.identify()):
            assert not first.is_over
            message = second.result().message
            assert message == "a run of a trajectory is going on: cancel it, or wait until it has ended"
            assert second.status() == GoalStatus.STATUS_ABORTED
        assert first.result().success


def test_when_the_robot_is_gone_the_run_ends_and_is_kept(graph: Graph, tmp_path: Path) -> None:
    robot = start_robot(graph)
    with identification(graph, directory=str(tmp_path), timeout=0.3) as (ours, _):
        wait_until_it_stands(ours)
        asked = ours.run(exciting(6.0))
        graph.wait_for(lambda: asked.is_over or any(f.fraction > 0.15 for f in asked.feedback))
        robot.process.send_signal(signal.SIGKILL)
        result = asked.result()
        assert not result.success
        assert "no good joint states for 0.3" in result.message
        assert "the robot was told to stop" in result.message
        assert len(lines_of(kept_file(result.message))) > 100
        # Another one is there, and all goes on.
        ours.robot.states.clear()
        start_robot(graph)
        wait_until_it_stands(ours)
        # The one that was killed is not forgotten yet.
        graph.wait_for(lambda: graph.node.count_subscribers("identification/joint_trajectory") >= 2)
        again = ours.run(exciting(1.0)).result()
        assert again.success, again.message


def test_joint_states_that_go_bad_stop_the_robot(graph: Graph, tmp_path: Path) -> None:
    """The test is the robot: it stands, and is told to stand."""
    states = graph.node.create_publisher(JointState, "joint_states", qos.COMMAND)
    sent: list[JointTrajectory] = []
    graph.node.create_subscription(JointTrajectory, "identification/joint_trajectory", sent.append, 10)
    position = list(START)

    def publish() -> None:
        numbers = {"position": position, "velocity": [0.0] * 3, "effort": [0.0] * 3}
        states.publish(JointState(header=Header(stamp=graph.now()), name=JOINTS, **numbers))

    with identification(graph, directory=str(tmp_path), timeout=0.3) as (ours, _):
        graph.wait_for(lambda: states.get_subscription_count() == 2)
        timer = graph.node.create_timer(0.01, publish)
        graph.wait_for(
            lambda: ours.robot.states and graph.node.count_publishers("identification/joint_trajectory")
        )
        asked = ours.run(trajectory([0.0, 6.0], [START, START], [[0.0] * 3] * 2))
        graph.wait_for(lambda: asked.is_over or (sent and any(f.fraction > 0.0 for f in asked.feedback)))
        position[1] = math.nan
        message = asked.result().message
        assert "no good joint states for 0.3" in message
        assert "the last was refused: joint state gives joint 'lift' the position nan" in message
        stop = sent[-1]
        assert len(sent) == 2
        assert list(stop.points[-1].velocities) == [0.0] * 3
        assert list(stop.points[-1].positions) == pytest.approx(START)
        graph.node.destroy_timer(timer)


def test_results_that_nobody_should_get_are_kept_back(graph: Graph) -> None:
    robot = dyn_core.load_robot(ROBOTS["rrp"])
    result = IdentificationResult(physically_consistent=True)
    result.parameters.robot_name = "rrp"
    result.parameters.name, result.parameters.value = ["Fv1"], [1.0]
    with identification(graph, apply__timeout=0.5) as (ours, node):
        assert ours.hand_over().message == "there is no result yet: identify first"
        result.parameters.description_hash = "0" * 64
        node.publish_result(result)
        assert "belongs to another description of robot 'rrp'" in ours.hand_over().message
        result.parameters.description_hash = robot.description_hash
        result.physically_consistent = False
        assert "would be no possible body" in ours.hand_over().message
        result.physically_consistent = True
        assert "there is no service /feedforward/set_dynamic_parameters" in ours.hand_over().message

        def refuse(_: Any, response: SetDynamicParameters.Response) -> SetDynamicParameters.Response:
            response.message = "not today"
            return response

        name = "feedforward/set_dynamic_parameters"
        service = graph.node.create_service(SetDynamicParameters, name, refuse)
        graph.wait_for(lambda: "there is no service" not in ours.hand_over().message)
        answer = ours.hand_over()
        assert (answer.success, answer.message) == (False, f"/{name} has refused: not today")
        graph.node.destroy_service(service)


def test_a_robot_that_does_not_follow_is_stopped(graph: Graph, tmp_path: Path) -> None:
    start_robot(graph)
    with identification(graph, directory=str(tmp_path), joints__lift__max_tracking_error=0.002) as (ours, _):
        wait_until_it_stands(ours)
        asked = ours.run(exciting(3.0))
        result = asked.result()
        assert not result.success
        assert "joint 'lift' is 0.00" in result.message
        assert "from the motion, and 0.002 rad are allowed (max_tracking_error)" in result.message
        assert_at_rest(ours)
        graph.wait_for(lambda: ours.told is not None and "is 0.00" in ours.told.message)
        assert ours.told.level == DiagnosticStatus.WARN


def test_an_effort_that_stays_near_its_limit_ends_the_run(graph: Graph, tmp_path: Path) -> None:
    start_robot(graph)
    # Holding the arm takes some 30 N m of the 80 N m that 'lift' has.
    with identification(graph, directory=str(tmp_path), max_effort__part=0.2, max_effort__time=0.1) as (
        ours,
        _,
    ):
        wait_until_it_stands(ours)
        result = ours.run(exciting(3.0)).result()
        assert not result.success
        assert "the effort of joint 'lift' has been near its limit for 0.1" in result.message
        assert_at_rest(ours)


def test_deactivation_brings_the_robot_to_rest(graph: Graph, tmp_path: Path) -> None:
    start_robot(graph)
    with identification(graph, directory=str(tmp_path)) as (ours, _):
        wait_until_it_stands(ours)
        asked = ours.run(exciting(6.0))
        graph.wait_for(lambda: asked.is_over or any(f.fraction > 0.15 for f in asked.feedback))
        for transition in (Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP):
            assert graph.change("identification", transition)
            if transition == Transition.TRANSITION_DEACTIVATE:
                assert "the node was deactivated" in asked.result().message
                assert asked.status() == GoalStatus.STATUS_ABORTED
                assert ours.run(exciting(1.0)).result().message == "the node is not active"
        assert_at_rest(ours)


def test_parameters_are_estimated_while_the_robot_moves(graph: Graph, tmp_path: Path) -> None:
    start_robot(graph, "-p", "model_error:=0.2")
    parameters: list[DynamicParameters] = []
    graph.node.create_subscription(
        DynamicParameters, "identification/parameters", parameters.append, qos.LATCHED
    )
    with identification(graph, directory=str(tmp_path), online__rate=5.0) as (ours, _):
        wait_until_it_stands(ours)
        answer = call(graph, SetBool, "identification/online", data=True)
        assert (answer.success, answer.message) == (True, "parameters are estimated from now on")
        graph.wait_for(lambda: "samples" in (graph.diagnosis("online") or ""))
        assert "not converged" in graph.diagnosis("online") or "too few" in graph.diagnosis("online")
        assert ours.run(exciting(4.0)).result().success
        graph.wait_for(lambda: (graph.diagnosis("online") or "").startswith("converged"))
        newest = parameters[-1]
        there = dyn_core.with_model_error(dyn_core.load_robot(ROBOTS["rrp"]), 0.2, 0)
        base = base_columns(there)
        known = dict(zip(there.parameter_names, there.parameters, strict=True))
        truth = base.matrix @ np.array([known[name] for name in base.standard_names])
        assert newest.description_hash == there.description_hash
        values = np.array(newest.value[: len(truth)])
        assert tuple(newest.name[: len(truth)]) == base.names
        assert np.linalg.norm(values - truth) < 0.05 * np.linalg.norm(truth)
        assert all(0.0 < deviation < 1.0 for deviation in newest.standard_deviation)
        answer = call(graph, SetBool, "identification/online", data=False)
        assert answer.message.startswith("estimation has ended; it was converged: ")
        graph.wait_for(lambda: graph.diagnosis("online") == "off")


def call(graph: Graph, kind: Any, name: str, **request: Any) -> Any:
    """Call a service and answer its response."""
    return graph.call(graph.node.create_client(kind, name), kind.Request(**request))
