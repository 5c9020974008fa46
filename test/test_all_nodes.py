# SPDX-License-Identifier: Apache-2.0
"""Properties of all nodes: life cycle, names in namespaces and remapped, diagnostics, simulated time."""

from __future__ import annotations

import math
import time
from pathlib import Path

import pytest
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import GetState
from message_makers import to_rest_at
from rclpy.node import Node
from robot_files import ROBOTS, ROOT, urdf
from ros_graph import Graph
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from simulation_client import hosted, overrides
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from dyn_core.core.messages import sentence
from dyn_msgs.msg import JointTorques
from dyn_nodes.common import qos
from dyn_nodes.compose import NODES

TOPICS = {
    "feedforward": """joint_states robot_description ~/reference ~/joint_trajectory ~/payload
        ~/dynamic_parameters ~/torques ~/commands ~/joint_trajectory_effort ~/motor_reference ~/model_info""",
    "simulation": "robot_description ~/commands ~/torques ~/wrench joint_states",
    "controller": """joint_states robot_description ~/reference ~/joint_trajectory ~/feedforward
        ~/torques ~/commands""",
    "governor": """joint_states robot_description ~/reference ~/joint_trajectory
        ~/feasible_trajectory ~/feasible_reference ~/interventions""",
    "identification": "joint_states robot_description ~/joint_trajectory ~/result ~/parameters",
}
"""Topics of nodes with default parameters; `test_repository` checks their types."""
OF_ALL_NODES = {"/diagnostics", "/rosout", "/parameter_events"}
"""Topics that are not relative."""


def topics_of(graph: Graph, node: Node) -> set[str]:
    """Topics that a node subscribes and publishes, from the graph, without those of its actions."""
    ours, where = node.get_name(), node.get_namespace()
    graph.wait_for(lambda: (ours, where) in graph.node.get_node_names_and_namespaces())
    found = graph.node.get_subscriber_names_and_types_by_node(ours, where)
    found += graph.node.get_publisher_names_and_types_by_node(ours, where)
    own = OF_ALL_NODES | {f"{where.rstrip('/')}/{ours}/transition_event"}
    return {topic for topic, _ in found if "/_action/" not in topic} - own


@pytest.mark.parametrize("namespace", ["", "/cell/left"])
@pytest.mark.parametrize("name", NODES)
def test_topics_are_relative_and_topics_and_nodes_can_be_remapped(
    name: str, namespace: str, graph: Graph
) -> None:
    topics = TOPICS[name].split()
    with hosted(graph, NODES[name], namespace=namespace) as node:
        assert topics_of(graph, node) == {f"{namespace}/{topic.replace('~', name)}" for topic in topics}
    others = {topic: f"{'mine' if topic[0] == '~' else 'other'}/{topic.split('/')[-1]}" for topic in topics}
    rules = [word for topic, other in others.items() for word in ("-r", f"{topic}:={other}")]
    cli_args = ["--ros-args", *rules, "-r", "__node:=renamed"]
    with hosted(graph, NODES[name], namespace=namespace, cli_args=cli_args) as node:
        assert node.get_name() == "renamed"
        assert topics_of(graph, node) == {f"{namespace}/{other}" for other in others.values()}


def state_of(graph: Graph, name: str) -> int:
    client = graph.node.create_client(GetState, f"{name}/get_state")
    return int(graph.call(client, GetState.Request()).current_state.id)


