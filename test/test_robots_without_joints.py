# SPDX-License-Identifier: Apache-2.0
"""All nodes refuse a robot without a moving joint with the same sentence; layout of vectors in messages."""

from __future__ import annotations

from pathlib import Path

import pytest
from rclpy.serialization import deserialize_message
from robot_files import urdf
from ros_graph import Graph
from sentence_patterns import said
from simulation_client import hosted, overrides
from std_msgs.msg import Float64MultiArray

from dyn_core import DynError
from dyn_msgs.msg import JointTorques
from dyn_nodes.common.messages.joint_state_bytes import MessageBytes
from dyn_nodes.common.torques.effort_messages import TERMS
from dyn_nodes.compose import NODES

JOINT = "<joint name='j' type='fixed'><parent link='a'/><child link='b'/></joint>"
FIXED = f"<robot name='post'><link name='a'/><link name='b'/>{JOINT}</robot>"
REFUSAL = said("robot-without-moving-joint", robot="post")


@pytest.mark.promise("description-unusable-at-start")
@pytest.mark.parametrize("name", NODES)
def test_a_node_does_not_start_with_a_robot_without_joints(name: str, graph: Graph, tmp_path: Path) -> None:
    file = tmp_path / "post.urdf"
    file.write_text(FIXED)
    with pytest.raises(DynError) as refused:
        NODES[name](context=graph.context, parameter_overrides=overrides(description_file=str(file)))
    assert refused.value.code == "robot-without-moving-joint"


@pytest.mark.promise("description-unusable")
@pytest.mark.parametrize("name", NODES)
def test_a_node_keeps_its_robot(name: str, graph: Graph) -> None:
    with hosted(graph, NODES[name]) as node:
        graph.describe(urdf("rrp"))
        graph.wait_for(lambda: node.robot is not None)
        graph.describe(FIXED)
        graph.wait_for(lambda: any(REFUSAL.search(status.message) for status in graph.diagnostics))
        assert node.robot.name == "rrp"
        assert node.failure is None


@pytest.mark.parametrize("names", [["a"], ["a", "bcd"], ["\u00e9" * 7, "x" * 1000, "y"]])
def test_vectors_and_status_are_written_at_their_offsets(names: list[str]) -> None:
    message = MessageBytes(JointTorques(name=names), dict.fromkeys(TERMS, len(names)))
    expected = JointTorques(name=names, status=3)
    for k, term in enumerate(TERMS):
        values = [k + j / 7 for j in range(len(names))]
        message.vector(term)[:] = values
        setattr(expected, term, values)
    message.raw[message.byte("status")] = 3
    assert deserialize_message(bytes(message.raw), JointTorques) == expected


def test_an_empty_vector_has_no_offset() -> None:
    with pytest.raises(ValueError, match="'data'"):
        MessageBytes(Float64MultiArray(), {"data": 0})
