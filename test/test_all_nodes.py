# SPDX-License-Identifier: Apache-2.0
"""What holds for all nodes: the life cycle, names in namespaces and remapped, diagnostics, simulated time."""

from __future__ import annotations

from pathlib import Path

import pytest
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import GetState
from rclpy.node import Node
from robot_files import ROBOTS, ROOT, urdf
from ros_graph import Graph
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from simulated import hosted, overrides
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dyn_msgs.msg import JointTorques
from dyn_nodes.common import qos
from dyn_nodes.compose import NODES

SUBSCRIBED = {
    "feedforward": {
        "joint_states",
        "robot_description",
        "~/reference",
        "~/joint_trajectory",
        "~/payload",
        "~/dynamic_parameters",
    },
    "simulation": {"robot_description", "~/commands", "~/torques", "~/wrench"},
    "controller": {
        "joint_states",
        "robot_description",
        "~/reference",
        "~/joint_trajectory",
        "~/feedforward",
    },
    "governor": {"joint_states", "robot_description", "~/reference", "~/joint_trajectory"},
    "identification": {"joint_states", "robot_description"},
}
PUBLISHED = {
    "feedforward": {
        "~/torques",
        "~/commands",
        "~/joint_trajectory_effort",
        "~/motor_reference",
        "~/model_info",
    },
    "simulation": {"joint_states"},
    "controller": {"~/torques", "~/commands"},
    "governor": {"~/feasible_trajectory", "~/feasible_reference", "~/interventions"},
    "identification": {"~/joint_trajectory", "~/result", "~/parameters"},
}
OF_ALL_NODES = {"/diagnostics", "/rosout", "/parameter_events"}
"""Topics that are not relative."""


def of_node(topics: set[str], name: str, namespace: str) -> set[str]:
    """Full names of topics of a node."""
    return {f"{namespace}/{topic.replace('~', name)}" for topic in topics}


def names_of(graph: Graph, node: Node) -> tuple[set[str], set[str]]:
    """Topics that a node subscribes and publishes, as the graph tells."""
    ours, where = node.get_name(), node.get_namespace()
    ask = graph.node
    graph.wait_for(lambda: (ours, where) in ask.get_node_names_and_namespaces())
    subscribed = {topic for topic, _ in ask.get_subscriber_names_and_types_by_node(ours, where)}
    published = {topic for topic, _ in ask.get_publisher_names_and_types_by_node(ours, where)}
    own = OF_ALL_NODES | {f"{where.rstrip('/')}/{ours}/transition_event"}
    # Topics of actions go with the names of these.
    own |= {topic for topic in published if "/_action/" in topic}
    return subscribed - own, published - own


@pytest.mark.parametrize("namespace", ["", "/cell/left"])
@pytest.mark.parametrize("name", NODES)
def test_topics_are_relative(name: str, namespace: str, graph: Graph) -> None:
    with hosted(graph, NODES[name], namespace=namespace) as node:
        subscribed, published = names_of(graph, node)
    assert subscribed == of_node(SUBSCRIBED[name], name, namespace)
    assert published == of_node(PUBLISHED[name], name, namespace)


@pytest.mark.parametrize("name", NODES)
def test_topics_and_the_node_can_be_remapped(name: str, graph: Graph) -> None:
    relative = sorted({t for t in SUBSCRIBED[name] | PUBLISHED[name] if not t.startswith("~")})
    own = sorted({t[2:] for t in SUBSCRIBED[name] | PUBLISHED[name] if t.startswith("~")})
    rules = [word for topic in relative for word in ("-r", f"{topic}:=other/{topic}")]
    rules += [word for topic in own for word in ("-r", f"~/{topic}:=mine/{topic}")]
    cli_args = ["--ros-args", *rules, "-r", "__node:=renamed"]
    with hosted(graph, NODES[name], cli_args=cli_args) as node:
        assert node.get_name() == "renamed"
        subscribed, published = names_of(graph, node)
    expected = {f"/other/{topic}" for topic in relative} | {f"/mine/{topic}" for topic in own}
    assert subscribed | published == expected


def state_of(graph: Graph, name: str) -> int:
    client = graph.node.create_client(GetState, f"{name}/get_state")
    return int(graph.call(client, GetState.Request()).current_state.id)


@pytest.mark.parametrize("name", NODES)
def test_a_node_starts_by_itself_unless_it_is_told_not_to(name: str, graph: Graph) -> None:
    with hosted(graph, NODES[name]):
        assert state_of(graph, name) == State.PRIMARY_STATE_ACTIVE
    with hosted(graph, NODES[name], parameter_overrides=overrides(autostart=False)):
        assert state_of(graph, name) == State.PRIMARY_STATE_UNCONFIGURED


@pytest.mark.parametrize("name", NODES)
def test_a_manager_can_lead_a_node_through_its_life_more_than_once(name: str, graph: Graph) -> None:
    parameters = overrides(autostart=False, description_file=str(ROBOTS["rrp"]))
    with hosted(graph, NODES[name], parameter_overrides=parameters) as node:
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
        (status,) = heard[0].status
        assert status.name == f"left/{name}"
        assert status.message == "no robot: nothing came on the topic robot_description"
        descriptions = graph.node.create_publisher(String, "/left/robot_description", qos.LATCHED)
        descriptions.publish(String(data=urdf("rrp")))
        graph.wait_for(lambda: node.robot is not None)
        heard.clear()
        graph.wait_for(lambda: heard and not heard[-1].status[0].message.startswith("no robot"))
        assert heard[-1].header.stamp.sec > 0


def test_three_nodes_in_a_namespace_live_in_simulated_time(graph: Graph, tmp_path: Path) -> None:
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
    ours.write_text(
        "/**/simulation: {ros__parameters: {publish_clock: true}}\n"
        "/**/feedforward: {ros__parameters: {use_sim_time: true}}\n"
        "/**/controller: {ros__parameters: {use_sim_time: true}}\n"
    )
    process = graph.start(
        *("-m", "dyn_nodes.compose", "--namespace", "arm"),
        *("--params", str(ROOT / "config" / "demo.yaml"), str(ours)),
        *("--remap", "simulation/torques:=controller/torques", "controller/feedforward:=feedforward/torques"),
        *("controller/joint_trajectory:=feedforward/joint_trajectory_effort",),
        *("--ros-args", "-p", f"description_file:={ROBOTS['rrp']}"),
    )
    graph.wait_for(lambda: process.process.poll() is not None or (clocks and torques and states))
    assert process.process.poll() is None, process.log
    assert states[-1].header.stamp.sec < 100, "it is not simulated time"
    assert torques[-1].header.stamp.sec < 100, "it is not simulated time"
    graph.wait_for(lambda: trajectories.get_subscription_count() == 1)
    point = JointTrajectoryPoint(positions=[0.4, -0.3, 0.1], velocities=[0.0] * 3)
    point.time_from_start.sec = 1
    trajectories.publish(JointTrajectory(joint_names=["turn", "lift", "stretch"], points=[point]))
    graph.wait_for(lambda: list(states[-1].position) == pytest.approx([0.4, -0.3, 0.1], abs=0.01))
