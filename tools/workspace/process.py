# SPDX-License-Identifier: Apache-2.0
"""Child processes that always end with this tool."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType

from failure import Failure
from layout import ROOT

OWNER_VARIABLE = "DYN_WORKSPACE_RUN"
"""Environment variable that marks the processes of a checkout; its value is the path of the checkout."""

_PR_SET_PDEATHSIG = 1
_STOP_LIMIT_S = 5.0


def die_with_parent() -> None:
    """Ask the kernel to end this process when its parent dies (on Linux; elsewhere this does nothing)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _stop(child: subprocess.Popen[bytes]) -> None:
    """End the whole group of `child` with SIGINT, SIGTERM and SIGKILL in turn."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, number)
            child.wait(timeout=_STOP_LIMIT_S)
        except ProcessLookupError:
            break
        except subprocess.TimeoutExpired:
            continue
    child.wait()
    _sweep(child.pid)


def call(
    command: Sequence[str | Path],
    environment: Mapping[str, str],
    *,
    log: Path | None = None,
    directory: Path = ROOT,
    limit_s: float | None = None,
) -> int:
    """Run `command` in its own process group and return its exit code.

    Output goes to the terminal, or to the file `log`. SIGINT, SIGTERM and the end of `limit_s` seconds
    stop the whole group.
    """
    variables = {**environment, OWNER_VARIABLE: str(ROOT)}
    with (log or Path(os.devnull)).open("wb") as sink:
        child = subprocess.Popen(
            [str(word) for word in command],
            cwd=directory,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=sink if log else None,
            stderr=subprocess.STDOUT if log else None,
            start_new_session=True,
            preexec_fn=die_with_parent,
        )

        def interrupt(number: int, frame: FrameType | None) -> None:
            raise KeyboardInterrupt(number)

        previous = {n: signal.signal(n, interrupt) for n in (signal.SIGINT, signal.SIGTERM)}
        try:
            return child.wait(timeout=limit_s)
        except subprocess.TimeoutExpired:
            raise Failure(
                f"'{Path(command[0]).name}' did not end within {limit_s:g} s and was stopped"
            ) from None
        finally:
            for n in previous:
                signal.signal(n, signal.SIG_IGN)
            _stop(child) if child.returncode is None else _sweep(child.pid)
            for n, handler in previous.items():
                signal.signal(n, handler)


def _sweep(group: int) -> None:
    """End the processes that a finished command left in its group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def tail(log: Path, lines: int = 12) -> str:
    """The last `lines` lines of a log file."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
