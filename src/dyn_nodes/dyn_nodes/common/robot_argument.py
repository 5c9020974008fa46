# SPDX-License-Identifier: Apache-2.0
"""The installed robots, and node parameters for the robot that the arguments of a launch file name.

This module does not need `launch`.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_prefix, get_package_share_directory

from dyn_core import DynError
from dyn_core.core.text import read_text

_XACRO_LIMIT_S = 60.0


def robot_directory() -> Path:
    """Return the folder of the installed robot descriptions."""
    return Path(get_package_share_directory("dyn_nodes")) / "config" / "robots"


def robot_names() -> tuple[str, ...]:
    """Return the names of the installed robots, sorted."""
    return tuple(sorted(path.stem for path in robot_directory().glob("*.urdf")))


def installed_side_file(description: Path) -> Path | None:
    """Return the side file of an installed robot; None where it has none, or the robot is not installed."""
    beside = description.with_suffix(".yaml")
    return beside if description.parent == robot_directory() and beside.is_file() else None


def find_robot(name_or_path: str) -> Path:
    """Return the description file of an installed robot, or the given path.

    A path has a folder or the ending .urdf, .xacro or .par. Whether the file exists is not checked.
    """
    path = Path(os.path.expanduser(name_or_path))  # noqa: PTH111 - an unknown ~user is left as it is
    if path.suffix in (".urdf", ".xacro", ".par") or path.name != name_or_path:
        return path
    if name_or_path not in robot_names():
        known, element = ", ".join(robot_names()), f"robot '{name_or_path}'"
        raise DynError("robot-unknown", robot=name_or_path, known=known, element=element)
    return robot_directory() / f"{name_or_path}.urdf"


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


def expanded(file: str, arguments: Sequence[str]) -> str:
    """Return the URDF that xacro makes of a file; DynError where xacro fails."""
    program = shutil.which("xacro")
    if program is None:
        raise DynError("xacro-missing", path=file, distribution=_distribution())
    try:
        command, limit = [program, file, *arguments], _XACRO_LIMIT_S
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=limit, check=False
        )
    except subprocess.TimeoutExpired as problem:
        raise DynError("xacro-timeout", limit=_XACRO_LIMIT_S, file=file) from problem
    except OSError as problem:
        raise DynError("xacro-not-started", reason=problem.strerror, file=file) from problem
    if done.returncode:
        reason = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        raise DynError("xacro-failed", reason=reason, file=file)
    return done.stdout


def _distribution() -> str:
    return os.environ.get("ROS_DISTRO", "jazzy")


def _words(xacro_arguments: str) -> list[str]:
    try:
        return shlex.split(xacro_arguments)
    except ValueError as problem:
        raise DynError("xacro-arguments-malformed", given=xacro_arguments, reason=problem) from problem
