# SPDX-License-Identifier: Apache-2.0
"""The launch files, with the real launch where it is installed."""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

# Not launch itself: the directory of that name passes for a package.
pytest.importorskip("launch.actions", reason="launch is not installed")
pytest.importorskip("launch_ros.actions", reason="launch_ros is not installed")

from launch import LaunchContext
from launch.launch_description_sources import AnyLaunchDescriptionSource
from launched import LAUNCH_FILES, Launched
from rcl_interfaces.srv import GetParameters
from rclpy.parameter import parameter_value_to_python
from rclpy.publisher import Publisher
from robot_files import ROBOTS, urdf
from ros_graph import Graph
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Header, String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dyn_msgs.msg import JointReference, JointTorques, ModelInfo
from dyn_nodes.common import qos

NODES = ("simulation", "feedforward", "controller")
COMMON = {
    "namespace",
    "params_file",
    "robot",
    "description_file",
    "xacro_arguments",
    "side_file",
    "use_sim_time",
}
JOINTS = ["turn", "lift", "stretch"]
END_S = 2.0
"""SIGINT ends a node within this time."""


def declared(file: str) -> dict[str, str | None]:
    """The arguments of a launch file and their descriptions, as `--show-args` lists them."""
    description = AnyLaunchDescriptionSource(str(LAUNCH_FILES[file])).get_launch_description(LaunchContext())
    return {argument.name: argument.description for argument in description.get_launch_arguments()}


@pytest.mark.parametrize("file", LAUNCH_FILES)
def test_arguments_have_the_same_names_and_are_described(file: str) -> None:
    arguments = declared(file)
    assert set(arguments) >= COMMON
    for name, description in arguments.items():
        assert description, name
        assert description != "no description given", name
        assert description.split(" Valid choices")[0].endswith("."), name


@pytest.mark.skipif(shutil.which("ros2") is None, reason="the command ros2 is not installed")
@pytest.mark.parametrize("file", LAUNCH_FILES)
def test_ros2_launch_shows_the_arguments(file: str, graph: Graph) -> None:
    program = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:], stdout=2))"
    shown = graph.start("-c", program, "ros2", "launch", "dyn_nodes", f"{file}.launch.py", "--show-args")
    assert shown.process.wait(60) == 0, shown.log
    for name in declared(file):
        assert f"'{name}':" in shown.log


class Arm:
    """What a user sees of the three nodes in a namespace."""

    def __init__(self, graph: Graph, namespace: str = "") -> None:
        self.graph = graph
        self.states: list[JointState] = []
        self.models: list[ModelInfo] = []
        self.clocks: list[Clock] = []
        self.torques: dict[str, list[JointTorques]] = {"feedforward": [], "controller": []}
        node, prefix = graph.node, f"/{namespace}" if namespace else ""
        node.create_subscription(JointState, f"{prefix}/joint_states", self.states.append, 100)
        node.create_subscription(
            ModelInfo, f"{prefix}/feedforward/model_info", self.models.append, qos.LATCHED
        )
        node.create_subscription(Clock, "/clock", self.clocks.append, 100)
        for name, heard in self.torques.items():
            node.create_subscription(JointTorques, f"{prefix}/{name}/torques", heard.append, qos.COMMAND)
        self._states = node.create_publisher(JointState, f"{prefix}/joint_states", qos.COMMAND)
        self._trajectories = node.create_publisher(
            JointTrajectory, f"{prefix}/feedforward/joint_trajectory", 1
        )
        self._references = node.create_publisher(JointReference, f"{prefix}/feedforward/reference", 1)

    def state_when(self, condition: Callable[[JointState], bool]) -> JointState:
        """Wait for a joint state that comes from now on."""
        self.states.clear()
        self.graph.wait_for(lambda: self.states and condition(self.states[-1]))
        return self.states[-1]

    def publish_state(self) -> None:
        """Publish a joint state in the place of a robot."""
        header = Header(stamp=self.graph.now())
        names = list(self.models[-1].joint_name) if self.models else JOINTS
        self._states.publish(JointState(header=header, name=names, position=[0.1] * len(names)))

    def answers(self, node: str) -> JointTorques:
        """Publish joint states until torques of a node are heard, and answer them."""
        heard = self.torques[node]
        self.graph.wait_for(lambda: self.publish_state() or heard)
        return heard[-1]

    def go(self, position: list[float], seconds: int) -> None:
        """Send a trajectory to a position."""
        self._listeners(self._trajectories, 1)
        point = JointTrajectoryPoint(positions=position, velocities=[0.0] * len(position))
        point.time_from_start.sec = seconds
        self._trajectories.publish(JointTrajectory(joint_names=self._names, points=[point]))

    def stop(self) -> None:
        """Send an empty trajectory."""
        self._trajectories.publish(JointTrajectory())

    def refer(self, position: list[float]) -> None:
        """Send a reference, stamped as the last joint state."""
        self._listeners(self._references, 2)
        header = Header(stamp=self.states[-1].header.stamp)
        self._references.publish(
            JointReference(header=header, name=self._names, position=position, velocity=[0.0] * len(position))
        )

    @property
    def _names(self) -> list[str]:
        return list(self.states[-1].name)

    def _listeners(self, publisher: Publisher, count: int) -> None:
        self.graph.wait_for(lambda: publisher.get_subscription_count() == count)


