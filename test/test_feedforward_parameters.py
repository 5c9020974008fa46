# SPDX-License-Identifier: Apache-2.0
"""Payloads, dynamic parameters and robots that change while the node `feedforward` is at work."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Inertia, Vector3
from rnea import Pinocchio, by_name, frictionless
from robot_files import urdf
from ros_graph import Graph

import dyn_core
from dyn_msgs.msg import DynamicParameters, JointTorques, Payload
from dyn_msgs.srv import LoadModel, SetDynamicParameters, SetPayload
from dyn_nodes.common import qos

NAMES = ["turn", "lift", "stretch"]
Q = [0.1, 0.3, 0.05]
AT = dict(zip(NAMES, Q, strict=True))


class Steady:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def steady() -> Steady:
    return Steady()


class Arm:
    """The node with the arm rrp, and its services."""

    def __init__(self, graph: Graph, steady: Steady, **parameters: object) -> None:
        self.graph = graph
        self.node = graph.feedforward(steady, **parameters)
        self.info = graph.load(frictionless("rrp"))
        self.robot = dyn_core.load_robot(frictionless("rrp"))
        self._clients = {
            kind: graph.node.create_client(kind, f"feedforward/{name}")
            for kind, name in {
                SetPayload: "set_payload",
                SetDynamicParameters: "set_dynamic_parameters",
                LoadModel: "load_model",
            }.items()
        }

    def call(self, kind: type, **request: Any) -> Any:
        return self.graph.call(self._clients[kind], kind.Request(**request))

    def torques(self) -> dict[str, float]:
        return by_name(self.graph.torques_for(NAMES, Q))

    def expected(self, robot: dyn_core.Robot) -> Any:
        tau = dyn_core.compile_model(robot).gravity_torques([AT[n] for n in robot.joint_names])
        return pytest.approx(dict(zip(robot.joint_names, tau.tolist(), strict=True)), rel=1e-9, abs=1e-9)


def payload(link: str, mass: float, x: float = 0.0, z: float = 0.0, ixx: float = 0.0) -> Payload:
    inertia = Inertia(m=mass, com=Vector3(x=x, z=z), ixx=ixx, iyy=ixx, izz=ixx)
    return Payload(link_name=link, inertia=inertia)


def last_links(arm: Arm) -> tuple[str, str]:
    """Two links that move."""
    return arm.robot.link_names[-1], arm.robot.link_names[-2]


def test_payloads_add_up_and_are_taken_away(graph: Graph, steady: Steady) -> None:
    arm = Arm(graph, steady, blend_time=0.0)
    tip, other = last_links(arm)
    held: dict[str, float] = {}
    for link, mass in ((tip, 2.0), (other, 1.5), (tip, 0.5), (other, 0.0), (tip, 0.0)):
        answer = arm.call(SetPayload, payload=payload(link, mass, x=0.1))
        assert answer.success, answer.message
        held[link] = mass
        loaded = arm.robot
        for name, kg in held.items():
            loaded = loaded.with_payload(name, kg, (0.1, 0.0, 0.0))
        assert arm.torques() == arm.expected(loaded)


def test_a_payload_is_like_a_body_fixed_to_the_link_for_pinocchio(graph: Graph, steady: Steady) -> None:
    """Mass, centre and inertia, in a motion: rnea of the URDF with one more link."""
    arm = Arm(graph, steady, blend_time=0.0, mode="inverse_dynamics")
    tip, _ = last_links(arm)
    answer = arm.call(SetPayload, payload=payload(tip, 2.0, x=0.1, z=-0.05, ixx=0.02))
    assert answer.success
    body = f"""
      <link name="held"><inertial><origin xyz="0.1 0 -0.05"/><mass value="2.0"/>
      <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
      <joint name="holding" type="fixed"><parent link="{tip}"/><child link="held"/></joint></robot>"""
    oracle = Pinocchio(frictionless("rrp").replace("</robot>", body))
    qd, qdd = dict.fromkeys(NAMES, 0.4), dict.fromkeys(NAMES, 0.9)
    stamp = graph.refer(NAMES, Q, list(qd.values()), list(qdd.values()))
    assert by_name(graph.answer_to(stamp)) == pytest.approx(oracle.torques(AT, qd, qdd))


def test_a_payload_comes_without_a_step(graph: Graph, steady: Steady) -> None:
    arm = Arm(graph, steady, blend_time=2.0)
    tip, _ = last_links(arm)
    before = arm.torques()["lift"]
    assert arm.call(SetPayload, payload=payload(tip, 2.0)).success
    after = arm.expected(arm.robot.with_payload(tip, 2.0)).expected["lift"]
    steps = []
    for k in range(65):
        steps.append(arm.torques()["lift"])
        steady.now = 100.0 + (k + 1) / 32
    assert steps[0] == before
    assert steps[32] == pytest.approx(0.5 * (before + after))
    assert steps[64] == pytest.approx(after)
    rate = 1.875 * (after - before) / 2.0 / 32
    assert max(abs(b - a) for a, b in pairwise(steps)) <= rate * (1.0 + 1e-9)


def test_the_blend_time_of_a_request_goes_before(graph: Graph, steady: Steady) -> None:
    arm = Arm(graph, steady, blend_time=2.0)
    tip, _ = last_links(arm)
    arm.torques()
    answer = arm.call(SetPayload, payload=payload(tip, 2.0), blend_time=Duration(sec=0, nanosec=500_000_000))
    assert answer.success
    arm.torques()
    steady.now += 0.5
    assert arm.torques() == arm.expected(arm.robot.with_payload(tip, 2.0))


def test_a_payload_can_come_on_a_topic(graph: Graph, steady: Steady) -> None:
    arm = Arm(graph, steady, blend_time=0.0)
    tip, _ = last_links(arm)
    publisher = graph.node.create_publisher(Payload, "feedforward/payload", qos.EACH_MESSAGE)
    graph.wait_for(lambda: publisher.get_subscription_count() == 1)
    heavy = arm.expected(arm.robot.with_payload(tip, 2.0))
    publisher.publish(payload(tip, 2.0))
    graph.wait_for(lambda: arm.torques() == heavy)
    publisher.publish(payload("nowhere", 2.0))
    graph.wait_for(lambda: graph.diagnosis("payload refused") == "1")
    assert "has no link 'nowhere'" in graph.diagnostics[-1].message
    assert arm.torques() == heavy


def test_dynamic_parameters_change_the_robot_below_the_payload(graph: Graph, steady: Steady) -> None:
    arm = Arm(graph, steady, blend_time=0.0)
    tip, _ = last_links(arm)
    assert arm.call(SetPayload, payload=payload(tip, 2.0)).success
    new = {"M2": 4.0, "MX2": 1.5}
    parameters = DynamicParameters(
        robot_name="rrp", description_hash=arm.info.description_hash, name=list(new), value=list(new.values())
    )
    answer = arm.call(SetDynamicParameters, parameters=parameters)
    assert answer.success, answer.message
    assert arm.torques() == arm.expected(arm.robot.with_parameters(new).with_payload(tip, 2.0))


def test_dynamic_parameters_can_come_on_a_topic(graph: Graph, steady: Steady) -> None:
    arm = Arm(graph, steady, blend_time=0.0)
    publisher = graph.node.create_publisher(
        DynamicParameters, "feedforward/dynamic_parameters", qos.EACH_MESSAGE
    )
    graph.wait_for(lambda: publisher.get_subscription_count() == 1)
    publisher.publish(DynamicParameters(name=["MX2"], value=[1.5]))
    graph.wait_for(lambda: arm.torques() == arm.expected(arm.robot.with_parameters({"MX2": 1.5})))
    publisher.publish(DynamicParameters(name=["MX2"], value=[1.5], description_hash="0" * 64))
    graph.wait_for(lambda: graph.diagnosis("dynamic parameters refused") == "1")


BAD_PAYLOADS = {
    "no such link": (payload("nowhere", 1.0), "has no link 'nowhere'"),
    "negative mass": (payload("TIP", -1.0), "the mass of the payload of link"),
    "mass that is no number": (payload("TIP", math.nan), "the mass of the payload of link"),
    "centre that is no number": (payload("TIP", 1.0, x=math.inf), "the centre of mass of the payload"),
    "impossible inertia": (payload("TIP", 1.0, ixx=-1.0), "no body has the inertia of the payload"),
    "inertia without mass": (payload("TIP", 0.0, ixx=0.1), "inertia"),
}
BAD_PARAMETERS = {
    "another description": ({"description_hash": "0" * 64}, "belong to description '000"),
    "another robot": ({"robot_name": "toy"}, "belong to robot 'toy', in use is robot 'rrp'"),
    "unknown name": ({"name": ["M2", "M99"]}, "there is no parameter 'M99'"),
    "too few values": ({"value": [1.0]}, "2 parameter names but 1 values"),
    "not a number": ({"value": [1.0, math.nan]}, "the parameter MX2 is nan"),
    "twice": ({"name": ["M2", "M2"]}, "'M2' is named more than once"),
    "nothing": ({"name": [], "value": []}, "there are no parameters"),
}


def test_what_cannot_be_is_refused_whole(graph: Graph, steady: Steady) -> None:
    arm = Arm(graph, steady, blend_time=0.0)
    tip, _ = last_links(arm)
    for case, (message, sentence) in BAD_PAYLOADS.items():
        message.link_name = message.link_name.replace("TIP", tip)
        answer = arm.call(SetPayload, payload=message)
        assert not answer.success, case
        assert sentence in answer.message, case
    for case, (changes, sentence) in BAD_PARAMETERS.items():
        fields = {"name": ["M2", "MX2"], "value": [7.0, 7.0], **changes}
        answer = arm.call(SetDynamicParameters, parameters=DynamicParameters(**fields))
        assert not answer.success, case
        assert sentence in answer.message, case
    answer = arm.call(SetPayload, payload=payload(tip, 1.0), blend_time=Duration(sec=-1))
    assert "the blend time is -1 s" in answer.message
    assert arm.torques() == arm.expected(arm.robot)


def test_before_there_is_a_robot_nothing_can_be_set(graph: Graph, steady: Steady) -> None:
    graph.feedforward(steady)
    client = graph.node.create_client(SetPayload, "feedforward/set_payload")
    answer = graph.call(client, SetPayload.Request(payload=payload("tip", 1.0)))
    assert answer.message == "there is no robot yet"


def heavier(text: str, factor: float) -> str:
    """The same robot with other masses."""
    return re.sub(r'<mass value="([^"]*)"', lambda m: f'<mass value="{float(m[1]) * factor}"', text)


def test_a_reload_keeps_payloads_and_forgets_parameters(graph: Graph, steady: Steady) -> None:
    arm = Arm(graph, steady, blend_time=0.0, ramp_up=0.0)
    tip, _ = last_links(arm)
    assert arm.call(SetPayload, payload=payload(tip, 2.0)).success
    parameters = DynamicParameters(name=["MX2"], value=[1.5])
    assert arm.call(SetDynamicParameters, parameters=parameters).success
    text = heavier(frictionless("rrp"), 1.5)
    graph.load(text)
    assert arm.torques() == arm.expected(dyn_core.load_robot(text).with_payload(tip, 2.0))


def test_torques_of_another_robot_come_without_a_step(graph: Graph, steady: Steady) -> None:
    arm = Arm(graph, steady, ramp_up=1.0)
    before = arm.torques()
    text = heavier(frictionless("rrp"), 1.5)
    graph.load(text)
    assert arm.torques() == before
    assert graph.torques[-1].status == JointTorques.STATUS_RAMPING
    after = arm.expected(dyn_core.load_robot(text)).expected
    steady.now += 0.5
    assert arm.torques() == pytest.approx({n: 0.5 * (before[n] + after[n]) for n in NAMES})
    steady.now += 0.6
    assert arm.torques() == pytest.approx(after)


def test_a_robot_can_be_loaded_by_service(graph: Graph, steady: Steady) -> None:
    arm = Arm(graph, steady, ramp_up=0.0)
    text = heavier(frictionless("rrp"), 1.5)
    answer = arm.call(LoadModel, robot_description=text)
    assert answer.success, answer.message
    robot = dyn_core.load_robot(text)
    assert answer.model.description_hash == robot.description_hash
    assert arm.torques() == arm.expected(robot)
    # Read again: what came on the topic is loaded anew.
    answer = arm.call(LoadModel)
    assert answer.success
    assert answer.model.description_hash == arm.robot.description_hash
    assert arm.torques() == arm.expected(arm.robot)


BAD_ROBOTS = {
    "<robot name='broken'><link name='a'>": "cannot be read|not well-formed|line",
    "/etc/passwd": "not the text of a URDF",
    "<robot name='r'><link name='a'/></robot>": "no joint that moves",
}


def test_a_robot_that_cannot_be_loaded_leaves_the_present_one(graph: Graph, steady: Steady) -> None:
    arm = Arm(graph, steady)
    expected = arm.torques()
    for text, sentence in BAD_ROBOTS.items():
        answer = arm.call(LoadModel, robot_description=text)
        assert not answer.success, text
        assert re.search(sentence, answer.message), answer.message
        assert answer.model.robot_name == "rrp"
    assert arm.torques() == expected


def test_parameters_that_do_not_fit_another_robot_keep_the_present_one(graph: Graph, steady: Steady) -> None:
    arm = Arm(graph, steady, command_joints=["lift", "turn"])
    expected = arm.torques()
    answer = arm.call(LoadModel, robot_description=urdf("rx90"))
    assert not answer.success
    assert "command_joints names 'lift', which the robot 'rx90' does not have" in answer.message
    assert arm.torques() == expected


def test_a_file_is_read_again_on_request(graph: Graph, steady: Steady, tmp_path: Path) -> None:
    file = tmp_path / "arm.urdf"
    file.write_text(frictionless("rrp"))
    graph.feedforward(steady, description_file=str(file), ramp_up=0.0)
    client = graph.node.create_client(LoadModel, "feedforward/load_model")
    graph.wait_for(client.service_is_ready)
    before = by_name(graph.torques_for(NAMES, Q))
    file.write_text(heavier(frictionless("rrp"), 2.0))
    assert graph.call(client, LoadModel.Request()).success
    assert by_name(graph.torques_for(NAMES, Q)) == pytest.approx({n: 2.0 * v for n, v in before.items()})


def test_nothing_to_load_again_is_said(graph: Graph, steady: Steady) -> None:
    graph.feedforward(steady)
    client = graph.node.create_client(LoadModel, "feedforward/load_model")
    answer = graph.call(client, LoadModel.Request())
    assert answer.message == "nothing has come on the topic robot_description yet"


def test_reloads_at_work_never_mix_two_robots(graph: Graph) -> None:
    """All torques at 200 Hz are those of one robot or the other, whole, while they change all the time."""
    texts = [heavier(frictionless("rrp"), factor) for factor in (1.0, 2.0, 3.0)]
    graph.feedforward(ramp_up=0.0)
    names = graph.load(texts[0]).joint_name
    robots = [dyn_core.load_robot(text) for text in texts]
    wanted = [
        tuple(dyn_core.compile_model(robot).gravity_torques([AT[n] for n in names]).tolist())
        for robot in robots
    ]
    hashes = [robot.description_hash for robot in robots]
    timer = graph.node.create_timer(0.005, lambda: graph.publish_state(names, [AT[n] for n in names]))
    graph.wait_for(lambda: len(graph.torques) > 3)
    for k in range(1, 7):
        graph.describe(texts[k % 3])
        graph.wait_for(lambda k=k: graph.models[-1].description_hash == hashes[k % 3])
        count = len(graph.torques)
        graph.wait_for(lambda count=count: len(graph.torques) > count + 3)
    timer.cancel()
    seen = [
        next(i for i, torques in enumerate(wanted) if torques == pytest.approx(tuple(t.total), rel=1e-12))
        for t in graph.torques
    ]
    changes = [a for a, b in zip(seen, [*seen[1:], None], strict=True) if a != b]
    assert changes == [0, 1, 2, 0, 1, 2, 0]


def test_the_newest_of_many_robots_wins(graph: Graph, steady: Steady) -> None:
    arm = Arm(graph, steady, ramp_up=0.0)
    texts = [heavier(frictionless("rrp"), 1.0 + 0.1 * k) for k in range(1, 9)]
    for text in texts:
        graph.describe(text)
    last = dyn_core.load_robot(texts[-1])
    graph.wait_for(lambda: graph.models[-1].description_hash == last.description_hash)
    assert arm.torques() == arm.expected(last)
    assert len(graph.models) <= len(texts) + 1


def test_a_trajectory_goes_on_through_a_reload(graph: Graph) -> None:
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    graph.feedforward(mode="inverse_dynamics", ramp_up=0.0)
    graph.load(frictionless("rrp"))
    publisher = graph.node.create_publisher(JointTrajectory, "feedforward/joint_trajectory", qos.EACH_MESSAGE)
    graph.wait_for(lambda: publisher.get_subscription_count() == 1)
    graph.torques_for(NAMES, Q)
    goal = JointTrajectoryPoint(
        positions=[0.4, 0.1, 0.2], velocities=[0.0] * 3, time_from_start=Duration(sec=1)
    )
    publisher.publish(JointTrajectory(joint_names=NAMES, points=[goal]))
    graph.wait_for(lambda: graph.diagnosis("trajectories used") or len(graph.torques) > 5)
    text = heavier(frictionless("rrp"), 2.0)
    graph.load(text)
    oracle = Pinocchio(text)
    expected = oracle.held(dict(zip(NAMES, goal.positions, strict=True)))
    graph.wait_for(lambda: by_name(graph.torques[-1]) == pytest.approx(expected, rel=1e-9))
