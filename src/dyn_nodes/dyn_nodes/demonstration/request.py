# SPDX-License-Identifier: Apache-2.0
"""The user's wish to end, by SIGINT or SIGTERM."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from dyn_nodes.demonstration.stopped import Stopped


class Stop:
    """Whether SIGINT or SIGTERM has come. It has a state: that, and whether to tell at once.

    Raised anywhere, an exception would come out of rclpy's C++ as another one, and could leave a process or a
    temporary file behind. So it is raised where the program asks, or in parts that say they can bear it.
    """

    def __init__(self) -> None:
        """Listen from now on."""
        self._asked = False
        self._tells_at_once = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)

    def check(self) -> None:
        """Raise Stopped if a signal has come."""
        if self._asked:
            raise Stopped

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Raise Stopped whenever a signal comes: for what only computes, for long."""
        self._tells_at_once = True
        try:
            self.check()
            yield
        finally:
            self._tells_at_once = False
        self.check()

    def _on_signal(self, *_: object) -> None:
        self._asked = True
        if self._tells_at_once:
            raise Stopped