def ends_cleanly(launched: Launched, nodes: tuple[str, ...]) -> None:
    """Ctrl-C ends all, in time and without complaint."""
    duration = launched.interrupt()
    # They share the processors.
    assert duration < END_S * len(nodes), launched.log
    for node in nodes:
        assert re.search(rf"\[{node}-\d+\]: process has finished cleanly", launched.log), launched.log
    assert "process has died" not in launched.log
    assert "Traceback" not in launched.log
    assert "escalating" not in launched.log


def parameters_of(graph: Graph, node: str, *names: str) -> list[object]:
    """Values of parameters of a node."""
    client = graph.node.create_client(GetParameters, f"{node}/get_parameters")
    answer = graph.call(client, GetParameters.Request(names=names))
    return [parameter_value_to_python(value) for value in answer.values]


@pytest.mark.parametrize("namespace", ["", "cell/arm"])
@pytest.mark.parametrize("node", ["feedforward", "controller"])
def test_a_node_alone(node: str, namespace: str, graph: Graph) -> None:
    arm = Arm(graph, namespace)
    given = [f"namespace:={namespace}"] if namespace else []
    launched = Launched(graph, node, *given, f"description_file:={ROBOTS['rrp']}")
    assert list(arm.answers(node).name) == JOINTS
    ends_cleanly(launched, (node,))


@pytest.mark.parametrize("namespace", ["", "arm"])
def test_the_simulation_alone(namespace: str, graph: Graph) -> None:
    arm = Arm(graph, namespace)
    descriptions: list[String] = []
    topic = f"/{namespace}/robot_description" if namespace else "/robot_description"
    graph.node.create_subscription(String, topic, descriptions.append, qos.LATCHED)
    given = [f"namespace:={namespace}"] if namespace else []
    launched = Launched(graph, "simulation", *given, "robot:=two_branch", "publish_clock:=true")
    graph.wait_for(lambda: arm.states and arm.clocks and descriptions)
    assert descriptions[0].data == urdf("two_branch")
    assert arm.states[0].header.stamp.sec < 100, "it is not simulated time"
    ends_cleanly(launched, ("simulation",))


