# SPDX-License-Identifier: Apache-2.0
"""What was there some time ago, of things that come all the time."""

from __future__ import annotations

from typing import Generic, TypeVar

_Thing = TypeVar("_Thing")


class Lately(Generic[_Thing]):
    """Keeps one thing that came at least `span` before the newest one, and at most about twice as long.

    It has a state: the things.
    """

    def __init__(self, span: float) -> None:
        """Begin with nothing; `span` in the unit of the times."""
        self._span = span
        self.forget()

    def forget(self) -> None:
        """Begin again."""
        self._kept: list[tuple[float, _Thing]] = []
        self._newest = -float("inf")

    def add(self, time: float, thing: _Thing) -> None:
        """Take a thing that came at some time; where time went back, those before are forgotten."""
        if time < self._newest:
            self.forget()
        self._newest = time
        if not self._kept or time - self._kept[-1][0] >= self._span:
            self._kept = [*self._kept[-1:], (time, thing)]

    @property
    def earlier(self) -> _Thing | None:
        """The last that is at least `span` older than the newest; None where there is none."""
        old = [thing for time, thing in self._kept if self._newest - time >= self._span]
        return old[-1] if old else None
