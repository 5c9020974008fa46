# SPDX-License-Identifier: Apache-2.0
"""A motion at many times."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO, Literal

import numpy as np

from dyn_core.control.spline_velocities import spline_velocities
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError, counted, listed
from dyn_core.core.number_table import TIME, NumberTable, at_line, read_number_stream, read_number_table
from dyn_core.core.text import path_text
from dyn_core.feasibility.column_consistency import Contradiction, contradictions
from dyn_core.feasibility.following_columns import check_following, following_names
from dyn_core.robot.robot import Robot

QUANTITIES = ("position", "velocity", "acceleration", "effort")
PLURALS = {"velocity": "velocities", "acceleration": "accelerations"}
LEAST = {"velocity": (0.01, 0.02), "acceleration": (0.1, 0.5)}
"""What contradictions at least are, as changes and as rates: sensors make smaller ones, which torques hardly
show (rad and rad/s, m and m/s; the same per s)."""
STANDARD_INPUT = "standard input"
"""What messages call a stream."""


@dataclass(frozen=True, eq=False)
class SampledMotion:
    """How the joints should move. Whether velocities are those of positions, `read_motion` looks at.

    Attributes:
        times: times (s), increasing, (m,).
        q: positions (rad or m), (m, n).
        qd: velocities (rad/s or m/s), (m, n).
        qdd: accelerations (rad/s^2 or m/s^2), (m, n).
        derived: what was not given, and made from the rest by differences: "velocity", "acceleration".
    """

    times: Array
    q: Array
    qd: Array
    qdd: Array
    derived: tuple[str, ...] = ()

    def slower(self, factor: float) -> SampledMotion:
        """Answer the same path, run through in `factor` times the time."""
        begin = self.times[0]
        return SampledMotion(
            begin + factor * (self.times - begin),
            self.q,
            self.qd / factor,
            self.qdd / factor**2,
            self.derived,
        )


def read_motion(path: str | os.PathLike[str] | BinaryIO, robot: Robot) -> SampledMotion:
    """Answer the motion in a CSV file as ``dyn excite`` and ``dyn simulate`` write them.

    Its columns are ``time`` (s), and for each joint ``position.<joint>`` and perhaps ``velocity.<joint>`` and
    ``acceleration.<joint>``. Velocities and accelerations that are not there for all joints are made by
    central differences. Columns of efforts are passed over; those of joints that follow others, because they
    mimic them or close loops, are compared with what these say, but for velocities of passive joints.

    Args:
        path: path of the file, or a stream that is standard input.
        robot: the robot.

    Raises:
        DynError: the file cannot be read or used, or contradicts itself; the message names line and column.
    """
    needed = "position.<joint> for each joint"
    check = partial(_check_names, robot)
    if isinstance(path, str | os.PathLike):
        shown = path_text(path)
        table = read_number_table(path, "positions", check, needed)
    else:
        shown = STANDARD_INPUT
        table = read_number_stream(path, shown, "positions", check, needed)
    try:
        return _motion(table, robot)
    except DynError as error:
        raise error.in_file(shown) from error


def _motion(table: NumberTable, robot: Robot) -> SampledMotion:
    count = len(table.times)
    if count < 3:
        raise DynError(
            f"there {'is' if count == 1 else 'are'} {counted(count, 'sample')}: give at least 3, "
            "of which the motion between them can be seen"
        )
    q, qd, qdd = (_columns(table, quantity, robot.coordinate_names) for quantity in QUANTITIES[:3])
    assert q is not None
    derived = []
    if qd is None:
        qd = np.gradient(q, table.times, axis=0, edge_order=2)
        derived.append("velocity")
    else:
        _check_rates(table, robot, "velocity", q, qd)
        if qdd is not None:
            _check_between(table, robot, q, qd, qdd)
    if qdd is None:
        qdd = np.gradient(qd, table.times, axis=0, edge_order=2)
        derived.append("acceleration")
    else:
        _check_rates(table, robot, "acceleration", qd, qdd)
    check_following(robot, table, q, qd, qdd)
    return SampledMotion(table.times.copy(), q, qd, qdd, tuple(derived))


def _check_rates(
    table: NumberTable,
    robot: Robot,
    quantity: Literal["velocity", "acceleration"],
    values: Array,
    rates: Array,
) -> None:
    """Refuse rates that are clearly not those of the values; DynError names joint, column and time."""
    found = contradictions(table.times, values, rates, *LEAST[quantity])
    if not found:
        return
    one = found[0]
    per, what = ("/s", "positions") if quantity == "velocity" else ("/s^2", "velocities")
    unit = f"{robot.independent_joints[one.joint].position_unit}{per}"
    name = robot.coordinate_names[one.joint]
    raise _refused(
        table,
        robot,
        quantity,
        found,
        f"it gives joint '{name}' {one.given + 0.0:.4g} {unit} in the mean, where its {what} change at "
        f"{one.made + 0.0:.4g} {unit}",
    )


def _check_between(table: NumberTable, robot: Robot, q: Array, qd: Array, qdd: Array) -> None:
    """Refuse velocities that contradict accelerations, where these agree with the positions; DynError."""
    found = contradictions(table.times, qd, qdd, *LEAST["acceleration"])
    if not found:
        return
    # Differences of sparse samples are too small, which looks like a factor; splines are not.
    ends = np.gradient(q, table.times, axis=0, edge_order=2)
    made = spline_velocities(table.times, q, ends[0], ends[-1])
    others = {one.joint for one in contradictions(table.times, made, qdd, *LEAST["acceleration"])}
    found = [one for one in found if one.joint not in others]
    if found:
        one = found[0]
        unit = f"{robot.independent_joints[one.joint].position_unit}/s^2"
        name = robot.coordinate_names[one.joint]
        raise _refused(
            table,
            robot,
            "velocity",
            found,
            f"the velocity of joint '{name}' changes at {one.made + 0.0:.4g} {unit} in the mean, where its "
            f"accelerations are {one.given + 0.0:.4g} {unit}, and its positions agree with these",
        )


def _refused(
    table: NumberTable,
    robot: Robot,
    quantity: Literal["velocity", "acceleration"],
    found: Sequence[Contradiction],
    what: str,
) -> DynError:
    one = found[0]
    per = "/s" if quantity == "velocity" else "/s^2"
    unit = f"{robot.independent_joints[one.joint].position_unit}{per}"
    more = f", and {counted(len(found) - 1, 'more joint')} so" if len(found) > 1 else ""
    return at_line(
        int(table.lines[int(np.searchsorted(table.times, one.begin))]),
        f"from {one.begin:.4g} to {one.end:.4g} s {what}{more}: give {PLURALS[quantity]} of the same motion "
        f"in {unit}, or leave these columns out, then they are differences",
        f"{quantity}.{robot.coordinate_names[one.joint]}",
    )


def _check_names(robot: Robot, names: Sequence[str], line: int) -> None:
    known = {
        f"{quantity}.{joint}"
        for quantity in QUANTITIES
        for joint in (*robot.coordinate_names, *following_names(robot))
    }
    for name in names:
        if name != TIME and name not in known:
            raise at_line(
                line,
                f"it is no {', '.join(f'{quantity}.<joint>' for quantity in QUANTITIES)} of this robot: "
                f"its joints are {listed(robot.coordinate_names)}",
                name,
            )
    missing = [joint for joint in robot.coordinate_names if f"position.{joint}" not in names]
    if missing:
        raise at_line(line, f"there is no column position.<joint> for {listed(missing)}: give one for each")


def _columns(table: NumberTable, quantity: str, joints: Sequence[str]) -> Array | None:
    names = [f"{quantity}.{joint}" for joint in joints]
    if any(name not in table.names for name in names):
        return None
    return table.values[:, [table.names.index(name) for name in names]]