def test_arguments_become_parameters(graph: Graph, tmp_path: Path) -> None:
    """A file with a space in its path, a mode beside it, a side file that only the model shows."""
    directory = tmp_path / "my files"
    directory.mkdir()
    file = directory / "my parameters.yaml"
    file.write_text("/**/feedforward: {ros__parameters: {on_shutdown: hold, mode: gravity, timeout: 30.0}}")
    side = directory / "side.yaml"
    side.write_text("rotor_inertia: {turn: 2.5}")
    arm = Arm(graph)
    launched = Launched(
        graph,
        "feedforward",
        *(f"params_file:={file}", f"robot:={ROBOTS['rrp']}", f"side_file:={side}", "mode:=computed_torque"),
    )
    arm.answers("feedforward")
    assert parameters_of(graph, "/feedforward", "mode", "side_file", "description_file", "timeout") == [
        "computed_torque",
        str(side),
        str(ROBOTS["rrp"]),
        30.0,
    ]
    ends_cleanly(launched, ("feedforward",))
    assert any(arm.torques["feedforward"][-1].total), "on_shutdown of the file is 'hold'"


@pytest.mark.skipif(shutil.which("xacro") is None, reason="xacro is not installed")
def test_a_robot_of_xacro_with_arguments(graph: Graph, tmp_path: Path) -> None:
    text = urdf("rrp").replace("<robot ", '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" ', 1)
    text = text.replace('"turn"', '"${prefix}turn"')
    end = text.index(">", text.index("<robot ")) + 1
    made = (
        text[:end] + '<xacro:arg name="side" default=""/><xacro:property name="prefix" value="$(arg side)"/>'
    )
    file = tmp_path / "my robot.urdf.xacro"
    file.write_text(made + text[end:])
    arm = Arm(graph)
    Launched(graph, "feedforward", f"description_file:={file}", "xacro_arguments:=side:=left_")
    graph.wait_for(lambda: arm.models)
    assert list(arm.models[0].joint_name) == ["left_turn", "lift", "stretch"]


