# SPDX-License-Identifier: Apache-2.0
"""The robot that the arguments of a launch file name, as parameters of the nodes; launch is not needed."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_prefix

from dyn_core import DynError
from dyn_core.core.errors import shortened
from dyn_core.core.text import read_text
from dyn_nodes import robots

_XACRO_LIMIT_S = 60.0


def robot_parameters(
    robot: str = "",
    description_file: str = "",
    side_file: str = "",
    xacro_arguments: str = "",
    dynamic_parameters_file: str = "",
) -> dict[str, str]:
    """Answer the parameters that say which robot it is; none where it comes from the topic.

    Args:
        robot: an installed robot, or as `description_file`; empty for that.
        description_file: path of a URDF or xacro file; empty for none.
        side_file: path of a side file; empty for that of an installed robot, where it has one.
        xacro_arguments: for xacro, as in a shell.
        dynamic_parameters_file: path of a file that dyn identify has written; empty for none.

    Raises:
        DynError: a file does not exist, both robot and description_file are given, or xacro fails.
    """
    if robot and description_file:
        raise DynError(
            f"both robot ('{robot}') and description_file ('{description_file}') are given: "
            "leave one of them out"
        )
    files = {"side_file": side_file, "dynamic_parameters_file": dynamic_parameters_file}
    parameters = {name: existing(name, path) for name, path in files.items() if path}
    if robot:
        found = robots.find(robot)
        path = existing("robot", found)
        if not side_file and (beside := robots.side_file(found)):
            parameters["side_file"] = str(beside)
    elif description_file:
        path = existing("description_file", description_file)
    else:
        path = ""
    is_xacro = path.endswith(".xacro")
    if xacro_arguments and not is_xacro:
        raise DynError(
            f"xacro_arguments are given ('{xacro_arguments}'), "
            "but the robot is not a file that ends in .xacro"
        )
    if is_xacro:
        parameters["robot_description"] = expanded(path, _words(xacro_arguments))
    elif path:
        parameters["description_file"] = path
    return parameters


def description_text(parameters: Mapping[str, str], element: str) -> str:
    """Answer the URDF of the robot that parameters name; DynError where it lacks an element."""
    text = parameters.get("robot_description") or read_text(parameters["description_file"])
    if f"<{element}" not in text:
        where = parameters.get("description_file", "what xacro has made")
        raise DynError(f"{where} has no <{element}> element, which says how the robot is reached")
    return text


def installed_package(package: str) -> None:
    """Raise a DynError unless a package of ROS is installed."""
    try:
        get_package_prefix(package)
    except PackageNotFoundError as problem:
        name = f"ros-{_distribution()}-{package.replace('_', '-')}"
        raise DynError(f"the package {package} is not installed: install {name}") from problem


def existing(argument: str, path: str | os.PathLike[str]) -> str:
    """Answer the absolute path of a file that an argument gives; DynError where there is none."""
    file = Path(os.path.expanduser(path))  # noqa: PTH111 - an unknown ~user is left as it is
    if not file.is_file():
        what = "that is a directory" if file.is_dir() else "there is no such file"
        raise DynError(f"{argument} is '{shortened(str(path), 200)}': {what}")
    return str(file.absolute())


def expanded(file: str, arguments: Sequence[str]) -> str:
    """Answer the URDF that xacro makes of a file; DynError where it makes none."""
    program = shutil.which("xacro")
    if program is None:
        raise DynError(
            f"'{file}' is for xacro, which is not installed: install ros-{_distribution()}-xacro, "
            "or give a URDF file"
        )
    try:
        done = subprocess.run(
            [program, file, *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_XACRO_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as problem:
        raise DynError(f"xacro has not ended after {_XACRO_LIMIT_S:g} s", file=file) from problem
    except OSError as problem:
        raise DynError(f"xacro cannot be started: {problem.strerror}", file=file) from problem
    if done.returncode:
        said = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        raise DynError(f"xacro cannot expand it: {shortened(said, 300)}", file=file)
    return done.stdout


def _distribution() -> str:
    return os.environ.get("ROS_DISTRO", "jazzy")


def _words(xacro_arguments: str) -> list[str]:
    try:
        return shlex.split(xacro_arguments)
    except ValueError as problem:
        raise DynError(f"xacro_arguments are '{xacro_arguments}': {problem}") from problem
