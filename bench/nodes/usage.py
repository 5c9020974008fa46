# SPDX-License-Identifier: Apache-2.0
"""Processor time and memory of a process, from the Linux kernel."""

from __future__ import annotations

import os
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def processor_time(pid: int) -> float:
    """Processor time of all threads of a process, in user and kernel mode (s)."""
    # The name of the program, in brackets, may contain spaces.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


def resident_memory(pid: int) -> float:
    """Resident memory (MB); statm would lack the pages that processors have not reported yet."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Rss:"):
            return int(line.split()[1]) * 1024e-6
    raise ValueError(f"the kernel does not say what memory process {pid} has")
