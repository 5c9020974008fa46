# SPDX-License-Identifier: Apache-2.0
"""Recording of joint states into a file in the directory of a run."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import re
import time
from collections.abc import Callable, Sequence
from itertools import compress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dyn_core import DynError
from dyn_nodes.common.messages.joint_state_bytes import Stamp

LOG = "log.csv"
_FLUSH_S = 0.1
"""Longest time until samples are passed to the system (s)."""


def new_directory(below: Path, robot_name: str) -> Path:
    """Create a directory named after robot and time, and return it; DynError where this fails."""
    safe = re.sub(r"[^\w.-]+", "_", robot_name)[:60] or "robot"
    name = f"{safe}_{time.strftime('%Y%m%d_%H%M%S', time.localtime())}"
    try:
        below.mkdir(parents=True, exist_ok=True)
        for k in itertools.count(1):
            directory = below / (name if k == 1 else f"{name}_{k}")
            with contextlib.suppress(FileExistsError):
                directory.mkdir()
                return directory
    except OSError as error:
        raise DynError("directory-not-created", directory=below, reason=error.strerror) from error
    raise AssertionError


class Recording:
    """A CSV file of joint states, line by line, as `dyn log` reads it; it survives the end of the process.

    Attributes:
        file: its path.
        samples: number of written lines; after a write error, number of complete lines at the end.
        problem: reason why nothing more can be written; None where it can.
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
        """Create a file for these joints; DynError where this fails.

        `velocity` and `effort` say whether samples have velocities and efforts; `steady` is a clock that
        never goes back (s).
        """
        self.file = file
        self._steady = steady
        self.samples = 0
        self.problem: DynError | None = None
        self._last: tuple[int, int] | None = None
        self._kinds = (velocity, effort)
        kinds = ("position", *compress(("velocity", "effort"), self._kinds))
        try:
            self._stream = file.open("x", encoding="utf-8", newline="\n")
        except OSError as error:
            raise self._unwritable(error) from error
        self._opened = os.fstat(self._stream.fileno())
        self._flushed = -math.inf
        self._write(",".join(("time", *(f"{kind}.{name}" for kind in kinds for name in joint_names))))
        if self.problem is not None:
            self.close()
            file.unlink(missing_ok=True)
            raise self.problem

    def add(
        self,
        stamp: Stamp,
        q: NDArray[np.float64],
        qd: NDArray[np.float64] | None,
        tau: NDArray[np.float64] | None,
    ) -> None:
        """Write positions (rad or m), velocities (rad/s or m/s) and efforts (N m or N), (n,) each.

        A sample with the stamp of the last one is skipped.
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
        """Close the file."""
        if self._stream.closed:
            return
        try:
            self._stream.close()
            self._look()
        except OSError as error:
            self.problem = self.problem or self._unwritable(error)
        if self.problem is not None:
            self._keep_complete_lines()

    def _keep_complete_lines(self) -> None:
        """After a write error, keep and count the complete lines only."""
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
            self.problem = self._unwritable(error)

    def _look(self) -> None:
        """Detect that the file was removed, because then nothing is saved."""
        try:
            there = os.path.samestat(self._opened, self.file.stat())
        except OSError:
            there = False
        if not there:
            self.problem = DynError("recording-removed", path=self.file)

    def _unwritable(self, error: OSError) -> DynError:
        return DynError("file-unwritable", path=self.file, reason=error.strerror)
