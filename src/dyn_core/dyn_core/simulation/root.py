# SPDX-License-Identifier: Apache-2.0
"""Where a function changes sign."""

from __future__ import annotations

from collections.abc import Callable

PRECISION = 1e-12
"""Part of the interval to which a root is found."""


def root(f: Callable[[float], float], end: float) -> float | None:
    """Answer a place in (0, end] at which a function, negative at the end, has come down from above 0.

    By the Illinois method: secants, whose older end counts half when it stays. A function that is 0
    at 0 may rise at first; None where it does not seem to.
    """
    low, f_low = _above(f, end)
    if low is None:
        return None
    high, f_high = end, f(end)
    kept = 0
    for _ in range(100):
        if high - low <= PRECISION * end or f_high == 0.0:
            break
        middle = high - f_high * (high - low) / (f_high - f_low)
        if not low < middle < high:
            middle = 0.5 * (low + high)
        f_middle = f(middle)
        if f_middle > 0.0:
            low, f_low = middle, f_middle
            f_high = 0.5 * f_high if kept == 1 else f_high
            kept = 1
        else:
            high, f_high = middle, f_middle
            f_low = 0.5 * f_low if kept == -1 else f_low
            kept = -1
    return high


def _above(f: Callable[[float], float], end: float) -> tuple[float | None, float]:
    """The start, or a place shortly after it, where the function is above 0."""
    t, value = 0.0, f(0.0)
    while not value > 0.0:
        t = 0.5 * t if t else 0.5 * end
        if t < 1e-6 * end:
            return None, value
        value = f(t)
    return t, value
