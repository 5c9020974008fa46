# SPDX-License-Identifier: Apache-2.0
"""Warnings in the log, each cause once in a while."""

from __future__ import annotations

import time
from collections.abc import Callable

_MOST = 10
"""How many causes are warned of at most in the time after which they are warned of again."""
_MORE = "more is wrong than is told here"


class Complaints:
    """Warns of each cause at most once in some time: what goes on being bad at 1 kHz would flood the log.

    Nor does what is bad in a new way each time: it warns of a few causes in that time, and then of none.
    """

    def __init__(
        self, warn: Callable[[str], object], every_s: float, steady: Callable[[], float] = time.monotonic
    ) -> None:
        """Warn by `warn`, of each cause not more often than every `every_s` of the clock `steady` (s)."""
        self._warn = warn
        self._every_s = every_s
        self._steady = steady
        self._said: dict[str, float] = {}

    def say(self, sentence: str, cause: str) -> bool:
        """Warn with a sentence, unless its cause was warned of just now; answer whether it was said."""
        now = self._steady()
        # Causes may name what came in messages: those that are long past are not kept.
        self._said = {c: at for c, at in self._said.items() if now - at < self._every_s}
        if cause in self._said:
            return False
        told = len(self._said) < _MOST
        if not told:
            cause, sentence = _MORE, f"{_MORE}: see /diagnostics"
        if cause not in self._said:
            self._said[cause] = now
            self._warn(sentence)
        return told
