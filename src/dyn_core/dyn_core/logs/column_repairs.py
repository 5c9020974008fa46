# SPDX-License-Identifier: Apache-2.0
"""One column of a log, repaired: turns are counted, spikes removed, short holes bridged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_core.facade.arrays import Array
from dyn_core.logs.assignment import Source
from dyn_core.logs.holes import bridged
from dyn_core.logs.suspects import without_spikes
from dyn_core.logs.units import POSITION, VELOCITY
from dyn_core.logs.wrapping import unwrapped

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
        spikes: samples that were spikes.
    """

    values: Array
    bridged: int
    jumps: int
    turn: float
    spikes: np.ndarray


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
    jumps, turn, spikes = 0, 0.0, np.empty(0, dtype=int)
    if quantity == POSITION and len(course) > 2:
        course, jumps, turn = unwrapped(course, source.unit, source.said.gain)
    if quantity != VELOCITY:
        course, spikes = without_spikes(time[known], course)
    result = np.full(len(values), np.nan)
    result[known] = course
    result, count = bridged(time, result, longest)
    return Repaired(result, count, jumps, turn, known[spikes])
