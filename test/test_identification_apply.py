# SPDX-License-Identifier: Apache-2.0
"""Parameters and payloads that are sent to `feedforward`: their sources, and no torque step."""

from __future__ import annotations

import math
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rclpy
import yaml
from builtin_interfaces.msg import Duration
from identification_client import Identified, identification
from identified_parameters import BAD, heavier, parameter_file
from message_makers import joint_state, stamp_at
from rnea import frictionless
from robot_files import ROBOTS
from ros_graph import Graph
from sensor_msgs.msg import JointState
from sentence_patterns import said
from std_srvs.srv import SetBool
from steady_clock import SteadyClock
from test_identification import RECEIVER, torque_difference

import dyn_core
from dyn_core.control.trajectories.fourier_motion import rich_motion
from dyn_core.control.watchdog import smooth_step
from dyn_core.core.messages import sentence
from dyn_core.identification.payload.payload_parameters import payload_text, service_call
from dyn_msgs.msg import IdentificationResult
from dyn_msgs.srv import ApplyParameters, SetDynamicParameters, SetPayload
from dyn_nodes.common import qos
from dyn_nodes.common.messages.parameter_message import payload_of

BLEND_S = 0.5
PERIOD_S = 0.005


@pytest.mark.promise("apply-blend")
def test_parameters_of_a_file_are_applied_without_a_torque_step(
    graph: Graph, steady: SteadyClock, tmp_path: Path
) -> None:
    """Along a motion: torques of the old robot, then a blend, then torques of the new one."""
    text = frictionless("rrp")
    graph.feedforward(steady, mode="inverse_dynamics", ramp_start=0.0, reference_slack=0.5)
    graph.load(text)
    old, new = dyn_core.load_robot(text), heavier(text, 1.5)
    file = parameter_file(tmp_path / "parameters.yaml", new)
    times = PERIOD_S * np.arange(200)
    motion = rich_motion(dyn_core.compile_model(old), 2.0).at_many(times)
    before, after = (dyn_core.compile_model(robot).inverse_dynamics(*motion) for robot in (old, new))
    with identification(graph, description_file="", directory=str(tmp_path)) as (ours, _):
        ready(ours)
        sent, begin = [], math.inf
        for k in range(len(times)):
            if k == 50:
                begin = steady.now
                blend = Duration(nanosec=round(1e9 * BLEND_S))
                response = ours.hand_over(source=2, file=str(file), blend_time=blend)
                assert response.success, response.message
                assert response.parameters.name == list(new.parameter_names)
                assert response.parameters.value == pytest.approx(new.parameters)
            steady.now += PERIOD_S
            torques = graph.answer_to(graph.refer(old.joint_names, *(rows[k].tolist() for rows in motion)))
            assert tuple(torques.name) == old.joint_names
            sent.append(list(torques.total))
            s = 0.0 if math.isinf(begin) else smooth_step((steady.now - begin) / BLEND_S)
            assert sent[-1] == pytest.approx((1.0 - s) * before[k] + s * after[k], rel=1e-6, abs=1e-6)
    steps = np.abs(np.diff(sent, axis=0)).max(axis=0)
    of_motion = max(np.abs(np.diff(tau, axis=0)).max() for tau in (before, after))
    blended = 1.875 * np.abs(after - before).max() * PERIOD_S / BLEND_S
    assert (steps <= of_motion + blended).all()
    assert np.abs(np.subtract(sent[-1], before[-1])).max() > 1.0, "something has changed"


def accepted(graph: Graph) -> list[SetDynamicParameters.Request]:
    """Act as `feedforward`, accept all requests, and return the list of requests."""
    requests: list[SetDynamicParameters.Request] = []

    def accept(request: SetDynamicParameters.Request, _: Any) -> SetDynamicParameters.Response:
        requests.append(request)
        return SetDynamicParameters.Response(success=True)

    graph.node.create_service(SetDynamicParameters, RECEIVER, accept)
    return requests


def ready(ours: Identified) -> None:
    """Wait until the node knows the robot and the receiver."""
    waiting = re.compile(f"{said('robot-not-received').pattern}|{said('service-missing').pattern}")
    ours.graph.wait_for(lambda: not waiting.match(ours.hand_over(source=2, file="/x").message))


