# SPDX-License-Identifier: Apache-2.0
"""A motion at many times."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from dyn_core.errors import DynError, listed
from dyn_core.facade.arrays import Array
from dyn_core.io.number_table import TIME, NumberTable, at_line, read_number_table
from dyn_core.model.robot import Robot

QUANTITIES = ("position", "velocity", "acceleration", "effort")
APART = 0.5
"""The part by which given derivatives may differ from differences, which sparse samples make inexact."""


@dataclass(frozen=True, eq=False)
class SampledMotion:
    """How the joints should move.

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

    def contradictions(self, joint_names: Sequence[str]) -> list[str]:
        """Answer a sentence about each joint whose velocities or accelerations are of another motion."""
        steps = np.diff(self.times)[:, None]
        found = []
        for what, of, values, rates in (
            ("velocities", "positions", self.q, self.qd),
            ("accelerations", "velocities", self.qd, self.qdd),
        ):
            changes = np.diff(values, axis=0)
            expected = 0.5 * steps * (rates[:-1] + rates[1:])
            apart, change, given = (
                np.sqrt(np.mean(x**2, axis=0)) for x in (changes - expected, changes, expected)
            )
            found += [
                f"the {what} of joint '{joint_names[j]}' are not those of its {of}: between samples these "
                f"change by {change[j]:.3g}, where the {what} make {given[j]:.3g} of it (root mean squares)"
                for j in np.flatnonzero(apart > APART * np.maximum(change, given)).tolist()
            ]
        return found

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


def read_motion(path: str | os.PathLike[str], robot: Robot) -> SampledMotion:
    """Answer the motion in a CSV file as ``dyn excite`` and ``dyn simulate`` write them.

    Its columns are ``time`` (s), and for each joint ``position.<joint>`` and perhaps ``velocity.<joint>`` and
    ``acceleration.<joint>``; columns of efforts and of passive joints are passed over. Velocities and
    accelerations that are not there for all joints are made by central differences.

    Raises:
        DynError: the file cannot be read or used; the message names file, line and column.
    """
    needed = "position.<joint> for each joint"
    table = read_number_table(path, "positions", partial(_check_names, robot), needed)
    if len(table.times) < 3:
        raise DynError(
            f"{os.fspath(path)}: there are {len(table.times)} samples: give at least 3, "
            "of which the motion between them can be seen"
        )
    q, qd, qdd = (_columns(table, quantity, robot.coordinate_names) for quantity in QUANTITIES[:3])
    assert q is not None
    derived = []
    if qd is None:
        qd = np.gradient(q, table.times, axis=0, edge_order=2)
        derived.append("velocity")
    if qdd is None or derived:
        qdd = np.gradient(qd, table.times, axis=0, edge_order=2)
        derived.append("acceleration")
    return SampledMotion(table.times.copy(), q, qd, qdd, tuple(derived))


def _check_names(robot: Robot, names: Sequence[str], line: int) -> None:
    known = {
        f"{quantity}.{joint}"
        for quantity in QUANTITIES
        for joint in (*robot.coordinate_names, *robot.passive_joint_names)
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
