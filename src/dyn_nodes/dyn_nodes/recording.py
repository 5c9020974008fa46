# SPDX-License-Identifier: Apache-2.0
"""Joint states on their way into a file: what was recorded stays there, whatever happens to the process."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from itertools import compress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dyn_core import DynError
from dyn_nodes.joint_state_bytes import Stamp

_FLUSH_S = 0.1
"""Longest time that samples wait before the system has them."""


class Recording:
    """A CSV file of joint states, line by line, as `dyn log` reads it.

    Attributes:
        file: where it is.
        samples: lines that were written.
        problem: why nothing can be written any more; None where all is well.
    """

    def __init__(self, file: Path, joint_names: Sequence[str]) -> None:
        """Begin a file of these joints; DynError where that is not possible."""
        self.file = file
        self.samples = 0
        self.problem: str | None = None
        self._names = tuple(joint_names)
        self._flushed = time.monotonic()
        self._last: tuple[int, int] | None = None
        self._kinds: tuple[bool, bool] | None = None
        try:
            self._stream = file.open("x", encoding="utf-8", newline="\n")
        except OSError as error:
            raise DynError(f"cannot write '{file}': {error.strerror}") from error

    def add(
        self,
        stamp: Stamp,
        q: NDArray[np.float64],
        qd: NDArray[np.float64] | None,
        tau: NDArray[np.float64] | None,
    ) -> None:
        """Write a sample; one with the stamp of the one before is left out.

        Args:
            stamp: its time.
            q: positions (rad or m), (n,).
            qd: velocities (rad/s or m/s), (n,), or None; the first sample says whether there are any.
            tau: efforts (N m or N), (n,), or None; as well.
        """
        at = (stamp.sec, stamp.nanosec)
        if at == self._last or self.problem is not None:
            return
        self._last = at
        if self._kinds is None:
            self._kinds = (qd is not None, tau is not None)
            kinds = ("position", *compress(("velocity", "effort"), self._kinds))
            self._write(",".join(("time", *(f"{kind}.{name}" for kind in kinds for name in self._names))))
        values = q.tolist()
        for numbers in compress((qd, tau), self._kinds):
            values += [math.nan] * len(q) if numbers is None else numbers.tolist()
        self._write(f"{stamp.sec}.{stamp.nanosec:09d},{','.join(map(repr, values))}")
        self.samples += 1

    def close(self) -> None:
        """End the file."""
        try:
            self._stream.close()
        except OSError as error:
            self.problem = self._sentence(error)

    def _write(self, line: str) -> None:
        try:
            self._stream.write(line + "\n")
            now = time.monotonic()
            if now - self._flushed > _FLUSH_S:
                self._flushed = now
                self._stream.flush()
        except OSError as error:
            self.problem = self._sentence(error)

    def _sentence(self, error: OSError) -> str:
        return f"cannot write '{self.file}': {error.strerror}"
