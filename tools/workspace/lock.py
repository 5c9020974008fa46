# SPDX-License-Identifier: Apache-2.0
"""Allow one command at a time in a checkout, and end processes left by a killed command."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import layout
from layout import ROOT, STATE
from process import OWNER_VARIABLE

FILE = STATE / "lock"


@contextmanager
def exclusive() -> Iterator[None]:
    """Hold the checkout's lock; report and wait while another command holds it."""
    with FILE.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            print(
                f"workspace: another command (process {file.read().strip() or '?'}) uses this checkout; "
                "waiting for it to end",
                file=sys.stderr,
                flush=True,
            )
            fcntl.flock(file, fcntl.LOCK_EX)
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        _end_orphans()
        layout.prepare()  # the previous command may have been distclean
        yield


def _end_orphans() -> None:
    """Kill the processes that a killed command of this checkout left running.

    This process holds the lock, so all processes with the mark of this checkout have lost their parent.
    """
    mark = f"{OWNER_VARIABLE}={ROOT}".encode()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            marked = mark in (entry / "environ").read_bytes().split(b"\0")
            if marked and int(entry.name) != os.getpid():
                os.kill(int(entry.name), signal.SIGKILL)
        except OSError:
            continue
