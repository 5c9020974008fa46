# SPDX-License-Identifier: Apache-2.0
"""Input that only DDS can deliver: broken serialisation, floods, several publishers, other QoS settings."""

from __future__ import annotations

import math
import re
from itertools import product

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from message_makers import NAMES, joint_state
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message
from robot_files import ROBOTS, urdf
from ros_graph import Graph, NodeProcess
from sensor_msgs.msg import JointState
from sentence_patterns import said
from simulation_client import Simulated
from std_msgs.msg import Float64MultiArray, String

from dyn_core.core.messages import sentence
from dyn_msgs.msg import JointTorques

Q = [0.1, 0.3, 0.05]
FIXED = "<robot name='post'><link name='a'/></robot>"


def running_with_rrp(graph: Graph, **parameters: object) -> NodeProcess:
    node = graph.start_feedforward(**parameters)
    graph.load(urdf("rrp"))
    return node


def lines_of(node: NodeProcess, sentence: re.Pattern[str]) -> list[str]:
    return [line for line in node.log.splitlines() if sentence.search(line)]


@pytest.mark.promise("joint-states-bytes")
def test_malformed_messages_are_ignored(graph: Graph) -> None:
    """Bytes that end too early, counts beyond the end, text that is not UTF-8."""
    node = running_with_rrp(graph)
    publisher = graph.node.create_publisher(JointState, "joint_states", 100)
    graph.wait_for(lambda: publisher.get_subscription_count() == 1)
    good = serialize_message(joint_state(graph.now(), Q))
    cut = [good[:n] for n in range(4, len(good), 7)]
    spoilt = [good.replace(b"lift", name) for name in (b"\xff\xfe\x80\x81", b"l\0ft")]
    for broken in (b"", b"\0", b"no message at all", *cut, good[:4] + b"\xff" * 100, *spoilt):
        publisher.publish(broken)
    torques = graph.torques_for(NAMES, Q)
    assert all(map(math.isfinite, torques.total))
    assert node.process.poll() is None
    assert "Traceback" not in node.log


@pytest.mark.promise("messages-harmless")
def test_malformed_messages_to_the_simulation_are_ignored(graph: Graph) -> None:
    ours = Simulated(graph)
    node = graph.start("-m", "dyn_nodes.simulation", "--ros-args", "-p", f"description_file:={ROBOTS['rrp']}")
    ours.next_state()
    publisher = graph.node.create_publisher(Float64MultiArray, "simulation/commands", 100)
    graph.wait_for(lambda: publisher.get_subscription_count() == 1)
    good = serialize_message(Float64MultiArray(data=[1.0, 2.0, 3.0]))
    for broken in (b"", b"garbage", good[:-5], good[:4] + b"\xff" * 40):
        publisher.publish(broken)
    ours.send([1.0, 2.0, 3.0])
    ours.state_when(lambda state: list(state.effort) == [1.0, 2.0, 3.0])
    assert node.process.poll() is None
    assert "Traceback" not in node.log


NO_AXIS = urdf("rrp").replace('<axis xyz="0 0 1"/>', '<axis xyz="0 0 0"/>', 1)
NO_MASS = re.sub(r'<mass value="[^"]*"', '<mass value="nan"', urdf("rrp"))
DESCRIPTIONS: list[tuple[str, str | re.Pattern[str]]] = [
    ("", said("message-not-urdf")),
    (" \n", said("message-not-urdf")),
    ("robot: rrp", said("message-not-urdf")),
    (str(ROBOTS["rrp"]), said("message-not-urdf")),  # a path is not accepted in place of text
    (urdf("rrp")[:700], said("xml-malformed")),
    (FIXED, said("robot-without-moving-joint")),
    (NO_AXIS, re.compile("axis")),
    (NO_MASS, re.compile("mass")),
    (FIXED.replace("post", "x" * 100_000), re.compile("xxx[.]{3} |xxx [.]{3} ")),
]


@pytest.mark.promise("description-unusable")
def test_unusable_descriptions_leave_the_robot_in_use(graph: Graph) -> None:
    node = running_with_rrp(graph)
    before = list(graph.torques_for(NAMES, Q).total)
    unusable = said("description-unusable", robot="rrp")
    for k, (text, cause) in enumerate(DESCRIPTIONS):
        graph.describe(text)
        graph.wait_for(lambda k=k: len(lines_of(node, unusable)) == k + 1)
        line = node.log.splitlines()[-1]
        assert cause.search(line), (text[:100], line)
        assert unusable.search(line), line
        assert len(line) < 600
        assert list(graph.torques_for(NAMES, Q).total) == before
    serialized = serialize_message(String(data=urdf("rrp")))
    graph._descriptions.publish(serialized.replace(b'"lift"', b'"l\xff\xfet"'))
    not_utf8 = said("description-unusable", cause=sentence("urdf-not-utf8", {}), robot="rrp")
    graph.wait_for(lambda: any(not_utf8.search(status.message) for status in graph.diagnostics))
    assert "Traceback" not in node.log
    info = graph.load(urdf("rx90"))
    assert info.description_hash != graph.models[0].description_hash
    assert len(graph.torques_for(info.joint_name, [0.1] * 6).name) == 6
    assert graph.load(urdf("rrp")).robot_name == "rrp"
    graph.wait_for(lambda: graph.diagnostics[-1].level != DiagnosticStatus.ERROR)


