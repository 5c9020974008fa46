# SPDX-License-Identifier: Apache-2.0
"""Requirements on the machine, and how to install what is missing."""

from __future__ import annotations

import importlib.util
import platform
import shutil
import sys
import sysconfig
from pathlib import Path

from failure import Failure

_TOOLS = {
    "a C compiler (cc)": (("cc", "gcc", "clang"), "build-essential"),
    "a C++ compiler (c++)": (("c++", "g++", "clang++"), "build-essential"),
    "CMake": (("cmake",), "cmake"),
    "make": (("make",), "make"),
    "git": (("git",), "git"),
    "bash": (("bash",), "bash"),
}


def require_build_tools() -> None:
    """Raise a Failure that names every missing program."""
    missing = {
        name: package
        for name, (programs, package) in _TOOLS.items()
        if not any(shutil.which(program) for program in programs)
    }
    if missing:
        raise Failure(
            f"this machine lacks {', '.join(missing)}; install with "
            f"'sudo apt install {' '.join(dict.fromkeys(missing.values()))}' or the like"
        )


def require_wheel_support() -> None:
    """Raise a Failure where the ROS 2 wheels cannot be used: platform, Python version, venv, headers."""
    system, machine = platform.system(), platform.machine()
    if (system, machine) != ("Linux", "x86_64"):
        raise Failure(
            f"no ROS 2 is sourced, and the ROS 2 wheels exist for Linux on x86_64 only, not for {system} "
            f"on {machine}; install ROS 2 Jazzy or later and source its setup file first"
        )
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    if not (3, 10) <= sys.version_info[:2] <= (3, 14):
        raise Failure(
            f"the ROS 2 wheels exist for Python 3.10 to 3.14, not for {version} ({sys.executable}); "
            "say which Python to use with 'make PYTHON=/path/to/python3.12 ...'"
        )
    if not all(importlib.util.find_spec(module) for module in ("venv", "ensurepip")):
        raise Failure(
            f"{sys.executable} cannot make virtual environments; "
            f"install with 'sudo apt install python{version}-venv'"
        )
    if not (Path(sysconfig.get_paths()["include"]) / "Python.h").is_file():
        raise Failure(
            f"the headers of {sys.executable} (Python.h) are missing; "
            f"install with 'sudo apt install python{version}-dev'"
        )
