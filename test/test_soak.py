# SPDX-License-Identifier: Apache-2.0
"""Half a minute of what `make soak` does for ten: memory, rates and the watch over data at 1 kHz."""

from __future__ import annotations

import subprocess
import sys

from robot_files import ROOT


def test_half_a_minute_at_1_khz() -> None:
    command = [sys.executable, ROOT / "bench" / "run_nodes.py", "--strict", "--only", "soak", "--soak", "30"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
