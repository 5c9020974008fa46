# SPDX-License-Identifier: Apache-2.0
"""Numbers at which an axis is marked."""

from __future__ import annotations

import math


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
    if not values:
        return ()
    step = min((b - a for a, b in zip(values, values[1:])), default=abs(values[0]) or 1.0)
    if not 1e-4 <= step < 1e6:
        return tuple(f"{value:.6g}" for value in values)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return tuple(f"{value + 0.0:.{decimals}f}".replace("-", "\N{MINUS SIGN}") for value in _without_minus_zero(values, step))


def _without_minus_zero(values: tuple[float, ...], step: float) -> tuple[float, ...]:
    return tuple(0.0 if abs(value) < 1e-9 * step else value for value in values)
