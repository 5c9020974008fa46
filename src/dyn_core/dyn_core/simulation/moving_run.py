# SPDX-License-Identifier: Apache-2.0
"""A simulation of a robot on a moving base from efforts over time to states over time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dyn_core.core.arrays import Array
from dyn_core.simulation.effort_csv import EffortTable
from dyn_core.simulation.moving_base_simulator import MovingBaseSimulator
from dyn_core.simulation.simulated_state import Sensors
from dyn_core.simulation.simulation_run import row_begins


class MovingSample(NamedTuple):
    """One moment of a simulation.

    Attributes:
        time: time (s).
        pose: of the base, as it is.
        V: velocity of the base, as it is.
        q: positions of the joints as measured (rad or m).
        qd: their velocities as measured (rad/s or m/s).
        qdd: their accelerations that efforts and forces give from now on (rad/s^2 or m/s^2).
        effort: efforts from now on, as measured (N m or N).
    """

    time: float
    pose: Array
    V: Array
    q: Array
    qd: Array
    qdd: Array
    effort: Array


def moving_run(
    simulator: MovingBaseSimulator, table: EffortTable, sensors: Sensors, steps: int
) -> Iterator[MovingSample]:
    """Answer steps + 1 samples from the present state on; its time is that of the first row.

    An effort, and a force on the base, holds from the first step on that does not begin before it.
    """
    step = simulator.settings.step
    begins = row_begins(table, step)
    row = -1
    for k in range(steps + 1):
        if k > 0:
            simulator.step()
        last = row
        while row + 1 < len(begins) and begins[row + 1] <= k:
            row += 1
        if row != last:
            simulator.set_effort(table.efforts[row])
            if table.forces is not None:
                simulator.set_force(table.forces[row])
        state = simulator.state
        measured = sensors.read(state.q, state.qd, simulator.effort)
        moment = float(table.times[0]) + k * step
        qdd = simulator.acceleration
        yield MovingSample(moment, state.pose, state.V, measured.q, measured.qd, qdd, measured.effort)
