# SPDX-License-Identifier: Apache-2.0
"""Payloads, dynamic parameters and robots that change while the node `feedforward` is running."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Inertia, Vector3
from message_makers import NAMES, duration, to_rest_at
from rnea import Pinocchio, by_name, frictionless
from robot_files import urdf
from ros_graph import Graph
from sentence_patterns import said
from steady_clock import SteadyClock
from trajectory_msgs.msg import JointTrajectory

import dyn_core
from dyn_msgs.msg import DynamicParameters, JointTorques, Payload
from dyn_msgs.srv import LoadModel, SetDynamicParameters, SetPayload
from dyn_nodes.common import qos
from dyn_nodes.common.data_checks import Notice

Q = [0.1, 0.3, 0.05]
AT = dict(zip(NAMES, Q, strict=True))


SERVICES = {
    SetPayload: "feedforward/set_payload",
    SetDynamicParameters: "feedforward/set_dynamic_parameters",
    LoadModel: "feedforward/load_model",
}


class Arm:
    """The node with the arm rrp, and its services."""

    def __init__(self, graph: Graph, steady: Callable[[], float], **parameters: object) -> None:
        self.graph = graph
        self.node = graph.feedforward(steady, **parameters)
        self.info = graph.load(frictionless("rrp"))
        self.robot = dyn_core.load_robot(frictionless("rrp"))
        self.tip = self.robot.link_names[-1]
        self._clients = {kind: graph.node.create_client(kind, name) for kind, name in SERVICES.items()}

    def call(self, kind: type, **request: Any) -> Any:
        return self.graph.call(self._clients[kind], kind.Request(**request))

    def change(self, kind: type, **request: Any) -> Any:
        response = self.call(kind, **request)
        assert response.success, response.message
        return response

    def refuses(self, code: str, service: type, /, **given: Any) -> Any:
        """Call a service, which refuses with a code and the given values that its request does not have."""
        fields = service.Request.get_fields_and_field_types()
        response = self.call(service, **{name: value for name, value in given.items() if name in fields})
        values = {name: value for name, value in given.items() if name not in fields}
        assert not response.success
        assert said(code, **values).search(response.message), (code, response.message)
        return response

    def publisher(self, kind: type, topic: str) -> Any:
        made = self.graph.node.create_publisher(kind, f"feedforward/{topic}", qos.EACH_MESSAGE)
        self.graph.wait_for(lambda: made.get_subscription_count() == 1)
        return made

    def torques(self) -> dict[str, float]:
        return by_name(self.graph.torques_for(NAMES, Q))

    def expected(self, robot: dyn_core.Robot) -> Any:
        tau = dyn_core.compile_model(robot).gravity_torques([AT[n] for n in robot.joint_names])
        return pytest.approx(dict(zip(robot.joint_names, tau.tolist(), strict=True)), rel=1e-9, abs=1e-9)


def payload(link: str, mass: float, x: float = 0.0, z: float = 0.0, ixx: float = 0.0) -> Payload:
    inertia = Inertia(m=mass, com=Vector3(x=x, z=z), ixx=ixx, iyy=ixx, izz=ixx)
    return Payload(link_name=link, inertia=inertia)


def heavier(factor: float) -> str:
    text = frictionless("rrp")
    return re.sub(r'<mass value="([^"]*)"', lambda m: f'<mass value="{float(m[1]) * factor}"', text)


def test_payloads_add_up_and_can_be_removed(graph: Graph, steady: SteadyClock) -> None:
    arm = Arm(graph, steady, blend_time=0.0)
    other = arm.robot.link_names[-2]
    held: dict[str, float] = {}
    for link, mass in ((arm.tip, 2.0), (other, 1.5), (arm.tip, 0.5), (other, 0.0), (arm.tip, 0.0)):
        arm.change(SetPayload, payload=payload(link, mass, x=0.1))
        held[link] = mass
        loaded = arm.robot
        for name, kg in held.items():
            loaded = loaded.with_payload(name, kg, (0.1, 0.0, 0.0))
        assert arm.torques() == arm.expected(loaded)


def test_a_payload_agrees_with_a_fixed_body_in_pinocchio(graph: Graph, steady: SteadyClock) -> None:
    """Mass, centre and inertia, in motion: rnea of the URDF with one more link."""
    arm = Arm(graph, steady, blend_time=0.0, mode="inverse_dynamics")
    arm.change(SetPayload, payload=payload(arm.tip, 2.0, x=0.1, z=-0.05, ixx=0.02))
    body = f"""
      <link name="held"><inertial><origin xyz="0.1 0 -0.05"/><mass value="2.0"/>
      <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
      <joint name="holding" type="fixed"><parent link="{arm.tip}"/><child link="held"/></joint></robot>"""
    oracle = Pinocchio(frictionless("rrp").replace("</robot>", body))
    qd, qdd = dict.fromkeys(NAMES, 0.4), dict.fromkeys(NAMES, 0.9)
    stamp = graph.refer(NAMES, Q, list(qd.values()), list(qdd.values()))
    assert by_name(graph.answer_to(stamp)) == pytest.approx(oracle.torques(AT, qd, qdd))


@pytest.mark.parametrize("given", [{}, {"blend_time": duration(2.0)}], ids=["parameter", "request"])
def test_a_payload_is_added_without_a_torque_step(
    given: dict[str, Any], graph: Graph, steady: SteadyClock
) -> None:
    """The blend time of the request overrides the parameter."""
    arm = Arm(graph, steady, blend_time=0.7 if given else 2.0)
    before = arm.torques()["lift"]
    arm.change(SetPayload, payload=payload(arm.tip, 2.0), **given)
    after = arm.expected(arm.robot.with_payload(arm.tip, 2.0)).expected["lift"]
    steps = []
    for k in range(65):
        steps.append(arm.torques()["lift"])
        steady.now = 100.0 + (k + 1) / 32
    assert steps[0] == before
    assert steps[32] == pytest.approx(0.5 * (before + after))
    assert steps[64] == pytest.approx(after)
    rate = 1.875 * (after - before) / 2.0 / 32
    assert max(abs(b - a) for a, b in pairwise(steps)) <= rate * (1.0 + 1e-9)


@pytest.mark.promise("payload-impossible", "parameters-malformed")
def test_payloads_and_dynamic_parameters_can_come_on_topics(graph: Graph, steady: SteadyClock) -> None:
    arm = Arm(graph, steady, blend_time=0.0)
    payloads = arm.publisher(Payload, "payload")
    parameters = arm.publisher(DynamicParameters, "dynamic_parameters")
    heavy = arm.expected(arm.robot.with_payload(arm.tip, 2.0))
    payloads.publish(payload(arm.tip, 2.0))
    graph.wait_for(lambda: arm.torques() == heavy)
    payloads.publish(payload("nowhere", 2.0))
    graph.wait_for(lambda: graph.diagnosis("payload refused") == "1")
    assert graph.told.about("link-unknown", link="nowhere")
    assert arm.torques() == heavy
    parameters.publish(DynamicParameters(name=["MX2"], value=[1.5]))
    both = arm.expected(arm.robot.with_parameters({"MX2": 1.5}).with_payload(arm.tip, 2.0))
    graph.wait_for(lambda: arm.torques() == both)
    parameters.publish(DynamicParameters(name=["MX2"], value=[1.5], description_hash="0" * 64))
    graph.wait_for(lambda: graph.diagnosis("dynamic parameters refused") == "1")


def test_dynamic_parameters_change_the_robot_without_its_payload(graph: Graph, steady: SteadyClock) -> None:
    arm = Arm(graph, steady, blend_time=0.0)
    arm.change(SetPayload, payload=payload(arm.tip, 2.0))
    new = {"M2": 4.0, "MX2": 1.5}
    robot = {"robot_name": "rrp", "description_hash": arm.info.description_hash}
    parameters = DynamicParameters(**robot, name=list(new), value=list(new.values()))
    arm.change(SetDynamicParameters, parameters=parameters)
    assert arm.torques() == arm.expected(arm.robot.with_parameters(new).with_payload(arm.tip, 2.0))


BAD_PAYLOADS = [
    (payload("nowhere", 1.0), "link-unknown"),
    (payload("TIP", -1.0), "held-mass-negative"),
    (payload("TIP", math.nan), "body-numbers-invalid"),
    (payload("TIP", 1.0, x=math.inf), "body-numbers-invalid"),
    (payload("TIP", 1.0, ixx=-1.0), "held-inertia-impossible"),
    (payload("TIP", 0.0, ixx=0.1), "held-inertia-without-mass"),
]
BAD_PARAMETERS: list[tuple[dict[str, Any], str, dict[str, Any]]] = [
    ({"description_hash": "0" * 64}, "parameters-of-another", {"kind": "description"}),
    ({"robot_name": "toy"}, "parameters-of-another", {"kind": "robot", "given": "toy", "used": "rrp"}),
    ({"name": ["M2", "M99"]}, "parameter-unknown", {"unknown": ["M99"]}),
    ({"value": [1.0]}, "parameter-counts-differ", {"names": 2, "count": 1}),
    ({"value": [1.0, math.nan]}, "parameter-not-finite", {"parameter": "MX2"}),
    ({"name": ["M2", "M2"]}, "parameter-repeated", {"parameter": "M2"}),
    ({"name": [], "value": []}, "parameters-empty", {}),
]


@pytest.mark.promise("payload-impossible", "parameters-malformed")
def test_impossible_payloads_and_parameters_are_refused_as_a_whole(graph: Graph, steady: SteadyClock) -> None:
    arm = Arm(graph, steady, blend_time=0.0)
    for message, code in BAD_PAYLOADS:
        message.link_name = message.link_name.replace("TIP", arm.tip)
        arm.refuses(code, SetPayload, payload=message)
    for changes, code, values in BAD_PARAMETERS:
        fields = {"name": ["M2", "MX2"], "value": [7.0, 7.0], **changes}
        arm.refuses(code, SetDynamicParameters, parameters=DynamicParameters(**fields), **values)
    later = {"payload": payload(arm.tip, 1.0), "blend_time": Duration(sec=-1)}
    arm.refuses("blend-time-negative", SetPayload, time=-1.0, **later)
    assert arm.torques() == arm.expected(arm.robot)


def test_without_a_robot_nothing_can_be_set_or_reloaded(graph: Graph, steady: SteadyClock) -> None:
    graph.feedforward(steady)
    for kind, code in ((SetPayload, "robot-not-loaded"), (LoadModel, "description-not-received")):
        client = graph.node.create_client(kind, SERVICES[kind])
        assert graph.call(client, kind.Request()).message == str(Notice(code))


@pytest.mark.promise("payload-other-description")
def test_a_reload_keeps_payloads_and_drops_parameters(graph: Graph, steady: SteadyClock) -> None:
    arm = Arm(graph, steady, blend_time=0.0, ramp_up=0.0)
    arm.change(SetPayload, payload=payload(arm.tip, 2.0))
    arm.change(SetDynamicParameters, parameters=DynamicParameters(name=["MX2"], value=[1.5]))
    text = heavier(1.5)
    graph.load(text)
    assert arm.torques() == arm.expected(dyn_core.load_robot(text).with_payload(arm.tip, 2.0))


@pytest.mark.promise("description-replaced")
def test_another_robot_is_used_without_a_torque_step(graph: Graph, steady: SteadyClock) -> None:
    arm = Arm(graph, steady, ramp_up=1.0)
    before = arm.torques()
    text = heavier(1.5)
    graph.load(text)
    assert arm.torques() == before
    assert graph.torques[-1].status == JointTorques.STATUS_RAMPING
    after = arm.expected(dyn_core.load_robot(text)).expected
    steady.now += 0.5
    assert arm.torques() == pytest.approx({n: 0.5 * (before[n] + after[n]) for n in NAMES})
    steady.now += 0.6
    assert arm.torques() == pytest.approx(after)


def test_a_robot_can_be_loaded_by_service(graph: Graph, steady: SteadyClock) -> None:
    arm = Arm(graph, steady, ramp_up=0.0)
    # Without a description, the one from the topic is loaded again.
    given = (dyn_core.load_robot(heavier(1.5)), {"robot_description": heavier(1.5)})
    for robot, request in (given, (arm.robot, {})):
        assert arm.change(LoadModel, **request).model.description_hash == robot.description_hash
        assert arm.torques() == arm.expected(robot)


BAD_ROBOTS: list[tuple[str, str, dict[str, Any]]] = [
    ("<robot name='broken'><link name='a'>", "xml-malformed", {}),
    ("/etc/passwd", "message-not-urdf", {}),
    ("<robot name='r'><link name='a'/></robot>", "robot-without-moving-joint", {"robot": "r"}),
    (urdf("rx90"), "command-joint-unknown", {"joint": "lift", "robot": "rx90"}),
]


@pytest.mark.promise("description-unusable")
def test_a_robot_that_cannot_be_loaded_leaves_the_present_one(graph: Graph, steady: SteadyClock) -> None:
    arm = Arm(graph, steady, command_joints=["lift", "turn"])
    expected = arm.torques()
    for text, code, values in BAD_ROBOTS:
        answer = arm.refuses(code, LoadModel, robot_description=text, **values)
        assert answer.model.robot_name == "rrp"
    assert arm.torques() == expected


def test_a_file_is_read_again_on_request(graph: Graph, steady: SteadyClock, tmp_path: Path) -> None:
    file = tmp_path / "arm.urdf"
    file.write_text(frictionless("rrp"))
    graph.feedforward(steady, description_file=str(file), ramp_up=0.0)
    client = graph.node.create_client(LoadModel, SERVICES[LoadModel])
    before = by_name(graph.torques_for(NAMES, Q))
    file.write_text(heavier(2.0))
    assert graph.call(client, LoadModel.Request()).success
    assert by_name(graph.torques_for(NAMES, Q)) == pytest.approx({n: 2.0 * v for n, v in before.items()})


def test_a_trajectory_continues_through_a_reload(graph: Graph) -> None:
    arm = Arm(graph, time.monotonic, mode="inverse_dynamics", ramp_up=0.0)
    publisher = arm.publisher(JointTrajectory, "joint_trajectory")
    graph.torques_for(NAMES, Q)
    goal = [0.4, 0.1, 0.2]
    publisher.publish(to_rest_at(goal, 1.0))
    graph.wait_for(lambda: graph.diagnosis("trajectories used") or len(graph.torques) > 5)
    graph.load(heavier(2.0))
    expected = Pinocchio(heavier(2.0)).held(dict(zip(NAMES, goal, strict=True)))
    graph.wait_for(lambda: by_name(graph.torques[-1]) == pytest.approx(expected, rel=1e-9))
