# SPDX-License-Identifier: Apache-2.0
"""Efforts over time, from a CSV file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from dyn_core.errors import listed
from dyn_core.facade.arrays import Array
from dyn_core.io.number_table import TIME, NumberTable, at_line, read_number_table
from dyn_core.io.source import path_text
from dyn_core.model.robot import Robot
from dyn_core.simulation.no_actuator import no_actuator


@dataclass(frozen=True, eq=False)
class EffortTable:
    """Efforts that hold from their time to the next, those of the last row for ever.

    Attributes:
        times: times (s), increasing, (m,).
        efforts: efforts in the order of the joints (N m or N), (m, dof).
        missing: names of the joints that the file does not name: their efforts are 0.
    """

    times: Array
    efforts: Array
    missing: tuple[str, ...]


def read_effort_csv(path: str | os.PathLike[str], robot: Robot) -> EffortTable:
    """Answer the efforts in a file.

    The first line that is not empty is ``time`` (s) and names of joints (N m or N), in any order; each of
    the others has as many numbers.

    Raises:
        DynError: the file cannot be read or used; the message names file, line and column.
    """
    table = read_number_table(path, "efforts", partial(_check_header, robot), "names of joints")
    _check_passive(table, robot, path_text(path))
    efforts = np.zeros((len(table.times), robot.dof))
    for j, name in enumerate(robot.coordinate_names):
        if name in table.names:
            efforts[:, j] = table.values[:, table.names.index(name)]
    missing = tuple(name for name in robot.actuated_joint_names if name not in table.names)
    return EffortTable(table.times.copy(), efforts, missing)


def _check_header(robot: Robot, names: Sequence[str], line: int) -> None:
    for name in names:
        if name not in (TIME, *robot.coordinate_names, *robot.passive_joint_names):
            followers = {joint.name for joint in robot.joints if joint.mimic}
            why = "follows another joint" if name in followers else "is not one of the robot's"
            raise at_line(line, f"this joint {why}: its joints are {listed(robot.coordinate_names)}", name)


def _check_passive(table: NumberTable, robot: Robot, file: str) -> None:
    for name in robot.passive_joint_names:
        if name in table.names:
            moved = np.flatnonzero(table.values[:, table.names.index(name)])
            if len(moved):
                raise at_line(int(table.lines[moved[0]]), no_actuator(robot, name), name).in_file(file)
