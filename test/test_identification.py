# SPDX-License-Identifier: Apache-2.0
"""The node `identification` over DDS, with a simulated robot and the node `controller`."""

from __future__ import annotations

import math
import re
import shlex
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from diagnostic_msgs.msg import DiagnosticStatus
from identification_client import (
    JOINTS,
    PATIENT,
    START,
    Asked,
    Identified,
    exciting,
    identification,
    lines_of,
    standing_arm,
    start_robot,
    trajectory,
    wait_until_it_stands,
)
from identification_log import write_table
from robot_files import ROBOTS, ROOT
from ros_graph import ATTEMPTS, Graph
from sentence_patterns import said
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory

import dyn_core
from dyn_core.control.trajectories.fourier_motion import rich_motion
from dyn_core.core.messages import sentence
from dyn_core.identification.regressor.base_columns import base_columns
from dyn_msgs.msg import DynamicParameters, IdentificationProgress, IdentificationResult
from dyn_msgs.srv import SetDynamicParameters
from dyn_nodes.common import qos

RECEIVER = "/feedforward/set_dynamic_parameters"


def test_a_trajectory_is_run_and_recorded(graph: Graph, tmp_path: Path) -> None:
    with standing_arm(graph, tmp_path) as (ours, _):
        asked = ours.done(
            lambda: ours.run(exciting(1.0), repetitions=2), lambda r: r.success and r.samples > 500
        )
        result = asked.result()
        assert (result.success, result.message, asked.status()) == (True, "", GoalStatus.STATUS_SUCCEEDED)
        assert 0.0 < asked.feedback[-1].fraction <= 1.0
        assert asked.feedback[-1].worst_joint in JOINTS
        rows = lines_of(result.log_file)
        assert rows[0] == ["time", *(f"{k}.{j}" for k in ("position", "velocity", "effort") for j in JOINTS)]
        assert 500 < len(rows) - 1 == result.samples < 1100  # 1000 if the machine does not pause
        log = dyn_core.read_log(result.log_file, robot=dyn_core.load_robot(ROBOTS["rrp"]))
        assert log.duration == pytest.approx(2.0, abs=0.1)
        assert log.has_effort == (True, True, True)
        # The end is the beginning, and the sum of both is twice the motion.
        assert log.q[-1] == pytest.approx(log.q[0], abs=0.02)


def test_parameters_are_identified_and_sent_to_feedforward(graph: Graph, tmp_path: Path) -> None:
    nodes = {"nodes": ("simulation", "controller", "feedforward")}
    with standing_arm(graph, tmp_path, "-p", "model_error:=0.2", robot=nodes) as (ours, _):
        assert ours.hand_over().message == sentence("result-missing", {})
        asked = ours.done(
            lambda: ours.identify(exciting(4.0)), lambda r: r.success and r.result.validation_error < 0.03
        )
        response = asked.result()
        assert (response.success, response.message, asked.status()) == (True, "", GoalStatus.STATUS_SUCCEEDED)
        result = response.result
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
        # Torques along another motion agree with the simulated robot, not with its description.
        found = robot.with_parameters(dict(zip(result.parameters.name, result.parameters.value, strict=True)))
        there = dyn_core.with_model_error(robot, 0.2, 0)
        assert torque_difference(found, there) < 0.03 < 0.08 < torque_difference(robot, there)
        graph.wait_for(lambda: graph.node.count_publishers("feedforward/torques"))
        handed = ours.hand_over()
        assert handed.success, handed.message
        assert handed.message == sentence("parameters-taken", {"service": RECEIVER, "count": 42})
        graph.wait_for(lambda: graph.logged("42 dynamic parameters set, blended over 1 s"))
        # The same again, from the file.
        again = ours.identify(log_file=str(Path(result.directory) / "log.csv")).result()
        assert again.success, again.message
        assert again.result.parameters.value == result.parameters.value


