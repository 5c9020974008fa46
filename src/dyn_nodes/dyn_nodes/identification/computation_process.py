# SPDX-License-Identifier: Apache-2.0
"""The process for heavy work: `python -m dyn_nodes.identification.computation_process`.

It reads a pickled request from stdin and writes lines of JSON to stdout: progress, a result or a problem.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import pickle
import signal
import sys
from typing import Any, TextIO

from dyn_core import DynError

_PR_SET_PDEATHSIG = 1
_NICE = 10


def main() -> int:
    """Do the request; return the exit code."""
    _end_with_parent()
    _lower_priority()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    # Output of libraries must not mix with these lines.
    ours = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    request = pickle.load(sys.stdin.buffer)
    try:
        result = request(lambda stage, fraction: _write(ours, stage=stage, fraction=fraction))
    except DynError as problem:
        _write(ours, problem=pickle.dumps(problem).hex())
    except MemoryError:
        _write(ours, problem=pickle.dumps(DynError("memory-exhausted")).hex())
    else:
        _write(ours, answer=result)
    return 0


def _write(stream: TextIO, **message: Any) -> None:
    stream.write(json.dumps(message) + "\n")
    stream.flush()


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
