# SPDX-License-Identifier: Apache-2.0
"""The robot that arguments of launch files name; launch is not needed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dyn_core import DynError
from dyn_nodes import robots
from dyn_nodes.common.robot_argument import (
    description_text,
    existing,
    expanded,
    installed_package,
    robot_parameters,
)

SHELL = shutil.which("sh")
URDF = "<robot name='r'><link name='a'/></robot>"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A directory with a space in its path."""
    path = tmp_path / "my robots"
    path.mkdir()
    (path / "arm.urdf").write_text(URDF)
    (path / "arm.urdf.xacro").write_text(URDF)
    (path / "side.yaml").write_text("{}")
    return path


def program(directory: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a program with the name of xacro, and nothing else, where programs are looked for."""
    file = directory / "xacro"
    file.write_text(f"#!{SHELL}\n{text}\n")
    file.chmod(0o755)
    monkeypatch.setenv("PATH", str(directory))


def test_an_installed_robot_or_a_file_becomes_a_path(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(directory / "arm.urdf")
    assert robot_parameters("rrp") == {"description_file": str(robots.find("rrp"))}
    assert robot_parameters(file) == {"description_file": file}
    assert robot_parameters(description_file=file) == {"description_file": file}
    monkeypatch.chdir(directory)
    assert robot_parameters(description_file="arm.urdf") == {"description_file": file}
    monkeypatch.setenv("HOME", str(directory))
    assert robot_parameters(description_file="~/arm.urdf") == {"description_file": file}


def test_an_installed_robot_brings_its_side_file_along(directory: Path) -> None:
    description = robots.find("rx90")
    parameters = {"description_file": str(description), "side_file": str(description.with_suffix(".yaml"))}
    assert robot_parameters("rx90") == parameters
    own = str(directory / "side.yaml")
    assert robot_parameters("rx90", side_file=own) == {**parameters, "side_file": own}
    (directory / "arm.yaml").write_text("{}")
    assert "side_file" not in robot_parameters(str(directory / "arm.urdf"))


def test_without_a_robot_there_is_at_most_a_side_file(directory: Path) -> None:
    side = str(directory / "side.yaml")
    assert robot_parameters() == {}
    assert robot_parameters(side_file=side) == {"side_file": side}


def test_xacro_gets_the_file_and_the_arguments_as_they_are(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(directory, 'for word in "$@"; do echo "<$word>"; done; echo told >&2', monkeypatch)
    file = str(directory / "arm.urdf.xacro")
    given = robot_parameters(description_file=file, xacro_arguments="a:=b 'c:=two words'")
    assert given == {"robot_description": f"<{file}>\n<a:=b>\n<c:=two words>\n"}


def test_xacro_that_fails_is_quoted(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(directory, 'echo "error: no such property" >&2; echo "in line 3" >&2; exit 2', monkeypatch)
    with pytest.raises(DynError) as caught:
        expanded(str(directory / "arm.urdf.xacro"), ())
    assert str(caught.value).endswith(
        "arm.urdf.xacro: xacro cannot expand it: error: no such property in line 3"
    )
    (directory / "xacro").write_text("#!/no/such/interpreter")
    with pytest.raises(DynError, match="xacro cannot be started: No such file or directory"):
        expanded(str(directory / "arm.urdf.xacro"), ())
    program(directory, "exit 3", monkeypatch)
    with pytest.raises(DynError, match="xacro cannot expand it: exit code 3"):
        expanded(str(directory / "arm.urdf.xacro"), ())


@pytest.mark.skipif(shutil.which("xacro") is None, reason="xacro is not installed")
def test_the_real_xacro(directory: Path) -> None:
    file = directory / "arm.urdf.xacro"
    arguments = (
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="of" default="a"/>'
    )
    file.write_text(arguments + '<link name="$(arg of)"/></robot>')
    assert '<link name="b"/>' in robot_parameters(str(file), xacro_arguments="of:=b")["robot_description"]
    file.write_text(arguments + '<link name="${nothing}"/></robot>')
    with pytest.raises(DynError, match=r"xacro cannot expand it: .*nothing"):
        robot_parameters(str(file))


MISTAKES = {
    "both": ({"robot": "rrp", "description_file": "x.urdf"}, "both robot .'rrp'. and description_file"),
    "unknown robot": ({"robot": "rx91"}, "there is no robot named 'rx91': choose one of akr3000, "),
    "missing file": (
        {"description_file": "/no/such.urdf"},
        "description_file is '/no/such.urdf': there is no",
    ),
    "missing xacro file": ({"robot": "/no/such.xacro"}, "robot is '/no/such.xacro': there is no such file"),
    "unknown user": ({"robot": "~nobody-of-that-name/x.urdf"}, "robot is '~nobody-of-that-name/x.urdf'"),
    "directory": ({"description_file": "{directory}"}, "my robots': that is a directory"),
    "missing side file": ({"robot": "rrp", "side_file": "/no.yaml"}, "side_file is '/no.yaml': there is no"),
    "arguments without xacro": (
        {"robot": "rrp", "xacro_arguments": "a:=b"},
        "xacro_arguments are given .'a:=b'., but the robot is not a file that ends in .xacro",
    ),
    "arguments without a robot": ({"xacro_arguments": "a:=b"}, "the robot is not a file that ends in .xacro"),
    "open quote": (
        {"robot": "{directory}/arm.urdf.xacro", "xacro_arguments": "a:='b"},
        "xacro_arguments are 'a:='b': No closing quotation",
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes(case: str, directory: Path) -> None:
    given, sentence = MISTAKES[case]
    with pytest.raises(DynError, match=sentence):
        robot_parameters(**{name: text.format(directory=directory) for name, text in given.items()})


def test_without_xacro_it_is_said_what_to_install(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(directory))
    monkeypatch.setenv("ROS_DISTRO", "kilted")
    with pytest.raises(
        DynError, match=r"arm.urdf.xacro' is for xacro.* install ros-kilted-xacro, or give a URDF"
    ):
        robot_parameters(str(directory / "arm.urdf.xacro"))


def test_a_description_has_what_is_needed(directory: Path) -> None:
    file = directory / "arm.urdf"
    with pytest.raises(DynError, match=r"arm\.urdf has no <ros2_control> element"):
        description_text({"description_file": str(file)}, "ros2_control")
    with pytest.raises(DynError, match="what xacro has made has no <ros2_control> element"):
        description_text({"robot_description": URDF}, "ros2_control")
    text = URDF.replace("<link", "<ros2_control/><link")
    assert description_text({"robot_description": text}, "ros2_control") == text
    file.write_text(text)
    assert description_text({"description_file": str(file)}, "ros2_control") == text


def test_packages_and_files_are_there_or_named(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed_package("dyn_nodes")
    monkeypatch.setenv("ROS_DISTRO", "jazzy")
    with pytest.raises(DynError, match="no_such_package is not installed: install ros-jazzy-no-such-package"):
        installed_package("no_such_package")
    monkeypatch.chdir(directory)
    assert existing("params_file", "side.yaml") == str(directory / "side.yaml")
