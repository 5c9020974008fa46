# SPDX-License-Identifier: Apache-2.0
"""Robots as arguments of launch files, and parameter files; launch is not needed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import rclpy
from rclpy.context import Context
from refusals import refused

from dyn_core.robot.robot_files import expanded, find_robot, robot_files
from dyn_nodes.common import robot_argument
from dyn_nodes.common.parameter_file import EffortController, check_applies, effort_controller, nodes_of_file
from dyn_nodes.common.robot_argument import existing, robot_parameters

SHELL = shutil.which("sh")
URDF = "<robot name='r'><link name='a'/></robot>"


def test_installed_robots_and_packages_are_found_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {"rrp", "rx90", "two_branch"} <= set(robot_files())
    assert all(find_robot(name).is_file() for name in robot_files())
    for path in ("arm.urdf", "./arm", "/somewhere/arm.xml"):
        assert find_robot(path) == Path(path)
    for name in ("rx91", "", "arm.xml"):
        with refused("robot-unknown", robot=name, known=", ".join(robot_files())):
            find_robot(name)
    robot_argument.installed_package("dyn_nodes")
    monkeypatch.setenv("ROS_DISTRO", "jazzy")
    with refused("package-missing", package="no_such_package", system_package="ros-jazzy-no-such-package"):
        robot_argument.installed_package("no_such_package")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A directory with a space in its path."""
    path = tmp_path / "my robots"
    path.mkdir()
    for name, text in (("arm.urdf", URDF), ("arm.urdf.xacro", URDF), ("side.yaml", "{}")):
        (path / name).write_text(text)
    return path


