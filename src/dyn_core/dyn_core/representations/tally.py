# SPDX-License-Identifier: Apache-2.0
"""A scalar that counts all operations that are done with it, as a program run as written does them."""

from __future__ import annotations

from collections import Counter

COUNTED = ("mul", "add", "div", "trig")


class Tally:
    """A value that is not known; operations on numbers alone are not counted, and signs cost nothing.

    Attributes:
        counts: how many operations of each kind were done with the values that share it.
    """

    __slots__ = ("counts",)

    def __init__(self, counts: Counter[str]) -> None:
        """Make a value whose operations are added to `counts`."""
        self.counts = counts

    def _add(self, _: object) -> Tally:
        self.counts["add"] += 1
        return self

    def _mul(self, _: object) -> Tally:
        self.counts["mul"] += 1
        return self

    def _div(self, _: object) -> Tally:
        self.counts["div"] += 1
        return self

    def sin(self) -> Tally:
        """Count a sine."""
        self.counts["trig"] += 1
        return self

    cos = sin

    def __neg__(self) -> Tally:
        """Count nothing."""
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = _add
    __mul__ = __rmul__ = _mul
    __truediv__ = __rtruediv__ = _div
