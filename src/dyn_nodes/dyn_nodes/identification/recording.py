# SPDX-License-Identifier: Apache-2.0
"""Joint states on their way into a file: what was recorded stays there, whatever happens to the process."""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Callable, Sequence
from itertools import compress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dyn_core import DynError
from dyn_nodes.common.messages.joint_state_bytes import Stamp

_FLUSH_S = 0.1
"""Longest time that samples wait before the system has them."""


class Recording:
    """A CSV file of joint states, line by line, as `dyn log` reads it.

    Attributes:
        file: where it is.
        samples: lines that were written; of what could not be, those that are there at the end.
        problem: why nothing can be written any more; None where all is well.
    """

    def __init__(
        self,
        file: Path,
        joint_names: Sequence[str],
        *,
        velocity: bool,
        effort: bool,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin a file of these joints; DynError where that is not possible.

        Args:
            file: where it is to be.
            joint_names: the joints, in order.
            velocity: whether samples have velocities.
            effort: whether they have efforts.
            steady: a clock that never goes back (s).
        """
        self.file = file
        self._steady = steady
        self.samples = 0
        self.problem: str | None = None
        self._last: tuple[int, int] | None = None
        self._kinds = (velocity, effort)
        kinds = ("position", *compress(("velocity", "effort"), self._kinds))
        try:
            self._stream = file.open("x", encoding="utf-8", newline="\n")
        except OSError as error:
            raise DynError(self._sentence(error)) from error
        self._opened = os.fstat(self._stream.fileno())
        self._flushed = -math.inf
        self._write(",".join(("time", *(f"{kind}.{name}" for kind in kinds for name in joint_names))))
        if self.problem is not None:
            self.close()
            file.unlink(missing_ok=True)
            raise DynError(self.problem)

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
            qd: velocities (rad/s or m/s), (n,), where the file has them.
            tau: efforts (N m or N), (n,), as well.
        """
        at = (stamp.sec, stamp.nanosec)
        if at == self._last or self.problem is not None:
            return
        self._last = at
        values = q.tolist()
        for numbers in compress((qd, tau), self._kinds):
            values += [math.nan] * len(q) if numbers is None else numbers.tolist()
        self._write(f"{stamp.sec}.{stamp.nanosec:09d},{','.join(map(repr, values))}")
        self.samples += 1

    def close(self) -> None:
        """End the file."""
        if self._stream.closed:
            return
        try:
            self._stream.close()
            self._look()
        except OSError as error:
            self.problem = self.problem or self._sentence(error)
        if self.problem is not None:
            self._mend()

    def _mend(self) -> None:
        """Keep whole lines only, where not all could be written, and count them."""
        self.samples = 0
        with contextlib.suppress(OSError), self.file.open("rb+") as file:
            if os.path.samestat(self._opened, os.fstat(file.fileno())):
                whole = 0
                for line in file:
                    if line.endswith(b"\n"):
                        whole += len(line)
                        self.samples += 1
                file.truncate(whole)
                self.samples = max(self.samples - 1, 0)

    def _write(self, line: str) -> None:
        try:
            self._stream.write(line + "\n")
            now = self._steady()
            if now - self._flushed > _FLUSH_S:
                self._flushed = now
                self._stream.flush()
                self._look()
        except OSError as error:
            self.problem = self._sentence(error)

    def _look(self) -> None:
        """Notice that somebody has removed the file: what is written then is nowhere."""
        try:
            there = os.path.samestat(self._opened, self.file.stat())
        except OSError:
            there = False
        if not there:
            self.problem = f"'{self.file}' was removed while it was written"

    def _sentence(self, error: OSError) -> str:
        return f"cannot write '{self.file}': {error.strerror}"