def torque_difference(one: dyn_core.Robot, other: dyn_core.Robot) -> float:
    """Difference of the torques of two robots along a motion, relative to the torques."""
    model = dyn_core.compile_model(other, "runtime")
    motion = rich_motion(model, 5.0, seed=7).at_many(np.linspace(0.0, 5.0, 1000))
    tau = model.inverse_dynamics(*motion)
    difference = dyn_core.compile_model(one, "runtime").inverse_dynamics(*motion) - tau
    return float(np.linalg.norm(difference) / np.linalg.norm(tau))


@pytest.mark.promise("goal-log")
def test_identification_from_a_log_file_needs_no_moving_robot(graph: Graph, tmp_path: Path) -> None:
    with identification(graph, directory=str(tmp_path / "out")) as (ours, _):
        response = ours.identify(log_file=str(tmp_path / "missing.csv")).result()
        assert not response.success
        assert "missing.csv" in response.message
        assert not list((tmp_path / "out").iterdir()), "nothing is left of it"
        short = tmp_path / "short.csv"
        short.write_text("time,position.turn\n0.0,1.0\n")
        response = ours.identify(log_file=str(short)).result()
        assert not response.success
        assert response.message
        assert ours.identify(exciting(1.0), log_file=str(short)).says("goal-input-repeated")


@pytest.mark.promise("verdict-goal")
def test_a_result_that_must_not_be_used_is_no_success(graph: Graph, tmp_path: Path) -> None:
    """A log in which the efforts of a joint have the wrong sign."""
    robot = dyn_core.load_robot(ROBOTS["rrp"])
    times = 0.005 * np.arange(2400)
    motion = rich_motion(dyn_core.compile_model(robot), 12.0, seed=3).at_many(times)
    tau = dyn_core.compile_model(dyn_core.with_model_error(robot, 0.2, 0)).inverse_dynamics(*motion)
    tau[:, 1] *= -1.0
    log = write_table(tmp_path / "log.csv", robot.joint_names, times, motion.q, tau)
    with identification(graph, directory=str(tmp_path / "out")) as (ours, _):
        asked = ours.identify(log_file=str(log))
        response = asked.result()
        assert (response.success, asked.status()) == (False, GoalStatus.STATUS_ABORTED)
        verdict = response.result.parameters.verdict
        assert any("'lift'" in reason for reason in verdict)
        assert asked.says("verdict-do-not-use", cause=verdict[0])
        graph.wait_for(lambda: ours.results)
        assert ours.results[-1] == response.result
        assert (Path(response.result.directory) / "report.html").is_file()


REST = [0.0] * 3
LIFT = {"joint": "lift"}
SWING = trajectory([0.0, 1.0, 2.0], [START, [0.0, 1.39, 0.1], START], [REST, [0.0, 1.9, 0.0], REST])
STRONG = trajectory([0.0, 0.1], [START, [0.0, 0.3, 0.15]], [REST] * 2, [REST] * 2)
KINKED = trajectory([0.0, 1.0, 2.0], [START, [0.5, 0.4, 0.15], START], [REST, [], REST])
ENDLESS = trajectory([0.0, 2.0], [START, START], [REST, [0.0, 0.5, 0.0]])
OTHER = trajectory([1.0], [START], names=["turn", "lift", "wrist"])
SHORT = trajectory([1.0], [[0.0, 0.2]], names=["turn", "lift"])
OUTSIDE = trajectory([0.0, 2.0], [START, [0.0, 2.0, 0.1]])
FAST = trajectory([0.0, 0.5], [START, [2.5, 0.2, 0.1]], [REST] * 2)
BAD: dict[str, tuple[JointTrajectory, dict[str, Any]]] = {
    "goal-without-points": (JointTrajectory(), {}),
    "trajectory-joint-unknown": (OTHER, {"unknown": ["wrist"]}),
    "trajectory-joint-missing": (SHORT, {"missing": ["stretch"]}),
    "trajectory-value-not-finite": (trajectory([1.0], [[0.0, math.nan, 0.1]]), LIFT),
    "trajectory-point-out-of-range": (OUTSIDE, {**LIFT, "position": 2.0}),
    "trajectory-leaves-range": (SWING, LIFT),
    "trajectory-velocity-exceeded": (FAST, {"joint": "turn"}),
    "trajectory-ends-moving": (ENDLESS, {**LIFT, "velocity": 0.5}),
    "trajectory-effort-exceeded": (STRONG, LIFT),
    "trajectory-velocity-jumps": (KINKED, {"joint": "turn", "point": 1}),
}


