# SPDX-License-Identifier: Apache-2.0
"""Run `colcon test` and report its results."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence

import process
from environment import Environment
from failure import Failure
from layout import BUILD, SOURCES
from results import Totals, read

TESTED = ("dyn_core", "dyn_nodes")
"""Packages with tests; those of `test/`, which cross packages, run with dyn_nodes."""

_EVERYTHING = ("-m", "")
"""Overrides `-m "not exhaustive"` of pyproject.toml."""
_PROCESSES_PER_CORE = {"dyn_core": 1.0, "dyn_nodes": 2.0}
"""Tests of nodes mostly wait for messages."""
_MOST_PROCESSES = 16
"""Each test process of nodes reserves one of 100 DDS domains."""


def run(environment: Environment, variables: Mapping[str, str], *, exhaustive: bool = False) -> None:
    """Run the tests and print the totals; raise a Failure if a test fails or a package ran none.

    There is no limit on the whole, which would depend on the machine: `conftest.py` limits each test.

    Args:
        environment: of the interpreter.
        variables: environment variables of the built workspace.
        exhaustive: whether to run also the tests that are marked `exhaustive`.
    """
    files = {package: BUILD / package / "pytest.xml" for package in TESTED}
    for file in files.values():
        file.unlink(missing_ok=True)
    shutil.rmtree(BUILD / "dyn_nodes" / "logs", ignore_errors=True)
    start = time.monotonic()
    chosen = _EVERYTHING if exhaustive else ()
    codes = [
        _colcon_test(environment, variables, name, (*_side_by_side(environment, variables, name), *chosen))
        for name in TESTED
    ]
    totals = {package: read(file) for package, file in files.items()}
    total = sum(totals.values(), Totals())
    print(f"\nworkspace: tests took {time.monotonic() - start:.0f} s")
    for reason in total.skipped:
        print(f"  skipped {reason}")
    for name in total.failed:
        print(f"  FAILED  {name}")
    print(total, flush=True)
    empty = [package for package, result in totals.items() if not result.ran]
    if empty:
        raise Failure(f"no test of {', '.join(empty)} ran")
    if total.failed or any(codes):
        raise Failure("tests failed" if total.failed else f"colcon test ended with code {max(codes)}")


def _colcon_test(
    environment: Environment, variables: Mapping[str, str], package: str, pytest_arguments: Sequence[str]
) -> int:
    return process.call(
        [
            *(environment.python, "-m", "colcon", "test"),
            *("--base-paths", SOURCES, "--packages-select", package),
            *("--event-handlers", "console_cohesion+", "--return-code-on-test-failure"),
            *(["--pytest-args", *pytest_arguments] if pytest_arguments else []),
        ],
        variables,
    )


def _side_by_side(environment: Environment, variables: Mapping[str, str], package: str) -> tuple[str, ...]:
    """Return the options that make pytest use all processors, where pytest-xdist is installed."""
    look = "import importlib.util, sys; sys.exit(importlib.util.find_spec('xdist') is None)"
    found = subprocess.run([environment.python, "-c", look], env=dict(variables), check=False)
    wanted = round(_PROCESSES_PER_CORE[package] * len(os.sched_getaffinity(0)))
    return () if found.returncode else ("-n", str(min(wanted, _MOST_PROCESSES)), "--dist", "worksteal")
