# SPDX-License-Identifier: Apache-2.0
"""What a command that takes long is doing, on standard error."""

from __future__ import annotations

import sys
import time


class Stages:
    """Tells stages where somebody watches: on a terminal."""

    def __init__(self, *, quiet: bool) -> None:
        """Begin; `quiet` tells nothing."""
        self._shown = not quiet and sys.stderr is not None and sys.stderr.isatty()
        self._began = time.monotonic()

    def __call__(self, stage: str) -> None:
        """Tell what begins now."""
        if self._shown:
            print(f"dyn: {self.elapsed:4.1f} s  {stage} ...", file=sys.stderr, flush=True)

    @property
    def elapsed(self) -> float:
        """Time since the beginning (s)."""
        return time.monotonic() - self._began
