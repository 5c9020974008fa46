# SPDX-License-Identifier: Apache-2.0
"""How far a simulation is, and what it went beyond: told while it runs, and when it is done."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping

from dyn_core.core.errors import ModelWarning

PROGRESS_S = 5.0
"""Wall time between two reports of progress (s)."""

FASTER = "is faster than its limit, which nothing enforces"
WEAKER = "is given its largest effort, which is less than what was asked for"


def times_taken(step: float, substeps: int, steps: int, took: float) -> dict[str, float]:
    """Answer what a summary says of times: steps of so many seconds, and how long all took (s)."""
    duration = steps * step
    return {
        "step": step,
        "substeps": substeps,
        "steps": steps,
        "duration": duration,
        "wall_time": took,
        "real_time_factor": duration / took,
    }


class Progress:
    """Tells on standard error how far a simulation is."""

    def __init__(self, steps: int, step: float) -> None:
        """Begin now; a simulation has so many steps of so many seconds."""
        self._steps, self._step = steps, step
        self._began = self._shown = time.monotonic()

    def after(self, k: int) -> None:
        """Tell how far the simulation is after step k, now and then."""
        if k % 256 == 0 and time.monotonic() - self._shown > PROGRESS_S:
            self._shown = time.monotonic()
            done = k * self._step
            whole = self._steps * self._step
            _say(f"{done:.1f} of {whole:g} s, {done / (self._shown - self._began):.1f} x real time")

    def end(self) -> float:
        """Tell that it is done, and answer how long it took (s)."""
        took = time.monotonic() - self._began
        simulated = self._steps * self._step
        _say(f"{simulated:g} s simulated in {took:.2f} s: {simulated / took:.1f} x real time")
        return took


class Watch:
    """Looks for what goes beyond the limits of the joints, to say it once in the end."""

    def __init__(self, beyond: Mapping[str, Callable[[], Iterable[str]]]) -> None:
        """Watch for these: by what is said of joints, what answers the names of those that it is true of."""
        self._beyond = beyond
        self._first: dict[tuple[str, str], float] = {}

    def look(self, moment: float) -> None:
        """Look at the present state, after so many seconds."""
        for what, names in self._beyond.items():
            for name in names():
                self._first.setdefault((name, what), moment)

    def warn(self) -> None:
        """Warn of all that was seen."""
        for (name, what), moment in self._first.items():
            warnings.warn(f"joint '{name}' {what}, first after {moment:g} s", ModelWarning, stacklevel=2)


def _say(sentence: str) -> None:
    print(f"dyn: {sentence}", file=sys.stderr, flush=True)
