# SPDX-License-Identifier: Apache-2.0
"""Time two functions in turn, so that both see the same machine, and compare them."""

from __future__ import annotations

import statistics
import timeit
from collections.abc import Callable
from dataclasses import dataclass

ROUNDS = 15
ROUND_S = 0.02


@dataclass(frozen=True)
class Comparison:
    """Median times of one call (s), and the median of the ratios of the rounds."""

    ours_s: float
    theirs_s: float
    ratio: float


def compare(ours: Callable[[], object], theirs: Callable[[], object]) -> Comparison:
    """Call both for some 20 ms in turn, 15 times."""
    timers = [timeit.Timer(ours), timeit.Timer(theirs)]
    numbers = [max(1, int(ROUND_S / min(timer.repeat(3, 1)))) for timer in timers]
    rounds = [
        tuple(timer.timeit(number) / number for timer, number in zip(timers, numbers, strict=True))
        for _ in range(ROUNDS)
    ]
    return Comparison(
        statistics.median(ours_s for ours_s, _ in rounds),
        statistics.median(theirs_s for _, theirs_s in rounds),
        statistics.median(ours_s / theirs_s for ours_s, theirs_s in rounds),
    )