@pytest.mark.promise("apply-bad")
def test_impossible_requests_are_rejected(graph: Graph, tmp_path: Path) -> None:
    requests = accepted(graph)
    robot = dyn_core.load_robot(ROBOTS["rrp"])
    good = parameter_file(tmp_path / "good.yaml", robot)
    cut = tmp_path / "cut.yaml"
    cut.write_text(good.read_text()[:-400])
    impossible = parameter_file(tmp_path / "impossible.yaml", robot.with_parameters({"XX2": -5.0}))
    other = parameter_file(tmp_path / "other.yaml", dyn_core.load_robot(ROBOTS["rx90"]))
    off = {"state": sentence("online-off", {})}
    cases: list[tuple[int, str | Path, str, dict[str, Any]]] = [
        (0, "", "result-missing", {}),
        (7, "", "source-unknown", {"given": 7}),
        (2, "", "source-without-file", {}),
        (0, good, "source-beside-file", {}),
        (1, "", "online-not-converged", off),
        (2, good, "blend-time-negative", {"time": -1.0}),
        (2, "/no/such/file", "path-or-text-unknown", {"path": "/no/such/file"}),
        (2, cut, "yaml-malformed-in-line", {}),
        (2, other, "parameters-other-robot", {"expected": "rx90"}),
        (2, impossible, "parameters-physically-impossible", {"given": f"'{impossible}'"}),
        (2, tmp_path, "path-is-directory", {}),
    ]
    with identification(graph, directory=str(tmp_path)) as (ours, _):
        ready(ours)
        for source, file, code, values in cases:
            blend = Duration(sec=-1 if code == "blend-time-negative" else 0)
            response = ours.hand_over(source=source, file=str(file), blend_time=blend)
            assert not response.success, code
            assert said(code, **values).search(response.message), (code, response.message)
            assert str(file) in response.message or code.startswith(("source", "blend"))
            assert "\n" not in response.message
            assert not response.parameters.name
        assert not requests
        response = ours.hand_over(source=2, file=str(good))
        assert response.success, response.message
        (request,) = requests
        assert request.parameters == response.parameters
        assert request.parameters.description_hash == robot.description_hash


@pytest.mark.promise("verdict-apply")
def test_a_verdict_against_parameters_refuses_them_without_force(graph: Graph, tmp_path: Path) -> None:
    """Of the last result, and of a file."""
    requests = accepted(graph)
    robot = dyn_core.load_robot(ROBOTS["rrp"])
    bad = parameter_file(tmp_path / "bad.yaml", robot, reasons=(BAD,))
    result = IdentificationResult(physically_consistent=True)
    result.parameters.description_hash = robot.description_hash
    result.parameters.name, result.parameters.value = ["Fv1"], [1.0]
    result.parameters.verdict = [BAD.text]
    with identification(graph, directory=str(tmp_path)) as (ours, node):
        ready(ours)
        node.publish_result(result)
        for source in ({"source": 0}, {"source": 2, "file": str(bad)}):
            response = ours.hand_over(**source)
            assert not response.success
            assert response.message == sentence("verdict-do-not-use", {"cause": BAD.text})
            assert not requests
            response = ours.hand_over(**source, force=True)
            assert response.success, response.message
            request = requests.pop()
            assert request.force
            assert list(request.parameters.verdict) == [BAD.text]
            graph.wait_for(lambda: graph.logged(sentence("parameters-forced", {"cause": BAD.text})))


