# SPDX-License-Identifier: Apache-2.0
"""Angles and counters that begin anew after a turn, or when their bits are full."""

from __future__ import annotations

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.logs.units import TURN, Unit

COUNTERS = tuple(2.0**bits for bits in (8, 10, 12, 14, 16, 17, 18, 19, 20, 22, 23, 24, 26, 32))
NEAR = 0.25
"""Part of a turn by which a jump may differ from a turn and what the neighbours do."""


def unwrapped(values: Array, unit: Unit | None, gain: float | None) -> tuple[Array, int, float]:
    """Answer values without jumps by a whole turn.

    A jump is one where the step is a turn more, or less, than the steps beside it say, and where all
    values lie within one turn, as those of such a sensor do.

    Args:
        values: finite, in the unit of the column.
        unit: of the values; None for rad.
        gain: rad a count, where the unit is counts.

    Returns:
        the values, the number of jumps, and the size of a turn.
    """
    if not len(values):
        return values, 0, 0.0
    for turn in _turns(values, unit, gain):
        if values.max() - values.min() > turn * 1.001 or values.max() - values.min() < 0.5 * turn:
            continue
        steps = np.diff(values)
        large = np.flatnonzero(np.abs(steps) > 0.5 * turn)
        if not len(large):
            continue
        usual = _beside(steps, np.abs(steps) > 0.5 * turn)[large]
        whole = np.round((steps[large] - usual) / turn)
        off = np.abs(steps[large] - usual - whole * turn)
        jumps = (whole != 0) & (off < NEAR * turn)
        if not jumps.any():
            continue
        turns = np.zeros(len(values))
        turns[large[jumps] + 1] = whole[jumps]
        return values - turn * np.cumsum(turns), int(jumps.sum()), turn
    return values, 0, 0.0


def _turns(values: Array, unit: Unit | None, gain: float | None) -> tuple[float, ...]:
    """Answer how large a turn may be, in the unit of the values."""
    if unit is None or unit.result == "rad":
        return (TURN / (1.0 if unit is None else unit.factor),)
    if unit.result == "counts":
        revolution = () if gain is None else (abs(TURN / gain),)
        return (*revolution, *COUNTERS)
    return ()


def _beside(steps: Array, large: np.ndarray) -> Array:
    """Answer for each step what the steps around it are that are not large themselves."""
    usual = np.where(large, np.nan, steps)
    index = np.arange(len(steps))
    known = np.flatnonzero(~large)
    if not len(known):
        return np.zeros(len(steps))
    return np.asarray(np.interp(index, known, usual[known]), dtype=np.float64)
