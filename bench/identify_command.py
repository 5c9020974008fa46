# SPDX-License-Identifier: Apache-2.0
"""From a log to a report: `dyn identify` for 30 s of seven joints at 1 kHz, in three file formats."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bars import IDENTIFY_S, Bars
from log_files import FORMS

# The arm of the tests.
sys.path.append(str(Path(__file__).parents[1] / "src" / "dyn_core" / "test"))

from simulated_truth import RATE, SEVEN, arm, arm_urdf, exact_motion, sensed, with_drives

DURATION_S = 30.0
ROUNDS = 3


def print_identify(bars: Bars) -> None:
    """Print a line for each file format: least wall time of the whole command in several rounds."""
    print(f"dyn identify: {DURATION_S:g} s of an arm of seven joints at {RATE:g} Hz, from log to report.")
    print(f"{'log':8}{'wall time':>11}{'of the CPU':>12}{'held out':>10}  bar")
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "arm.urdf").write_text(arm_urdf(SEVEN))
        exact = exact_motion(with_drives(arm(SEVEN)), DURATION_S)
        motion = exact.time, *sensed(exact, seed=0)
        for form, write in FORMS.items():
            log = place / f"log.{form}"
            try:
                write(log, exact.joint_names, *motion)
            except ImportError as problem:
                print(f"{form:8}{problem.name} is not installed")
                continue
            wall, cpu, error = min(_timed(place, log) for _ in range(ROUNDS))
            mark = bars.mark(f"dyn identify from {form}", wall, IDENTIFY_S)
            print(f"{form:8}{wall:>9.2f} s{cpu:>10.2f} s{100 * error:>8.2f} %  {mark}", flush=True)


def _timed(place: Path, log: Path) -> tuple[float, float, float]:
    """Wall time and CPU time (s) of the command in a new interpreter, and the error that it found."""
    import json

    out = place / "out"
    command = [sys.executable, "-m", "dyn_core", "identify", str(place / "arm.urdf")]
    before = os.times()
    start = time.perf_counter()
    subprocess.run([*command, "--log", str(log), "--out", str(out), "--quiet"], check=True)
    wall = time.perf_counter() - start
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    result = json.loads((out / "result.json").read_text())
    return wall, cpu, result["held_out"]["relative_torque_error"]