@pytest.mark.promise("goal-bad", "goal-box")
def test_bad_goals_are_rejected_and_nothing_moves(graph: Graph, tmp_path: Path) -> None:
    boxes = tmp_path / "boxes.yaml"
    boxes.write_text("boxes:\n- name: table\n  joints: {lift: [-0.5, -0.2], turn: [0.3, 0.6]}\n")
    with standing_arm(graph, tmp_path / "out", forbidden_boxes=str(boxes)) as (ours, _):
        sent: list[JointTrajectory] = []
        graph.node.create_subscription(JointTrajectory, "identification/joint_trajectory", sent.append, 10)
        for code, (motion, values) in BAD.items():
            asked = ours.run(motion)
            assert not asked.result().success, code
            assert asked.says(code, **values), (code, asked.result().message)
            assert "\n" not in asked.result().message
            assert asked.status() == GoalStatus.STATUS_ABORTED
        assert ours.run(exciting(1.0), repetitions=0).says("repetitions-zero")
        into = ours.run(trajectory([0.0, 3.0], [START, [0.9, -0.5, 0.1]], [REST] * 2))
        assert into.says("trajectory-enters-box", box="table"), into.result().message
        assert not sent
        assert not (tmp_path / "out").exists()


@pytest.mark.promise("goal-cancelled", "stop-meaning")
def test_a_cancelled_run_stops_the_robot_and_keeps_its_data(graph: Graph, tmp_path: Path) -> None:
    with standing_arm(graph, tmp_path) as (ours, _):
        asked = ours.moving()
        before = ours.robot.states[-1]
        assert asked.cancel()
        result = asked.result()
        assert (result.success, asked.status()) == (False, GoalStatus.STATUS_CANCELED)
        cause = sentence("motion-stopped-at-rest", {"cause": sentence("goal-cancelled", {})})
        assert asked.says("samples-kept", cause=cause, count=result.samples, path=result.log_file)
        assert len(lines_of(result.log_file)) - 1 == result.samples > 100
        graph.wait_for(ours.is_at_rest)
        assert np.abs(np.subtract(ours.robot.states[-1].position, before.position)).max() < 0.5
        ours.done(lambda: ours.run(exciting(1.0)))


@pytest.mark.promise("goal-cancelled")
@pytest.mark.parametrize("stage", ["EXCITATION", "MOTION", "ESTIMATION"])
def test_an_identification_can_be_cancelled_in_any_stage(stage: str, graph: Graph, tmp_path: Path) -> None:
    with standing_arm(graph, tmp_path, excitation__iterations=100000) as (ours, _):
        motion = {"EXCITATION": None, "MOTION": exciting(6.0), "ESTIMATION": exciting(1.5)}[stage]
        for _ in range(ATTEMPTS):
            asked = ours.identify(motion)
            asked.wait_for_stage(getattr(IdentificationProgress, f"STAGE_{stage}"))
            if asked.cancel():
                break
            assert asked.result().success or asked.is_spoiled, asked.result().message
            wait_until_it_stands(ours)
        result = asked.result()
        assert (result.success, asked.status()) == (False, GoalStatus.STATUS_CANCELED)
        assert asked.says("goal-cancelled")
        assert not result.result.parameters.name
        graph.wait_for(ours.is_at_rest)
        last = max(tmp_path.iterdir(), default=tmp_path)
        files = {path.name for path in last.iterdir()}
        assert files == (set() if stage == "EXCITATION" else {"log.csv"}) or stage == "MOTION"


