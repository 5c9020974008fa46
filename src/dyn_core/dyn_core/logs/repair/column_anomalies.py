# SPDX-License-Identifier: Apache-2.0
"""Anomalies of a column and their repair: holes, spikes, clipping, wrap-around, jumps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.logs.log import EFFORT, POSITION, TURN, Unit
from dyn_core.logs.mapping.assignment import Source

STEEP = 3.0
"""Least height of a spike, in usual steps of the signal."""
LONGEST_SPIKE = 3
"""Greatest number of samples of a spike."""
MOST_SPIKES = 0.02
"""Greatest part of the samples that are spikes."""
STEPS = 4.0
"""Least height of a spike, in steps of the resolution."""
SPIKES = {POSITION: 0.02, EFFORT: 0.5}
"""Least height of spikes that are removed, in parts of the usual range; efforts may change quickly."""
FLAT = 3
"""Least number of successive samples at the greatest value that form a flat top."""
CLIPPED = 0.002
"""Least part of the samples of a clipped signal on flat tops."""
WHOLE = 0.05
"""Greatest mean distance of steps from multiples of the resolution."""
COUNTERS = tuple(2.0**bits for bits in (8, 10, 12, 14, 16, 17, 18, 19, 20, 22, 23, 24, 26, 32))
"""Ranges of counters that overflow."""
NEAR = 0.25
"""Greatest difference of a jump from a turn and the neighbouring steps, in parts of a turn."""
BEYOND = 1e30
"""Least absolute value that stands for a missing value, such as the greatest number of a format."""
UNLIKE = 10.0
"""Least deviation of a jump from the neighbouring steps, in the 99 % quantile of the deviations."""
FAST = 3.0
"""Least jump, in greatest steps of the motion."""
LEAST = 1e-3
"""Least jump (rad or m)."""
COARSE, COARSEST = 8.0, 0.02
"""Least jump in steps of the resolution, where that is below a limit (rad or m)."""
TOGETHER = 3
"""Samples within which the jumps of several joints are one."""
HUNG = 5
"""Equal samples before the jump of a sensor that hung."""


def runs(mask: np.ndarray) -> list[tuple[int, int]]:
    """Return the stretches in which a mask is true, as first index and the one after the last."""
    edges = np.flatnonzero(np.diff(mask, prepend=False, append=False))
    return [(a, b) for a, b in edges.reshape(-1, 2).tolist()]


def bridged(time: Array, values: Array, longest: float) -> Array:
    """Return values with bridges over holes between two values that are at most `longest` (s) apart.

    A bridge is the cubic through the two values before and the two after it, or a straight line if fewer
    values are near. Longer holes stay NaN.
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
        filled[a:b] = _interpolated(time[around], values[around], time[a:b])
    return filled


def _interpolated(time: Array, values: Array, times: Array) -> Array:
    """Return the polynomial through a few values at other times (Lagrange)."""
    result = np.zeros(len(times))
    for i in range(len(time)):
        others = np.delete(time, i)
        result += values[i] * np.prod((times[:, None] - others) / (time[i] - others), axis=1)
    return result


@dataclass(frozen=True)
class Clipping:
    """Flat tops, or bottoms, of a signal: their value, samples, and stretches."""

    level: float
    count: int
    tops: int


def spikes(values: Array, share: float) -> list[tuple[int, int]]:
    """Return the spikes of finite values (N,), as first sample and the one after the last.

    All of its at most `LONGEST_SPIKE` samples are far from the straight line between the samples before and
    after it, whose difference is usual. `share` is its least height, in parts of the usual range.
    """
    if len(values) < 10:
        return []
    low, high = np.quantile(values, (0.005, 0.995))
    step = float(np.quantile(np.abs(np.diff(values)), 0.95))
    least = max(share * float(high - low), STEEP * step, STEPS * resolution(values))
    found: list[tuple[int, int]] = []
    taken = np.zeros(len(values), dtype=bool)
    for length in range(LONGEST_SPIKE, 0, -1):
        before, after = values[: -length - 1], values[length + 1 :]
        slope = (after - before) / (length + 1)
        inner = [values[k : len(values) - length - 1 + k] - before - k * slope for k in range(1, length + 1)]
        off = np.abs(inner).min(axis=0)
        is_course = np.abs(after - before) < 0.3 * off + 1.5 * (length + 1) * step
        for a in (np.flatnonzero((off > least) & is_course) + 1).tolist():
            if not taken[a - 1 : a + length + 1].any():
                taken[a : a + length] = True
                found.append((a, a + length))
    return sorted(found) if taken.mean() < MOST_SPIKES else []


