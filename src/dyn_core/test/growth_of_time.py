# SPDX-License-Identifier: Apache-2.0
"""Processor time of work whose size grows eightfold: linear work takes 8 times as long, quadratic 64."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

_MOST_RATIO = 24.0
_CLOCK_S = 0.05  # what a small measurement may be off by
_RUNS = 3


def processor_seconds(work: Callable[[], object]) -> float:
    """Return the shortest processor time of a few runs of `work` (s).

    The garbage collector is off meanwhile: one collection of all that a long test run holds can take longer.
    """
    taken = []
    was_on = gc.isenabled()
    gc.disable()
    try:
        for _ in range(_RUNS):
            before = time.process_time()
            work()
            taken.append(time.process_time() - before)
    finally:
        if was_on:
            gc.enable()
    return min(taken)


def assert_nearly_linear(work: Callable[[int], Callable[[], object]], most: int) -> None:
    """Assert that `work(most)` takes at most 24 times as long as `work(most // 8)`."""
    few_s = processor_seconds(work(most // 8))
    most_s = processor_seconds(work(most))
    assert most_s < _MOST_RATIO * few_s + _CLOCK_S, f"{most_s:.3g} s beside {few_s:.3g} s"
