# SPDX-License-Identifier: Apache-2.0
"""Run a simulation on a fixed or moving base: efforts over time to states over time, both as CSV."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.core.number_table import TIME, NumberTable, at_line, read_number_table
from dyn_core.core.text import path_text
from dyn_core.model.moving_base.named_entries import input_entries
from dyn_core.robot.moving_base import MovingBase
from dyn_core.robot.robot import Robot
from dyn_core.simulation.moving_base_simulator import MovingBaseSimulator
from dyn_core.simulation.simulated_state import Sensors, no_actuator
from dyn_core.simulation.simulator import Simulator

# Efforts over time from a CSV file


@dataclass(frozen=True, eq=False)
class EffortTable:
    """Efforts over time. The efforts of a row hold until the time of the next row."""

    times: Array  # times (s), increasing, (m,)
    efforts: Array  # efforts in the order of the joints (N m or N), (m, dof)
    missing: tuple[str, ...]  # names of the joints without a column, whose efforts are 0
    forces: Array | None = None  # forces on a moving base (N, N m), (m, k); None without columns for them


def read_effort_csv(path: str | os.PathLike[str], robot: Robot, of_base: Sequence[str] = ()) -> EffortTable:
    """Return the efforts in a file.

    The first line that is not empty has ``time`` (s) and names of joints (N m or N), in any order. Each other
    line has as many numbers. `of_base` names forces on a moving base, which may have columns too. Raise
    DynError if the file cannot be read or used; the message has file, line and column.
    """
    table = read_number_table(path, "efforts", partial(_check_header, robot, of_base), "names of joints")
    _check_passive(table, robot, path_text(path))
    efforts = _columns(table, robot.coordinate_names)
    missing = tuple(name for name in robot.actuated_joint_names if name not in table.names)
    forces = _columns(table, of_base) if set(of_base) & set(table.names) else None
    return EffortTable(table.times.copy(), efforts, missing, forces)


def _columns(table: NumberTable, names: Sequence[str]) -> Array:
    """Return the columns of these names; missing columns are 0."""
    columns = [
        table.values[:, table.names.index(name)] if name in table.names else 0.0 * table.times
        for name in names
    ]
    return np.column_stack(columns) if columns else np.zeros((len(table.times), 0))


def _check_header(robot: Robot, of_base: Sequence[str], names: Sequence[str], line: int) -> None:
    for name in names:
        if name not in (TIME, *robot.coordinate_names, *robot.passive_joint_names, *of_base):
            if name in {joint.name for joint in robot.joints if joint.mimic}:
                code = "effort-column-of-mimic-on-base" if of_base else "effort-column-of-mimic"
            else:
                code = "effort-or-force-column-unknown" if of_base else "effort-column-unknown"
            raise at_line(line, code, name, joints=robot.coordinate_names, forces=of_base)


def _check_passive(table: NumberTable, robot: Robot, file: str) -> None:
    for name in (name for name in robot.passive_joint_names if name in table.names):
        moved = np.flatnonzero(table.values[:, table.names.index(name)])
        if len(moved):
            cause = no_actuator(robot, name)
            raise at_line(int(table.lines[moved[0]]), cause.code, name, **cause.values).in_file(file)


# Simulation

MOST_STEPS = 1_000_000_000
ON_TIME = 1e-6  # Fraction of a step by which an effort may be late for its step


class Sample(NamedTuple):
    """Sample of a simulation: measured q (rad or m), qd (rad/s or m/s) and effort (N m or N) at a time (s).

    The effort, and the accelerations qdd (rad/s^2 or m/s^2) under it, are those after this time. `passive`
    are positions, velocities and accelerations of the passive joints of loops.
    """

    time: float
    q: Array
    qd: Array
    qdd: Array
    effort: Array
    passive: tuple[Array, ...] = ()


def steps_in(duration: float, step: float) -> int:
    """Number of steps in a duration (s); the last step may end after it."""
    if not 0.0 < duration < math.inf:
        raise DynError("duration-range", duration=duration)
    count = duration / step
    if not count <= MOST_STEPS:
        raise DynError("steps-too-many", duration=duration, count=count, step=step, limit=MOST_STEPS)
    return max(1, math.ceil(count - ON_TIME))


def row_begins(table: EffortTable, step: float) -> list[float]:
    """Return the first step of each row of efforts: the first step that does not begin before the row."""
    begins: list[float] = np.ceil((table.times - table.times[0]) / step - ON_TIME).tolist()
    return begins


def run(simulator: Simulator, table: EffortTable, steps: int) -> Iterator[Sample]:
    """Yield steps + 1 samples, beginning with the current state at the time of the first row.

    An effort holds from the first step that does not begin before it.
    """
    for time in _steps(simulator, table, steps):
        passive: tuple[Array, ...] = ()
        if simulator.passive_joint_names:
            state = simulator.passive_state
            passive = state.q, state.qd, simulator.passive_acceleration
        measured = simulator.measure()
        yield Sample(time, measured.q, measured.qd, simulator.acceleration, measured.effort, passive)


def _steps(simulator: Simulator | MovingBaseSimulator, table: EffortTable, steps: int) -> Iterator[float]:
    """Make the steps, with the efforts and forces of the table, and yield the time of each state (s)."""
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
            if isinstance(simulator, MovingBaseSimulator) and table.forces is not None:
                simulator.set_force(table.forces[row])
        yield float(table.times[0]) + k * step


# States over time as CSV

COLUMNS = ("position", "velocity", "acceleration", "effort")
OF_PASSIVE = COLUMNS[:3]


def header(joint_names: Sequence[str], passive: Sequence[str] = ()) -> str:
    """Return the first line: ``time``, then ``position.<joint>`` for all joints, and so on.

    The columns of passive joints come last, without efforts.
    """
    names = [f"{column}.{joint}" for column in COLUMNS for joint in joint_names]
    return _csv_line(["time", *names, *(f"{column}.{joint}" for column in OF_PASSIVE for joint in passive)])


def _csv_line(names: Sequence[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(names)
    return text.getvalue()


class Lines:
    """Samples as lines, with 12 digits."""

    def __init__(self, joint_names: Sequence[str], passive: Sequence[str] = ()) -> None:
        """Take the joints of the samples, and the passive joints of loops."""
        count = 1 + len(COLUMNS) * len(joint_names) + len(OF_PASSIVE) * len(passive)
        self._format = ",".join(["%.12g"] * count) + "\n"

    def line(self, sample: Sample | MovingSample) -> str:
        """Return the line of a sample."""
        vectors = (*sample[1:-1], *sample.passive) if isinstance(sample, Sample) else sample[1:]
        values = [sample.time]
        for vector in vectors:  # in half of the time of a nested generator
            values += vector.tolist()
        return self._format % tuple(values)


# Moving base


class MovingSample(NamedTuple):
    """Sample of a simulation on a moving base, as `Sample`, with the true pose and velocity V of the base."""

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
    """Yield steps + 1 samples, as `run`; forces on the base hold like efforts."""
    for time in _steps(simulator, table, steps):
        state = simulator.state
        measured = sensors.read(state.q, state.qd, simulator.effort)
        qdd = simulator.acceleration
        yield MovingSample(time, state.pose, state.V, measured.q, measured.qd, qdd, measured.effort)


def moving_header(base: MovingBase) -> str:
    """Return the first line: ``time``, the base, then ``position.<joint>`` for all joints, and so on.

    The columns of the base are ``pose.x`` to ``pose.qw`` and ``V.linear_x`` to ``V.angular_z``; for a planar
    base ``pose.x``, ``pose.y``, ``pose.angle`` and ``V.linear_x``, ``V.linear_y``, ``V.angular``.
    """
    names = [*column_names_of(base, "pose"), *column_names_of(base, "V")]
    names += [f"{column}.{joint}" for column in COLUMNS for joint in base.robot.coordinate_names]
    return _csv_line(["time", *names])


def column_names_of(base: MovingBase, part: str) -> tuple[str, ...]:
    """Return the column names of the pose, of V, or of forces F, such as ``F.force_x``."""
    return tuple(f"{part}.{entry.name.replace(' ', '_')}" for entry in input_entries(base, part))


class MovingLines(Lines):
    """Samples on a moving base as lines, with 12 digits."""

    def __init__(self, base: MovingBase) -> None:
        """Take the robot on its base of the samples."""
        count = 1 + base.pose_size + base.freedom + len(COLUMNS) * base.robot.dof
        self._format = ",".join(["%.12g"] * count) + "\n"
