# SPDX-License-Identifier: Apache-2.0
"""Numbers at which an axis is marked."""

from __future__ import annotations

import math
from itertools import pairwise


def ticks(low: float, high: float, count: int = 5) -> tuple[float, ...]:
    """Answer about `count` numbers from `low` to `high` that are 1, 2 or 5 times a power of ten apart."""
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"an axis from {low} to {high}: both have to be finite, and the first the smaller")
    rough = (high - low) / max(count, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1.0, 2.0, 5.0, 10.0) if power * m >= rough * (1.0 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return tuple(k * step for k in range(first, last + 1))


def labels(values: tuple[float, ...]) -> tuple[str, ...]:
    """Answer texts for the ticks of one axis, all with the same number of decimals."""
    step = min((b - a for a, b in pairwise(values)), default=1.0)
    if not 1e-4 <= step < 1e6:
        return tuple(_signed(f"{value:.6g}") for value in values)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return tuple(_signed(f"{value:.{decimals}f}") for value in values)


def _signed(text: str) -> str:
    """Answer a number with a minus sign instead of a hyphen, and without one where it is zero."""
    zero = not text.strip("-0.")
    return text.lstrip("-") if zero else text.replace("-", "\N{MINUS SIGN}")
