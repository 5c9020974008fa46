# SPDX-License-Identifier: Apache-2.0
"""The launch files, with the real launch where it is installed."""

from __future__ import annotations

import signal

import pytest
from robot_files import ROBOTS, ROOT
from ros_graph import Graph
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from dyn_msgs.msg import JointTorques, ModelInfo
from dyn_nodes import qos

LAUNCH = """
import sys
from launch import LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import AnyLaunchDescriptionSource
arguments = [argument.split(":=", 1) for argument in sys.argv[2:]]
service = LaunchService()
source = AnyLaunchDescriptionSource(sys.argv[1])
service.include_launch_description(IncludeLaunchDescription(source, launch_arguments=arguments))
sys.exit(service.run())
"""


def test_feedforward_in_a_namespace(graph: Graph) -> None:
    pytest.importorskip("launch", reason="launch is not installed")
    pytest.importorskip("launch_ros", reason="launch_ros is not installed")
    models: list[ModelInfo] = []
    torques: list[JointTorques] = []
    node = graph.node
    node.create_subscription(ModelInfo, "arm/feedforward/model_info", models.append, qos.LATCHED)
    node.create_subscription(JointTorques, "arm/feedforward/torques", torques.append, qos.COMMAND)
    launched = graph.start(
        *("-c", LAUNCH, str(ROOT / "launch" / "feedforward.launch.py")),
        *("namespace:=arm", f"description_file:={ROBOTS['rrp']}"),
    )
    graph.wait_for(lambda: models)
    assert models[0].robot_name == "rrp"
    states = node.create_publisher(JointState, "arm/joint_states", qos.COMMAND)

    def publish() -> None:
        names = list(models[0].joint_name)
        states.publish(JointState(header=Header(stamp=graph.now()), name=names, position=[0.1] * 3))

    graph.wait_for(lambda: publish() or torques)
    launched.process.send_signal(signal.SIGINT)
    assert launched.process.wait(20) == 0, launched.log
    assert "process has died" not in launched.log
