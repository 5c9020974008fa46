# SPDX-License-Identifier: Apache-2.0
"""Efforts over time, from a CSV file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import listed
from dyn_core.core.number_table import TIME, NumberTable, at_line, read_number_table
from dyn_core.core.text import path_text
from dyn_core.robot.robot import Robot
from dyn_core.simulation.no_actuator import no_actuator


@dataclass(frozen=True, eq=False)
class EffortTable:
    """Efforts that hold from their time to the next, those of the last row for ever.

    Attributes:
        times: times (s), increasing, (m,).
        efforts: efforts in the order of the joints (N m or N), (m, dof).
        missing: names of the joints that the file does not name: their efforts are 0.
        forces: forces on a moving base (N, N m), (m, k); None where the file has none.
    """

    times: Array
    efforts: Array
    missing: tuple[str, ...]
    forces: Array | None = None


def read_effort_csv(path: str | os.PathLike[str], robot: Robot, of_base: Sequence[str] = ()) -> EffortTable:
    """Answer the efforts in a file.

    The first line that is not empty is ``time`` (s) and names of joints (N m or N), in any order; each of
    the others has as many numbers.

    Args:
        path: path of the file.
        robot: the robot.
        of_base: names of the forces on its moving base, which the file may have, too; 0 for those it has not.

    Raises:
        DynError: the file cannot be read or used; the message names file, line and column.
    """
    table = read_number_table(path, "efforts", partial(_check_header, robot, of_base), "names of joints")
    _check_passive(table, robot, path_text(path))
    efforts = _columns(table, robot.coordinate_names)
    missing = tuple(name for name in robot.actuated_joint_names if name not in table.names)
    forces = _columns(table, of_base) if set(of_base) & set(table.names) else None
    return EffortTable(table.times.copy(), efforts, missing, forces)


def _columns(table: NumberTable, names: Sequence[str]) -> Array:
    """Answer the columns of these names, and 0 for those that there are not."""
    columns = np.zeros((len(table.times), len(names)))
    for j, name in enumerate(names):
        if name in table.names:
            columns[:, j] = table.values[:, table.names.index(name)]
    return columns


def _check_header(robot: Robot, of_base: Sequence[str], names: Sequence[str], line: int) -> None:
    for name in names:
        if name not in (TIME, *robot.coordinate_names, *robot.passive_joint_names, *of_base):
            followers = {joint.name for joint in robot.joints if joint.mimic}
            why = f"this {'column' if of_base else 'joint'} is not one of the robot's"
            if name in followers:
                why = "this joint follows another joint"
            known = f"its joints are {listed(robot.coordinate_names)}"
            if of_base:
                known += f", and the forces on its base {listed(of_base, len(of_base))}"
            raise at_line(line, f"{why}: {known}", name)


def _check_passive(table: NumberTable, robot: Robot, file: str) -> None:
    for name in robot.passive_joint_names:
        if name in table.names:
            moved = np.flatnonzero(table.values[:, table.names.index(name)])
            if len(moved):
                raise at_line(int(table.lines[moved[0]]), no_actuator(robot, name), name).in_file(file)
