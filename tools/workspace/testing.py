# SPDX-License-Identifier: Apache-2.0
"""`colcon test` and what came of it."""

from __future__ import annotations

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

_LIMIT_S = 2700.0


def run(environment: Environment, variables: Mapping[str, str]) -> None:
    """Run all tests, print the totals, fail when a test fails or a package ran none."""
    files = {package: BUILD / package / "pytest.xml" for package in TESTED}
    for file in files.values():
        file.unlink(missing_ok=True)
    shutil.rmtree(BUILD / "dyn_nodes" / "logs", ignore_errors=True)
    start = time.monotonic()
    # Nodes are tested one after the other: a processor that they share is a late message.
    side_by_side = {"dyn_core": _on_all_processors(environment, variables)}
    codes = [_colcon_test(environment, variables, name, side_by_side.get(name, ())) for name in TESTED]
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
        limit_s=_LIMIT_S,
    )


def _on_all_processors(environment: Environment, variables: Mapping[str, str]) -> tuple[str, ...]:
    """Answer what makes pytest run test files side by side, where pytest-xdist is installed."""
    look = "import importlib.util, sys; sys.exit(importlib.util.find_spec('xdist') is None)"
    found = subprocess.run([environment.python, "-c", look], env=dict(variables), check=False)
    return () if found.returncode else ("-n", "auto", "--dist", "loadfile")