def clipping(values: Array) -> Clipping | None:
    """Return the clipping of a signal at its greatest or least value; None if it is not clipped.

    The value of a flat top is constant, to 1e-6 of the range, for at least `FLAT` samples. Signals at rest,
    which are also constant at other values, and signals of few values are not clipped.
    """
    span = float(values.max() - values.min())
    if span == 0.0:
        return None
    still = np.abs(np.diff(values)) <= 1e-6 * span
    for level, sign in ((float(values.max()), 1.0), (float(values.min()), -1.0)):
        at = sign * (level - values) <= 1e-6 * span
        tops = [(a, b) for a, b in runs(at) if b - a >= FLAT]
        count = sum(b - a for a, b in tops)
        if count < max(CLIPPED * len(values), 2 * FLAT):
            continue
        # How often the signal is constant elsewhere, and at its extreme.
        inside = ~(at[1:] | at[:-1])
        usual = float(still[inside].mean()) if inside.any() else 1.0
        here = float(still[at[1:] & at[:-1]].mean())
        if usual < 0.5 * here and count > 5.0 * _expected(values, level, span):
            return Clipping(level, count, len(tops))
    return None


def _expected(values: Array, level: float, span: float) -> float:
    """Return the number of samples at the next level below the extreme, in steps of the resolution."""
    step = max(resolution(values), 1e-3 * span)
    near = (np.abs(values - level) > 1e-6 * span) & (np.abs(values - level) <= step * 1.5)
    return float(near.sum()) / 1.5


def resolution(values: Array) -> float:
    """Return the common step of all values of a signal (the resolution); 0 if there is none."""
    greatest = max(float(np.abs(values).max()), 1e-300)
    levels = np.unique(np.round(values / greatest, 10))
    if len(levels) < 2 or len(levels) > 0.7 * len(values):
        return 0.0
    steps = np.diff(levels)
    step = float(steps.min())
    whole = steps / step
    return step * greatest if float(np.abs(whole - np.round(whole)).mean()) < WHOLE else 0.0


def longest_still(values: Array) -> tuple[int, int]:
    """Return the longest stretch of a constant value, as first sample and the one after the last."""
    found = runs(np.concatenate((np.diff(values) == 0.0, [False])))
    a, b = max(found, key=lambda run: run[1] - run[0], default=(0, 0))
    return a, b + 1 if b > a else b


def unwrapped(values: Array, unit: Unit | None, gain: float | None) -> tuple[Array, int, float]:
    """Return values without jumps by a whole turn, the number of jumps, and the size of a turn.

    A jump differs by a turn from the steps beside it, and all values of the sensor lie within one turn.

    Args:
        values: finite, in the unit of the column.
        unit: unit of the values; None for rad.
        gain: rad per count, if the unit is counts.
    """
    span = float(np.ptp(values)) if len(values) else 0.0
    for turn in _turns(unit, gain):
        steps = np.diff(values)
        is_large = np.abs(steps) > 0.5 * turn
        if not (0.5 * turn <= span <= turn * 1.001 and is_large.any()):
            continue
        large, small = np.flatnonzero(is_large), np.flatnonzero(~is_large)
        usual = np.interp(large, small, steps[small]) if len(small) else np.zeros(len(large))
        whole = np.round((steps[large] - usual) / turn)
        off = np.abs(steps[large] - usual - whole * turn)
        jumps = (whole != 0) & (off < NEAR * turn)
        if not jumps.any():
            continue
        turns = np.zeros(len(values))
        turns[large[jumps] + 1] = whole[jumps]
        return values - turn * np.cumsum(turns), int(jumps.sum()), turn
    return values, 0, 0.0