@pytest.mark.parametrize("name", NODES)
def test_a_manager_can_repeat_the_life_cycle_of_a_node(name: str, graph: Graph) -> None:
    parameters = overrides(autostart=False, description_file=str(ROBOTS["rrp"]))
    with hosted(graph, NODES[name], parameter_overrides=parameters) as node:
        assert state_of(graph, name) == State.PRIMARY_STATE_UNCONFIGURED
        assert not graph.change(name, Transition.TRANSITION_ACTIVATE)
        for _ in range(2):
            assert graph.change(name, Transition.TRANSITION_CONFIGURE)
            for _ in range(2):
                assert state_of(graph, name) == State.PRIMARY_STATE_INACTIVE
                assert graph.change(name, Transition.TRANSITION_ACTIVATE)
                assert state_of(graph, name) == State.PRIMARY_STATE_ACTIVE
                assert node.robot.name == "rrp"
                assert graph.change(name, Transition.TRANSITION_DEACTIVATE)
            assert graph.change(name, Transition.TRANSITION_CLEANUP)
            assert state_of(graph, name) == State.PRIMARY_STATE_UNCONFIGURED
        assert graph.change(name, Transition.TRANSITION_UNCONFIGURED_SHUTDOWN)
        assert state_of(graph, name) == State.PRIMARY_STATE_FINALIZED


@pytest.mark.parametrize("name", NODES)
def test_diagnostics_name_the_node_with_its_namespace(name: str, graph: Graph) -> None:
    heard: list[DiagnosticArray] = []
    graph.node.create_subscription(DiagnosticArray, "/diagnostics", heard.append, 10)
    with hosted(graph, NODES[name], namespace="/left") as node:
        graph.wait_for(lambda: heard)
        (status,), missing = heard[0].status, sentence("robot-missing", {})
        assert (status.name, status.message) == (f"left/{name}", missing)
        descriptions = graph.node.create_publisher(String, "/left/robot_description", qos.LATCHED)
        descriptions.publish(String(data=urdf("rrp")))
        graph.wait_for(lambda: node.robot is not None)
        heard.clear()
        graph.wait_for(lambda: heard and heard[-1].status[0].message != missing)
        assert heard[-1].header.stamp.sec > 0


def test_three_nodes_in_a_namespace_use_simulated_time(graph: Graph, tmp_path: Path) -> None:
    """The demonstration of demo.launch.py, in one process, for systems without launch."""
    states: list[JointState] = []
    clocks: list[Clock] = []
    torques: list[JointTorques] = []
    node = graph.node
    node.create_subscription(JointState, "/arm/joint_states", states.append, 100)
    node.create_subscription(Clock, "/clock", clocks.append, 100)
    node.create_subscription(JointTorques, "/arm/feedforward/torques", torques.append, 100)
    trajectories = node.create_publisher(JointTrajectory, "/arm/feedforward/joint_trajectory", 1)
    ours = tmp_path / "simulated time.yaml"
    parameters = {"simulation": "publish_clock", "feedforward": "use_sim_time", "controller": "use_sim_time"}
    lines = (f"/**/{name}: {{ros__parameters: {{{one}: true}}}}" for name, one in parameters.items())
    ours.write_text("\n".join(lines))
    process = graph.start(
        *("-m", "dyn_nodes.compose", "--namespace", "arm"),
        *("--params", str(ROOT / "config" / "demo.yaml"), str(ours)),
        *("--remap", "simulation/torques:=controller/torques", "controller/feedforward:=feedforward/torques"),
        *("controller/joint_trajectory:=feedforward/joint_trajectory_effort",),
        *("--ros-args", "-p", f"description_file:={ROBOTS['rrp']}"),
    )
    graph.wait_for(lambda: process.process.poll() is not None or (clocks and torques and states))
    assert process.process.poll() is None, process.log
    assert max(heard[-1].header.stamp.sec for heard in (states, torques)) < 100, "it is not simulated time"
    graph.wait_for(lambda: trajectories.get_subscription_count() == 1)
    sent = -math.inf

    def arrives() -> bool:
        nonlocal sent
        if time.monotonic() - sent > 10.0:  # again where the machine stood still: then motions are discarded
            sent = time.monotonic()
            trajectories.publish(to_rest_at([0.4, -0.3, 0.1], 1.0))
        return list(states[-1].position) == pytest.approx([0.4, -0.3, 0.1], abs=0.01)

    graph.wait_for(arrives)
