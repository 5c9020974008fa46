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

# Not the package launch itself: a directory of this name is also importable.
pytest.importorskip("launch.actions", reason="launch is not installed")
pytest.importorskip("launch_ros.actions", reason="launch_ros is not installed")

from ament_index_python import has_resource
from launch import LaunchContext
from launch.launch_description_sources import AnyLaunchDescriptionSource
from launch_process import LAUNCH_FILES, Launched
from message_makers import NAMES, joint_state, point, reference, to_rest_at, trajectory
from rcl_interfaces.srv import GetParameters
from rclpy.parameter import parameter_value_to_python
from recording_executables import StandIns, Started
from robot_files import ROBOTS, ROOT, urdf
from ros_graph import GENEROUS_S, Graph
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from sentence_patterns import said
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from dyn_msgs.msg import JointReference, JointTorques, ModelInfo
from dyn_nodes.common import qos

NODES = ("simulation", "feedforward", "controller")
COMMON = {"params_file", "robot", "description_file", "xacro_arguments", "side_file", "use_sim_time"}
END_S = 2.0
"""SIGINT ends a node within this time."""
WITH_XACRO = pytest.mark.skipif(shutil.which("xacro") is None, reason="xacro is not installed")


def declared(file: str) -> dict[str, str | None]:
    """The arguments of a launch file and their descriptions, as `--show-args` lists them."""
    description = AnyLaunchDescriptionSource(str(LAUNCH_FILES[file])).get_launch_description(LaunchContext())
    return {argument.name: argument.description for argument in description.get_launch_arguments()}


@pytest.mark.parametrize("file", LAUNCH_FILES)
def test_arguments_have_the_same_names_and_are_described(file: str) -> None:
    arguments = declared(file)
    assert set(arguments) >= COMMON | {"namespace"}
    for name, description in arguments.items():
        assert description, name
        assert description != "no description given", name
        assert description.split(" Valid choices")[0].endswith("."), name


@pytest.mark.skipif(shutil.which("ros2") is None, reason="the command ros2 is not installed")
@pytest.mark.parametrize("file", LAUNCH_FILES)
def test_ros2_launch_shows_the_arguments(file: str, graph: Graph) -> None:
    program = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:], stdout=2))"
    shown = graph.start("-c", program, "ros2", "launch", "dyn_nodes", f"{file}.launch.py", "--show-args")
    assert shown.process.wait(GENEROUS_S) == 0, shown.log
    for name in declared(file):
        assert f"'{name}':" in shown.log


class Arm:
    """Messages of the three nodes in a namespace."""

    def __init__(self, graph: Graph, namespace: str = "") -> None:
        self.graph = graph
        self.states: list[JointState] = []
        self.models: list[ModelInfo] = []
        self.clocks: list[Clock] = []
        self.torques: dict[str, list[JointTorques]] = {"feedforward": [], "controller": []}
        self.prefix = prefix = f"/{namespace}" if namespace else ""
        self.given = [f"namespace:={namespace}"] if namespace else []
        node = graph.node
        node.create_subscription(JointState, f"{prefix}/joint_states", self.states.append, 100)
        models = f"{prefix}/feedforward/model_info"
        node.create_subscription(ModelInfo, models, self.models.append, qos.LATCHED)
        node.create_subscription(Clock, "/clock", self.clocks.append, 100)
        for name, heard in self.torques.items():
            node.create_subscription(JointTorques, f"{prefix}/{name}/torques", heard.append, qos.COMMAND)
        self._states = node.create_publisher(JointState, f"{prefix}/joint_states", qos.COMMAND)
        trajectories = f"{prefix}/feedforward/joint_trajectory"
        self._trajectories = node.create_publisher(JointTrajectory, trajectories, 1)
        self._references = node.create_publisher(JointReference, f"{prefix}/feedforward/reference", 1)

    def state_when(self, condition: Callable[[JointState], bool]) -> JointState:
        """Wait for a joint state that is received from now on."""
        self.states.clear()
        self.graph.wait_for(lambda: self.states and condition(self.states[-1]))
        return self.states[-1]

    def publish_state(self) -> None:
        """Publish a joint state instead of a robot."""
        self._states.publish(joint_state(self.graph.now(), [0.0, 0.2, 0.1]))

    def answers(self, node: str) -> JointTorques:
        """Publish joint states until torques of a node arrive, and return them."""
        heard = self.torques[node]
        self.graph.wait_for(lambda: self.publish_state() or heard)
        return heard[-1]

    def go(self, position: list[float], seconds: int) -> None:
        """Send a trajectory to a position."""
        self.graph.wait_for(lambda: self._trajectories.get_subscription_count() == 1)
        self._trajectories.publish(to_rest_at(position, seconds))

    def stop(self) -> None:
        """Send an empty trajectory."""
        self._trajectories.publish(JointTrajectory())

    def refer(self, position: list[float]) -> None:
        """Send a reference, stamped as the last joint state."""
        self.graph.wait_for(lambda: self._references.get_subscription_count() == 2)
        self._references.publish(reference(self.states[-1].header.stamp, position, [0.0] * 3))


