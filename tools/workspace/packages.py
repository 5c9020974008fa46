# SPDX-License-Identifier: Apache-2.0
"""`colcon build`, only when something changed, and the environment of what it built."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import process
from environment import Environment
from failure import Failure
from layout import BUILD, INSTALL, LOG, ROOT, SOURCES, STATE

PACKAGES = ("dyn_core", "dyn_msgs", "dyn_nodes")

_LIMIT_S = 1800.0
_STAMP = BUILD / "workspace-stamp"
_IGNORED = {"__pycache__", ".hypothesis", ".pytest_cache", ".mypy_cache", "test"}


def build(environment: Environment) -> dict[str, str]:
    """Build the three packages if anything changed; answer the variables of the built workspace."""
    wanted = f"{environment.identity}\n{_sources_digest()}"
    present = _STAMP.read_text() if _STAMP.is_file() else ""
    if present != wanted:
        if not present.startswith(environment.identity + "\n"):
            # A first build, one that was interrupted, or one for another ROS 2: start from nothing.
            clean()
        _STAMP.unlink(missing_ok=True)
        _colcon_build(environment)
        _STAMP.write_text(wanted)
    return {**environment.variables, **_built_variables(environment)}


def clean() -> None:
    """Remove what colcon made."""
    for directory in (BUILD, INSTALL, LOG):
        shutil.rmtree(directory, ignore_errors=True)


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


def _sources() -> Iterator[Path]:
    for directory in (SOURCES, ROOT / "launch", ROOT / "config"):
        for path in sorted(directory.rglob("*")):
            if path.is_file() and not _IGNORED.intersection(path.relative_to(directory).parts):
                yield path


def _sources_digest() -> str:
    digest = hashlib.sha256()
    for path in _sources():
        digest.update(f"{path.relative_to(ROOT)}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _built_variables(environment: Environment) -> dict[str, str]:
    """Source colcon's setup file and read the environment back."""
    answer = subprocess.run(
        ["bash", "-c", '. "$0" >&2 && exec env -0', INSTALL / "setup.bash"],
        # colcon's script does not quote the interpreter's path; this one never has spaces of ours in it.
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
