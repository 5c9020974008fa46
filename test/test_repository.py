# SPDX-License-Identifier: Apache-2.0
"""What `colcon build` installs is what users and `ros2 launch`, `ros2 run` look for."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from ament_index_python.packages import get_package_prefix, get_package_share_directory
from robot_files import ROOT

from dyn_nodes.compose import NODES

INSTALLED = ("launch/*.launch.py", "config/*.yaml", "config/robots/*", "config/ros2_control/*")


@pytest.mark.parametrize("pattern", INSTALLED)
def test_launch_and_config_are_installed_with_dyn_nodes(pattern: str) -> None:
    share = Path(get_package_share_directory("dyn_nodes"))
    sources = {path.relative_to(ROOT): path.read_bytes() for path in ROOT.glob(pattern)}
    assert sources
    assert sources == {path.relative_to(share): path.read_bytes() for path in share.glob(pattern)}


@pytest.mark.parametrize("package", ["dyn_core", "dyn_msgs", "dyn_nodes"])
def test_packages_are_in_the_ament_index(package: str) -> None:
    assert (Path(get_package_share_directory(package)) / "package.xml").is_file()


@pytest.mark.parametrize("package", ["dyn_core", "dyn_nodes"])
def test_packages_announce_their_types(package: str) -> None:
    assert list(Path(get_package_prefix(package)).rglob(f"{package}/py.typed"))


def test_the_command_dyn_is_on_the_path(ros_environment: dict[str, str]) -> None:
    command = ["dyn", "mdh", str(ROOT / "config" / "robots" / "rrp.urdf")]
    done = subprocess.run(
        command, env=ros_environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "gamma" in done.stdout


@pytest.mark.parametrize("node", NODES)
def test_each_node_has_a_launch_file_and_a_file_of_parameters(node: str) -> None:
    share = Path(get_package_share_directory("dyn_nodes"))
    assert (share / "launch" / f"{node}.launch.py").is_file()
    assert (share / "config" / f"{node}.yaml").is_file()


@pytest.mark.parametrize("node", NODES)
def test_each_node_is_where_ros2_run_looks(node: str, ros_environment: dict[str, str]) -> None:
    program = Path(get_package_prefix("dyn_nodes")) / "lib" / "dyn_nodes" / node
    assert os.access(program, os.X_OK)
    done = subprocess.run(
        [program, "--ros-args", "-p", "description_file:=/no/such.urdf"],
        env=ros_environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"{node}: ")
