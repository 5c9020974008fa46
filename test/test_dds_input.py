# SPDX-License-Identifier: Apache-2.0
"""What only DDS can bring: broken serialization, floods, several publishers, other qualities of service."""

from __future__ import annotations

import math
import re

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message
from robot_files import ROBOTS, urdf
from ros_graph import Graph
from sensor_msgs.msg import JointState
from simulated import Simulated
from std_msgs.msg import Float64MultiArray, Header, String

from dyn_msgs.msg import JointTorques

NAMES = ["turn", "lift", "stretch"]
Q = [0.1, 0.3, 0.05]
FIXED = "<robot name='post'><link name='a'/></robot>"


def wait_for_diagnosis(graph: Graph, part: str) -> str:
    """Wait for a message on /diagnostics that has this part, and answer it."""
    graph.wait_for(lambda: any(part in status.message for status in graph.diagnostics))
    return str(next(status.message for status in graph.diagnostics if part in status.message))


def test_messages_that_are_no_messages_are_passed_over(graph: Graph) -> None:
    """Bytes that end too early, counts beyond the end, text that is not UTF-8."""
    node = graph.start_feedforward()
    graph.load(urdf("rrp"))
    publisher = graph.node.create_publisher(JointState, "joint_states", 100)
    graph.wait_for(lambda: publisher.get_subscription_count() == 1)
    good = serialize_message(JointState(header=Header(stamp=graph.now()), name=NAMES, position=Q))
    for broken in (
        b"",
        b"\0",
        b"no message at all",
        *(good[:n] for n in range(4, len(good), 7)),
        good[:4] + b"\xff" * 100,
        good.replace(b"lift", b"\xff\xfe\x80\x81"),
        good.replace(b"lift", b"l\0ft"),
    ):
        publisher.publish(broken)
    torques = graph.torques_for(NAMES, Q)
    assert all(map(math.isfinite, torques.total))
    assert node.process.poll() is None
    assert "Traceback" not in node.log


def test_the_simulation_survives_them_too(graph: Graph) -> None:
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


DESCRIPTIONS = {
    "empty": ("", "not the text of a URDF"),
    "white space": (" \n", "not the text of a URDF"),
    "no XML": ("robot: rrp", "not the text of a URDF"),
    "cut off": (urdf("rrp")[:700], "malformed XML"),
    "without joints": (FIXED, "no joint that moves"),
    "a joint without an axis that can be": (
        urdf("rrp").replace('<axis xyz="0 0 1"/>', '<axis xyz="0 0 0"/>', 1),
        "axis",
    ),
    "a mass that is no number": (re.sub(r'<mass value="[^"]*"', '<mass value="nan"', urdf("rrp")), "mass"),
    "very long name": (FIXED.replace("post", "x" * 100_000), "xxx ... "),
}


def test_descriptions_that_cannot_be_used_leave_the_robot_in_use(graph: Graph) -> None:
    node = graph.start_feedforward()
    graph.load(urdf("rrp"))
    before = list(graph.torques_for(NAMES, Q).total)
    for k, (case, (text, sentence)) in enumerate(DESCRIPTIONS.items()):
        graph.describe(text)
        graph.wait_for(lambda k=k: node.log.count("robot_description cannot be used (") == k + 1)
        told = node.log.splitlines()[-1]
        assert sentence in told, case
        assert told.endswith("robot 'rrp' stays in use"), case
        assert len(told) < 600, case
        assert list(graph.torques_for(NAMES, Q).total) == before, case
    serialized = serialize_message(String(data=urdf("rrp")))
    graph._descriptions.publish(serialized.replace(b'"lift"', b'"l\xff\xfet"'))
    assert "characters that are not UTF-8" in wait_for_diagnosis(graph, "cannot be used (the text")
    assert "robot 'rrp' stays in use" in graph.diagnostics[-1].message
    assert "Traceback" not in node.log
    graph.load(urdf("two_branch"))
    graph.describe(urdf("rrp"))
    graph.wait_for(lambda: graph.models[-1].robot_name == "rrp")
    graph.wait_for(lambda: graph.diagnostics[-1].level != DiagnosticStatus.ERROR)


