# SPDX-License-Identifier: Apache-2.0
"""A node in a process of its own that ends with the one that started it."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO

_PR_SET_PDEATHSIG = 1
_STOP_LIMIT_S = 5.0


@contextmanager
def node_process(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    stderr: int | IO[str] | None = None,
) -> Iterator[subprocess.Popen[str]]:
    """Run this interpreter with `arguments`; end it with SIGINT, or SIGKILL if that takes too long.

    The kernel ends it too if this process is killed.
    """
    child = subprocess.Popen(
        [sys.executable, *arguments],
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stderr=stderr,
        text=True,
        # Not in our process group: at Ctrl-C it is this process that ends it, in order.
        start_new_session=True,
        preexec_fn=_die_with_parent,
    )
    try:
        yield child
    finally:
        if child.poll() is None:
            child.send_signal(signal.SIGINT)
            try:
                child.wait(_STOP_LIMIT_S)
            except subprocess.TimeoutExpired:
                child.kill()
        child.wait()


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
