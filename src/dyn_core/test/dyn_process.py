# SPDX-License-Identifier: Apache-2.0
"""The command ``dyn`` in an interpreter of its own, with readers that go away and users who interrupt."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Literal

import dyn_core

_VARIABLES = {**os.environ, "PYTHONPATH": str(Path(dyn_core.__file__).parents[1])}


def started(code: str, **options: object) -> subprocess.Popen[str]:
    """Start Python code that can import dyn_core; what it prints can be read."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": _VARIABLES}
    return subprocess.Popen([sys.executable, "-c", code], **{**pipes, **options})


def interrupted(
    process: subprocess.Popen[str], sign: str, of: Literal["stdout", "stderr"] = "stdout"
) -> tuple[str, str]:
    """Press Ctrl-C when a process has printed a line; answer what it prints from then on.

    Args:
        process: the process.
        sign: the line that it is waited for.
        of: where it stands.
    """
    stream = getattr(process, of)
    assert stream.readline() == f"{sign}\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    return out, err


def exit_code_without_reader(*arguments: str) -> int:
    """Run the command with nothing to read and nobody who reads; answer its exit code. It says nothing."""
    with subprocess.Popen(
        [sys.executable, "-m", "dyn_core", *arguments],
        env=_VARIABLES,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        return process.wait(timeout=60)
