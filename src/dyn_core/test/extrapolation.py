# SPDX-License-Identifier: Apache-2.0
"""An integrator that is independent of the simulator's: Gragg's method with extrapolation (GBS)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Derivative = Callable[[np.ndarray], np.ndarray]
STAGES = range(2, 18, 2)


def integrated(f: Derivative, x: np.ndarray, duration: float, steps: int) -> np.ndarray:
    """Return x after a duration, for x' = f(x), by steps of order 16; assert that they converge."""
    for _ in range(steps):
        x, error = _step(f, x, duration / steps)
        assert error < 1e-11 * max(1.0, float(np.abs(x).max())), f"take more steps: the error is {error}"
    return x


def _step(f: Derivative, x: np.ndarray, H: float) -> tuple[np.ndarray, float]:
    """A step, extrapolated to midpoint steps of length 0 (Hairer-Norsett-Wanner, II.9), and its error."""
    row: list[np.ndarray] = []
    for k, n in enumerate(STAGES):
        new = [_midpoints(f, x, H, n)]
        for j in range(k):
            new.append(new[j] + (new[j] - row[j]) / ((n / STAGES[k - j - 1]) ** 2 - 1.0))
        row = new
    return row[-1], float(np.abs(row[-1] - row[-2]).max())


def _midpoints(f: Derivative, x: np.ndarray, H: float, n: int) -> np.ndarray:
    h = H / n
    before, now = x, x + h * f(x)
    for _ in range(n - 1):
        before, now = now, before + 2.0 * h * f(now)
    return 0.5 * (now + before + h * f(now))
