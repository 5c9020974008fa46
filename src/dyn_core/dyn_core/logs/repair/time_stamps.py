# SPDX-License-Identifier: Apache-2.0
"""Time stamps in seconds, in increasing order, and the columns of several streams at the same times."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.core.findings import Finding, Severity
from dyn_core.core.messages import Message
from dyn_core.logs.log import TIME, UNITS
from dyn_core.logs.mapping.assignment import Assignment, bare, meaning_of
from dyn_core.logs.mapping.log_map import LogMap
from dyn_core.logs.recording import Recording, Stream
from dyn_core.logs.repair.sampling_gaps import GAP, period_of
from dyn_core.logs.repair.sampling_gaps import LONGEST as LONGEST_FILLED

LATE, LATE_SAMPLES = 1.0, 20
"""Greatest delay (s, or periods) of samples that are sorted in; later ones begin a new recording."""
LONGEST = 1e7
"""Greatest distance (s) of valid stamps from the others."""
MOST_BACK = 0.3
"""Greatest fraction of the steps that may go back."""
MOST_RECORDINGS = 100
COARSE = 0.25
"""Part of repeated stamps above which the clock is coarse."""
HELD = 0.45
"""Part of repeated samples from which on the logger is faster than the robot."""
SLOWEST, FASTEST = 10.0, 10_000.0
"""Rates of robots (Hz): three decades, so that only one unit fits a period."""

_Add: TypeAlias = Callable[[Severity, Message], None]
_Samples: TypeAlias = tuple[Array, Array]
"""Time stamps (s), (N,), and values, (N, columns)."""


def in_order(time: Array, values: Array, topic: str, alone: bool, findings: list[Finding]) -> _Samples:
    """Return samples with increasing stamps (s); findings are added to `findings`.

    Samples without a finite stamp are left out, and late samples are sorted in. Where the clock goes back for
    long, recordings follow one another after a gap. Repeated samples are left out, and the stamps of a coarse
    clock are spread. `alone` says that no other stream has the same clock.

    Raises:
        DynError: the stamps are not a time, or no sample is left.
    """

    def add(severity: Severity, message: Message) -> None:
        findings.append(Finding(severity, "time", (topic,) if topic else (), message))

    known = np.isfinite(time)
    if known.any():
        known &= np.abs(time - np.median(time[known])) < LONGEST
    if not known.all():
        add(Severity.WARNING, Message("samples-without-time", count=int((~known).sum())))
        time, values = time[known], values[known]
    if not len(time):
        raise DynError("log-without-samples")
    time, values = _forwards(time, values, add, alone)
    time, values = _without_repeats(time, values, add)
    time, values = _without_held(time, values, add)
    # Stamps that were moved may have become equal by rounding.
    apart = _is_new(time)
    if not apart.all():
        add(Severity.WARNING, Message("samples-at-same-time", count=int((~apart).sum())))
        time, values = time[apart], values[apart]
    return time, values


def _is_new(time: Array) -> np.ndarray:
    """Return which stamps are later than the one before."""
    return np.concatenate(([True], np.diff(time) > 0.0))


def _forwards(time: Array, values: Array, add: _Add, alone: bool) -> _Samples:
    """Return samples of one recording after the other, each sorted by time."""
    steps = np.diff(time)
    back = np.flatnonzero(steps < 0.0)
    if not len(back):
        return time, values
    if len(back) > max(MOST_BACK * len(steps), 1):
        raise DynError("time-backwards", count=len(back), steps=len(steps))
    forwards = steps[steps > 0.0]
    period = float(np.median(forwards)) if len(forwards) else LATE
    pieces = _recordings(time, min(LATE, LATE_SAMPLES * period))
    if len(pieces) > 1:
        first = pieces[0][1]
        step = float(time[first - 1] - time[first])
        count = len(pieces) - 1
        if not alone:
            raise DynError("topic-time-backwards", count=count, step=step, sample=first)
        message = Message("recordings-joined", count=count, step=step, sample=first, recordings=count + 1)
        add(Severity.WARNING, message)
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
        add(Severity.WARNING, Message("samples-late", count=late, latest=latest))
    return np.concatenate(times), np.concatenate(rows)


def _recordings(time: Array, late: float) -> list[tuple[int, int]]:
    """Return the stretches in which the clock goes back by at most `late` (s), as first and end."""
    pieces: list[tuple[int, int]] = []
    start = 0
    while True:
        own = time[start:]
        begins = np.flatnonzero((np.maximum.accumulate(own)[:-1] - own[1:] > late) & (np.diff(own) < 0.0))
        if not len(begins):
            return [*pieces, (start, len(time))]
        if len(pieces) >= MOST_RECORDINGS:
            raise DynError("time-backwards-too-often", most=MOST_RECORDINGS)
        end = start + int(begins[0]) + 1
        pieces.append((start, end))
        start = end


def _without_repeats(time: Array, values: Array, add: _Add) -> _Samples:
    """Return samples with different stamps."""
    same_time = np.flatnonzero(np.diff(time) == 0.0) + 1
    if not len(same_time):
        return time, values
    repeated = same_time[_same(values[same_time], values[same_time - 1])]
    others = len(same_time) - len(repeated)
    if others > COARSE * len(time):
        # Equal samples are not repetitions then: the robot was at rest.
        add(Severity.WARNING, Message("clock-coarse", count=len(same_time), total=len(time)))
        return _spread(time), values
    if repeated.size:
        add(Severity.NOTE, Message("samples-repeated", count=len(repeated)))
    time, values = (np.delete(array, repeated, axis=0) for array in (time, values))
    return _with_own_stamps(time, values, add) if others else (time, values)


def _groups(time: Array) -> tuple[np.ndarray, np.ndarray, Array]:
    """Return starts and sizes of groups of equal stamps, and the steps between groups."""
    starts = np.flatnonzero(_is_new(time))
    steps = np.diff(time[starts])
    if not len(steps):
        raise DynError("time-constant")
    return starts, np.diff(np.append(starts, len(time))), steps


def _with_own_stamps(time: Array, values: Array, add: _Add) -> _Samples:
    """Return samples in which few groups of equal stamps are spread, or only their first sample is kept.

    A group is spread if there is time for it between its neighbours: stamps came late or early. Otherwise
    there were fewer samples than were written.
    """
    starts, sizes, steps = _groups(time)
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
        add(Severity.WARNING, Message("stamps-spread", count=spread))
    if dropped:
        add(Severity.WARNING, Message("stamps-repeated", count=dropped))
    return time[keep], values[keep]


def _spread(time: Array) -> Array:
    """Return stamps in which each group of equal ones is spread evenly up to the next group."""
    starts, sizes, steps = _groups(time)
    # A group lasts until the next one, but not during a gap.
    step, size = float(np.median(steps)), float(np.median(sizes))
    widths = np.minimum(np.append(steps, step), step * np.maximum(sizes / size, 1.0))
    group = np.repeat(np.arange(len(starts)), sizes)
    within = np.arange(len(time)) - starts[group]
    return np.asarray(time[starts][group] + widths[group] * within / sizes[group], dtype=np.float64)


def _without_held(time: Array, values: Array, add: _Add) -> _Samples:
    """Return samples without the repetitions of a logger that is faster than the robot."""
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
    # A robot at rest repeats its samples too, but in few and long runs.
    if usual < 2 or np.mean(np.abs(lengths - usual) <= 1) < 0.8:
        return time, values
    add(Severity.WARNING, Message("samples-held", count=int(held.sum()), total=len(time), times=usual))
    return time[starts], values[starts]


def _same(a: Array, b: Array) -> np.ndarray:
    return np.asarray(((a == b) | (np.isnan(a) & np.isnan(b))).all(axis=1))


@dataclass(frozen=True, eq=False)
class Merged:
    """Raw columns of all joints at the same times.

    Attributes:
        time: increasing (s), (N,).
        columns: by joint and quantity, (N,), NaN where a value is missing.
        findings: findings about the time.
        done: processing steps.
    """

    time: Array
    columns: dict[tuple[str, str], Array]
    findings: tuple[Finding, ...]
    done: tuple[Message, ...]


def merged(recording: Recording, assignment: Assignment, log_map: LogMap) -> Merged:
    """Return the columns at the times of the stream with the most samples; others are interpolated.

    Raises:
        DynError: a stream has no samples in order of time, or not at the time of the others.
    """
    used = sorted({source.stream for source in assignment.sources.values()})
    if not used:
        raise DynError("log-without-joint-signals")
    findings: list[Finding] = []
    times: dict[int, Array] = {}
    values: dict[tuple[int, int], Array] = {}
    epoch = min(recording.streams[s].epoch for s in used)
    for s in used:
        stream = recording.streams[s]
        time = seconds(stream, log_map, findings) + (stream.epoch - epoch)
        own = sorted({source.column for source in assignment.sources.values() if source.stream == s})
        times[s], rows = in_order(time, stream.values[:, own], stream.source, len(used) == 1, findings)
        values |= {(s, k): column for k, column in zip(own, rows.T, strict=True)}
    base = max(used, key=lambda s: len(times[s]))
    time = times[base]
    done: list[Message] = []
    columns: dict[tuple[str, str], Array] = {}
    delays: dict[str, list[float]] = {}
    for key, source in assignment.sources.items():
        column = values[source.stream, source.column]
        delay = log_map.delay(key[1], source.mapping)
        if delay != 0.0:
            delays.setdefault(key[1], []).append(delay)
        as_is = source.stream == base and delay == 0.0
        columns[key] = column if as_is else _at(time, times[source.stream] - delay, column)
    for quantity, given in delays.items():
        low, high = 1e3 * min(given), 1e3 * max(given)
        code = "delay-removed" if low == high else "delays-removed"
        done.append(Message(code, quantity=quantity, count=len(given), least_ms=low, greatest_ms=high))
    other = recording.streams[base].source
    for s in used:
        if s != base:
            topic, samples = recording.streams[s].source, len(times[s])
            if np.isnan(_at(time, times[s], np.zeros(samples))).all():
                raise DynError("topics-not-simultaneous", topic=topic, other=other)
            message = Message(
                "topic-interpolated", topic=topic, samples=samples, other=other, other_samples=len(time)
            )
            done.append(message)
            findings.append(Finding(Severity.NOTE, "time", (topic,), message))
    return Merged(time, columns, tuple(findings), tuple(done))


def _at(time: Array, own: Array, values: Array) -> Array:
    """Return values at other times by linear interpolation; NaN outside of the own times and in gaps."""
    if len(own) < 2:
        return np.full(len(time), np.nan)
    result = np.interp(time, own, values, left=np.nan, right=np.nan)
    after = np.clip(np.searchsorted(own, time), 1, len(own) - 1)
    in_gap = own[after] - own[after - 1] > GAP * period_of(own)
    result[in_gap & (time != own[after]) & (time != own[after - 1])] = np.nan
    return np.asarray(result, dtype=np.float64)


def seconds(stream: Stream, log_map: LogMap, findings: list[Finding]) -> Array:
    """Return the time stamps of a stream (s), relative to any time; findings are added to `findings`.

    The unit is that of the map or of the name of the column; without one, it is the unit that makes the rate
    one of a robot.

    Raises:
        DynError: the column of the time is missing or ambiguous.
    """
    if stream.time is not None:
        return stream.time
    columns = _columns(stream, log_map)
    if isinstance(columns, tuple):
        return _relative(stream.values[:, columns[0]]) + _valid(stream.values[:, columns[1]]) * 1e-9
    raw, name = _relative(stream.values[:, columns]), stream.names[columns]
    meaning = meaning_of(name, ())
    known = log_map.time.unit or log_map.units.get(TIME) or (meaning.unit if meaning is not None else None)
    return raw * (_guessed(raw, name, findings) if known is None else known.factor)


def _valid(stamps: Array) -> Array:
    """Return stamps, with NaN for values that are not a time in any unit."""
    return np.where(np.abs(stamps) < 1e25, stamps, np.nan)


def _relative(stamps: Array) -> Array:
    """Return valid stamps relative to one of them, so that differences keep their digits."""
    stamps = _valid(stamps)
    finite = stamps[np.isfinite(stamps)]
    return stamps - (float(np.sort(finite)[len(finite) // 2]) if len(finite) else 0.0)


def _columns(stream: Stream, log_map: LogMap) -> int | tuple[int, int]:
    """Return the column of the time, or those of its seconds and nanoseconds."""
    if log_map.time.column is not None:
        named = [k for k, name in enumerate(stream.names) if log_map.time.column in (name, bare(name))]
        if not named:
            raise DynError("time-column-unknown", column=log_map.time.column, known=stream.names)
        return named[0]
    meanings = [(k, meaning_of(name, ())) for k, name in enumerate(stream.names)]
    times = [(k, found) for k, found in meanings if found is not None and found.quantity == TIME]
    whole = [k for k, found in times if not found.part]
    parts = [[k for k, found in times if found.part == part] for part in ("sec", "nanosec")]
    if len(whole) == 1:
        return whole[0]
    # The time of a table is preferred to those of message headers.
    plain = [k for k in whole if not re.search("/|header", stream.names[k].lower())]
    if len(plain) == 1:
        return plain[0]
    if not whole and all(len(columns) == 1 for columns in parts):
        return parts[0][0], parts[1][0]
    if not whole and len(parts[0]) == 1:
        return parts[0][0]
    if not times:
        raise DynError("time-column-missing", known=(*stream.names, *stream.ignored))
    raise DynError("time-column-ambiguous", columns=[stream.names[k] for k, _ in times])


def _guessed(raw: Array, name: str, findings: list[Finding]) -> float:
    """Return the factor of the unit (s) with which the rate is possible."""
    steps = np.diff(raw)
    steps = steps[np.isfinite(steps) & (steps > 0.0)]
    period = float(np.median(steps)) if len(steps) else 0.0
    for unit in (UNITS[TIME][word] for word in ("s", "ms", "us", "ns")):
        if 1.0 / FASTEST < period * unit.factor <= 1.0 / SLOWEST:
            if unit.name != "s":
                rate = 1.0 / (period * unit.factor)
                message = Message("time-unit-guessed", step=period, unit=unit.name, rate=rate)
                findings.append(Finding(Severity.WARNING, "time", (name,), message))
            return unit.factor
    return 1.0
