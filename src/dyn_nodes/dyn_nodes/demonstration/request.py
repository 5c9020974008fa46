# SPDX-License-Identifier: Apache-2.0
"""The request of the user: arguments of the demonstration, its progress, and its end by SIGINT or SIGTERM.

This module imports only the standard library: the command must react while the rest is imported.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


class Stopped(Exception):
    """The user stops the program."""


class Stop:
    """Whether SIGINT or SIGTERM has come. State: this, and whether to raise at once.

    An exception at any place would come out of the C++ of rclpy as a different one, and could leave a process
    or a temporary file behind. So it is raised by `check`, or within `at_once`.
    """

    def __init__(self) -> None:
        """Install the signal handlers."""
        self._stopped = self._raises_at_once = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)

    def check(self) -> None:
        """Raise Stopped if a signal has come."""
        if self._stopped:
            raise Stopped

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Raise Stopped as soon as a signal comes: for long computations."""
        self._raises_at_once = True
        try:
            self.check()
            yield
        finally:
            self._raises_at_once = False
        self.check()

    def _on_signal(self, *_: object) -> None:
        self._stopped = True
        if self._raises_at_once:
            raise Stopped


class Progress:
    """What the demonstration is doing, a line for each stage with the time since the beginning.

    The lines are the same on a terminal and in a log, and are written at once.
    """

    def __init__(self) -> None:
        """Begin."""
        self._began = self._last = time.monotonic()

    def __call__(self, stage: str) -> None:
        """Print the stage that begins now."""
        self._last = time.monotonic()
        print(f"  {self._last - self._began:5.1f} s  {stage} ...", flush=True)

    def of_run(self, part: float) -> None:
        """Print which part of a run is done, 0 to 1, where nothing was printed for `SILENCE_S`."""
        if time.monotonic() - self._last > SILENCE_S:
            self(f"{100.0 * min(max(part, 0.0), 1.0):.0f} % of this run")


SILENCE_S = 5.0
"""Longest time of a run without a line."""


@dataclass(frozen=True)
class DemoRequest:
    """The request of the user."""

    robot: str = "rx90"  # name of an installed robot, or path of a description
    side_file: str | None = None  # path of a side file; None for that of the installed robot, if it has one
    duration: float = 4.0  # duration of the motion (s)
    model_error: float = 0.1  # greatest relative error of the dynamic parameters
    seed: int = 1  # seed of these errors
    rate: float = 500.0  # joint states, references and torques for each simulated second (Hz)
    joints: tuple[str, ...] = ()  # joints that move; empty for all
    locked: tuple[tuple[str, float], ...] = ()  # joints that do not, with their positions (rad or m)
    armature: float = -1.0  # rotor inertia where none is described; negative: assumed, 0: none
