# SPDX-License-Identifier: Apache-2.0
"""Reduction of the tracking error of PD control by feedforward in the demonstration."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bars import TRACKING, Bars


def print_tracking(bars: Bars) -> None:
    """Run `dyn_nodes.demo` and print a line for each run with feedforward."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "dyn_nodes.demo", "rx90", "--out", folder]
        done = subprocess.run(command, env=os.environ, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"bench: the demonstration has failed: {done.stdout}{done.stderr}")
        figures = json.loads((Path(folder) / "figures.json").read_text())
    alone, *others = figures["runs"]
    before = alone["overall_rms_error"]["rad"]
    print(f"Demonstration, rx90, RMS of the tracking error of all joints; PD alone: {1e3 * before:.3f} mrad.")
    print(f"{'control':46}{'error':>14}{'/PD alone':>11}  {'bar':14}{'worst joint':>12}")
    for run, bar in zip(others, TRACKING, strict=True):
        error, ratio = run["overall_rms_error"]["rad"], 1.0 / run["overall_factor"]["rad"]
        mark = bars.mark(f"{run['title']}, error", ratio, bar)
        worst = 1.0 / min(run["factor"])
        print(f"{run['title']:46}{1e3 * error:>9.3f} mrad{ratio:>11.4f}  {mark:14}{worst:>12.4f}", flush=True)
