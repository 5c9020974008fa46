# SPDX-License-Identifier: Apache-2.0
"""Time functions in turn, so that all run under the same load of the machine, and compare them."""

from __future__ import annotations

import statistics
import timeit
from collections.abc import Callable, Sequence
from dataclasses import dataclass

ROUNDS = 15
ROUND_S = 0.02


@dataclass(frozen=True)
class Comparison:
    """Times of functions.

    Attributes:
        rounds: for each round, the time of each function (s).
    """

    rounds: tuple[tuple[float, ...], ...]

    def seconds(self, function: int) -> float:
        """Median time of a function, selected by its index."""
        return statistics.median(times[function] for times in self.rounds)

    def ratio(self, function: int) -> float:
        """Median of the ratios of the first function to another one."""
        return statistics.median(times[0] / times[function] for times in self.rounds)


def compare(functions: Sequence[Callable[[], object]], samples: Sequence[int] | None = None) -> Comparison:
    """Call each function for some 20 ms in turn, 15 times.

    Args:
        functions: what is timed.
        samples: how many samples each computes; its time is given for one.
    """
    timers = [timeit.Timer(function) for function in functions]
    numbers = [max(1, int(ROUND_S / min(timer.repeat(3, 1)))) for timer in timers]
    divisors = samples or [1] * len(timers)
    return Comparison(
        tuple(
            tuple(
                timer.timeit(number) / number / divisor
                for timer, number, divisor in zip(timers, numbers, divisors, strict=True)
            )
            for _ in range(ROUNDS)
        )
    )
