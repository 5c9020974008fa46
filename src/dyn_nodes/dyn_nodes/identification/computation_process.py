# SPDX-License-Identifier: Apache-2.0
"""What the node `identification` has done in another process.

It is `python -m dyn_nodes.identification.computation_process`.

A request comes as bytes on stdin. On stdout go lines of JSON: progress, and at last an answer or a problem.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import pickle
import signal
import sys
from collections.abc import Callable
from typing import Any, TextIO

from dyn_core import DynError
from dyn_nodes.common.data_checks import one_line

_PR_SET_PDEATHSIG = 1
_NICE = 10


def main() -> int:
    """Do what is asked for; answer the exit code."""
    _end_with_parent()
    _leave_the_processor_to_others()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    # What others print must not come between our lines.
    ours = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    request = pickle.load(sys.stdin.buffer)
    try:
        answer = request(_Teller(ours))
    except DynError as problem:
        _say(ours, problem=one_line(str(problem)))
    except MemoryError:
        _say(ours, problem="there is not enough memory for it")
    else:
        _say(ours, answer=answer)
    return 0


class _Teller:
    """Tells how far the work is."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __call__(self, stage: int, fraction: float) -> None:
        _say(self._stream, stage=stage, fraction=fraction)


Tell = Callable[[int, float], None]
"""Takes the stage, and how much of it is done."""


def _say(stream: TextIO, **what: Any) -> None:
    stream.write(json.dumps(what) + "\n")
    stream.flush()


def _end_with_parent() -> None:
    """Have the system end this process when the node is gone, in whatever way."""
    parent = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)


def _leave_the_processor_to_others() -> None:
    """Compute when nobody else wants to, above all no controller; a node hands its real-time priority on."""
    with contextlib.suppress(OSError):  # where containers do not allow it
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    os.nice(_NICE)


if __name__ == "__main__":
    sys.exit(main())