def program(directory: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a program named xacro the only one on the path."""
    file = directory / "xacro"
    file.write_text(f"#!{SHELL}\n{text}\n")
    file.chmod(0o755)
    monkeypatch.setenv("PATH", str(directory))


def test_an_installed_robot_or_file_becomes_a_path(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, side = str(directory / "arm.urdf"), str(directory / "side.yaml")
    assert robot_parameters() == {}
    assert robot_parameters(side_file=side) == {"side_file": side}
    assert robot_parameters("rrp") == {"description_file": str(find_robot("rrp"))}
    assert robot_parameters(file) == robot_parameters(description_file=file) == {"description_file": file}
    monkeypatch.chdir(directory)
    monkeypatch.setenv("HOME", str(directory))
    for path in ("arm.urdf", "~/arm.urdf"):
        assert robot_parameters(description_file=path) == {"description_file": file}
    assert existing("params_file", "side.yaml") == side
    # An installed robot comes with its side file.
    installed = find_robot("rx90")
    parameters = {"description_file": str(installed), "side_file": str(installed.with_suffix(".yaml"))}
    assert robot_parameters("rx90") == parameters
    assert robot_parameters("rx90", side_file=side) == {**parameters, "side_file": side}
    (directory / "arm.yaml").write_text("{}")
    assert "side_file" not in robot_parameters(file)


def test_xacro_gets_file_and_arguments_unchanged_and_its_error_is_quoted(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(directory, 'for word in "$@"; do echo "<$word>"; done; echo told >&2', monkeypatch)
    file = str(directory / "arm.urdf.xacro")
    given = robot_parameters(description_file=file, xacro_arguments="a:=b 'c:=two words'")
    assert given == {"robot_description": f"<{file}>\n<a:=b>\n<c:=two words>\n"}
    program(directory, 'echo "error: no such property" >&2; echo "in line 3" >&2; exit 2', monkeypatch)
    with refused("xacro-failed", reason="error: no such property in line 3") as caught:
        expanded(file, ())
    assert caught.value.file == file
    program(directory, "exit 3", monkeypatch)
    with refused("xacro-failed", reason="exit code 3"):
        expanded(file, ())
    (directory / "xacro").write_text("#!/no/such/interpreter")
    with refused("xacro-not-started", reason="No such file or directory"):
        expanded(file, ())
    (directory / "xacro").unlink()
    monkeypatch.setenv("ROS_DISTRO", "kilted")
    with refused("xacro-missing", path=file, distribution="kilted"):
        robot_parameters(file)


@pytest.mark.skipif(shutil.which("xacro") is None, reason="xacro is not installed")
def test_the_real_xacro(directory: Path) -> None:
    file = directory / "arm.urdf.xacro"
    head = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="of" default="a"/>'
    file.write_text(head + '<link name="$(arg of)"/></robot>')
    assert '<link name="b"/>' in robot_parameters(str(file), xacro_arguments="of:=b")["robot_description"]
    file.write_text(head + '<link name="${nothing}"/></robot>')
    with refused("xacro-failed") as caught:
        robot_parameters(str(file))
    assert "nothing" in caught.value.values["reason"]


MALFORMED = "xacro-arguments-malformed"
NO_FILE, TWICE = "argument-file-missing", {"robot": "rrp", "description_file": "x.urdf"}
MISTAKES: list[tuple[dict[str, str], str, dict[str, str]]] = [
    (TWICE, "robot-argument-repeated", {"robot": "rrp", "path": "x.urdf"}),
    ({"robot": "rx91"}, "robot-unknown", {"robot": "rx91"}),
    ({"description_file": "/no.urdf"}, NO_FILE, {"argument": "description_file", "path": "/no.urdf"}),
    ({"robot": "/no.xacro"}, NO_FILE, {"argument": "robot", "path": "/no.xacro"}),
    ({"robot": "~no-such-user/x.urdf"}, NO_FILE, {"argument": "robot", "path": "~no-such-user/x.urdf"}),
    ({"robot": "rrp", "side_file": "/no.yaml"}, NO_FILE, {"argument": "side_file", "path": "/no.yaml"}),
    ({"description_file": "{directory}"}, "argument-file-is-directory", {"argument": "description_file"}),
    ({"robot": "rrp", "xacro_arguments": "a:=b"}, "xacro-arguments-unused", {"given": "a:=b"}),
    ({"xacro_arguments": "a:=b"}, "xacro-arguments-unused", {"given": "a:=b"}),
    ({"robot": "{directory}/arm.urdf.xacro", "xacro_arguments": "a:='"}, MALFORMED, {"given": "a:='"}),
]


@pytest.mark.parametrize(("given", "code", "values"), MISTAKES)
def test_wrong_arguments_are_refused(
    given: dict[str, str], code: str, values: dict[str, str], directory: Path
) -> None:
    with refused(code, **values):
        robot_parameters(**{name: text.format(directory=directory) for name, text in given.items()})


def test_a_description_has_the_needed_element(directory: Path) -> None:
    description_text, file = robot_argument.description_text, directory / "arm.urdf"
    with refused("description-tag-missing", path=str(file), tag="ros2_control"):
        description_text({"description_file": str(file)}, "ros2_control")
    with refused("xacro-tag-missing", tag="ros2_control"):
        description_text({"robot_description": URDF}, "ros2_control")
    text = URDF.replace("<link", "<ros2_control/><link")
    file.write_text(text)
    for given in ({"robot_description": text}, {"description_file": str(file)}):
        assert description_text(given, "ros2_control") == text


# Parameter files, compared with rcl itself

PATTERNS = ["arm", "/arm", "/**/arm", "/**", "/*/arm", "/left/arm", "left: {arm}", "/left/**/arm", "/*/*/arm"]
NODES = ["/arm", "/left/arm", "/left/deep/arm", "/right/arm"]


@pytest.mark.parametrize("name", NODES)
@pytest.mark.parametrize("pattern", [*PATTERNS, "/other"])
def test_parameter_files_apply_to_the_same_nodes_as_in_rcl(pattern: str, name: str, tmp_path: Path) -> None:
    """A file for nodes of other names is not an error."""
    file = str(tmp_path / "parameters.yaml")
    values = "{ros__parameters: {given: true}}"
    nested = pattern.replace(": {arm}", ": {arm: " + values + "}")
    Path(file).write_text(nested if nested != pattern else f"{pattern}: {values}")
    namespace, _, own = name.rpartition("/")
    context = Context()
    rclpy.init(args=["--ros-args", "--params-file", file], context=context)
    options = {"context": context, "automatically_declare_parameters_from_overrides": True}
    node = rclpy.create_node(own, namespace=namespace, **options)
    applies = node.has_parameter("given")
    node.destroy_node()
    context.shutdown()
    if applies or pattern == "/other":
        check_applies(file, name)
    else:
        with refused("parameters-of-other-nodes", node=name, base_name="arm"):
            check_applies(file, name)


def test_the_nodes_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "parameters.yaml"
    file.write_text("/**/a: {ros__parameters: {x: 1}}\nb: {c: {ros__parameters: {}}}\nd: 1\n")
    assert list(nodes_of_file(str(file))) == ["/**/a", "/b/c"]
    file.write_text("# nothing")
    assert nodes_of_file(str(file)) == {}
    for text, code in (("<robot name='r'/>", "node-not-mapping"), ("a: [", "yaml-malformed-in-line")):
        file.write_text(text)
        with refused(code) as caught:
            nodes_of_file(str(file))
        assert caught.value.file == str(file)
        assert code != "node-not-mapping" or caught.value.line == 1


FORWARD = "forward_command_controller/ForwardCommandController"
GROUP = "effort_controllers/JointGroupEffortController"
TRAJECTORY = "joint_trajectory_controller/JointTrajectoryController"
BROADCASTER = "joint_state_broadcaster/JointStateBroadcaster"


def written(directory: Path, kind: str, parameters: str, manager: str = "controller_manager") -> str:
    """A file with a controller `own` of some type."""
    file = directory / "controllers.yaml"
    file.write_text(
        f"{manager}: {{ros__parameters: {{update_rate: 100, own: {{type: {kind}}}, other: {{type: x/Y}}}}}}\n"
        f"{manager.replace('controller_manager', 'own')}: {{ros__parameters: {{{parameters}}}}}\n"
    )
    return str(file)


def test_effort_controllers(tmp_path: Path) -> None:
    """Also those in the file of the example."""
    for kind, interfaces, manager in (
        (FORWARD, ", interface_name: effort", "controller_manager"),
        (FORWARD, ", interface_name: effort", "/**/controller_manager"),
        (FORWARD, ", interface_name: effort", "/left/controller_manager"),
        (GROUP, "", "controller_manager"),
        (TRAJECTORY, ", command_interfaces: [position, effort]", "controller_manager"),
    ):
        found = effort_controller(written(tmp_path, kind, f"joints: [b, a]{interfaces}", manager), "own")
        assert found == EffortController("own", ("b", "a"), takes_trajectories=kind == TRAJECTORY)
    file = robot_argument.robot_directory().parent / "ros2_control" / "rx90_controllers.yaml"
    names = tuple(f"joint_{j}" for j in range(1, 7))
    for name in ("effort_controller", "group_effort_controller", "joint_trajectory_controller"):
        trajectories = name == "joint_trajectory_controller"
        assert effort_controller(str(file), name) == EffortController(name, names, trajectories)


OTHER_COMMANDS, MOTION = "controller-without-effort", ["position", "velocity"]
UNUSABLE: list[tuple[str, str, str, dict[str, object]]] = [
    (FORWARD, "joints: [a], interface_name: position", OTHER_COMMANDS, {"given": ["position"]}),
    (FORWARD, "joints: [a]", "controller-parameter-missing", {"parameter": "interface_name"}),
    (TRAJECTORY, f"joints: [a], command_interfaces: {MOTION}", OTHER_COMMANDS, {"given": MOTION}),
    (GROUP, "other: 1", "controller-parameter-missing", {"parameter": "joints"}),
    (GROUP, "joints: []", "controller-without-joints", {"controller": "own"}),
    (GROUP, "joints: a", "node-not-list", {}),
    (BROADCASTER, "joints: [a]", "controller-type-unsupported", {"given": BROADCASTER}),
]


@pytest.mark.parametrize(("kind", "parameters", "code", "values"), UNUSABLE)
def test_controllers_without_effort_commands_are_refused(
    kind: str, parameters: str, code: str, values: dict[str, object], tmp_path: Path
) -> None:
    file = written(tmp_path, kind, parameters)
    with refused(code, **values) as caught:
        effort_controller(file, "own")
    assert (caught.value.file, caught.value.line) == (file, 2 if code == "node-not-list" else None)


def test_controllers_missing_in_the_file_are_refused(tmp_path: Path) -> None:
    file = written(tmp_path, GROUP, "joints: [a]")
    other = tmp_path / "other.yaml"
    other.write_text("own: {ros__parameters: {joints: [a]}}")
    for path, name, code, values in (
        (file, "my", "controller-unknown", {"controller": "my", "known": ["own", "other"]}),
        (file, "other", "controller-parameters-missing", {"controller": "other"}),
        (str(other), "own", "manager-parameters-missing", {"known": ["own"]}),
        ("/no/such.yaml", "own", "path-or-text-unknown", {}),
    ):
        with refused(code, **values) as caught:
            effort_controller(path, name)
        assert caught.value.file == path
