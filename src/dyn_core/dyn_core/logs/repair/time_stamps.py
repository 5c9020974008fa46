# SPDX-License-Identifier: Apache-2.0
"""Time stamps that increase: what stands in the way of it is repaired, or named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.core.findings import Finding, Severity
from dyn_core.logs.pace import GAP
from dyn_core.logs.repair.sampling_gaps import LONGEST as LONGEST_FILLED

LATE, LATE_SAMPLES = 1.0, 20
"""Samples that come at most so late (s, or periods) are sorted in; what is later begins a new recording."""
LONGEST = 1e7
"""Stamps that are further (s) from the others are absurd."""
MOST_BACK = 0.3
"""Part of the steps that may go back before the stamps are no time."""
MOST_RECORDINGS = 100
COARSE = 0.25
"""Part of the stamps that is not new from which on the clock is taken to be coarse."""
HELD = 0.45
"""Part of the samples that repeat the one before from which on the logger is taken to be the faster."""

_Say: TypeAlias = Callable[[Severity, str], None]


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
    findings: tuple[Finding, ...] = ()


def in_order(time: Array, values: Array, where: str = "", alone: bool = True) -> Timed:
    """Answer samples with increasing stamps.

    Stamps that are not finite are left out; samples that come a little late are sorted in; where the clock
    goes back for good, recordings follow one another after a gap; repeated samples are left out, and stamps
    of a coarse clock are spread.

    Args:
        time: stamps (s), (N,).
        values: (N, columns).
        where: the topic, for messages.
        alone: whether no other samples have to stay in step with these.

    Raises:
        DynError: the stamps are no time, or nothing is left.
    """
    findings: list[Finding] = []

    def say(severity: Severity, sentence: str) -> None:
        findings.append(Finding(severity, "time", (where,) if where else (), sentence))

    known = np.isfinite(time)
    if known.any():
        known &= np.abs(time - np.median(time[known])) < LONGEST
    if not known.all():
        say(
            Severity.WARNING,
            f"{int((~known).sum())} samples have no time, or an absurd one: they are left out",
        )
        time, values = time[known], values[known]
    if not len(time):
        raise DynError("there are no samples: record the robot while it moves")
    time, values = _forwards(time, values, say, alone)
    time, values = _without_repeats(time, values, say)
    time, values = _without_held(time, values, say)
    # Stamps that were moved may have come so close that no digit tells them apart.
    apart = np.concatenate(([True], np.diff(time) > 0.0))
    if not apart.all():
        say(Severity.WARNING, f"{int((~apart).sum())} samples have no time of their own: they are left out")
        time, values = time[apart], values[apart]
    return Timed(time, values, tuple(findings))


def _forwards(time: Array, values: Array, say: _Say, alone: bool) -> tuple[Array, Array]:
    steps = np.diff(time)
    back = np.flatnonzero(steps < 0.0)
    if not len(back):
        return time, values
    if len(back) > max(MOST_BACK * len(steps), 1):
        raise DynError(
            f"time runs backwards in {len(back)} of its {len(steps)} steps: sort the samples by time, or "
            "name the right "
            "column in a map"
        )
    forwards = steps[steps > 0.0]
    period = float(np.median(forwards)) if len(forwards) else LATE
    pieces = _recordings(time, min(LATE, LATE_SAMPLES * period))
    if len(pieces) > 1:
        first = pieces[0][1]
        what = (
            f"time runs backwards {len(pieces) - 1} times, first by {time[first - 1] - time[first]:.3g} s "
            "after sample "
            f"{first}"
        )
        if not alone:
            raise DynError(f"{what}: signals of several topics cannot be aligned then; record them anew")
        say(
            Severity.WARNING,
            f"{what}: taken for {len(pieces)} recordings, one after the other with gaps between",
        )
    times: list[Array] = []
    rows: list[Array] = []
    late, latest, start = 0, 0.0, float(time[: pieces[0][1]].min())
    for a, b in pieces:
        order = np.argsort(time[a:b], kind="stable")
        lag = np.maximum.accumulate(time[a:b]) - time[a:b]
        late, latest = late + int((lag > 0.0).sum()), max(latest, float(lag.max()))
        own = time[a:b][order]
        times.append(own - own[0] + start)
        rows.append(values[a:b][order])
        start = float(times[-1][-1]) + 2.0 * max(GAP * period, LONGEST_FILLED)
    if late:
        say(Severity.WARNING, f"{late} samples come late, by {latest:.3g} s at most: sorted by time")
    return np.concatenate(times), np.concatenate(rows)


def _recordings(time: Array, late: float) -> list[tuple[int, int]]:
    """Answer the stretches in which the clock goes back by at most `late`, as first and end."""
    pieces: list[tuple[int, int]] = []
    start = 0
    while True:
        own = time[start:]
        begins = np.flatnonzero((np.maximum.accumulate(own)[:-1] - own[1:] > late) & (np.diff(own) < 0.0))
        if not len(begins):
            return [*pieces, (start, len(time))]
        if len(pieces) >= MOST_RECORDINGS:
            raise DynError(
                f"time runs backwards more than {MOST_RECORDINGS} times: cut the log into its recordings"
            )
        end = start + int(begins[0]) + 1
        pieces.append((start, end))
        start = end


def _without_repeats(time: Array, values: Array, say: _Say) -> tuple[Array, Array]:
    """Answer samples with stamps of their own."""
    same_time = np.flatnonzero(np.diff(time) == 0.0) + 1
    if not len(same_time):
        return time, values
    repeated = same_time[_same(values[same_time], values[same_time - 1])]
    keep = np.ones(len(time), dtype=bool)
    keep[repeated] = False
    others = len(same_time) - len(repeated)
    if repeated.size and others <= COARSE * len(time):
        say(Severity.NOTE, f"{len(repeated)} samples are there twice: once is enough")
    if others > COARSE * len(time):
        # Samples that are equal at rest are no repetitions then.
        say(
            Severity.WARNING,
            f"{len(same_time)} of {len(time)} samples have the stamp of the one before: the clock is "
            "coarse, they are "
            "spread evenly to the next stamp",
        )
        return _spread(time), values
    time, values = time[keep], values[keep]
    return _with_stamps_of_their_own(time, values, say) if others else (time, values)


def _with_stamps_of_their_own(time: Array, values: Array, say: _Say) -> tuple[Array, Array]:
    """Answer samples of which the few that share a stamp are spread, or left out but for the first.

    Where the samples before and after such a group leave time for all of it, stamps came late or early, and
    each sample is one. Where they do not, somebody has written more than there was.
    """
    starts = np.flatnonzero(np.concatenate(([True], np.diff(time) > 0.0)))
    sizes = np.diff(np.append(starts, len(time)))
    steps = np.diff(time[starts])
    if not len(steps):
        raise DynError("all samples have the same time: name the right column in a map")
    period = float(np.median(steps))
    time, keep = time.copy(), np.ones(len(time), dtype=bool)
    spread = dropped = 0
    for k in np.flatnonzero(sizes > 1).tolist():
        a, size = int(starts[k]), int(sizes[k])
        width = time[a + size] - time[a - 1] if 0 < k < len(starts) - 1 else 0.0
        if abs(width / period - (size + 1)) < 0.5:
            time[a : a + size] = time[a - 1] + width * np.arange(1, size + 1) / (size + 1)
            spread += size
        else:
            keep[a + 1 : a + size] = False
            dropped += size - 1
    if spread:
        say(
            Severity.WARNING,
            f"{spread} samples share stamps with others, and there is time for them before or after: their "
            "stamps came late or early, they are spread evenly",
        )
    if dropped:
        say(
            Severity.WARNING,
            f"{dropped} samples have the stamp of the one before but other values: the first of each is used",
        )
    return time[keep], values[keep]


def _spread(time: Array) -> Array:
    """Answer stamps in which each group of equal ones is spread evenly up to the next."""
    starts = np.flatnonzero(np.concatenate(([True], np.diff(time) > 0.0)))
    sizes = np.diff(np.concatenate((starts, [len(time)])))
    steps = np.diff(time[starts])
    if not len(steps):
        raise DynError("all samples have the same time: name the right column in a map")
    # A group lasts until the next, but a gap after it is none of its time.
    step, size = float(np.median(steps)), float(np.median(sizes))
    widths = np.minimum(np.append(steps, step), step * np.maximum(sizes / size, 1.0))
    group = np.repeat(np.arange(len(starts)), sizes)
    within = np.arange(len(time)) - starts[group]
    return np.asarray(time[starts][group] + widths[group] * within / sizes[group], dtype=np.float64)


def _without_held(time: Array, values: Array, say: _Say) -> tuple[Array, Array]:
    """Answer samples without those that a logger that is faster than the robot has written again."""
    if len(time) < 3 or not values.shape[1]:
        return time, values
    held = np.concatenate(([False], _same(values[1:], values[:-1])))
    if held.mean() < HELD:
        return time, values
    starts = np.flatnonzero(~held)
    if len(starts) == 1:  # nothing moves at all
        return time, values
    lengths = np.diff(np.append(starts, len(time)))
    usual = int(np.median(lengths))
    # A robot at rest repeats itself too, but in few and long runs.
    if usual < 2 or np.mean(np.abs(lengths - usual) <= 1) < 0.8:
        return time, values
    say(
        Severity.WARNING,
        f"{int(held.sum())} of {len(time)} samples repeat the one before, {usual} times each: the logger is "
        "faster than "
        "the robot; only the first of each is used",
    )
    return time[starts], values[starts]


def _same(a: Array, b: Array) -> np.ndarray:
    return np.asarray(((a == b) | (np.isnan(a) & np.isnan(b))).all(axis=1))
