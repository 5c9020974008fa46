# SPDX-License-Identifier: Apache-2.0
"""Columns of joints that follow others, as those that mimic them and the passive ones of loops.

What such a joint does follows from the others. A file that says it as well, as recordings of all joints do,
has to say the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from dyn_core.control.passive_agreement import TOLERANCE, PassiveAgreement
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.core.number_table import NumberTable, at_line
from dyn_core.feasibility.column_consistency import is_clean
from dyn_core.feasibility.gain import gain
from dyn_core.robot.joints import Sigma
from dyn_core.robot.robot import Robot

APART = 0.5
"""Part of velocities and accelerations by which they may be off, in the root mean square: measured ones are
noisy."""
LEAST = {"velocity": 0.1, "acceleration": 5.0}
"""By how much they may be off in any case (rad/s, m/s, or these per s)."""


def following_names(robot: Robot) -> tuple[str, ...]:
    """Answer the joints that follow others: those that mimic, and of a robot with loops the passive ones."""
    mimics = tuple(joint.name for joint in robot.joints if joint.mimic is not None)
    return (*mimics, *robot.passive_joint_names)


def check_following(robot: Robot, table: NumberTable, q: Array, qd: Array, qdd: Array) -> None:
    """Refuse columns of joints that follow others and do something else there.

    Where loops do not close nothing is said: that is for others to refuse.

    Args:
        robot: the robot.
        table: the file; its columns are named ``position.<joint>`` and so on.
        q: positions of the coordinates (rad or m), (m, n).
        qd: velocities (rad/s or m/s), (m, n).
        qdd: accelerations (rad/s^2 or m/s^2), (m, n).

    Raises:
        DynError: a column contradicts the joints that its joint follows; the message names line and column.
    """
    for name, leader, expected in _positions(robot, table, q):
        column = f"position.{name}"
        joint = robot.joint(name)
        given = table.values[:, table.names.index(column)]
        apart = given - expected
        if joint.sigma is Sigma.REVOLUTE:
            # Some count turns, some do not.
            apart = np.remainder(apart + math.pi, 2.0 * math.pi) - math.pi
        if np.abs(apart).max() > TOLERANCE:
            raise _refused(table, column, joint.position_unit, given, apart, leader)
    for joint in robot.joints:
        mimic = joint.mimic
        if mimic is None or (mimic.leader and mimic.leader not in robot.coordinates):
            continue
        for quantity, per, rates in (("velocity", "/s", qd), ("acceleration", "/s^2", qdd)):
            column = f"{quantity}.{joint.name}"
            if column not in table.names:
                continue
            given = table.values[:, table.names.index(column)]
            leader = f"joint '{robot.joints[mimic.leader - 1].name}'" if mimic.leader else ""
            expected = (
                mimic.multiplier * rates[:, robot.coordinates.index(mimic.leader)]
                if leader
                else np.zeros(len(given))
            )
            apart = given - expected
            room = max(LEAST[quantity], APART * max(_rms(given), _rms(expected)))
            factor = gain(given, expected, offset=not (is_clean(given) and is_clean(expected)))
            if _rms(apart) > (LEAST[quantity] if factor and factor.is_off() else room):
                raise _refused(table, column, f"{joint.position_unit}{per}", given, apart, leader)


def _positions(robot: Robot, table: NumberTable, q: Array) -> Iterator[tuple[str, str, Array]]:
    """Answer the joints with columns of positions, what they follow in words, and where that puts them."""
    named = [name for name in following_names(robot) if f"position.{name}" in table.names]
    of_joint = dict(zip(robot.coordinates, q.T, strict=True))
    leaders = {joint.mimic.leader for joint in robot.joints if joint.mimic and joint.name in named}
    passive = robot.passive_joint_names if robot.loops else ()
    numbers = {joint.name: j for j, joint in enumerate(robot.joints, start=1)}
    if any(name in named or numbers[name] in leaders for name in passive):
        followed = PassiveAgreement(robot).followed(q)
        if followed is None:
            return
        of_joint |= {numbers[name]: column for name, column in zip(passive, followed.T, strict=True)}
    for name in named:
        mimic = robot.joint(name).mimic
        if mimic is None:
            yield name, "the loops", of_joint[numbers[name]]
        elif mimic.leader:
            leader = robot.joints[mimic.leader - 1].name
            yield name, f"joint '{leader}'", mimic.multiplier * of_joint[mimic.leader] + mimic.offset
        else:
            yield name, "", np.full(len(q), mimic.offset)


def _refused(table: NumberTable, column: str, unit: str, given: Array, apart: Array, leader: str) -> DynError:
    k = int(np.abs(apart).argmax())
    _, _, name = column.partition(".")
    verb = "make" if leader == "the loops" else "makes"
    follows = f"{leader}, which it follows, {verb} it" if leader else "it follows nothing and stands still at"
    return at_line(
        int(table.lines[k]),
        f"joint '{name}' has {given[k]:.4g} {unit} at {table.times[k]:.4g} s, but {follows} "
        f"{given[k] - apart[k] + 0.0:.4g} {unit}: leave the column out, or give what follows",
        column,
    )


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values * values)))
