# SPDX-License-Identifier: Apache-2.0
"""Time of a new interpreter to import the package, or to run a command.

``python bench/start_up.py`` prints this table alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from bars import START_S, Bars

ROUNDS = 10
ROBOT = str(Path(__file__).parents[1] / "config" / "robots" / "rx90.urdf")
PROGRAM = "import sys, dyn_command; sys.exit(dyn_command.main())"
MEASURED: dict[str, list[str]] = {
    "python, nothing": ["pass"],
    "import numpy": ["import numpy"],
    "import dyn_core": ["import dyn_core"],
    "import dyn_core, numpy": ["import dyn_core, numpy"],
    "from dyn_core import load_robot": ["from dyn_core import load_robot"],
    "from dyn_core import compile_model": ["from dyn_core import compile_model"],
    "dyn --version": [PROGRAM, "--version"],
    "dyn --help": [PROGRAM, "--help"],
    "dyn mdh --help": [PROGRAM, "mdh", "--help"],
    "dyn mdh rx90.urdf": [PROGRAM, "mdh", ROBOT],
    "dyn check rx90.urdf": [PROGRAM, "check", ROBOT],
    "dyn identify --help": [PROGRAM, "identify", "--help"],
}


def print_start_up(bars: Bars) -> None:
    """Print the least time of each program, with the start and the end of Python."""
    print(f"Start-up: least wall time of {ROUNDS} new interpreters each.")
    with tempfile.TemporaryDirectory() as cache:
        # The first round compiles all modules; the least time excludes it.
        variables = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": cache}
        rounds = [[_seconds(code, variables) for code in MEASURED.values()] for _ in range(ROUNDS)]
    for name, seconds in zip(MEASURED, map(min, zip(*rounds, strict=True)), strict=True):
        print(f"{name:36}{seconds:>8.3f} s  {bars.mark(f'{name} (s)', seconds, START_S.get(name))}")


def _seconds(code: list[str], variables: Mapping[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", *code], env=variables, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


if __name__ == "__main__":
    print_start_up(Bars())
