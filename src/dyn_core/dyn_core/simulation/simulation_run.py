# SPDX-License-Identifier: Apache-2.0
"""A simulation from efforts over time to states over time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.simulation.effort_csv import EffortTable
from dyn_core.simulation.simulator import Simulator

MOST_STEPS = 1_000_000_000
ON_TIME = 1e-6
"""Part of a step by which an effort may come late to its step."""


class Sample(NamedTuple):
    """One moment of a simulation.

    Attributes:
        time: time (s).
        q: positions as measured (rad or m).
        qd: velocities as measured (rad/s or m/s).
        qdd: accelerations that the efforts give from now on (rad/s^2 or m/s^2).
        effort: efforts from now on, as measured (N m or N).
        passive: positions, velocities and accelerations of the passive joints of loops, one after the other.
    """

    time: float
    q: Array
    qd: Array
    qdd: Array
    effort: Array
    passive: tuple[Array, ...] = ()


def steps_in(duration: float, step: float) -> int:
    """How many steps a duration takes (s), the last of which may end after it."""
    if not 0.0 < duration < math.inf:
        raise DynError(f"the duration is {duration:g} s: give a finite number > 0")
    count = duration / step
    if not count <= MOST_STEPS:
        raise DynError(f"{duration:g} s are {count:g} steps of {step:g} s, more than {MOST_STEPS}")
    return max(1, math.ceil(count - ON_TIME))


def row_begins(table: EffortTable, step: float) -> list[float]:
    """Answer from which step each row of efforts holds: the first that does not begin before it."""
    begins: list[float] = np.ceil((table.times - table.times[0]) / step - ON_TIME).tolist()
    return begins


def run(simulator: Simulator, table: EffortTable, steps: int) -> Iterator[Sample]:
    """Answer steps + 1 samples from the present state on; its time is that of the first row.

    An effort holds from the first step on that does not begin before it.
    """
    step = simulator.settings.step
    start = float(table.times[0])
    begins = row_begins(table, step)
    row = -1
    loops = bool(simulator.passive_joint_names)
    for k in range(steps + 1):
        if k > 0:
            simulator.step()
        changed = False
        while row + 1 < len(begins) and begins[row + 1] <= k:
            row, changed = row + 1, True
        if changed:
            simulator.set_effort(table.efforts[row])
        measured = simulator.measure()
        passive = _passive(simulator) if loops else ()
        moment = start + k * step
        yield Sample(moment, measured.q, measured.qd, simulator.acceleration, measured.effort, passive)


def _passive(simulator: Simulator) -> tuple[Array, ...]:
    state = simulator.passive_state
    return state.q, state.qd, simulator.passive_acceleration
