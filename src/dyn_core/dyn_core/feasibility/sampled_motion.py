# SPDX-License-Identifier: Apache-2.0
"""Motions as samples over time, read from CSV files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO, Literal, TypeAlias

import numpy as np

from dyn_core.control.trajectories.piecewise_polynomials import spline_velocities
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.core.messages import Message
from dyn_core.core.number_table import TIME, NumberTable, at_line, read_number_stream, read_number_table
from dyn_core.core.text import path_text
from dyn_core.feasibility.column_consistency import (
    Contradiction,
    check_following,
    contradictions,
    following_names,
)
from dyn_core.robot.robot import Robot

Rate: TypeAlias = Literal["velocity", "acceleration"]
QUANTITIES = ("position", "velocity", "acceleration", "effort")
PLURALS = {"velocity": "velocities", "acceleration": "accelerations"}
LEAST = {"velocity": (0.01, 0.02), "acceleration": (0.1, 0.5)}
"""Contradictions below these are not reported: change of the values, difference of the rates (for velocities
rad and rad/s, or m and m/s; for accelerations the same per s). Noise makes them, with little effect."""
STANDARD_INPUT = "standard input"  # Name of a stream in messages


@dataclass(frozen=True, eq=False)
class SampledMotion:
    """Motion of the joints over time; `read_motion` checks that velocities agree with positions.

    Attributes:
        times: times (s), increasing, (m,).
        q, qd, qdd: positions, velocities, accelerations (rad or m, per s, per s^2), (m, n).
        derived: quantities that were computed by differences: "velocity", "acceleration".
    """

    times: Array
    q: Array
    qd: Array
    qdd: Array
    derived: tuple[str, ...] = ()

    def slower(self, factor: float) -> SampledMotion:
        """Return the motion on the same path in `factor` times the time."""
        times = self.times[0] + factor * (self.times - self.times[0])
        return SampledMotion(times, self.q, self.qd / factor, self.qdd / factor**2, self.derived)


def read_motion(path: str | os.PathLike[str] | BinaryIO, robot: Robot) -> SampledMotion:
    """Return the motion in a CSV file as written by ``dyn excite`` and ``dyn simulate``.

    The columns are ``time`` (s), ``position.<joint>`` for each joint, and optionally ``velocity.<joint>`` and
    ``acceleration.<joint>``. Velocities or accelerations that some joint lacks are computed by central
    differences. Efforts are ignored. Columns of joints that mimic others or close loops are compared with the
    joints that they follow, except velocities of passive joints. Raise DynError if the file cannot be read,
    or contradicts itself; the message names line and column.

    Args:
        path: path of the file, or standard input as a stream.
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
        if count == 1:
            raise DynError("motion-single-sample", count=count)
        raise DynError("motion-samples-too-few", count=count)
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


def _check_rates(table: NumberTable, robot: Robot, quantity: Rate, values: Array, rates: Array) -> None:
    """Raise DynError, with joint, column and time, for rates that clearly contradict the values."""
    found = contradictions(table.times, values, rates, *LEAST[quantity])
    if found:
        changing = "positions" if quantity == "velocity" else "velocities"
        cause = _cause(robot, "rates-unlike-changes", found[0], quantity, changing=changing)
        raise _refused(table, robot, quantity, found, cause)


def _check_between(table: NumberTable, robot: Robot, q: Array, qd: Array, qdd: Array) -> None:
    """Raise DynError for velocities that contradict accelerations which agree with the positions."""
    found = contradictions(table.times, qd, qdd, *LEAST["acceleration"])
    if not found:
        return
    # Differences of sparse samples are too small, like those with a wrong factor; splines are not.
    ends = np.gradient(q, table.times, axis=0, edge_order=2)
    made = spline_velocities(table.times, q, ends[0], ends[-1])
    others = {one.joint for one in contradictions(table.times, made, qdd, *LEAST["acceleration"])}
    found = [one for one in found if one.joint not in others]
    if found:
        cause = _cause(robot, "velocities-unlike-accelerations", found[0], "acceleration")
        raise _refused(table, robot, "velocity", found, cause)


def _cause(robot: Robot, code: str, one: Contradiction, quantity: Rate, **values: str) -> Message:
    rates = {"given": one.given + 0.0, "made": one.made + 0.0, "unit": _unit(robot, one, quantity)}
    return Message(code, joint=robot.coordinate_names[one.joint], **rates, **values)


def _refused(
    table: NumberTable, robot: Robot, quantity: Rate, found: Sequence[Contradiction], cause: Message
) -> DynError:
    one = found[0]
    return at_line(
        int(table.lines[int(np.searchsorted(table.times, one.begin))]),
        "motion-rates-contradict" if len(found) == 1 else "motion-rates-contradict-in-several",
        f"{quantity}.{robot.coordinate_names[one.joint]}",
        begin=one.begin,
        end=one.end,
        cause=cause,
        others=len(found) - 1,
        rates=PLURALS[quantity],
        unit=_unit(robot, one, quantity),
    )


def _unit(robot: Robot, one: Contradiction, quantity: Rate) -> str:
    per = "/s" if quantity == "velocity" else "/s^2"
    return f"{robot.independent_joints[one.joint].position_unit}{per}"


def _check_names(robot: Robot, names: Sequence[str], line: int) -> None:
    joints = (*robot.coordinate_names, *following_names(robot))
    known = {TIME, *(f"{quantity}.{joint}" for quantity in QUANTITIES for joint in joints)}
    for name in names:
        if name not in known:
            columns = [f"{quantity}.<joint>" for quantity in QUANTITIES]
            raise at_line(line, "motion-column-unknown", name, known=columns, joints=robot.coordinate_names)
    missing = [joint for joint in robot.coordinate_names if f"position.{joint}" not in names]
    if missing:
        raise at_line(line, "motion-positions-missing", missing=missing)


def _columns(table: NumberTable, quantity: str, joints: Sequence[str]) -> Array | None:
    names = [f"{quantity}.{joint}" for joint in joints]
    if any(name not in table.names for name in names):
        return None
    return table.values[:, [table.names.index(name) for name in names]]
