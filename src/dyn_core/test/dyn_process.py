# SPDX-License-Identifier: Apache-2.0
"""The command ``dyn`` in another process: run to its end, without a reader, or interrupted by Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import dyn_core

_VARIABLES = {**os.environ, "PYTHONPATH": str(Path(dyn_core.__file__).parents[1])}


def started(code: str, **options: object) -> subprocess.Popen[str]:
    """Start Python code that can import dyn_core, with pipes for its output."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": _VARIABLES}
    return subprocess.Popen([sys.executable, "-c", code], **{**pipes, **options})


def interrupted(process: subprocess.Popen[str], sign: str, of: str = "stdout") -> tuple[str, str]:
    """Press Ctrl-C as soon as a process has printed the line `sign`; return its remaining output."""
    assert getattr(process, of).readline() == f"{sign}\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    return out, err


def completed(*arguments: str, **options: Any) -> subprocess.CompletedProcess[Any]:
    """Run the command to its end."""
    given = {"capture_output": True, "text": True, "env": _VARIABLES, **options}
    return subprocess.run([sys.executable, "-m", "dyn_core", *arguments], check=False, **given)


def exit_code_without_reader(*arguments: str) -> int:
    """Run the command without input, and with a closed output; return its exit code."""
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-m", "dyn_core", *arguments], env=_VARIABLES, **pipes) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
        return process.wait(timeout=60)


def interrupted_at(stage: str, *arguments: str) -> tuple[int, str]:
    """Press Ctrl-C when the command reports a stage on a terminal; return exit code and remaining errors."""
    code = "import sys; from dyn_core.cli.main import main; sys.stderr.isatty = lambda: True"
    with started(f"{code}; sys.exit(main({list(arguments)!r}))", stdout=subprocess.DEVNULL) as process:
        next((line for line in process.stderr if stage in line), None)
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        return process.wait(60), rest
