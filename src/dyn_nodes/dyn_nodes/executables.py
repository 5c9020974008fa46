# SPDX-License-Identifier: Apache-2.0
"""The programs: a signal ends nodes with exit code 0 also while their modules are imported, `demo` with 130.

Importing takes half a second, in which Python would print a traceback for SIGINT. The module of a node is
imported when its program is called; `run` of `common/lifecycle/process.py` then takes the signals over.
"""

from __future__ import annotations

import os
import signal
from functools import partial
from importlib import import_module
from types import FrameType


def _program(module: str, ended: int = 0, told: str = "") -> int:
    """Import a module, run its main function, and return the exit code; `ended` is that after a signal."""

    def end(number: int, frame: FrameType | None) -> None:
        """End at once: imports turn an exception into another, and nothing has begun."""
        os.write(2, told.encode())
        os._exit(ended)

    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, end)
    code: int = import_module(f"dyn_nodes.{module}").main()
    return code


feedforward = partial(_program, "feedforward.node")
simulation = partial(_program, "simulation.node")
controller = partial(_program, "controller.node")
governor = partial(_program, "governor.node")
identification = partial(_program, "identification.node")
compose = partial(_program, "compose")
demo = partial(_program, "demo", 130, "demo: stopped\n")
