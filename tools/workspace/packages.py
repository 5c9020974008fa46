# SPDX-License-Identifier: Apache-2.0
"""Run `colcon build` if something changed, and return the environment of the built workspace."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import process
from environment import Environment
from failure import Failure
from layout import BUILD, INSTALL, LOG, ROOT, SOURCES, STATE

PACKAGES = ("dyn_core", "dyn_msgs", "dyn_nodes")

_LIMIT_S = 1800.0
_STAMP = BUILD / "workspace-stamp.json"
_UNFINISHED = STATE / "build-unfinished"
_IGNORED = {"__pycache__", ".hypothesis", ".pytest_cache", ".mypy_cache", "test"}


def build(environment: Environment) -> dict[str, str]:
    """Build the three packages if anything changed; return the variables of the built workspace."""
    wanted = {"identity": environment.identity, "files": _sources()}
    present = _read_stamp()
    if present != wanted or not (INSTALL / "setup.bash").is_file():
        _remove_what_is_wrong(present, wanted)
        _UNFINISHED.touch()
        _STAMP.unlink(missing_ok=True)
        _colcon_build(environment)
        _STAMP.write_text(json.dumps(wanted))
        _UNFINISHED.unlink()
    return {**environment.variables, **_built_variables(environment)}


def clean() -> None:
    """Remove what colcon made."""
    for directory in (BUILD, INSTALL, LOG):
        shutil.rmtree(directory, ignore_errors=True)
    _UNFINISHED.unlink(missing_ok=True)


def _read_stamp() -> Any:
    try:
        return json.loads(_STAMP.read_text())
    except (OSError, ValueError):
        return None


def _remove_what_is_wrong(present: Any, wanted: Mapping[str, Any]) -> None:
    """Remove outdated files that an incremental build would keep."""
    if _UNFINISHED.exists():
        print("workspace: the last build was interrupted; building from scratch", flush=True)
        removed = set(PACKAGES)
    elif present is None:
        return  # no build yet, or a manual build that colcon can continue
    elif present["identity"] != wanted["identity"]:
        print("workspace: the last build was for another ROS 2 or place; building from scratch", flush=True)
        removed = set(PACKAGES)
    else:
        removed = {_package_of(name) for name in set(present["files"]) - set(wanted["files"])}
    for package in removed:
        for directory in (BUILD, INSTALL):
            shutil.rmtree(directory / package, ignore_errors=True)


def _package_of(name: str) -> str:
    """The package that installs a source file."""
    parts = Path(name).parts
    return parts[1] if parts[0] == "src" else "dyn_nodes"


def _colcon_build(environment: Environment) -> None:
    start = time.monotonic()
    print("workspace: building ...", flush=True)
    log = STATE / "build.log"
    code = process.call(
        [
            *(environment.python, "-m", "colcon", "build"),
            *("--base-paths", SOURCES, "--packages-select", *PACKAGES),
            *("--event-handlers", "console_cohesion+"),
            *("--cmake-args", "-DCMAKE_BUILD_TYPE=Release", *environment.cmake_arguments),
        ],
        environment.variables,
        log=log,
        limit_s=_LIMIT_S,
    )
    if code:
        raise Failure(f"colcon build failed; the end of {log} says:\n{process.tail(log)}")
    print(f"workspace: built in {time.monotonic() - start:.0f} s", flush=True)


def _sources() -> dict[str, str]:
    """SHA-256 of each file that the build depends on, by path in the checkout."""
    return {
        str(path.relative_to(ROOT)): hashlib.sha256(path.read_bytes()).hexdigest()
        for directory in (SOURCES, ROOT / "launch", ROOT / "config")
        for path in sorted(directory.rglob("*"))
        if path.is_file() and not _IGNORED.intersection(path.relative_to(directory).parts)
    }


def _built_variables(environment: Environment) -> dict[str, str]:
    """Source colcon's setup file and read the environment back."""
    answer = subprocess.run(
        ["bash", "-c", '. "$0" >&2 && exec env -0', INSTALL / "setup.bash"],
        # colcon's script does not quote this path; the resolved one is outside of the checkout.
        env={**environment.variables, "COLCON_PYTHON_EXECUTABLE": str(Path(sys.executable).resolve())},
        capture_output=True,
        check=False,
    )
    if answer.returncode:
        raise Failure(
            f"{INSTALL / 'setup.bash'} cannot be sourced ({answer.stderr.decode().strip()}); "
            "run 'make clean' and try again"
        )
    pairs = answer.stdout.decode().split("\0")
    variables = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
    variables.pop("COLCON_PYTHON_EXECUTABLE")
    return variables