@pytest.mark.promise("goal-second")
def test_a_second_goal_is_rejected_and_the_first_goes_on(graph: Graph, tmp_path: Path) -> None:
    def is_rejected(second: Asked) -> bool:
        running = second.says("goal-running", goal="a run of a trajectory")
        return running and second.status() == GoalStatus.STATUS_ABORTED

    with standing_arm(graph, tmp_path) as (ours, _):
        for _ in range(ATTEMPTS):
            first = ours.moving()
            seconds = (ours.run(exciting(1.0)), ours.identify())
            if first.result().success and all(map(is_rejected, seconds)):
                break
            wait_until_it_stands(ours)
        assert first.result().success, first.result().message
        assert all(map(is_rejected, seconds))


@pytest.mark.promise("run-joint-states")
def test_when_the_robot_is_gone_the_run_ends_and_keeps_its_data(graph: Graph, tmp_path: Path) -> None:
    robot = start_robot(graph)
    with identification(graph, directory=str(tmp_path), timeout=0.3) as (ours, _):
        wait_until_it_stands(ours)
        asked = ours.moving()
        robot.process.send_signal(signal.SIGKILL)
        result = asked.result()
        assert not result.success
        assert asked.says("motion-stopped")
        assert asked.says("joint-states-stopped") or asked.says("joint-states-refused"), result.message
        assert asked.says("samples-kept", count=result.samples, path=result.log_file)
        assert len(lines_of(result.log_file)) > 100
        # With a new robot everything works again.
        ours.robot.states.clear()
        start_robot(graph)
        wait_until_it_stands(ours)
        # The killed process is still in the graph for a while.
        graph.wait_for(lambda: graph.node.count_subscribers("identification/joint_trajectory") >= 2)
        ours.done(lambda: ours.run(exciting(1.0)))


@pytest.mark.promise("apply-bad")
def test_results_of_other_robots_and_impossible_bodies_are_not_sent(graph: Graph) -> None:
    robot = dyn_core.load_robot(ROBOTS["rrp"])
    result = IdentificationResult(physically_consistent=True)
    result.parameters.robot_name = "rrp"
    result.parameters.name, result.parameters.value = ["Fv1"], [1.0]
    with identification(graph, apply__timeout=0.5) as (ours, node):
        assert ours.hand_over().message == sentence("result-missing", {})
        result.parameters.description_hash = "0" * 64
        node.publish_result(result)
        assert ours.hand_over().message == sentence("result-of-other-description", {"robot": "rrp"})
        result.parameters.description_hash = robot.description_hash
        result.physically_consistent = False
        assert said("parameters-physically-impossible").search(ours.hand_over().message)
        result.physically_consistent = True
        missing = sentence("service-missing", {"service": RECEIVER})
        assert ours.hand_over().message == missing

        def refuse(_: Any, response: SetDynamicParameters.Response) -> SetDynamicParameters.Response:
            response.message = "not today"
            return response

        service = graph.node.create_service(SetDynamicParameters, RECEIVER, refuse)
        graph.wait_for(lambda: ours.hand_over().message != missing)
        response = ours.hand_over()
        refused = sentence("parameters-refused", {"service": RECEIVER, "reason": "not today"})
        assert (response.success, response.message) == (False, refused)
        graph.node.destroy_service(service)


LIMITS: dict[str, tuple[dict[str, float], dict[str, Any]]] = {
    "tracking-error-exceeded": ({"joints__lift__max_tracking_error": 0.002}, {"unit": "rad", "limit": 0.002}),
    # Holding the arm takes about 30 of the 80 N m of 'lift'.
    "effort-near-limit": ({"max_effort__part": 0.2, "max_effort__time": 0.1}, {"unit": "N m"}),
}


@pytest.mark.promise("run-tracking", "run-effort")
@pytest.mark.parametrize("code", LIMITS)
def test_a_robot_beyond_the_stop_limits_is_stopped(code: str, graph: Graph, tmp_path: Path) -> None:
    parameters, values = LIMITS[code]
    with standing_arm(graph, tmp_path, **parameters) as (ours, _):
        asked = ours.run(exciting(3.0))
        assert not asked.result().success
        assert asked.says(code, joint="lift", **values), asked.result().message
        graph.wait_for(ours.is_at_rest)
        words = said(code, joint="lift", **values)
        graph.wait_for(lambda: any(words.search(status.message) for status in ours.statuses))
        (status, *_) = (status for status in ours.statuses if words.search(status.message))
        assert status.level == DiagnosticStatus.WARN


