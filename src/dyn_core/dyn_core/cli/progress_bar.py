# SPDX-License-Identifier: Apache-2.0
"""A line on a terminal that tells how far something is."""

from __future__ import annotations

import sys

WIDTH = 30


class ProgressBar:
    """A bar on standard error where that is a terminal, and nothing elsewhere."""

    def __init__(self, quiet: bool = False) -> None:
        """Begin with nothing on the terminal.

        Args:
            quiet: whether there is to be no bar on a terminal either.
        """
        self._shown = not quiet and sys.stderr.isatty()
        self._last = ""

    def show(self, part: float, what: str) -> None:
        """Show which part is done, 0 to 1, and a few words after the bar."""
        if not self._shown:
            return
        full = min(WIDTH, max(0, round(part * WIDTH)))
        line = f"[{'#' * full}{'.' * (WIDTH - full)}] {100.0 * min(1.0, max(0.0, part)):3.0f} %  {what}"
        if line != self._last:
            self._print(line)

    def clear(self) -> None:
        """Take the bar away."""
        if self._last:
            self._print("")

    def _print(self, line: str) -> None:
        sys.stderr.write(f"\r{line}{' ' * (len(self._last) - len(line))}{'' if line else chr(13)}")
        sys.stderr.flush()
        self._last = line
