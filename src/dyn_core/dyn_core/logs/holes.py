# SPDX-License-Identifier: Apache-2.0
"""Values that are missing: short holes are bridged, samples in long ones are left out."""

from __future__ import annotations

import numpy as np

from dyn_core.facade.arrays import Array


def runs(mask: np.ndarray) -> list[tuple[int, int]]:
    """Answer where a mask is true, as pairs of first index and the one after the last."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False]))))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def bridged(time: Array, values: Array, longest: float) -> tuple[Array, int, np.ndarray]:
    """Bridge holes between two values that are at most `longest` (s) apart by a straight line.

    Returns:
        the values, how many were bridged, and where values are still missing.
    """
    missing = ~np.isfinite(values)
    if not missing.any():
        return values, 0, missing
    filled = np.where(missing, np.nan, values)
    known = np.flatnonzero(~missing)
    count = 0
    for a, b in runs(missing):
        if a == 0 or b == len(values) or time[b] - time[a - 1] > longest:
            continue
        filled[a:b] = np.interp(time[a:b], time[known], values[known])
        missing[a:b] = False
        count += b - a
    return filled, count, missing
