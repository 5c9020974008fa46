# SPDX-License-Identifier: Apache-2.0
"""Joints that do not move, and times at which joints stand.

The friction of a joint that stands is anything within stiction: its torque says nothing then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.identification.bool_array import BoolArray
from dyn_core.logs.conditioning.filters import STILL
from dyn_core.logs.conditioning.signals import Signals

RESOLVED = 4.0
"""Range of positions that is no motion, in deviations of their noise: a step of a counter is 3.5 of them."""
ROUNDED = 1e-7
"""The same as a part of the range of the whole motion, of positions without noise."""
SHORTEST, SETTLED = 0.1, 3.0
"""Time for which a joint has to stay within that to stand and not turn round: seconds, and periods of the
cutoff, which is how long the filter of the positions smooths a stop."""
CREEPING = 3.0
"""Times that range by which a joint goes on that creeps, although it seems to stand again and again."""
_POINTS = 12
"""Samples in that time that are looked at: positions behind the filter have no more to say."""


def moving(signals: Signals) -> tuple[bool, ...]:
    """Answer whether each joint moves at any time."""
    return tuple(not of_joint.all() for of_joint in standing(signals).T)


def standing(signals: Signals) -> BoolArray:
    """Answer when each joint stands, (N, n): where the sensor has seen no motion for longer than the filter.

    A joint that creeps does not stand, be it ever so slow: sooner or later its position shows it.
    """
    found = np.zeros(signals.q.shape, dtype=bool)
    duration = max(SHORTEST, SETTLED / signals.cutoff)
    stride = max(1, int(duration / _POINTS / signals.period))
    width = max(2, int(np.ceil(duration / stride / signals.period)) + 1)
    limits = ROUNDED * np.ptp(signals.q, axis=0) if len(signals) else np.zeros(signals.dof)
    if signals.noise is not None:
        limits = np.maximum(limits, RESOLVED * np.array(signals.noise.deviations))
    for first, last in signals.segments:
        q = signals.q[first:last:stride]
        if len(q) < width:
            continue
        windows = np.lib.stride_tricks.sliding_window_view(q, width, axis=0)
        within = windows.max(axis=-1) - windows.min(axis=-1) <= limits
        for i in range(signals.dof):
            still = [(a, b + width - 1) for a, b in _runs(within[:, i])]
            for a, b in _joined(still, q[:, i], width, CREEPING * limits[i]):
                if np.ptp(q[a:b, i]) <= CREEPING * limits[i]:
                    end = last if b == len(q) else first + (b - 1) * stride + 1
                    found[first + a * stride : end, i] = True
    if len(signals):
        # Stretches that are too short to see whether a joint stands show no motion either then.
        found[:, np.ptp(signals.q, axis=0) <= np.maximum(STILL, CREEPING * limits)] = True
    return found


def at_rest(signals: Signals) -> Signals:
    """Answer the signals with rates of exactly 0 for joints that stand: noise has a sign, too."""
    still = standing(signals)
    if not still.any():
        return signals
    return replace(signals, qd=np.where(still, 0.0, signals.qd), qdd=np.where(still, 0.0, signals.qdd))


def _joined(stretches: list[tuple[int, int]], q: Array, width: int, step: float) -> Iterator[tuple[int, int]]:
    """Answer stretches of which those that follow soon after, a small step further, are one.

    So counts one by one a joint that creeps.
    """
    begin, end = 0, 0
    for a, b in stretches:
        if end and a - end < width and abs(q[(a + b) // 2] - q[end - 1]) <= step:
            end = b
            continue
        if end:
            yield begin, end
        begin, end = a, b
    if end:
        yield begin, end


def _runs(which: BoolArray) -> Iterator[tuple[int, int]]:
    """Answer where there are ones in a row, as first and the one after the last."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], which, [False]]).astype(int)))
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
