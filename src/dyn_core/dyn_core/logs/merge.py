# SPDX-License-Identifier: Apache-2.0
"""Quantities of joints that come in several streams, on the time of one of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.core.findings import Finding, Severity
from dyn_core.logs.mapping.assignment import Assignment
from dyn_core.logs.mapping.log_map import LogMap
from dyn_core.logs.pace import GAP, period_of
from dyn_core.logs.repair.time_stamps import Timed, in_order
from dyn_core.logs.stream import Recording
from dyn_core.logs.time_unit import seconds


@dataclass(frozen=True, eq=False)
class Merged:
    """The columns of all joints, as the log has them, at the same times.

    Attributes:
        time: increasing (s), (N,).
        columns: by joint and quantity, (N,), NaN where there is no value.
        findings: what was found and done.
        done: sentences.
    """

    time: Array
    columns: dict[tuple[str, str], Array]
    findings: tuple[Finding, ...]
    done: tuple[str, ...]


def merged(recording: Recording, assignment: Assignment, said: LogMap) -> Merged:
    """Answer the columns at the times of the stream with the most samples; others are interpolated.

    Raises:
        DynError: a stream has no samples in order of time, or not at the time of the others.
    """
    used = sorted({source.stream for source in assignment.sources.values()})
    findings: list[Finding] = []
    timed: dict[int, Timed] = {}
    places: dict[int, list[int]] = {}
    epoch = min((recording.streams[s].epoch for s in used), default=0.0)
    for s in used:
        stream = recording.streams[s]
        time, found = seconds(stream, said)
        places[s] = sorted({x.column for x in assignment.sources.values() if x.stream == s})
        shifted = time + (stream.epoch - epoch)
        timed[s] = in_order(shifted, stream.values[:, places[s]], stream.source, len(used) == 1)
        findings += [*found, *timed[s].findings]
    if not used:
        raise DynError("there is no signal of a joint in it")
    base = max(used, key=lambda s: len(timed[s].time))
    time = timed[base].time
    done: list[str] = []
    columns: dict[tuple[str, str], Array] = {}
    delays: dict[str, list[float]] = {}
    for key, source in assignment.sources.items():
        own = timed[source.stream]
        values = own.values[:, places[source.stream].index(source.column)]
        delay = said.delay(key[1], source.said)
        if delay != 0.0:
            delays.setdefault(key[1], []).append(delay)
        as_is = source.stream == base and delay == 0.0
        columns[key] = values if as_is else _at(time, own.time - delay, values)
    for quantity, given in delays.items():
        low, high = 1e3 * min(given), 1e3 * max(given)
        times = f"{low:g} ms" if low == high else f"{low:g} to {high:g} ms"
        done.append(
            f"{quantity} of {len(given)} joints taken as {times} earlier than recorded, as the map says"
        )
    for s in used:
        if s != base:
            stream = recording.streams[s]
            lost = float(np.isnan(_at(time, timed[s].time, np.zeros(len(timed[s].time)))).mean())
            if lost == 1.0:
                raise DynError(
                    f"'{stream.source}' and '{recording.streams[base].source}' were not recorded at the "
                    "same time"
                )
            sentence = (
                f"'{stream.source}' with {len(timed[s].time)} samples was interpolated at the times of "
                f"'{recording.streams[base].source}' with {len(time)}"
            )
            done.append(sentence)
            findings.append(Finding(Severity.NOTE, "time", (stream.source,), sentence))
    return Merged(time, columns, tuple(findings), tuple(done))


def _at(time: Array, own: Array, values: Array) -> Array:
    """Answer values at other times, by straight lines; NaN before the first, after the last and in gaps."""
    if len(own) < 2:
        return np.full(len(time), np.nan)
    result = np.interp(time, own, values, left=np.nan, right=np.nan)
    after = np.clip(np.searchsorted(own, time), 1, len(own) - 1)
    in_gap = own[after] - own[after - 1] > GAP * period_of(own)
    result[in_gap & (time != own[after]) & (time != own[after - 1])] = np.nan
    return np.asarray(result, dtype=np.float64)