def _turns(unit: Unit | None, gain: float | None) -> tuple[float, ...]:
    """Return the possible sizes of a turn, in the unit of the values."""
    if unit is None or unit.result == "rad":
        return (TURN / (1.0 if unit is None else unit.factor),)
    if unit.result == "counts":
        return COUNTERS if gain is None else (abs(TURN / gain), *COUNTERS)
    return ()


@dataclass(frozen=True, eq=False)
class Repaired:
    """A column after its repair.

    Attributes:
        values: NaN for values that are still missing.
        bridged: number of values that were bridged.
        jumps: number of jumps by a turn that were removed.
        turn: size of a turn, in the unit of the column.
        spikes: first sample of each spike.
    """

    values: Array
    bridged: int
    jumps: int
    turn: float
    spikes: tuple[int, ...]


def repaired(time: Array, values: Array, quantity: str, source: Source, longest: float) -> Repaired:
    """Return a column (N,) with counted turns, without spikes, and with short holes bridged.

    The values, in the unit of the log, are not finite where they are missing. The longest hole that is
    bridged is `longest` (s).
    """
    known = np.flatnonzero(np.abs(values) < BEYOND)
    course = values[known]
    jumps, turn = 0, 0.0
    if quantity == POSITION and len(course) > 2:
        course, jumps, turn = unwrapped(course, source.unit, source.mapping.gain)
    found = spikes(course, SPIKES[quantity]) if quantity in SPIKES else []
    result = np.full(len(values), np.nan)
    result[known] = course
    was_missing = np.isnan(result)
    for a, b in found:
        result[known[a:b]] = np.nan
    result = bridged(time, result, longest)
    return Repaired(
        values=result,
        bridged=int(np.isfinite(result[was_missing]).sum()),
        jumps=jumps,
        turn=turn,
        spikes=tuple(int(known[a]) for a, _ in found),
    )


@dataclass(frozen=True)
class Jump:
    """A jump of positions.

    Attributes:
        at: first sample after the jump.
        sizes: its size (rad or m), by the index of each joint that jumps.
    """

    at: int
    sizes: dict[int, float]


def jumps(time: Array, q: Array, stretches: tuple[tuple[int, int], ...]) -> list[Jump]:
    """Return the jumps of finite positions q (N, n) in stretches without gaps, in the order of time.

    They come from recordings that were joined, or from encoders that were reset. A sensor that hangs and then
    catches up is reported elsewhere. A lost frame or a late stamp makes a long step too; it is at most a few
    times the greatest step of the motion, or it is as long in time.
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
    """Return the first samples after the jumps of a joint, and the sizes of the jumps."""
    steps = np.diff(q)
    lengths = np.diff(time)
    inside = np.zeros(len(steps), dtype=bool)
    for a, b in stretches:
        inside[a + 2 : max(b - 3, 0)] = True  # with two steps on each side
    if not inside.any():
        return []
    speeds = steps / lengths
    by_count = steps - _usual_around(steps)
    by_time = steps - _usual_around(speeds) * lengths
    off = np.where(inside, np.minimum(np.abs(by_count), np.abs(by_time)), 0.0)
    large = off > UNLIKE * float(np.quantile(off[inside], 0.99))
    usual = np.abs(steps[inside & ~large])
    coarse = min(COARSE * resolution(q), COARSEST)
    least = max(FAST * float(usual.max(initial=0.0)), LEAST, coarse)
    return [(k + 1, float(by_count[k])) for k in np.flatnonzero(large & (off > least)).tolist()]


def _hung(q: Array, at: int) -> bool:
    """Return whether a sensor was constant for a while, and then caught up with its joint."""
    before, after = q[max(at - HUNG, 0) : at], q[at : at + HUNG]
    return bool(np.ptp(before) == 0.0 and np.ptp(after) > 0.0)


def _usual_around(values: Array) -> Array:
    """Return the median of the two steps before and the two steps after each step."""
    padded = np.pad(values, 2, mode="edge")
    n = len(values)
    around = np.stack([padded[k : k + n] for k in (0, 1, 3, 4)])
    return np.asarray(np.median(around, axis=0), dtype=np.float64)