def ends_cleanly(launched: Launched, nodes: tuple[str, ...]) -> None:
    """Ctrl-C ends all processes, in time and without errors."""
    launched.interrupt(END_S * len(nodes))  # they share the processors
    for node in nodes:
        assert re.search(rf"\[{node}-\d+\]: process has finished cleanly", launched.log), launched.log
    for word in ("process has died", "Traceback", "escalating"):
        assert word not in launched.log


@pytest.mark.parametrize("namespace", ["", "cell/arm"])
@pytest.mark.parametrize("node", ["feedforward", "controller"])
def test_a_node_alone(node: str, namespace: str, graph: Graph) -> None:
    arm = Arm(graph, namespace)
    launched = Launched(graph, node, *arm.given, f"description_file:={ROBOTS['rrp']}")
    assert list(arm.answers(node).name) == NAMES
    ends_cleanly(launched, (node,))


@pytest.mark.parametrize("namespace", ["", "arm"])
def test_the_simulation_alone(namespace: str, graph: Graph) -> None:
    arm = Arm(graph, namespace)
    descriptions: list[String] = []
    topic = f"{arm.prefix}/robot_description"
    graph.node.create_subscription(String, topic, descriptions.append, qos.LATCHED)
    launched = Launched(graph, "simulation", *arm.given, "robot:=two_branch", "publish_clock:=true")
    graph.wait_for(lambda: arm.states and arm.clocks and descriptions)
    assert descriptions[0].data == urdf("two_branch")
    assert arm.states[0].header.stamp.sec < 100, "it is not simulated time"
    ends_cleanly(launched, ("simulation",))


def test_arguments_become_parameters(graph: Graph, tmp_path: Path) -> None:
    """A file with a space in its path, a mode beside it, and a side file that only the model shows."""
    directory = tmp_path / "my files"
    directory.mkdir()
    file = directory / "my parameters.yaml"
    file.write_text("/**/feedforward: {ros__parameters: {on_shutdown: hold, mode: gravity, timeout: 30.0}}")
    side = directory / "side.yaml"
    side.write_text("rotor_inertia: {turn: 2.5}")
    arm = Arm(graph)
    given = (f"params_file:={file}", f"robot:={ROBOTS['rrp']}", f"side_file:={side}", "mode:=computed_torque")
    launched = Launched(graph, "feedforward", *given)
    arm.answers("feedforward")
    asked = GetParameters.Request(names=["mode", "side_file", "description_file", "timeout"])
    client = graph.node.create_client(GetParameters, "/feedforward/get_parameters")
    values = [parameter_value_to_python(value) for value in graph.call(client, asked).values]
    assert values == ["computed_torque", str(side), str(ROBOTS["rrp"]), 30.0]
    ends_cleanly(launched, ("feedforward",))
    assert any(arm.torques["feedforward"][-1].total), "on_shutdown of the file is 'hold'"


@pytest.mark.parametrize("topic", ["", "/mine/commands"])
def test_a_profile_gives_parameters_and_topics(topic: str, graph: Graph) -> None:
    arm, commands = Arm(graph), list[Float64MultiArray]()
    heard = topic or "/effort_controller/commands"
    graph.node.create_subscription(Float64MultiArray, heard, commands.append, qos.COMMAND)
    given = ("profile:=ros2_control_effort", f"robot:={ROBOTS['rrp']}", f"commands_topic:={topic}")
    launched = Launched(graph, "feedforward", *given)
    graph.wait_for(lambda: arm.publish_state() or commands)
    asked = GetParameters.Request(names=["profile", "ramp_start", "on_stale"])
    client = graph.node.create_client(GetParameters, "/feedforward/get_parameters")
    values = [parameter_value_to_python(value) for value in graph.call(client, asked).values]
    assert values == ["ros2_control_effort", 0.0, "hold"]
    ends_cleanly(launched, ("feedforward",))