def test_converged_online_parameters_are_sent(graph: Graph, tmp_path: Path) -> None:
    """The test acts as the robot, which differs from its description."""
    requests = accepted(graph)
    robot = dyn_core.load_robot(ROBOTS["rrp"])
    there = dyn_core.with_model_error(robot, 0.2, 0)
    model = dyn_core.compile_model(there)
    times = 0.004 * np.arange(2000)
    motion = rich_motion(model, 8.0).at_many(times)
    tau = model.inverse_dynamics(*motion) + np.random.default_rng(0).normal(0.0, 0.2, motion.q.shape)
    states = graph.node.create_publisher(JointState, "joint_states", qos.EACH_MESSAGE)
    with identification(graph, directory=str(tmp_path), online__rate=10.0, max_age=60.0) as (ours, node):
        ready(ours)
        online = graph.node.create_client(SetBool, "identification/online")
        assert graph.call(online, SetBool.Request(data=True)).success
        graph.wait_for(lambda: "samples" in (graph.diagnosis("online") or ""))
        assert said("online-not-converged").search(ours.hand_over(source=1).message)
        assert said("online-samples-too-few", samples=0).search(ours.hand_over(source=1).message)
        begin = graph.node.get_clock().now().nanoseconds
        names = list(robot.joint_names)
        for k, t in enumerate(times.tolist()):
            state = joint_state(stamp_at(begin + round(1e9 * t)), motion.q[k], motion.qd[k], names)
            state.effort = tau[k].tolist()
            states.publish(state)
            if k % 50 == 0:
                graph.executor.spin_once(timeout_sec=0.0)
                count = k + 1
                graph.wait_for(lambda count=count: len(ours.robot.states) >= count)
        graph.wait_for(lambda: ours.hand_over(source=1).success)
        received = requests[-1].parameters
        assert tuple(received.name) == robot.parameter_names
        found = robot.with_parameters(dict(zip(received.name, received.value, strict=True)))
        assert torque_difference(found, there) < 0.02 < 0.08 < torque_difference(robot, there)
        assert node.failure is None


def test_a_receiver_without_response_is_given_up(graph: Graph, tmp_path: Path) -> None:
    """The process of the service does not handle requests."""
    deaf = rclpy.create_node("deaf", context=graph.context)
    deaf.create_service(SetDynamicParameters, RECEIVER, lambda *_: None)
    result = IdentificationResult(physically_consistent=True)
    robot = dyn_core.load_robot(ROBOTS["rrp"])
    result.parameters.description_hash = robot.description_hash
    with identification(graph, directory=str(tmp_path), apply__timeout=0.3) as (ours, node):
        ready(ours)
        node.publish_result(result)
        first = ours.apply.call_async(ApplyParameters.Request())
        assert ours.hand_over().message == sentence("handover-running", {})
        graph.wait_for(first.done)
        assert first.result().message == sentence("service-silent", {"service": RECEIVER, "limit": 0.3})
    deaf.destroy_node()


# `dyn payload` writes and prints requests for the services of the nodes


def filled(message: Any, values: dict[str, Any]) -> Any:
    """A message with these fields, filled like by `ros2 service call`: names and types must be right."""
    for name, value in values.items():
        old = getattr(message, name)
        setattr(message, name, filled(old, value) if isinstance(value, dict) else value)
    return message


def test_file_and_command_of_a_payload_are_valid_requests() -> None:
    """A small body, so that some numbers are written with an exponent."""
    robot = dyn_core.load_robot(ROBOTS["rrp"])
    t = np.arange(8000) / 1000.0
    motions = []
    for seed, held in ((0, robot.with_payload("slider", 0.02, (0.01, 0.0, 0.002))), (1, robot)):
        model = dyn_core.compile_model(held, backend="python")
        motion = rich_motion(model, 8.0, seed=seed).at_many(t)
        tau = model.inverse_dynamics(*motion) + 1e-5 * np.random.default_rng(seed).normal(size=motion.q.shape)
        motions.append(dyn_core.signals_of_arrays(robot.joint_names, t, *motion, tau, decimate=10))
    settings = dyn_core.IdentificationSettings((dyn_core.FrictionModel(),) * 3, diagnose=False)
    payload = dyn_core.identify_payload(robot, "slider", *motions, settings)
    *command, argument = shlex.split(service_call(payload))
    assert command == ["ros2", "service", "call", "/feedforward/set_payload", "dyn_msgs/srv/SetPayload"]
    for text in (payload_text(payload, ["By a test."]), argument):
        found = payload_of(filled(SetPayload.Request(), yaml.safe_load(text)).payload)
        assert found.link == payload.link == "slider"
        assert found.mass == pytest.approx(0.02, abs=1e-4)
        written, identified = ((one.mass, *one.centre, *one.inertia) for one in (found, payload))
        assert written == pytest.approx(identified, rel=1e-11)
        robot.with_payload(*found)
