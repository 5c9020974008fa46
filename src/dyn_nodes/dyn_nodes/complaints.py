# SPDX-License-Identifier: Apache-2.0
"""Warnings in the log, each cause once in a while."""

from __future__ import annotations

import time
from collections.abc import Callable


class Complaints:
    """Warns of each cause at most once in some time: what goes on being bad at 1 kHz would flood the log."""

    def __init__(
        self, warn: Callable[[str], object], every_s: float, steady: Callable[[], float] = time.monotonic
    ) -> None:
        """Warn by `warn`, of each cause not more often than every `every_s` of the clock `steady` (s)."""
        self._warn = warn
        self._every_s = every_s
        self._steady = steady
        self._said: dict[str, float] = {}

    def say(self, sentence: str, cause: str) -> None:
        """Warn with a sentence, unless its cause was warned of just now."""
        now = self._steady()
        if now - self._said.get(cause, -self._every_s) < self._every_s:
            return
        # Causes may name what came in messages: those that are long past are not kept.
        self._said = {c: at for c, at in self._said.items() if now - at < self._every_s}
        self._said[cause] = now
        self._warn(sentence)