@WITH_XACRO
def test_a_robot_of_xacro_with_arguments(graph: Graph, tmp_path: Path) -> None:
    text = urdf("rrp").replace("<robot ", '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" ', 1)
    text = text.replace('"turn"', '"${prefix}turn"')
    made = '<xacro:arg name="side" default=""/><xacro:property name="prefix" value="$(arg side)"/>'
    file = tmp_path / "my robot.urdf.xacro"
    file.write_text(re.sub("<robot [^>]*>", lambda found: found[0] + made, text, count=1))
    arm = Arm(graph)
    Launched(graph, "feedforward", f"description_file:={file}", "xacro_arguments:=side:=left_")
    graph.wait_for(lambda: arm.models)
    assert list(arm.models[0].joint_name) == ["left_turn", "lift", "stretch"]


def missing(argument: str, path: str) -> re.Pattern[str]:
    return said("argument-file-missing", argument=argument, path=path)


REPEATED = said("robot-argument-repeated", robot="rrp", path="/tmp/x.urdf")
OTHERS = said("parameters-of-other-nodes", node="/arm/feedforward", base_name="feedforward")
DIRECTORY = said("argument-file-is-directory", argument="params_file", path="/tmp")
MISTAKES: list[tuple[str, str, re.Pattern[str]]] = [
    ("simulation", "robot:=rx91", said("robot-unknown", robot="rx91")),
    ("controller", "robot:=rrp description_file:=/tmp/x.urdf", REPEATED),
    ("demo", "robot:=rrp description_file:=/tmp/x.urdf", REPEATED),
    ("feedforward", "description_file:=/no/such.urdf", missing("description_file", "/no/such.urdf")),
    ("simulation", "robot:=/no/such.urdf", missing("robot", "/no/such.urdf")),
    ("feedforward", "params_file:=/no/such.yaml", missing("params_file", "/no/such.yaml")),
    ("demo", "params_file:=/tmp", DIRECTORY),
    ("controller", "side_file:=/no/x.yaml", missing("side_file", "/no/x.yaml")),
    ("simulation", "robot:=rrp xacro_arguments:=a:=b", said("xacro-arguments-unused", given="a:=b")),
    ("feedforward", "params_file:={global} namespace:=arm", re.compile(f"global.yaml: {OTHERS.pattern}")),
    ("controller", "params_file:={broken}", re.compile("broken.urdf")),
    ("feedforward", "mode:=magic", re.compile("magic")),
    ("feedforward", "profile:=ur_torqe", said("profile-unknown-similar", similar="ur_torque")),
    ("controller", "profile:=xarm", said("profile-takes-no-torque", profile="xarm")),
    ("simulation", "use_sim_time:=maybe", re.compile("maybe")),
    ("demo", "model_error:=2", said("launch-argument-range", argument="model_error", given="2")),
]


def errors_of(launched: Launched) -> list[str]:
    """Wait until a launch file fails, and return the errors that it prints."""
    assert launched.ended() == 1, launched.log
    assert "Traceback" not in launched.log
    return [line for line in launched.log.splitlines() if "ERROR" in line]