def test_a_flood_of_joint_states_is_survived(graph: Graph) -> None:
    """As fast as they can be sent, and bad ones among them: the newest good one counts in the end."""
    node = graph.start_feedforward(ramp_up=0.0)
    graph.load(urdf("rrp"))
    expected = list(graph.torques_for(NAMES, Q).total)
    state = JointState(name=NAMES, position=Q)
    for k in range(20_000):
        state.header.stamp = graph.now()
        state.position = [math.nan, 0.0, 0.0] if k % 10 == 3 else Q
        graph._states.publish(state)
    # What waits in queues may be too old, or of another time than what comes now.
    graph.torques.clear()
    graph.wait_for(lambda: graph.publish_state(NAMES, Q) and graph.torques)
    assert list(graph.torques[-1].total) == expected
    assert node.log.count("WARN") < 10


def test_publishers_of_other_joints_are_none_of_our_business(graph: Graph) -> None:
    """A gripper shares the topic; another arm that is sent twice is heard once or twice."""
    node = graph.start_feedforward()
    graph.load(urdf("rrp"))
    gripper = graph.node.create_publisher(JointState, "joint_states", 10)
    graph.wait_for(lambda: gripper.get_subscription_count() == 1)
    for _ in range(20):
        fingers = JointState(header=Header(stamp=graph.now()), name=["left", "right"], position=[0.0, 0.0])
        gripper.publish(fingers)
        graph.torques_for(NAMES, Q)
    assert len(graph.torques) == 20
    assert "WARN" not in node.log


def test_publishers_that_contradict_each_other_are_told(graph: Graph) -> None:
    """The arm of one publisher cannot be where that of the other is."""
    node = graph.start_feedforward()
    graph.load(urdf("rrp"))
    other = graph.node.create_publisher(JointState, "joint_states", 10)
    graph.wait_for(lambda: other.get_subscription_count() == 1)
    expected = list(graph.torques_for(NAMES, Q).total)
    for k in range(5):
        header = Header(stamp=graph.now())
        other.publish(JointState(header=header, name=NAMES, position=[0.1, -0.8, 0.05]))
        # The two publishers are not ordered: the one is read before the other is sent.
        graph.wait_for(lambda k=k: int(graph.diagnosis("joint states refused") or 0) > k)
        assert list(graph.torques_for(NAMES, Q).total) == expected
    assert "joint 'lift' is said to have moved by -1.1" in node.log
    assert node.log.count("is said to have moved") <= 5


def test_subscriptions_of_either_reliability_get_the_torques(graph: Graph) -> None:
    received: dict[str, list[JointTorques]] = {}
    for reliability in (ReliabilityPolicy.RELIABLE, ReliabilityPolicy.BEST_EFFORT):
        for depth in (1, 100):
            key = f"{reliability.name} {depth}"
            profile = QoSProfile(depth=depth, reliability=reliability)
            graph.node.create_subscription(
                JointTorques, "feedforward/torques", received.setdefault(key, []).append, profile
            )
    graph.start_feedforward()
    graph.load(urdf("rrp"))
    assert len(received) == 4
    graph.wait_for(lambda: graph.publish_state(NAMES, Q) and all(received.values()))


def test_a_subscription_that_wants_old_torques_gets_none_and_the_log_says_so(graph: Graph) -> None:
    """Torques from before are none for now: what is sent is volatile."""
    received: list[JointTorques] = []
    profile = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    graph.node.create_subscription(JointTorques, "feedforward/torques", received.append, profile)
    node = graph.start_feedforward()
    graph.load(urdf("rrp"))
    graph.wait_for(lambda: "requesting incompatible QoS" in node.log)
    graph.torques_for(NAMES, Q)
    assert not received


@pytest.mark.parametrize("topic", ["feedforward/commands", "feedforward/torques"])
def test_who_subscribes_late_gets_the_next_torques(topic: str, graph: Graph) -> None:
    graph.start_feedforward()
    graph.load(urdf("rrp"))
    graph.torques_for(NAMES, Q)
    kind = Float64MultiArray if topic.endswith("commands") else JointTorques
    received: list[object] = []
    graph.node.create_subscription(kind, topic, received.append, 1)
    graph.wait_for(lambda: graph.publish_state(NAMES, Q) and received)
