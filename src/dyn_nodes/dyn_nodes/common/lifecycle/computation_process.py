# SPDX-License-Identifier: Apache-2.0
"""The process for heavy work: `python -m dyn_nodes.common.lifecycle.computation_process [BYTES]`.

It reads a pickled request from stdin, and writes pickled pairs to stdout: ``("progress", ...)``,
``("log", (level, sentence))``, and at the end ``("answer", ...)`` or ``("problem", DynError)``. BYTES bounds
the memory of the process, and of each compiler that it starts.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import pickle
import resource
import signal
import sys
from collections.abc import Callable
from typing import Any

from dyn_core import DynError

_PR_SET_PDEATHSIG = 1
_NICE = 10
Tell = Callable[[str, Any], None]
"""Sends a message: its kind, and what it says."""


def main() -> int:
    """Do the request; return the exit code."""
    _end_with_parent()
    _lower_priority()
    if len(sys.argv) > 1:
        most = int(sys.argv[1])
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    # Output of libraries must not mix with the messages.
    ours = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def tell(kind: str, what: Any) -> None:
        pickle.dump((kind, what), ours)
        ours.flush()

    logging.getLogger("dyn_core").addHandler(_Told(tell))
    try:
        tell("answer", pickle.load(sys.stdin.buffer)(lambda *progress: tell("progress", progress)))
    except DynError as problem:
        tell("problem", problem)
    except MemoryError:
        tell("problem", DynError("memory-exhausted"))
    return 0


class _Told(logging.Handler):
    """Sends what is logged to the node."""

    def __init__(self, tell: Tell) -> None:
        super().__init__()
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        """Send a record."""
        self._tell("log", (record.levelno, record.getMessage()))


def _end_with_parent() -> None:
    """Let the kernel end this process when the node ends in any way."""
    parent = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)


def _lower_priority() -> None:
    """Run below the priority of all controllers; a process inherits the real-time priority of its node."""
    with contextlib.suppress(OSError):  # containers may not allow it
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    os.nice(_NICE)


if __name__ == "__main__":
    sys.exit(main())
