# SPDX-License-Identifier: Apache-2.0
"""One command at a time in a checkout, and no leftovers of one that was killed."""

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
    """Hold the checkout's lock; wait, and say so, while another command has it."""
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
        layout.prepare()  # the command before may have been the one that removes everything
        yield


def _end_orphans() -> None:
    """Kill the processes that a killed command of this checkout left running.

    The lock is ours, so whatever carries this checkout's mark has lost its owner.
    """
    mark = f"{OWNER_VARIABLE}={ROOT}".encode()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            marked = mark in (entry / "environ").read_bytes().split(b"\0")
            if marked and int(entry.name) != os.getpid():
                os.kill(int(entry.name), signal.SIGKILL)
        except OSError:
            continue
