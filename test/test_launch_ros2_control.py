# SPDX-License-Identifier: Apache-2.0
"""ros2_control.launch.py with the real launch; ros2_control has stand-ins that say how they were started."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

# Not launch itself: the directory of that name passes for a package.
pytest.importorskip("launch.actions", reason="launch is not installed")
pytest.importorskip("launch_ros.actions", reason="launch_ros is not installed")

from launched import Launched
from robot_files import ROOT, urdf
from ros_graph import Graph
from sensor_msgs.msg import JointState
from stand_ins import StandIns, Started
from std_msgs.msg import Float64MultiArray, Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dyn_nodes.common import qos

CONTROLLERS = ROOT / "config" / "ros2_control" / "rx90_controllers.yaml"
RX90 = [f"joint_{j}" for j in range(1, 7)]
WITH_XACRO = pytest.mark.skipif(shutil.which("xacro") is None, reason="xacro is not installed")


@pytest.fixture
def stand_ins(ros_environment: dict[str, str], tmp_path: Path) -> StandIns:
    """Stand-ins for the packages of ros2_control, where launch finds them."""
    made = StandIns(tmp_path)
    made.add("robot_state_publisher", "robot_state_publisher", waits=True)
    made.add("controller_manager", "ros2_control_node", waits=True)
    made.add("controller_manager", "spawner", waits=False)
    ros_environment["AMENT_PREFIX_PATH"] = made.prepend(os.environ["AMENT_PREFIX_PATH"])
    return made


def started(graph: Graph, stand_ins: StandIns) -> dict[str, Started]:
    """Wait until all are started; the spawners are named by what they spawn."""
    graph.wait_for(lambda: len(stand_ins.started()) == 4)
    return {how.words[0] if name == "spawner" else name: how for name, how in stand_ins.started()}


def described(directory: Path, robot: str) -> Path:
    """A file of a robot that says how it is reached."""
    file = directory / f"{robot}.urdf"
    tag = '<ros2_control name="mock" type="system"/></robot>'
    file.write_text(urdf(robot).replace("</robot>", tag))
    return file


@pytest.mark.parametrize("namespace", ["", "arm"])
def test_torques_go_to_the_controller_in_its_order(
    namespace: str, graph: Graph, stand_ins: StandIns, tmp_path: Path
) -> None:
    controllers = tmp_path / "my controllers.yaml"
    text = CONTROLLERS.read_text().replace(", ".join(RX90), "stretch, turn, lift")
    controllers.write_text(text)
    prefix = f"/{namespace}" if namespace else ""
    given = [f"namespace:={namespace}"] if namespace else []
    commands: list[Float64MultiArray] = []
    topic = f"{prefix}/effort_controller/commands"
    graph.node.create_subscription(Float64MultiArray, topic, commands.append, qos.COMMAND)
    states = graph.node.create_publisher(JointState, f"{prefix}/joint_states", qos.COMMAND)
    robot = described(tmp_path, "rrp")
    launched = Launched(
        graph, "ros2_control", *given, f"controllers_file:={controllers}", f"description_file:={robot}"
    )
    how = started(graph, stand_ins)
    assert how["robot_state_publisher"].parameters[""]["robot_description"] == robot.read_text()
    assert how["ros2_control_node"].parameters["controller_manager"]["update_rate"] == 500
    assert how["joint_state_broadcaster"].words == [
        "joint_state_broadcaster",
        "--param-file",
        str(controllers),
    ]
    expected = ["effort_controller", "--param-file", str(controllers), "--inactive"]
    assert how["effort_controller"].words == expected, "it is for the user to activate it"
    for one in how.values():
        assert one.remapped["__ns"] == f"/{namespace}"

    def publish() -> None:
        header = Header(stamp=graph.now())
        names = ["turn", "lift", "stretch"]
        states.publish(JointState(header=header, name=names, position=[0.0, 0.2, 0.1]))

    graph.wait_for(lambda: publish() or commands)
    stretch, turn, lift = commands[-1].data
    assert abs(lift) > 20.0
    assert abs(turn) < 1e-9
    assert abs(lift) > abs(stretch)
    assert launched.interrupt() < 2.0
    finished = re.findall(r"\[([a-z0-9_]+)-\d+\]: process has finished cleanly", launched.log)
    assert sorted(finished) == [
        *("feedforward", "robot_state_publisher", "ros2_control_node", "spawner", "spawner"),
    ]


@WITH_XACRO
def test_without_arguments_it_is_the_mock_robot_and_nothing_is_activated(
    graph: Graph, stand_ins: StandIns
) -> None:
    Launched(graph, "ros2_control")
    graph.wait_for(lambda: graph.models)
    assert list(graph.models[0].joint_name) == RX90
    how = started(graph, stand_ins)
    assert "--inactive" in how["effort_controller"].words
    assert "mock_components/GenericSystem" in how["robot_state_publisher"].parameters[""]["robot_description"]


@WITH_XACRO
def test_trajectories_go_to_their_controller_with_efforts(graph: Graph, stand_ins: StandIns) -> None:
    answers: list[JointTrajectory] = []
    topic = "joint_trajectory_controller/joint_trajectory"
    graph.node.create_subscription(JointTrajectory, topic, answers.append, 1)
    asked = graph.node.create_publisher(JointTrajectory, "feedforward/joint_trajectory", 1)
    Launched(
        graph,
        "ros2_control",
        "controller:=joint_trajectory_controller",
        "activate:=true",
        "use_sim_time:=True",
    )
    how = started(graph, stand_ins)
    assert "--inactive" not in how["joint_trajectory_controller"].words
    assert how["ros2_control_node"].parameters[""]["use_sim_time"] is True
    graph.wait_for(lambda: graph.models and asked.get_subscription_count() == 1)
    graph.wait_for(lambda: graph.node.count_publishers(topic) == 1)
    points = [JointTrajectoryPoint(positions=[0.1 * k] * 6, velocities=[0.0] * 6) for k in range(2)]
    points[1].time_from_start.sec = 2
    asked.publish(JointTrajectory(joint_names=RX90, points=points))
    graph.wait_for(lambda: answers)
    assert [len(point.effort) for point in answers[0].points] == [6, 6]
    assert abs(answers[0].points[0].effort[1]) > 50.0


MISTAKES = {
    "a controller of positions": (
        ["controllers_file:={positions}"],
        "controller 'effort_controller' commands 'position', and torques are for the interface 'effort'",
    ),
    "no such controller": (["controller:=my"], "controller_manager has no controller 'my': choose one of"),
    "no such file": (["controllers_file:=/no.yaml"], "controllers_file is '/no.yaml': there is no such file"),
    "a robot that is not reached": (["robot:=rrp"], "has no <ros2_control> element"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_end_in_a_sentence(case: str, graph: Graph, stand_ins: StandIns, tmp_path: Path) -> None:
    arguments, sentence = MISTAKES[case]
    positions = tmp_path / "positions.yaml"
    positions.write_text(
        CONTROLLERS.read_text().replace("interface_name: effort", "interface_name: position")
    )
    launched = Launched(graph, "ros2_control", *(word.format(positions=positions) for word in arguments))
    assert launched.ended() == 1, launched.log
    assert "Traceback" not in launched.log
    (told,) = [line for line in launched.log.splitlines() if "ERROR" in line]
    assert sentence in told
    assert not stand_ins.started()


def test_without_ros2_control_it_is_said_what_to_install(graph: Graph) -> None:
    launched = Launched(graph, "ros2_control")
    if launched.ended() == 0:
        pytest.skip("ros2_control is installed")
    assert "Traceback" not in launched.log
    assert "the package controller_manager is not installed: install ros-" in launched.log
