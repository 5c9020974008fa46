# SPDX-License-Identifier: Apache-2.0
"""Run programs to their end."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from ros_graph import GENEROUS_S


def finished(
    *command: str | Path, limit_s: float = GENEROUS_S, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end; the timeout only guards against a hang."""
    return subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=False, **options)
