# SPDX-License-Identifier: Apache-2.0
"""Parameters that the node `identification` hands to `feedforward`: from where, and without a step."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rclpy
from builtin_interfaces.msg import Duration
from identified import Identified, identification
from identified_parameters import heavier, parameter_file
from rnea import frictionless
from robot_files import ROBOTS
from ros_graph import Graph
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from std_srvs.srv import SetBool

import dyn_core
from dyn_core.control.ramp import smooth_step
from dyn_core.control.rich_motion import rich_motion
from dyn_msgs.msg import IdentificationResult
from dyn_msgs.srv import ApplyParameters, SetDynamicParameters
from dyn_nodes.common import qos

BLEND_S = 0.5
PERIOD_S = 0.005


class Steady:
    """A clock that goes on when it is told to."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_torques_go_over_to_the_parameters_of_a_file_without_a_step(graph: Graph, tmp_path: Path) -> None:
    """Along a motion: the torques are those of the old robot, then a mixture, then those of the new one."""
    steady = Steady()
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
                answer = ours.hand_over(source=2, file=str(file), blend_time=blend)
                assert answer.success, answer.message
                assert answer.parameters.name == list(new.parameter_names)
                assert answer.parameters.value == pytest.approx(new.parameters)
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


class Receiver:
    """In the place of `feedforward`: takes all that comes."""

    def __init__(self, graph: Graph) -> None:
        self.requests: list[SetDynamicParameters.Request] = []
        name = "feedforward/set_dynamic_parameters"
        graph.node.create_service(SetDynamicParameters, name, self._on_request)

    def _on_request(
        self, request: SetDynamicParameters.Request, response: SetDynamicParameters.Response
    ) -> SetDynamicParameters.Response:
        self.requests.append(request)
        response.success = True
        return response


def ready(ours: Identified) -> None:
    """Wait until the node knows the robot and the receiver."""
    waiting = ("there is no robot", "there is no service")
    ours.graph.wait_for(lambda: not ours.hand_over(source=2, file="/x").message.startswith(waiting))


def test_what_cannot_be_applied_is_told_in_a_sentence(graph: Graph, tmp_path: Path) -> None:
    receiver = Receiver(graph)
    robot = dyn_core.load_robot(ROBOTS["rrp"])
    good = parameter_file(tmp_path / "good.yaml", robot)
    cut = tmp_path / "cut.yaml"
    cut.write_text(good.read_text()[:-400])
    impossible = parameter_file(tmp_path / "impossible.yaml", robot.with_parameters({"XX2": -5.0}))
    other = parameter_file(tmp_path / "other.yaml", dyn_core.load_robot(ROBOTS["rx90"]))
    cases: dict[str, tuple[dict[str, Any], str]] = {
        "no result": ({}, "there is no result yet: identify first"),
        "source": ({"source": 7}, "source is 7"),
        "no file": ({"source": 2}, "no file is given"),
        "two": ({"file": str(good)}, "but source is not 2"),
        "online": ({"source": 1}, "what is estimated online has not converged (off)"),
        "blend": (
            {"source": 2, "file": str(good), "blend_time": Duration(sec=-1)},
            "the blend time is -1 s",
        ),
        "missing": ({"source": 2, "file": "/no/such/file"}, "/no/such/file"),
        "cut": ({"source": 2, "file": str(cut)}, "cut.yaml"),
        "other": ({"source": 2, "file": str(other)}, "these are the parameters of robot 'rx90'"),
        "impossible": ({"source": 2, "file": str(impossible)}, "a link would be no possible body"),
        "a directory": ({"source": 2, "file": str(tmp_path)}, str(tmp_path)),
    }
    with identification(graph, directory=str(tmp_path)) as (ours, _):
        ready(ours)
        for case, (request, sentence) in cases.items():
            answer = ours.hand_over(**request)
            assert not answer.success, case
            assert sentence in answer.message, (case, answer.message)
            assert "\n" not in answer.message
            assert not answer.parameters.name
        assert not receiver.requests
        answer = ours.hand_over(source=2, file=str(good))
        assert answer.success, answer.message
        (request,) = receiver.requests
        assert request.parameters == answer.parameters
        assert request.parameters.description_hash == robot.description_hash


def test_parameters_that_have_converged_online_are_handed_on(graph: Graph, tmp_path: Path) -> None:
    """The test is the robot: it moves as another one than is described."""
    receiver = Receiver(graph)
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
        assert "has not converged (0 samples" in ours.hand_over(source=1).message
        begin = graph.node.get_clock().now().nanoseconds
        names = list(robot.joint_names)
        for k, t in enumerate(times.tolist()):
            seconds, rest = divmod(begin + round(1e9 * t), 10**9)
            state = JointState(header=Header(), name=names)
            state.header.stamp.sec, state.header.stamp.nanosec = seconds, rest
            state.position, state.velocity, state.effort = (
                rows[k].tolist() for rows in (motion.q, motion.qd, tau)
            )
            states.publish(state)
            if k % 50 == 0:
                graph.executor.spin_once(timeout_sec=0.0)
                count = k + 1
                graph.wait_for(lambda count=count: len(ours.robot.states) >= count)
        graph.wait_for(lambda: ours.hand_over(source=1).success)
        answer = receiver.requests[-1].parameters
        assert tuple(answer.name) == robot.parameter_names
        found = robot.with_parameters(dict(zip(answer.name, answer.value, strict=True)))
        q, qd, qdd = rich_motion(model, 8.0, seed=7).at_many(times)
        truth = model.inverse_dynamics(q, qd, qdd)

        def error(one: dyn_core.Robot) -> float:
            difference = dyn_core.compile_model(one, "runtime").inverse_dynamics(q, qd, qdd) - truth
            return float(np.linalg.norm(difference) / np.linalg.norm(truth))

        assert error(found) < 0.02 < 0.08 < error(robot)
        assert node.failure is None


def test_a_receiver_that_does_not_answer_is_not_waited_for(graph: Graph, tmp_path: Path) -> None:
    """The service is there, and deaf: its process does not look at it."""
    deaf = rclpy.create_node("deaf", context=graph.context)
    deaf.create_service(SetDynamicParameters, "feedforward/set_dynamic_parameters", lambda *_: None)
    result = IdentificationResult(physically_consistent=True)
    robot = dyn_core.load_robot(ROBOTS["rrp"])
    result.parameters.description_hash = robot.description_hash
    with identification(graph, directory=str(tmp_path), apply__timeout=0.3) as (ours, node):
        ready(ours)
        node.publish_result(result)
        first = ours.apply.call_async(ApplyParameters.Request())
        second = ours.hand_over()
        assert second.message == "parameters are being handed over: wait for the answer"
        graph.wait_for(first.done)
        assert "has not answered in 0.3 s: it may still take the parameters" in first.result().message
    deaf.destroy_node()