def test_parameters_are_estimated_while_the_robot_moves(graph: Graph, tmp_path: Path) -> None:
    parameters: list[DynamicParameters] = []
    graph.node.create_subscription(
        DynamicParameters, "identification/parameters", parameters.append, qos.LATCHED
    )
    with standing_arm(graph, tmp_path, "-p", "model_error:=0.2", online__rate=5.0) as (ours, _):

        def switch(on: bool) -> SetBool.Response:
            client = graph.node.create_client(SetBool, "identification/online")
            return graph.call(client, SetBool.Request(data=on))

        def state(code: str) -> bool:
            return bool(said(code).fullmatch(graph.diagnosis("online") or ""))

        response = switch(True)
        assert (response.success, response.message) == (True, sentence("online-begun", {}))
        graph.wait_for(lambda: state("online-converging") or state("online-samples-too-few"))
        there = dyn_core.with_model_error(dyn_core.load_robot(ROBOTS["rrp"]), 0.2, 0)
        base = base_columns(there)
        known = dict(zip(there.parameter_names, there.parameters, strict=True))
        truth = base.matrix @ np.array([known[name] for name in base.standard_names])
        for _ in range(ATTEMPTS):  # a busy machine loses so many samples that one run is not enough
            ours.done(lambda: ours.run(exciting(4.0)))
            graph.wait_for(lambda: state("online-converged"))
            newest = parameters[-1]
            values = np.array(newest.value[: len(truth)])
            if np.linalg.norm(values - truth) < 0.05 * np.linalg.norm(truth):
                break
        assert np.linalg.norm(values - truth) < 0.05 * np.linalg.norm(truth)
        assert newest.description_hash == there.description_hash
        assert tuple(newest.name[: len(truth)]) == base.names
        assert all(0.0 < deviation < 1.0 for deviation in newest.standard_deviation)
        ended = switch(False).message
        assert said("online-ended").fullmatch(ended)
        assert said("online-converged").search(ended)
        graph.wait_for(lambda: state("online-off"))


# The commands of the documentation of the node work as printed, with the robot of the README

SHORTER = {"excitation.duration": "10.0", "excitation.iterations": "40"}
"""Parameters that the page does not set, as are those of `PATIENT`."""


def test_the_first_example_identifies_a_robot_with_friction(graph: Graph, tmp_path: Path) -> None:
    """The wrist has much friction and small inertias: with PD gains only, it would not follow the motion."""
    page = (ROOT / "docs" / "identification_node.md").read_text()
    (first, *_) = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    commands = map(shlex.split, first.splitlines())
    found = [words[3:] for words in commands if words[:3] == ["ros2", "run", "dyn_nodes"]]
    assert [name for name, *_ in found] == ["simulation", "controller", "feedforward", "identification"]
    ours = Identified(graph)
    for name, *arguments in found:
        given = [word.replace("robot.urdf", str(ROBOTS["rx90"])) for word in arguments]
        if name == "identification":
            given = [re.sub("^directory:=.*", f"directory:={tmp_path}", word) for word in given]
            given += [word for pair in (SHORTER | PATIENT).items() for word in ("-p", "{}:={}".format(*pair))]
        graph.start("-m", f"dyn_nodes.{name}", *(given or ["--ros-args"]))
    names = dyn_core.load_robot(ROBOTS["rx90"]).joint_names
    # 0.3 % on an idle machine, 4 % on a busy one; other tests check how good results are.
    asked = ours.done(
        ours.identify, lambda r: r.success and r.result.validation_error < 0.2, names, [0.0] * len(names)
    )
    answer = asked.result()
    assert (answer.success, answer.message) == (True, "")
    assert answer.result.validation_error < 0.2
    handed = ours.hand_over()
    assert handed.success, handed.message
