# SPDX-License-Identifier: Apache-2.0
"""Values that are missing: short holes are bridged, samples in long ones are left out."""

from __future__ import annotations

import numpy as np

from dyn_core.core.arrays import Array


def runs(mask: np.ndarray) -> list[tuple[int, int]]:
    """Answer where a mask is true, as pairs of first index and the one after the last."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False]))))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def bridged(time: Array, values: Array, longest: float) -> Array:
    """Answer values with bridges over holes between two values that are at most `longest` (s) apart.

    The bridge is the cubic through the two values before and the two after, or a straight line where there
    are not as many near. Longer holes stay NaN.
    """
    missing = ~np.isfinite(values)
    filled = np.where(missing, np.nan, values)
    known = np.flatnonzero(~missing)
    for a, b in runs(missing):
        if a == 0 or b == len(values) or time[b] - time[a - 1] > longest:
            continue
        after = int(np.searchsorted(known, b))
        around = known[max(after - 2, 0) : after + 2]
        if len(around) < 4 or time[around[-1]] - time[around[0]] > 3.0 * longest:
            around = np.array([a - 1, b])
        filled[a:b] = _through(time[around], values[around], time[a:b])
    return filled


def _through(time: Array, values: Array, wanted: Array) -> Array:
    """Answer the polynomial through a few values (Lagrange)."""
    result = np.zeros(len(wanted))
    for i in range(len(time)):
        others = np.delete(time, i)
        result += values[i] * np.prod((wanted[:, None] - others) / (time[i] - others), axis=1)
    return result