@pytest.mark.promise("joint-states-flood")
def test_a_flood_of_joint_states_is_survived(graph: Graph) -> None:
    """At the highest possible rate, some of them bad: the newest good one is used at the end."""
    node = running_with_rrp(graph, ramp_up=0.0)
    expected = list(graph.torques_for(NAMES, Q).total)
    state = JointState(name=NAMES, position=Q)
    for k in range(20_000):
        state.header.stamp = graph.now()
        state.position = [math.nan, 0.0, 0.0] if k % 10 == 3 else Q
        graph._states.publish(state)
    # Messages in queues may be too old, or older than the next ones.
    graph.torques.clear()
    graph.wait_for(lambda: graph.publish_state(NAMES, Q) and graph.torques)
    assert list(graph.torques[-1].total) == expected
    assert node.log.count("WARN") < 10


@pytest.mark.promise("joint-states-others")
def test_publishers_of_other_joints_are_ignored(graph: Graph) -> None:
    """A gripper shares the topic."""
    node = running_with_rrp(graph)
    gripper = graph.node.create_publisher(JointState, "joint_states", 10)
    graph.wait_for(lambda: gripper.get_subscription_count() == 1)
    for _ in range(20):
        gripper.publish(joint_state(graph.now(), [0.0, 0.0], names=["left", "right"]))
        graph.torques_for(NAMES, Q)
    assert len(graph.torques) == 20
    assert "WARN" not in node.log


@pytest.mark.promise("joint-states-two-publishers")
def test_contradicting_publishers_are_reported(graph: Graph) -> None:
    """The arm cannot be at the positions of both publishers."""
    node = running_with_rrp(graph)
    other = graph.node.create_publisher(JointState, "joint_states", 10)
    graph.wait_for(lambda: other.get_subscription_count() == 1)
    expected = list(graph.torques_for(NAMES, Q).total)
    for k in range(5):
        other.publish(joint_state(graph.now(), [0.1, -0.8, 0.05]))
        # The two publishers are not synchronised: wait until the first message is read.
        graph.wait_for(lambda k=k: int(graph.diagnosis("joint states refused") or 0) > k)
        assert list(graph.torques_for(NAMES, Q).total) == expected
    assert lines_of(node, said("position-jumps", joint="lift", distance=-1.1))
    assert len(lines_of(node, said("position-jumps"))) <= 5


@pytest.mark.promise("subscriptions")
def test_subscriptions_of_either_reliability_get_the_torques(graph: Graph) -> None:
    received: list[list[JointTorques]] = [[], [], [], []]
    qualities = product((ReliabilityPolicy.RELIABLE, ReliabilityPolicy.BEST_EFFORT), (1, 100))
    for heard, (reliability, depth) in zip(received, qualities, strict=True):
        profile = QoSProfile(depth=depth, reliability=reliability)
        graph.node.create_subscription(JointTorques, "feedforward/torques", heard.append, profile)
    running_with_rrp(graph)
    graph.wait_for(lambda: graph.publish_state(NAMES, Q) and all(received))


@pytest.mark.promise("subscription-transient")
def test_a_transient_local_subscription_gets_no_old_torques_and_a_warning(graph: Graph) -> None:
    """Old torques must not be applied, so the topic is volatile."""
    received: list[JointTorques] = []
    profile = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    graph.node.create_subscription(JointTorques, "feedforward/torques", received.append, profile)
    node = running_with_rrp(graph)
    graph.wait_for(lambda: "requesting incompatible QoS" in node.log)
    graph.torques_for(NAMES, Q)
    assert not received


@pytest.mark.promise("subscriptions")
@pytest.mark.parametrize("topic", ["feedforward/commands", "feedforward/torques"])
def test_a_late_subscription_gets_the_next_torques(topic: str, graph: Graph) -> None:
    running_with_rrp(graph)
    graph.torques_for(NAMES, Q)
    kind = Float64MultiArray if topic.endswith("commands") else JointTorques
    received: list[object] = []
    graph.node.create_subscription(kind, topic, received.append, 1)
    graph.wait_for(lambda: graph.publish_state(NAMES, Q) and received)
