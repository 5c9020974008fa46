# SPDX-License-Identifier: Apache-2.0
"""One column of a log, repaired: turns are counted, spikes removed, short holes bridged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.logs.holes import bridged
from dyn_core.logs.mapping.assignment import Source
from dyn_core.logs.repair.column_anomalies import spikes
from dyn_core.logs.units import EFFORT, POSITION
from dyn_core.logs.wrapping import unwrapped

SPIKES = {POSITION: 0.02, EFFORT: 0.5}
"""Least height of spikes that are removed, in parts of the usual range: efforts may well go up and down."""
BEYOND = 1e30
"""Values from here on stand for none, as the greatest numbers of a format do."""


@dataclass(frozen=True, eq=False)
class Repaired:
    """A column, and what was done to it.

    Attributes:
        values: NaN where there is still no value.
        bridged: how many values were bridged.
        jumps: how many jumps by a turn were removed.
        turn: how large a turn is, in the unit of the column.
        spikes: first sample of each spike.
    """

    values: Array
    bridged: int
    jumps: int
    turn: float
    spikes: tuple[int, ...]


def repaired(time: Array, values: Array, quantity: str, source: Source, longest: float) -> Repaired:
    """Answer a column repaired, in the unit that it has in the log.

    Args:
        time: increasing (s), (N,).
        values: (N,), not finite where there is no value.
        quantity: what it is.
        source: where it comes from.
        longest: longest hole that is bridged (s).
    """
    known = np.flatnonzero(np.abs(values) < BEYOND)
    course = values[known]
    jumps, turn = 0, 0.0
    if quantity == POSITION and len(course) > 2:
        course, jumps, turn = unwrapped(course, source.unit, source.said.gain)
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
