# SPDX-License-Identifier: Apache-2.0
"""Time stamps that increase: what stands in the way of it is repaired, or named."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np

from dyn_core.check.finding import Finding, Severity
from dyn_core.errors import DynError
from dyn_core.facade.arrays import Array

LATE = 1.0
"""Samples that come at most so late (s) are sorted in; what is later begins a new recording."""
MANY = 0.25
"""Part of the stamps that is not new from which on the clock is taken to be coarse."""
HELD = 0.5
"""Part of the samples that repeat the one before from which on the logger is taken to be the faster."""
GAP = 4.5
"""Steps of more periods than this are gaps."""
COARSE = 0.9
"""Greatest part of a period by which a median step may fall short of the mean in one rhythm."""


@dataclass(frozen=True, eq=False)
class Timed:
    """Samples in order of time.

    Attributes:
        time: increasing (s), (N,).
        values: one row a sample, (N, columns).
        findings: what was found and done.
    """

    time: Array
    values: Array
    findings: tuple[Finding, ...] = field(default=())


def in_order(time: Array, values: Array, where: str = "") -> Timed:
    """Answer samples with increasing stamps.

    Stamps that are not finite are left out; samples that come a little late are sorted in; where the clock
    goes back for good, the longest stretch is kept; repeated samples are left out, and stamps of a coarse
    clock are spread.

    Args:
        time: stamps (s), (N,).
        values: (N, columns).
        where: the topic, for messages.

    Raises:
        DynError: nothing is left.
    """
    findings: list[Finding] = []

    def say(severity: Severity, sentence: str) -> None:
        findings.append(Finding(severity, "time", (where,) if where else (), sentence))

    finite = np.isfinite(time)
    if not finite.all():
        say(Severity.WARNING, f"{int((~finite).sum())} samples have no time: they are left out")
        time, values = time[finite], values[finite]
    if not len(time):
        raise DynError("there are no samples: record the robot while it moves")
    time, values = _forwards(time, values, say)
    time, values = _without_repeats(time, values, say)
    time, values = _without_held(time, values, say)
    return Timed(time, values, tuple(findings))


def _forwards(time: Array, values: Array, say: object) -> tuple[Array, Array]:
    steps = np.diff(time)
    if not len(steps) or steps.min() >= 0.0:
        return time, values
    assert callable(say)
    back = np.flatnonzero(steps < 0.0)
    highest = np.maximum.accumulate(time)
    restarts = np.flatnonzero((highest[:-1] - time[1:] > LATE) & (steps < 0.0))
    if len(restarts):
        edges = np.concatenate(([0], restarts + 1, [len(time)]))
        longest = int(np.argmax(np.diff(edges)))
        a, b = int(edges[longest]), int(edges[longest + 1])
        say(
            Severity.WARNING,
            f"time runs backwards {len(restarts)} times, first by {-steps[restarts[0]]:.3g} s after sample "
            f"{restarts[0] + 1}: the longest of the {len(edges) - 1} recordings is used, samples {a + 1} to "
            f"{b} of "
            f"{len(time)}",
        )
        time, values = time[a:b], values[a:b]
        return _forwards(time, values, say)
    say(
        Severity.WARNING,
        f"{len(back)} samples come late, by {float((highest - time).max()):.3g} s at most: sorted by time",
    )
    order = np.argsort(time, kind="stable")
    return time[order], values[order]


def _without_repeats(time: Array, values: Array, say: object) -> tuple[Array, Array]:
    """Answer samples with stamps of their own."""
    assert callable(say)
    same_time = np.flatnonzero(np.diff(time) == 0.0) + 1
    if not len(same_time):
        return time, values
    equal = _same(values[same_time], values[same_time - 1])
    repeated = same_time[equal]
    if len(repeated):
        say(Severity.NOTE, f"{len(repeated)} samples are there twice: once is enough")
    keep = np.ones(len(time), dtype=bool)
    keep[repeated] = False
    others = len(same_time) - len(repeated)
    if others > MANY * len(time):
        time, values = time[keep], values[keep]
        say(
            Severity.WARNING,
            f"{others} of {len(time)} samples have the stamp of the one before: the clock is coarse, they "
            "are "
            "spread evenly to the next stamp",
        )
        return _spread(time), values
    if others:
        say(
            Severity.WARNING,
            f"{others} samples have the stamp of the one before but other values: the first of each is used",
        )
        keep[same_time] = False
    return time[keep], values[keep]


def _spread(time: Array) -> Array:
    """Answer stamps in which each group of equal ones is spread evenly up to the next."""
    starts = np.flatnonzero(np.concatenate(([True], np.diff(time) > 0.0)))
    sizes = np.diff(np.concatenate((starts, [len(time)])))
    steps = np.diff(time[starts])
    last = float(np.median(steps)) if len(steps) else 0.0
    widths = np.concatenate((steps, [last * sizes[-1] / float(np.median(sizes))]))
    # A gap after a group is none of its time.
    widths = np.minimum(widths, np.median(widths) * np.maximum(sizes / float(np.median(sizes)), 1.0))
    group = np.repeat(np.arange(len(starts)), sizes)
    within = np.arange(len(time)) - starts[group]
    return np.asarray(time[starts][group] + widths[group] * within / sizes[group], dtype=np.float64)


def _without_held(time: Array, values: Array, say: object) -> tuple[Array, Array]:
    """Answer samples without those that a logger that is faster than the robot has written again."""
    assert callable(say)
    if len(time) < 3 or not values.shape[1]:
        return time, values
    held = np.concatenate(([False], _same(values[1:], values[:-1])))
    if held.mean() < HELD - 0.05:
        return time, values
    starts = np.flatnonzero(~held)
    lengths = np.diff(np.concatenate((starts, [len(time)])))
    usual = int(np.median(lengths))
    # A robot at rest repeats itself too, but in few and long runs.
    if usual < 2 or np.mean(np.abs(lengths - usual) <= 1) < 0.8:
        return time, values
    say(
        Severity.WARNING,
        f"{int(held.sum())} of {len(time)} samples repeat the one before, {usual} times each: the logger is "
        "faster "
        "than the robot; only the first of each is used",
    )
    return time[starts], values[starts]


def _same(a: Array, b: Array) -> np.ndarray:
    return np.asarray(((a == b) | (np.isnan(a) & np.isnan(b))).all(axis=1))


def period_of(time: Array) -> float:
    """Answer the time between two samples (s), in spite of gaps."""
    steps = np.diff(time)
    median = float(np.median(steps))
    without_gaps = steps[steps <= GAP * median]
    mean = float(without_gaps.mean())
    if len(without_gaps) > COARSE * len(steps):
        return mean
    # Samples that come in bursts: what counts is how many there are in a while.
    return float(np.mean(np.sort(steps)[: max(int(0.99 * len(steps)), 1)]))


def between_gaps(time: Array, period: float) -> tuple[tuple[int, int], ...]:
    """Answer the stretches without gaps as pairs of first sample and the one after the last."""
    edges = np.concatenate(([0], np.flatnonzero(np.diff(time) > GAP * period) + 1, [len(time)]))
    return tuple((int(a), int(b)) for a, b in itertools.pairwise(edges))
