# SPDX-License-Identifier: Apache-2.0
"""From the columns of all joints to a log: holes, turns, spikes, the side of the joint, gaps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from dyn_core.check.finding import Finding, Severity
from dyn_core.errors import DynError, listed
from dyn_core.facade.arrays import Array
from dyn_core.logs.assignment import Assignment
from dyn_core.logs.holes import bridged
from dyn_core.logs.joint_side import coupled, drive_side
from dyn_core.logs.log import Log
from dyn_core.logs.log_map import JOINT, QUANTITIES, JointMap, LogMap
from dyn_core.logs.pace import GAP, between_gaps, period_of
from dyn_core.logs.suspects import without_spikes
from dyn_core.logs.units import EFFORT, POSITION, VELOCITY
from dyn_core.logs.wrapping import unwrapped

SHORTEST, FEWEST = 1.0, 100
"""A log with less (s, samples) says nothing."""
SHORTEST_SEGMENT = 30
"""Samples of a stretch between gaps below which it is left out."""


@dataclass
class _Course:
    """What happens to a log on its way."""

    findings: list[Finding] = field(default_factory=list)
    done: list[str] = field(default_factory=list)

    def say(self, severity: Severity, kind: str, names: Iterable[str], sentence: str) -> None:
        self.findings.append(Finding(severity, kind, tuple(names), sentence))


def clean_log(
    time: Array,
    columns: dict[tuple[str, str], Array],
    assignment: Assignment,
    said: LogMap,
    source: str,
) -> Log:
    """Answer the log that the columns make.

    Args:
        time: increasing (s), (N,).
        columns: by joint and quantity, as the log has them, NaN where there is no value.
        assignment: what the columns are.
        said: what the user says.
        source: what it comes from.

    Raises:
        DynError: no log can be made of it; the message says why.
    """
    course = _Course()
    joints = tuple(joint for joint in assignment.joints if (joint, POSITION) in columns)
    _check_length(time)
    period = period_of(time)
    columns = {key: values for key, values in columns.items() if key[0] in joints}
    columns = _bridged(time, columns, GAP * period, course)
    joints = tuple(joint for joint in joints if (joint, POSITION) in columns)
    if not joints:
        raise DynError("there is no position of a joint in it: name the columns, or give a map")
    sides: dict[str, dict[str, str | None]] = {quantity: {} for quantity in QUANTITIES}
    for (joint, quantity), values in columns.items():
        column = assignment.sources[joint, quantity]
        if quantity == POSITION:
            values = _without_turns(joint, values, assignment, course)
        values = _without_spikes(joint, quantity, values, course)
        columns[joint, quantity] = drive_side(
            values, joint, quantity, column, said.joints.get(joint, JointMap())
        )
        sides[quantity][joint] = column.said.side
    arrays = {
        quantity: coupled(
            _table(columns, joints, quantity, len(time)), joints, quantity, said.couplings, sides[quantity]
        )
        for quantity in QUANTITIES
    }
    q, qd, tau = arrays[POSITION], arrays[VELOCITY], arrays[EFFORT]
    tau = _measured(joints, q, tau, course)
    usable = np.isfinite(q).all(axis=1) & (np.isfinite(tau) | np.isnan(tau).all(axis=0)).all(axis=1)
    if not usable.all():
        course.say(
            Severity.WARNING,
            "log",
            (),
            f"{int((~usable).sum())} of {len(time)} samples lack a position or an effort: they are left out",
        )
        time, q, qd, tau = time[usable], q[usable], qd[usable], tau[usable]
    velocity = qd if np.isfinite(qd).all() else None
    if velocity is None and np.isfinite(qd).any():
        lacking = [joint for k, joint in enumerate(joints) if not np.isfinite(qd[:, k]).all()]
        course.say(
            Severity.NOTE, "joint", lacking, "velocities are missing: those that were measured are not used"
        )
    _check_length(time)
    keep, segments = _segments(time, period, course)
    time, q, tau = time[keep], q[keep], tau[keep]
    _describe_map(assignment, said, joints, course)
    return Log(
        joint_names=joints,
        time=time - time[0],
        q=q,
        tau=tau,
        qd=None if velocity is None else velocity[keep],
        units=tuple(_unit(assignment, joint) for joint in joints),
        period=period,
        segments=segments,
        findings=tuple(course.findings),
        done=tuple(course.done),
        source=source,
    )


def _check_length(time: Array) -> None:
    if len(time) < FEWEST or time[-1] - time[0] < SHORTEST:
        duration = float(time[-1] - time[0]) if len(time) else 0.0
        raise DynError(
            f"it is too short: {len(time)} samples in {duration:.3g} s; give at least {FEWEST} samples and "
            f"{SHORTEST:g} s"
        )


def _bridged(
    time: Array, columns: dict[tuple[str, str], Array], longest: float, course: _Course
) -> dict[tuple[str, str], Array]:
    """Answer the columns that have values, with short holes bridged."""
    result: dict[tuple[str, str], Array] = {}
    counts: dict[str, int] = {}
    for (joint, quantity), values in columns.items():
        filled, count, missing = bridged(time, values, longest)
        if missing.all():
            if quantity != VELOCITY:
                course.say(Severity.WARNING, "joint", (joint,), f"its {quantity} has no values at all")
            continue
        result[joint, quantity] = np.where(missing, np.nan, filled)
        if count and quantity != VELOCITY:
            counts[joint] = counts.get(joint, 0) + count
    if counts:
        course.say(
            Severity.WARNING,
            "joint",
            counts,
            f"{sum(counts.values())} values are missing, or are not finite, for at most {1e3 * longest:.3g} "
            "ms: they "
            "are bridged by straight lines",
        )
    return result


def _without_turns(joint: str, values: Array, assignment: Assignment, course: _Course) -> Array:
    source = assignment.sources[joint, POSITION]
    known = np.isfinite(values)
    if known.sum() < 3:
        return values
    whole, jumps, turn = unwrapped(values[known], source.unit, source.said.gain)
    if not jumps:
        return values
    name = "rad" if source.unit is None else source.unit.name
    course.say(
        Severity.NOTE,
        "joint",
        (joint,),
        f"its position jumps {jumps} times by a turn ({turn:.6g} {name}): the turns are counted, so that it "
        "goes on",
    )
    result = values.copy()
    result[known] = whole
    return np.asarray(result)


def _without_spikes(joint: str, quantity: str, values: Array, course: _Course) -> Array:
    known = np.isfinite(values)
    if quantity == VELOCITY or not known.all():
        return values
    repaired, spikes = without_spikes(values)
    if len(spikes):
        course.say(
            Severity.WARNING,
            "joint",
            (joint,),
            f"its {quantity} has {len(spikes)} spikes of one sample, the first at sample {spikes[0] + 1}: "
            "replaced by "
            "the mean of their neighbours",
        )
    return repaired


def _table(columns: dict[tuple[str, str], Array], joints: Sequence[str], quantity: str, count: int) -> Array:
    nothing = np.full(count, np.nan)
    return np.column_stack([columns.get((joint, quantity), nothing) for joint in joints])


def _measured(joints: tuple[str, ...], q: Array, tau: Array, course: _Course) -> Array:
    """Answer the efforts, with NaN for those that no sensor can have measured."""
    missing = [joint for k, joint in enumerate(joints) if np.isnan(tau[:, k]).all()]
    if len(missing) == len(joints):
        raise DynError(
            "there is no effort of a joint in it: identification needs what the actuators did; record "
            "efforts, or "
            "give a map that names their columns"
        )
    if missing:
        course.say(
            Severity.WARNING,
            "joint",
            missing,
            "no effort was measured: only the efforts of other joints show its links",
        )
    zero = [k for k in range(len(joints)) if joints[k] not in missing and not np.nan_to_num(tau[:, k]).any()]
    if len(zero) + len(missing) == len(joints):
        raise DynError(
            f"the efforts of {listed(joints[k] for k in zero)} are 0 all the time: the driver does not "
            "report them"
        )
    still = [
        k
        for k in range(len(joints))
        if k not in zero and joints[k] not in missing and np.nanmax(tau[:, k]) == np.nanmin(tau[:, k])
    ]
    for found, what in ((zero, "0"), (still, "one and the same value")):
        if found:
            course.say(
                Severity.WARNING,
                "joint",
                [joints[k] for k in found],
                f"its effort is {what} all the time, which no sensor says: it is left out",
            )
    if still and len(zero) + len(missing) + len(still) == len(joints):
        raise DynError("all efforts are constant: no sensor of a robot says so; record them while it moves")
    if zero or still:
        tau = tau.copy()
        tau[:, [*zero, *still]] = np.nan
    return tau


def _segments(time: Array, period: float, course: _Course) -> tuple[np.ndarray, tuple[tuple[int, int], ...]]:
    """Answer which samples are in stretches that are long enough, and the stretches of those."""
    found = between_gaps(time, period)
    kept = [(a, b) for a, b in found if b - a >= SHORTEST_SEGMENT]
    if not kept:
        raise DynError(
            f"it has {len(found) - 1} gaps, and no {SHORTEST_SEGMENT} samples between two of them: record "
            "it anew"
        )
    if len(found) > 1:
        gaps = [float(time[b] - time[b - 1]) for _, b in found[:-1]]
        lost = sum(b - a for a, b in found) - sum(b - a for a, b in kept)
        course.say(
            Severity.WARNING,
            "time",
            (),
            f"{len(gaps)} gaps, the longest of {max(gaps):.3g} s: the log is cut there into {len(kept)} "
            "segments"
            + (f"; {lost} samples in segments of less than {SHORTEST_SEGMENT} are left out" if lost else ""),
        )
    keep = np.concatenate([np.arange(a, b) for a, b in kept])
    ends = np.cumsum([b - a for a, b in kept])
    return keep, tuple((int(end - (b - a)), int(end)) for end, (a, b) in zip(ends, kept, strict=True))


def _unit(assignment: Assignment, joint: str) -> str:
    unit = assignment.sources[joint, POSITION].unit
    return "m" if unit is not None and unit.result == "m" else "rad"


def _describe_map(assignment: Assignment, said: LogMap, joints: tuple[str, ...], course: _Course) -> None:
    """Say what was converted."""
    for quantity in QUANTITIES:
        units: dict[str, list[str]] = {}
        for joint in joints:
            source = assignment.sources.get((joint, quantity))
            if source is not None and source.unit is not None and source.unit.name != source.unit.result:
                units.setdefault(source.unit.name, []).append(joint)
        course.done += [
            f"{quantity} of {listed(names)} converted from {unit}" for unit, names in units.items()
        ]
    for joint in joints:
        mapped = said.joints.get(joint)
        if mapped is not None and (mapped.ratio != 1.0 or mapped.sign != 1.0):
            course.done.append(
                f"joint '{joint}': motor side to joint side, ratio {mapped.sign * mapped.ratio:g}"
            )
    for coupling in said.couplings:
        if not all(assignment.sources[joint, POSITION].said.side == JOINT for joint in coupling.joints):
            course.done.append(f"drives of {listed(coupling.joints)} uncoupled")
