# SPDX-License-Identifier: Apache-2.0
"""The installed robots, and node parameters for the robot that the arguments of a launch file name.

This module does not need `launch`.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_prefix, get_package_share_directory

from dyn_core import DynError
from dyn_core.core.text import read_text
from dyn_core.robot.robot_files import expanded, find_robot, robot_files, side_file_beside


def robot_directory() -> Path:
    """Return the folder of the installed robot descriptions."""
    return Path(get_package_share_directory("dyn_nodes")) / "config" / "robots"


def installed_side_file(description: Path) -> Path | None:
    """Return the side file of an installed robot; None where it has none, or the robot is not installed."""
    return side_file_beside(description) if description in robot_files().values() else None


def robot_parameters(
    robot: str = "",
    description_file: str = "",
    side_file: str = "",
    xacro_arguments: str = "",
    dynamic_parameters_file: str = "",
) -> dict[str, str]:
    """Return the parameters that select the robot; none where it comes from the topic.

    `robot` is an installed robot or a path as `description_file`. Without `side_file`, an installed robot has
    its own. `xacro_arguments` are as in a shell. Empty texts are arguments that are not given.

    Raises:
        DynError: a file does not exist, both robot and description_file are given, or xacro fails.
    """
    if robot and description_file:
        raise DynError("robot-argument-repeated", robot=robot, path=description_file)
    files = {"side_file": side_file, "dynamic_parameters_file": dynamic_parameters_file}
    parameters = {name: existing(name, path) for name, path in files.items() if path}
    if robot:
        found = find_robot(robot)
        path = existing("robot", found)
        if not side_file and (beside := installed_side_file(found)):
            parameters["side_file"] = str(beside)
    elif description_file:
        path = existing("description_file", description_file)
    else:
        path = ""
    is_xacro = path.endswith(".xacro")
    if xacro_arguments and not is_xacro:
        raise DynError("xacro-arguments-unused", given=xacro_arguments)
    if is_xacro:
        parameters["robot_description"] = expanded(path, _words(xacro_arguments))
    elif path:
        parameters["description_file"] = path
    return parameters


def description_text(parameters: Mapping[str, str], element: str) -> str:
    """Return the URDF of the robot that parameters name; DynError where it lacks an element."""
    text = parameters.get("robot_description") or read_text(parameters["description_file"])
    if f"<{element}" not in text:
        if "description_file" in parameters:
            raise DynError("description-tag-missing", path=parameters["description_file"], tag=element)
        raise DynError("xacro-tag-missing", tag=element)
    return text


def installed_package(package: str) -> None:
    """Raise DynError unless a ROS package is installed."""
    try:
        get_package_prefix(package)
    except PackageNotFoundError as problem:
        name = f"ros-{_distribution()}-{package.replace('_', '-')}"
        raise DynError("package-missing", package=package, system_package=name) from problem


def existing(argument: str, path: str | os.PathLike[str]) -> str:
    """Return the absolute path of a file that an argument gives; DynError where the file does not exist."""
    file = Path(os.path.expanduser(path))  # noqa: PTH111 - an unknown ~user is left as it is
    if not file.is_file():
        if file.is_dir():
            raise DynError("argument-file-is-directory", argument=argument, path=str(path))
        raise DynError("argument-file-missing", argument=argument, path=str(path))
    return str(file.absolute())


def _distribution() -> str:
    return os.environ.get("ROS_DISTRO", "jazzy")


def _words(xacro_arguments: str) -> list[str]:
    try:
        return shlex.split(xacro_arguments)
    except ValueError as problem:
        raise DynError("xacro-arguments-malformed", given=xacro_arguments, reason=problem) from problem