MISTAKES = {
    "unknown robot": ("simulation", ["robot:=rx91"], "there is no robot named 'rx91': choose one of akr3000"),
    "both": (
        "controller",
        ["robot:=rrp", "description_file:=/tmp/x.urdf"],
        "both robot ('rrp') and description_file ('/tmp/x.urdf') are given",
    ),
    "both in the demonstration": (
        "demo",
        ["robot:=rrp", "description_file:=/tmp/x.urdf"],
        "both robot ('rrp') and description_file ('/tmp/x.urdf') are given",
    ),
    "no such URDF": (
        "feedforward",
        ["description_file:=/no/such.urdf"],
        "description_file is '/no/such.urdf': there is no such file",
    ),
    "no such robot file": ("simulation", ["robot:=/no/such.urdf"], "robot is '/no/such.urdf': there is no"),
    "no such parameters": ("feedforward", ["params_file:=/no/such.yaml"], "params_file is '/no/such.yaml'"),
    "parameters that are a directory": ("demo", ["params_file:=/tmp"], "'/tmp': that is a directory"),
    "no such side file": ("controller", ["side_file:=/no/x.yaml"], "side_file is '/no/x.yaml': there is no"),
    "arguments for no xacro": ("simulation", ["robot:=rrp", "xacro_arguments:=a:=b"], "ends in .xacro"),
    "parameters for another namespace": (
        "feedforward",
        ["params_file:={global}", "namespace:=arm"],
        "global.yaml: the parameters are for '/feedforward', but the node is '/arm/feedforward': "
        "write '/**/feedforward:'",
    ),
    "parameters that are no YAML": ("controller", ["params_file:={broken}"], "broken.urdf"),
    "unknown mode": ("feedforward", ["mode:=magic"], "magic"),
    "switch that is none": ("simulation", ["use_sim_time:=maybe"], "maybe"),
    "model error": ("demo", ["model_error:=2"], "model_error is '2': give a number from 0 to 0.9"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_end_in_a_sentence(case: str, graph: Graph, tmp_path: Path) -> None:
    file, arguments, sentence = MISTAKES[case]
    broken = tmp_path / "broken.urdf"
    broken.write_text("<robot name='r'><link name='a'></robot>")
    of_root = tmp_path / "global.yaml"
    of_root.write_text("feedforward: {ros__parameters: {mode: gravity}}")
    paths = {"broken": broken, "global": of_root}
    launched = Launched(graph, file, *(argument.format(**paths) for argument in arguments))
    assert launched.ended() == 1, launched.log
    assert "Traceback" not in launched.log
    assert "process started" not in launched.log
    told = [line for line in launched.log.splitlines() if "ERROR" in line]
    assert told
    assert all(sentence in line for line in told), launched.log


def test_without_xacro_it_is_said_what_to_install(
    graph: Graph, ros_environment: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "robot.urdf.xacro"
    file.write_text(urdf("rrp"))
    ros_environment["PATH"] = str(tmp_path)
    launched = Launched(graph, "simulation", f"description_file:={file}")
    assert launched.ended() == 1, launched.log
    assert "Traceback" not in launched.log
    assert f"'{file}' is for xacro, which is not installed: install ros-" in launched.log


def near(state: JointState, position: list[float], within: float) -> bool:
    return all(abs(q - wanted) < within for q, wanted in zip(state.position, position, strict=True))


@pytest.mark.parametrize(
    ("namespace", "arguments"),
    [
        ("", []),
        ("arm", ["use_sim_time:=True"]),
        ("", ["mode:=computed_torque", "model_error:=0.1"]),
    ],
)
def test_the_demonstration_is_held_and_follows(namespace: str, arguments: list[str], graph: Graph) -> None:
    """All three nodes in a namespace speak with each other; in simulated time too."""
    arm = Arm(graph, namespace)
    given = [f"namespace:={namespace}"] if namespace else []
    launched = Launched(graph, "demo", "robot:=rrp", *given, *arguments)
    graph.wait_for(lambda: arm.states and any(arm.states[-1].effort) and arm.models)
    start = arm.states[-1].header.stamp.sec
    held = arm.state_when(lambda state: state.header.stamp.sec > start + 1)
    assert near(held, [0.0, 0.0, 0.0], 0.03)
    assert bool(arm.clocks) == ("use_sim_time:=True" in arguments)
    arm.go([0.4, -0.3, 0.1], 1)
    arm.state_when(lambda state: near(state, [0.4, -0.3, 0.1], 0.01))
    arm.refer([0.42, -0.3, 0.1])
    arm.state_when(lambda state: near(state, [0.42, -0.3, 0.1], 0.01) and state.position[0] > 0.412)
    arm.go([-1.0, -0.3, 0.1], 10)
    arm.state_when(lambda state: state.position[0] < 0.3)
    arm.stop()
    stopped = arm.state_when(lambda state: abs(state.velocity[0]) < 1e-3)
    assert near(stopped, [0.25, -0.3, 0.1], 0.1), "it has not gone on to the end"
    ends_cleanly(launched, NODES)


@pytest.mark.parametrize("victim", NODES)
def test_kill_9_of_a_node_leaves_the_others(victim: str, graph: Graph) -> None:
    arm = Arm(graph)
    launched = Launched(graph, "demo", "robot:=rrp")
    graph.wait_for(lambda: all(arm.torques.values()) and arm.states and any(arm.states[-1].effort))
    os.kill(launched.process_of(victim), signal.SIGKILL)
    graph.wait_for(lambda: re.search(rf"\[{victim}-\d+\]: process has died", launched.log))
    others = tuple(name for name in NODES if name != victim)
    graph.diagnostics.clear()
    graph.wait_for(lambda: {d.name.rpartition("/")[2] for d in graph.diagnostics} >= set(others))
    assert launched.launch.process.poll() is None
    launched.interrupt()
    for node in others:
        assert re.search(rf"\[{node}-\d+\]: process has finished cleanly", launched.log), launched.log
