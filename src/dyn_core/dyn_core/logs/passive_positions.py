# SPDX-License-Identifier: Apache-2.0
"""Positions of passive joints in a log, against where the loops put them by the actuated joints.

No equation needs them. But where they contradict the loops, lengths, zeros or the assembly mode of the
description are not those of the robot, and what is identified with it is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from dyn_core.control.passive_agreement import TOLERANCE, PassiveAgreement
from dyn_core.core.arrays import Array
from dyn_core.core.findings import Finding, Severity
from dyn_core.logs.log import Log
from dyn_core.logs.mapping.assignment import Assignment, Source, meaning_of
from dyn_core.logs.mapping.joint_side import drive_side
from dyn_core.logs.mapping.log_map import ColumnMap, JointMap, LogMap
from dyn_core.logs.stream import Recording
from dyn_core.logs.units import POSITION
from dyn_core.robot.robot import Robot

PASSIVE = "passive position"
"""What stands in the place of the quantity of these columns."""


def passive_sources(
    recording: Recording, assignment: Assignment, said: LogMap, robot: Robot | None
) -> dict[tuple[str, str], Source]:
    """Answer where measured positions of passive joints are, by joint and `PASSIVE`.

    They are looked for where the positions of the actuated joints are; a joint of which several columns
    could be the position has none. Where a map names the columns, there are those that it names alone.
    """
    if robot is None or not robot.loops or said.names_columns:
        return {}
    names = robot.passive_joint_names
    streams = {source.stream for (_, what), source in assignment.sources.items() if what == POSITION}
    found: dict[str, list[Source]] = {}
    for s in sorted(streams):
        stream = recording.streams[s]
        for k, column in enumerate(stream.names):
            meaning = stream.meanings[k] if stream.meanings else meaning_of(column, names)
            if meaning is None or meaning.joint not in names or meaning.quantity != POSITION:
                continue
            unit = meaning.unit or said.units.get(POSITION)
            if meaning.is_wanted or meaning.is_motor or (unit is not None and unit.is_raw):
                continue
            found.setdefault(meaning.joint, []).append(Source(s, k, unit, ColumnMap()))
    return {
        (joint, PASSIVE): sources[0]
        for joint, sources in found.items()
        if len(sources) == 1 and joint not in said.ignore
    }


def passive_findings(
    log: Log,
    robot: Robot,
    sources: Mapping[tuple[str, str], Source],
    time: Array,
    columns: Mapping[tuple[str, str], Array],
) -> Iterator[Finding]:
    """Compare positions with where the loops put the joints; a warning for each that is elsewhere.

    Args:
        log: the log of the actuated joints.
        robot: the robot.
        sources: of `passive_sources`.
        time: times of the columns, as `Log.start` counts them (s), (N,).
        columns: the values of the sources, NaN where there is none.
    """
    measured: dict[str, Array] = {}
    for key, source in sources.items():
        known = np.isfinite(columns[key])
        if known.sum() > 1:
            values = drive_side(columns[key][known], key[0], POSITION, source, JointMap())
            at = log.start + log.time
            measured[key[0]] = np.interp(at, time[known], values, left=np.nan, right=np.nan)
    if not measured:
        return
    apart = PassiveAgreement(robot).apart(log.q, tuple(measured), np.column_stack(list(measured.values())))
    if apart is None:
        return
    for name, off in zip(measured, apart.T, strict=True):
        known = np.isfinite(off)
        if not known.any():
            continue
        unit = robot.joint(name).position_unit
        rms = float(np.sqrt((off[known] ** 2).mean()))
        k = int(np.nanargmax(np.abs(off)))
        how = (
            f"its measured position is {rms:.3g} {unit} (root of the mean square), and {abs(off[k]):.3g} "
            f"{unit} at the most, at {log.time[k]:.4g} s, from where the loops put it by the actuated joints"
        )
        if rms <= TOLERANCE:
            yield Finding(Severity.NOTE, "joint", (name,), how)
            continue
        steady = float(off[known].mean())
        yield Finding(
            Severity.WARNING,
            "joint",
            (name,),
            f"{how}, {steady:+.3g} {unit} of it all the time: a length or a zero of the description, the "
            "assembly mode, or this sensor is not as it should be",
        )
