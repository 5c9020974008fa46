# SPDX-License-Identifier: Apache-2.0
"""The time stamps of a table, in seconds."""

from __future__ import annotations

import re

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError, listed
from dyn_core.core.findings import Finding, Severity
from dyn_core.logs.mapping.assignment import bare, meaning_of
from dyn_core.logs.mapping.log_map import LogMap
from dyn_core.logs.stream import Stream
from dyn_core.logs.units import TIME, UNITS

SLOWEST, FASTEST = 10.0, 10_000.0
"""Rates of robots (Hz): three decades, so that a period fits to one unit only."""
_GUESSED = ("s", "ms", "us", "ns")


def seconds(stream: Stream, said: LogMap) -> tuple[Array, list[Finding]]:
    """Answer the time stamps of a stream (s), from wherever they begin.

    The unit is that of the map or of the name of the column; where neither says it, it is the one with which
    the rate is one that robots have.

    Raises:
        DynError: no column is the time, several could be, or no unit makes sense.
    """
    if stream.time is not None:
        return stream.time, []
    columns = _columns(stream, said)
    if isinstance(columns, tuple):
        whole, part = (_believable(stream.values[:, k]) for k in columns)
        return (whole - _middle(whole)) + part * 1e-9, []
    raw = _believable(stream.values[:, columns])
    raw = raw - _middle(raw)
    meaning = meaning_of(stream.names[columns], ())
    known = said.time.unit or said.units.get(TIME) or (meaning.unit if meaning is not None else None)
    if known is not None:
        return raw * known.factor, []
    return _guessed(raw, stream.names[columns])


def _believable(stamps: Array) -> Array:
    """Answer stamps, with NaN for those that are no time in any unit."""
    return np.where(np.abs(stamps) < 1e25, stamps, np.nan)


def _middle(stamps: Array) -> float:
    """Answer a time that stamps are near to, so that differences from it keep their digits."""
    finite = stamps[np.isfinite(stamps)]
    return float(np.sort(finite)[len(finite) // 2]) if len(finite) else 0.0


def _columns(stream: Stream, said: LogMap) -> int | tuple[int, int]:
    """Answer the column of the time, or those of its seconds and nanoseconds."""
    if said.time.column is not None:
        named = [k for k, name in enumerate(stream.names) if said.time.column in (name, bare(name))]
        if not named:
            raise DynError(
                f"there is no column '{said.time.column}' for the time: there are {listed(stream.names, 12)}"
            )
        return named[0]
    meanings = [(k, meaning_of(name, ())) for k, name in enumerate(stream.names)]
    times = [(k, found) for k, found in meanings if found is not None and found.quantity == TIME]
    whole = [k for k, found in times if not found.part]
    parts = [[k for k, found in times if found.part == part] for part in ("sec", "nanosec")]
    if len(whole) == 1:
        return whole[0]
    # Beside the time of a table, headers of messages have theirs.
    plain = [k for k in whole if not re.search("/|header", stream.names[k].lower())]
    if len(plain) == 1:
        return plain[0]
    if not whole and all(len(columns) == 1 for columns in parts):
        return parts[0][0], parts[1][0]
    if not whole and len(parts[0]) == 1:
        return parts[0][0]
    if not times:
        names = (*stream.names, *stream.ignored)
        raise DynError(
            f"no column is the time: there are {listed(names, 12)}; give a map with 'time: "
            f"{{column: NAME, unit: s}}'"
        )
    raise DynError(
        f"several columns could be the time: {listed(stream.names[k] for k, _ in times)}; give a map with "
        "one of "
        "them as 'time: {column: NAME}'"
    )


def _guessed(raw: Array, name: str) -> tuple[Array, list[Finding]]:
    """Answer the stamps in the unit in which the rate makes sense."""
    steps = np.diff(raw)
    steps = steps[np.isfinite(steps) & (steps > 0.0)]
    if not len(steps):
        return raw, []
    period = float(np.median(steps))
    for unit in (UNITS[TIME][word] for word in _GUESSED):
        if 1.0 / FASTEST < period * unit.factor <= 1.0 / SLOWEST:
            if unit.name == "s":
                return raw, []
            return raw * unit.factor, [
                Finding(
                    Severity.WARNING,
                    "time",
                    (name,),
                    f"its steps of {period:g} cannot be s: taken for {unit.name}, "
                    f"{1.0 / (period * unit.factor):.4g} Hz; "
                    "give the unit in a map, or in the name as in 'time_ms'",
                )
            ]
    return raw, []
