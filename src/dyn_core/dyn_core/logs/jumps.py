# SPDX-License-Identifier: Apache-2.0
"""Positions that jump while time goes on: recordings that were put together, encoders that were set anew.

No joint moves so. A sensor that hangs and then catches up jumps as well, which is found elsewhere. A lost
frame or a late stamp makes a long step too; that is one of at most a few times the greatest of the motion,
and none where the step is as long in time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.logs.repair.column_anomalies import resolution

UNLIKE = 10.0
"""What a jump is more than its neighbours say, in what 99 % of the steps are off by, at least."""
FAST = 3.0
"""What it is at least, in greatest steps of the motion."""
LEAST = 1e-3
"""Least jump (rad or m)."""
COARSE, COARSEST = 8.0, 0.02
"""Steps of its resolution that a position jumps by at least, up to what (rad or m) they count."""
TOGETHER = 3
"""Samples within which the jumps of several joints are one."""

HUNG = 5
"""Samples of one and the same value before a jump of a sensor that hung."""


@dataclass(frozen=True)
class Jump:
    """A place where positions jump.

    Attributes:
        at: first sample after it.
        sizes: by how much (rad or m), by the place of each joint that jumps.
    """

    at: int
    sizes: dict[int, float]


def jumps(time: Array, q: Array, stretches: tuple[tuple[int, int], ...]) -> list[Jump]:
    """Answer where positions (N, n) jump, in the order of time.

    Args:
        time: increasing (s), (N,).
        q: finite (rad or m), (N, n).
        stretches: those without gaps.
    """
    found: list[Jump] = []
    places = [(at, k, size) for k in range(q.shape[1]) for at, size in _of_joint(time, q[:, k], stretches)]
    for at, joint, size in sorted(places):
        if found and at - found[-1].at < TOGETHER:
            found[-1].sizes.setdefault(joint, size)
        else:
            found.append(Jump(at, {joint: size}))
    return [jump for jump in found if len(jump.sizes) > 1 or not _hung(q[:, next(iter(jump.sizes))], jump.at)]


def _of_joint(time: Array, q: Array, stretches: tuple[tuple[int, int], ...]) -> list[tuple[int, float]]:
    """Answer the samples after jumps of a joint, and their sizes."""
    steps = np.diff(q)
    lengths = np.diff(time)
    inside = np.zeros(len(steps), dtype=bool)
    for a, b in stretches:
        inside[a + 2 : max(b - 3, 0)] = True  # with two steps on each side
    if not inside.any():
        return []
    speeds = steps / lengths
    by_count = steps - _beside(steps)
    by_time = steps - _beside(speeds) * lengths
    off = np.where(inside, np.minimum(np.abs(by_count), np.abs(by_time)), 0.0)
    large = off > UNLIKE * float(np.quantile(off[inside], 0.99))
    usual = np.abs(steps[inside & ~large])
    coarse = min(COARSE * resolution(q), COARSEST)
    least = max(FAST * float(usual.max(initial=0.0)), LEAST, coarse)
    return [(k + 1, float(by_count[k])) for k in np.flatnonzero(large & (off > least)).tolist()]


def _hung(q: Array, at: int) -> bool:
    """Tell a sensor that said the same for a while, and then caught up with its joint."""
    before, after = q[max(at - HUNG, 0) : at], q[at : at + HUNG]
    return bool(np.ptp(before) == 0.0 and np.ptp(after) > 0.0)


def _beside(values: Array) -> Array:
    """Answer for each step what is usual of the two before it and the two after it: their median."""
    padded = np.pad(values, 2, mode="edge")
    n = len(values)
    around = np.stack([padded[k : k + n] for k in (0, 1, 3, 4)])
    return np.asarray(np.median(around, axis=0), dtype=np.float64)
