# SPDX-License-Identifier: Apache-2.0
"""Curves with no more points than can be seen."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dyn_core.report.curve import Array


def pieces(x: Array, y: Array) -> Iterator[tuple[Array, Array]]:
    """Answer the parts of a curve between the gaps, where y is not finite."""
    edges = np.flatnonzero(np.diff(np.isfinite(y).astype(np.int8), prepend=0, append=0))
    for begin, end in edges.reshape(-1, 2).tolist():
        yield x[begin:end], y[begin:end]


def simplified(x: Array, y: Array, tolerance: float) -> tuple[Array, Array]:
    """Answer points of a curve from which none that is left out is further than a tolerance, in y.

    It is the algorithm of Ramer, Douglas and Peucker. Between two points that stay, the one that is furthest
    from their connection stays too, until none is too far.

    Args:
        x: abscissae, in order, (N,).
        y: finite ordinates, (N,).
        tolerance: of y.
    """
    kept = np.zeros(len(x), dtype=np.bool_)
    kept[[0, -1]] = True
    waiting = [(0, len(x) - 1)]
    while waiting:
        a, b = waiting.pop()
        if b - a < 2:
            continue
        between = slice(a + 1, b)
        width = x[b] - x[a]
        part = (x[between] - x[a]) / width if width > 0.0 else 0.0
        distance = np.abs(y[between] - y[a] - part * (y[b] - y[a]))
        k = a + 1 + int(np.argmax(distance))
        if distance[k - a - 1] > tolerance:
            kept[k] = True
            waiting += [(a, k), (k, b)]
    return x[kept], y[kept]