@pytest.mark.parametrize(("file", "arguments", "sentence"), MISTAKES)
def test_wrong_arguments_give_one_sentence(
    file: str, arguments: str, sentence: re.Pattern[str], graph: Graph, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.urdf"
    broken.write_text("<robot name='r'><link name='a'></robot>")
    of_root = tmp_path / "global.yaml"
    of_root.write_text("feedforward: {ros__parameters: {mode: gravity}}")
    paths = {"broken": broken, "global": of_root}
    launched = Launched(graph, file, *(argument.format(**paths) for argument in arguments.split()))
    errors = errors_of(launched)
    assert "process started" not in launched.log
    assert errors
    assert all(map(sentence.search, errors)), launched.log


def test_without_xacro_the_error_names_its_package(
    graph: Graph, ros_environment: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "robot.urdf.xacro"
    file.write_text(urdf("rrp"))
    ros_environment["PATH"] = str(tmp_path)
    errors = errors_of(Launched(graph, "simulation", f"description_file:={file}"))
    assert any(map(said("xacro-missing", path=str(file)).search, errors))


def near(state: JointState, position: list[float], within: float) -> bool:
    return all(abs(q - wanted) < within for q, wanted in zip(state.position, position, strict=True))


@pytest.mark.parametrize(
    ("namespace", "arguments"),
    [("", []), ("arm", ["use_sim_time:=True"]), ("", ["mode:=computed_torque", "model_error:=0.1"])],
)
def test_the_demonstration_holds_the_robot_and_follows(
    namespace: str, arguments: list[str], graph: Graph
) -> None:
    """All three nodes in a namespace communicate, also in simulated time."""
    arm = Arm(graph, namespace)
    launched = Launched(graph, "demo", "robot:=rrp", *arm.given, *arguments)
    graph.wait_for(lambda: arm.states and any(arm.states[-1].effort) and arm.models)
    start = arm.states[-1].header.stamp.sec
    assert near(arm.state_when(lambda state: state.header.stamp.sec > start + 1), [0.0, 0.0, 0.0], 0.03)
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
def test_kill_9_of_one_node_leaves_the_others(victim: str, graph: Graph) -> None:
    arm = Arm(graph)
    launched = Launched(graph, "demo", "robot:=rrp")
    graph.wait_for(lambda: all(arm.torques.values()) and arm.states and any(arm.states[-1].effort))
    os.kill(launched.process_of(victim), signal.SIGKILL)
    graph.wait_for(lambda: re.search(rf"\[{victim}-\d+\]: process has died", launched.log))
    others = tuple(name for name in NODES if name != victim)
    graph.diagnostics.clear()
    graph.wait_for(lambda: {d.name.rpartition("/")[2] for d in graph.diagnostics} >= set(others))
    assert launched.launch.process.poll() is None
    launched.interrupt(GENEROUS_S)
    for node in others:
        assert re.search(rf"\[{node}-\d+\]: process has finished cleanly", launched.log), launched.log


# ros2_control.launch.py, with substitutes for ros2_control that record their arguments

CONTROLLERS = ROOT / "config" / "ros2_control" / "rx90_controllers.yaml"
RX90 = [f"joint_{j}" for j in range(1, 7)]


@pytest.fixture
def stand_ins(ros_environment: dict[str, str], tmp_path: Path) -> StandIns:
    """Substitutes for the packages of ros2_control, where launch finds them."""
    made = StandIns(tmp_path)
    made.add("robot_state_publisher", "robot_state_publisher", waits=True)
    made.add("controller_manager", "ros2_control_node", waits=True)
    made.add("controller_manager", "spawner", waits=False)
    ros_environment["AMENT_PREFIX_PATH"] = made.prepend(os.environ["AMENT_PREFIX_PATH"])
    return made


def started(graph: Graph, stand_ins: StandIns) -> dict[str, Started]:
    """Wait until all have started; a spawner is named by the controller that it spawns."""
    graph.wait_for(lambda: len(stand_ins.started()) == 4)
    return {how.words[0] if name == "spawner" else name: how for name, how in stand_ins.started()}


@pytest.mark.parametrize("namespace", ["", "arm"])
def test_torques_are_commanded_in_the_order_of_the_controller(
    namespace: str, graph: Graph, stand_ins: StandIns, tmp_path: Path
) -> None:
    controllers, robot = tmp_path / "my controllers.yaml", tmp_path / "rrp.urdf"
    controllers.write_text(CONTROLLERS.read_text().replace(", ".join(RX90), "stretch, turn, lift"))
    robot.write_text(urdf("rrp").replace("</robot>", '<ros2_control name="mock" type="system"/></robot>'))
    arm = Arm(graph, namespace)
    commands: list[Float64MultiArray] = []
    topic = f"{arm.prefix}/effort_controller/commands"
    graph.node.create_subscription(Float64MultiArray, topic, commands.append, qos.COMMAND)
    given = [*arm.given, f"controllers_file:={controllers}", f"description_file:={robot}"]
    launched = Launched(graph, "ros2_control", *given)
    how = started(graph, stand_ins)
    assert how["robot_state_publisher"].parameters[""]["robot_description"] == robot.read_text()
    assert how["ros2_control_node"].parameters["controller_manager"]["update_rate"] == 500
    words = ["joint_state_broadcaster", "--param-file", str(controllers)]
    assert how["joint_state_broadcaster"].words == words
    expected = ["effort_controller", "--param-file", str(controllers), "--inactive"]
    assert how["effort_controller"].words == expected, "it is for the user to activate it"
    for one in how.values():
        assert one.remapped["__ns"] == f"/{namespace}"
    # They begin with a ramp.
    graph.wait_for(lambda: arm.publish_state() or (commands and max(map(abs, commands[-1].data)) > 20.0))
    stretch, turn, lift = commands[-1].data
    assert abs(lift) > max(20.0, abs(stretch))
    assert abs(turn) < 1e-9
    launched.interrupt(2.0)
    finished = re.findall(r"\[([a-z0-9_]+)-\d+\]: process has finished cleanly", launched.log)
    nodes = ["feedforward", "robot_state_publisher", "ros2_control_node", "spawner", "spawner"]
    assert sorted(finished) == nodes


@WITH_XACRO
def test_the_default_is_the_mock_robot_without_an_active_controller(
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
    efforts: list[JointTrajectory] = []
    topic = "joint_trajectory_controller/joint_trajectory"
    graph.node.create_subscription(JointTrajectory, topic, efforts.append, 1)
    asked = graph.node.create_publisher(JointTrajectory, "feedforward/joint_trajectory", 1)
    arguments = ("controller:=joint_trajectory_controller", "activate:=true", "use_sim_time:=True")
    Launched(graph, "ros2_control", *arguments)
    how = started(graph, stand_ins)
    assert "--inactive" not in how["joint_trajectory_controller"].words
    assert how["ros2_control_node"].parameters[""]["use_sim_time"] is True
    graph.wait_for(lambda: graph.models and asked.get_subscription_count() == 1)
    graph.wait_for(lambda: graph.node.count_publishers(topic) == 1)
    asked.publish(trajectory(*[point(2.0 * k, [0.1 * k] * 6, [0.0] * 6) for k in range(2)], names=RX90))
    graph.wait_for(lambda: efforts)
    assert [len(point.effort) for point in efforts[0].points] == [6, 6]
    assert abs(efforts[0].points[0].effort[1]) > 50.0


POSITIONS = said("controller-without-effort", controller="effort_controller", given=["position"])
NO_FILE = said("argument-file-missing", argument="controllers_file", path="/no.yaml")
MISTAKES_OF_ROS2_CONTROL = {
    "controllers_file:={positions}": POSITIONS,
    "controller:=my": said("controller-unknown", manager="controller_manager", controller="my"),
    "controllers_file:=/no.yaml": NO_FILE,
    "robot:=rrp": said("description-tag-missing", tag="ros2_control"),
}


@pytest.mark.parametrize("argument", MISTAKES_OF_ROS2_CONTROL)
def test_wrong_arguments_with_ros2_control_give_an_error(
    argument: str, graph: Graph, stand_ins: StandIns, tmp_path: Path
) -> None:
    positions = tmp_path / "positions.yaml"
    text = CONTROLLERS.read_text().replace("interface_name: effort", "interface_name: position")
    positions.write_text(text)
    (error,) = errors_of(Launched(graph, "ros2_control", argument.format(positions=positions)))
    assert MISTAKES_OF_ROS2_CONTROL[argument].search(error), error
    assert not stand_ins.started()


ROS2_CONTROL = bool(has_resource("packages", "controller_manager"))


@pytest.mark.skipif(ROS2_CONTROL, reason="ros2_control is installed")
def test_without_ros2_control_the_error_names_its_package(graph: Graph) -> None:
    errors = errors_of(Launched(graph, "ros2_control"))
    assert any(map(said("package-missing", package="controller_manager").search, errors))


@WITH_XACRO
@pytest.mark.skipif(not ROS2_CONTROL, reason="ros2_control is not installed")
@pytest.mark.parametrize("controller", ["effort_controller", "group_effort_controller"])
def test_torques_arrive_at_the_mock_robot_of_ros2_control(controller: str, graph: Graph) -> None:
    states: list[JointState] = []
    graph.node.create_subscription(JointState, "joint_states", states.append, qos.COMMAND)
    launched = Launched(graph, "ros2_control", f"controller:={controller}", "activate:=true")

    def arrived() -> bool:
        sent = dict(zip(graph.torques[-1].name, graph.torques[-1].total, strict=True))
        return sent == dict(zip(states[-1].name, states[-1].effort, strict=True)) and sent["joint_2"] > 100.0

    graph.wait_for(lambda: states and graph.torques and arrived())
    launched.interrupt(GENEROUS_S)
