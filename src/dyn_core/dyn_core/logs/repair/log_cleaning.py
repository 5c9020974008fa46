# SPDX-License-Identifier: Apache-2.0
"""From the columns of all joints to a log: repairs, the side of the joint, gaps."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError, listed
from dyn_core.core.findings import Finding, Severity
from dyn_core.logs.column_repairs import BEYOND, Repaired, repaired
from dyn_core.logs.jumps import Jump, jumps
from dyn_core.logs.log import Log
from dyn_core.logs.mapping.assignment import Assignment
from dyn_core.logs.mapping.joint_side import coupled, coupled_drives, drive_side
from dyn_core.logs.mapping.log_map import JOINT, QUANTITIES, JointMap, LogMap
from dyn_core.logs.pace import GAP, between_gaps, period_of
from dyn_core.logs.repair.column_anomalies import LONGEST_SPIKE
from dyn_core.logs.repair.sampling_gaps import fill_short_gaps
from dyn_core.logs.units import EFFORT, POSITION, VELOCITY

SHORTEST, FEWEST = 1.0, 100
"""A log with less (s, samples) says nothing."""
SLOWEST, FASTEST = 5.0, 100_000.0
"""Rates (Hz) beyond which the unit of time is wrong, or the log is of no use."""
FARTHEST, STRONGEST = 1e6, 1e9
"""Positions (rad or m) and efforts (N m or N) that no robot has."""
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
        columns: by joint and quantity, as the log has them, not finite where there is no value.
        assignment: what the columns are.
        said: what the user says.
        source: what it comes from.

    Raises:
        DynError: no log can be made of it; the message says why.
    """
    course = _Course()
    if len(time) >= FEWEST:
        _check_rate(period_of(time))
    _check_length(time)
    period = period_of(time)
    joints = tuple(joint for joint in assignment.joints if (joint, POSITION) in columns)
    columns = {key: values for key, values in columns.items() if key[0] in joints}
    columns = _repaired(time, columns, assignment, GAP * period, course)
    joints = tuple(joint for joint in joints if (joint, POSITION) in columns)
    if not joints:
        raise DynError("there is no position of a joint in it: name the columns, or give a map")
    q, qd, tau = (_joint_side(columns, joints, what, len(time), assignment, said) for what in QUANTITIES)
    _check_size(joints, q, POSITION, FARTHEST)
    _check_size(joints, tau, EFFORT, STRONGEST)
    tau = _measured(joints, tau, course)
    usable = np.isfinite(q).all(axis=1) & (np.isfinite(tau) | np.isnan(tau).all(axis=0)).all(axis=1)
    if not usable.all():
        course.say(
            Severity.WARNING,
            "log",
            (),
            f"{int((~usable).sum())} of {len(time)} samples lack a position or an effort: they are left out",
        )
        time, q, qd, tau = time[usable], q[usable], qd[usable], tau[usable]
    _check_length(time)
    time, q, (qd, tau) = _filled(time, q, (qd, tau), period, course)
    keep, segments = _segments(time, q, joints, period, course)
    time, q, qd, tau = time[keep], q[keep], qd[keep], tau[keep]
    course.done += _conversions(assignment, said, joints)
    return Log(
        joint_names=joints,
        time=time - time[0],
        q=q,
        tau=tau,
        qd=_whole(joints, qd, course),
        units=tuple(_unit(assignment, joint) for joint in joints),
        period=period,
        segments=segments,
        findings=tuple(course.findings),
        done=tuple(course.done),
        source=source,
        start=float(time[0]),
        drives=coupled_drives(said.couplings),
    )


def _check_length(time: Array, left: str = "") -> None:
    if len(time) < FEWEST or time[-1] - time[0] < SHORTEST:
        duration = float(time[-1] - time[0]) if len(time) else 0.0
        raise DynError(
            f"it is too short{left}: {len(time)} samples in {duration:.3g} s; give at least {FEWEST} samples "
            f"and {SHORTEST:g} s"
        )


def _check_rate(period: float) -> None:
    rate = 1.0 / max(period, 1e-30)
    if not SLOWEST <= rate <= FASTEST:
        raise DynError(
            f"{rate:.3g} samples a second are no rate of a robot: give the unit of time in a map, "
            "as in "
            "'units: {time: ms}', or record at 100 Hz to 10 kHz"
        )


def _check_size(joints: Sequence[str], values: Array, quantity: str, greatest: float) -> None:
    sizes = np.nanmax(np.abs(values), axis=0, initial=0.0)
    k = int(np.argmax(sizes))
    if sizes[k] > greatest:
        raise DynError(
            f"joint '{joints[k]}': its {quantity} is up to {sizes[k]:.3g}, which no robot has: give unit, "
            "ratio and "
            "gain in a map, or the right column",
            element=f"joint '{joints[k]}'",
        )


def _repaired(
    time: Array,
    columns: dict[tuple[str, str], Array],
    assignment: Assignment,
    longest: float,
    course: _Course,
) -> dict[tuple[str, str], Array]:
    """Answer the columns that have values, repaired."""
    result: dict[tuple[str, str], Array] = {}
    counts: dict[str, int] = {}
    for (joint, quantity), values in columns.items():
        if not (np.abs(values) < BEYOND).any():
            if quantity != VELOCITY:
                course.say(Severity.WARNING, "joint", (joint,), f"its {quantity} has no values at all")
            continue
        source = assignment.sources[joint, quantity]
        found = repaired(time, values, quantity, source, longest)
        result[joint, quantity] = found.values
        unit = "rad" if source.unit is None else source.unit.name
        _say_repairs(joint, quantity, unit, found, course)
        if found.bridged and quantity != VELOCITY:
            counts[joint] = counts.get(joint, 0) + found.bridged
    if counts:
        course.say(
            Severity.WARNING,
            "joint",
            counts,
            f"{sum(counts.values())} values are missing, or are not finite, for at most "
            f"{1e3 * longest:.3g} ms: they "
            "are bridged by cubics",
        )
    return result


def _say_repairs(joint: str, quantity: str, unit: str, found: Repaired, course: _Course) -> None:
    if found.jumps:
        course.say(
            Severity.NOTE,
            "joint",
            (joint,),
            f"its position jumps {found.jumps} times by a turn ({found.turn:.6g} {unit}): the turns are "
            "counted, so "
            "that it goes on",
        )
    if found.spikes:
        course.say(
            Severity.WARNING,
            "joint",
            (joint,),
            f"its {quantity} has {len(found.spikes)} spikes of at most {LONGEST_SPIKE} samples, the first "
            "at sample "
            f"{found.spikes[0] + 1}: they are bridged",
        )


def _joint_side(
    columns: dict[tuple[str, str], Array],
    joints: Sequence[str],
    quantity: str,
    count: int,
    assignment: Assignment,
    said: LogMap,
) -> Array:
    """Answer a quantity of all joints in SI units, (N, n), NaN where it is missing."""
    result = np.full((count, len(joints)), np.nan)
    sides: dict[str, str | None] = {}
    for k, joint in enumerate(joints):
        if (joint, quantity) in columns:
            source = assignment.sources[joint, quantity]
            drive = said.joints.get(joint, JointMap())
            result[:, k] = drive_side(columns[joint, quantity], joint, quantity, source, drive)
            sides[joint] = source.said.side
    return coupled(result, joints, quantity, said.couplings, sides)


def _measured(joints: tuple[str, ...], tau: Array, course: _Course) -> Array:
    """Answer the efforts, with NaN for those that no sensor can have measured.

    Raises:
        DynError: no effort was measured.
    """
    known = [k for k in range(len(joints)) if not np.isnan(tau[:, k]).all()]
    if not known:
        raise DynError(
            "there is no effort of a joint in it: identification needs what the actuators did; record "
            "efforts, or "
            "give a map that names their columns"
        )
    missing = [joint for k, joint in enumerate(joints) if k not in known]
    if missing:
        course.say(
            Severity.WARNING,
            "joint",
            missing,
            "no effort was measured: only the efforts of other joints show its links",
        )
    still = [k for k in known if np.nanmax(tau[:, k]) == np.nanmin(tau[:, k])]
    zero = [k for k in still if not np.nan_to_num(tau[:, k]).any()]
    if len(zero) == len(known):
        raise DynError(
            f"the efforts of {listed(joints[k] for k in zero)} are 0 all the time: the driver does not "
            "report them"
        )
    if len(still) == len(known):
        raise DynError("all efforts are constant: no sensor of a robot says so; record them while it moves")
    for found, what in ((zero, "0"), ([k for k in still if k not in zero], "one and the same value")):
        if found:
            course.say(
                Severity.WARNING,
                "joint",
                [joints[k] for k in found],
                f"its effort is {what} all the time, which no sensor says: it is left out",
            )
    tau = tau.copy()
    tau[:, still] = np.nan
    return tau


def _whole(joints: tuple[str, ...], qd: Array, course: _Course) -> Array | None:
    """Answer measured velocities where there are all of them."""
    if np.isfinite(qd).all():
        return qd
    if np.isfinite(qd).any():
        lacking = [joint for k, joint in enumerate(joints) if not np.isfinite(qd[:, k]).all()]
        course.say(
            Severity.NOTE, "joint", lacking, "velocities are missing: those that were measured are not used"
        )
    return None


def _filled(
    time: Array, q: Array, others: tuple[Array, ...], period: float, course: _Course
) -> tuple[Array, Array, tuple[Array, ...]]:
    """Answer samples of which short gaps are filled."""
    found = fill_short_gaps(time, q, others, period)
    if found.gaps:
        course.say(
            Severity.WARNING,
            "time",
            (),
            f"{found.gaps} short gaps, the longest of {1e3 * found.longest:.3g} ms: filled with "
            f"{found.made_up} samples, {100.0 * found.made_up / len(found.time):.2g} % of the log, of "
            "polynomials through those on both sides",
        )
    return found.time, found.q, found.others


def _segments(
    time: Array, q: Array, joints: Sequence[str], period: float, course: _Course
) -> tuple[np.ndarray, tuple[tuple[int, int], ...]]:
    """Answer which samples are in stretches that are long enough, and the stretches of those."""
    gapless = between_gaps(time, period)
    gaps = [float(time[b] - time[b - 1]) for _, b in gapless[:-1]]
    jumped = jumps(time, q, gapless)
    found = _between(gapless, [jump.at for jump in jumped])
    kept = [(a, b) for a, b in found if b - a >= SHORTEST_SEGMENT]
    if not kept:
        jumping = f" and {len(jumped)} jumps of positions" if jumped else ""
        raise DynError(
            f"it has {len(gaps)} gaps{jumping}, and no {SHORTEST_SEGMENT} samples between two of them: "
            "record it anew"
        )
    lost = sum(b - a for a, b in found) - sum(b - a for a, b in kept)
    left_out = f"; {lost} samples in segments of less than {SHORTEST_SEGMENT} are left out" if lost else ""
    cut = f"the log is cut there into {len(kept)} segments{left_out}"
    if gaps:
        course.say(Severity.WARNING, "time", (), f"{len(gaps)} gaps, the longest of {max(gaps):.3g} s: {cut}")
    if jumped:
        kept = _with_one_zero(time, kept, jumped, joints, cut, course)
    keep = np.concatenate([np.arange(a, b) for a, b in kept])
    _check_length(time[keep], " where it was cut, for positions jump" if jumped else "")
    ends = np.cumsum([b - a for a, b in kept])
    return keep, tuple((int(end - (b - a)), int(end)) for end, (a, b) in zip(ends, kept, strict=True))


def _between(stretches: Sequence[tuple[int, int]], cuts: Sequence[int]) -> list[tuple[int, int]]:
    """Answer stretches that are cut before some of their samples."""
    edges = [*sorted({a for a, _ in stretches} | set(cuts)), stretches[-1][1]]
    return list(itertools.pairwise(edges))


def _with_one_zero(
    time: Array,
    kept: list[tuple[int, int]],
    jumped: Sequence[Jump],
    joints: Sequence[str],
    cut: str,
    course: _Course,
) -> list[tuple[int, int]]:
    """Answer the stretches between which no encoder was set anew, and say where positions jump.

    Where all joints jump that move, recordings were put together. Where one jumps and the others go on, its
    zero is another one from there on; the longest part with the same zero is used.
    """
    names = [joints[k] for k in sorted({k for jump in jumped for k in jump.sizes})]
    first = jumped[0]
    size = max(first.sizes.values(), key=abs)
    course.say(
        Severity.WARNING,
        "joint",
        names,
        f"positions jump {len(jumped)} times while time goes on, first by {size:.3g} at "
        f"{time[first.at] - time[0]:.4g} s, as no joint moves: {cut}",
    )
    resets = [jump.at for jump in jumped if len(jump.sizes) == 1 and len(joints) > 1]
    if not resets:
        return kept
    edges = [0, *resets, len(time)]
    parts = [[(a, b) for a, b in kept if start <= a and b <= end] for start, end in itertools.pairwise(edges)]
    longest = max(parts, key=lambda part: sum(b - a for a, b in part))
    a, b = longest[0][0], longest[-1][1]
    course.say(
        Severity.WARNING,
        "joint",
        sorted({joints[k] for jump in jumped if jump.at in resets for k in jump.sizes}),
        "its position jumps alone, as when an encoder is set anew, and its zero is another one after that: "
        f"only the part from {time[a] - time[0]:.4g} s to {time[b - 1] - time[0]:.4g} s is used; see that "
        "this one has the zero of the description",
    )
    return longest


def _unit(assignment: Assignment, joint: str) -> str:
    unit = assignment.sources[joint, POSITION].unit
    return "m" if unit is not None and unit.result == "m" else "rad"


def _conversions(assignment: Assignment, said: LogMap, joints: tuple[str, ...]) -> list[str]:
    """Answer what was converted, one sentence a step."""
    done: list[str] = []
    for quantity in QUANTITIES:
        units: dict[str, list[str]] = {}
        for joint in joints:
            source = assignment.sources.get((joint, quantity))
            if source is not None and source.unit is not None and source.unit.name != source.unit.result:
                units.setdefault(source.unit.name, []).append(joint)
        done += [f"{quantity} of {listed(names)} converted from {unit}" for unit, names in units.items()]
    for joint in joints:
        mapped = said.joints.get(joint)
        if mapped is not None and (mapped.ratio != 1.0 or mapped.sign != 1.0):
            done.append(f"joint '{joint}': motor side to joint side, ratio {mapped.sign * mapped.ratio:g}")
    done += [
        f"drives of {listed(coupling.joints)} uncoupled"
        for coupling in said.couplings
        if coupling.side != JOINT
        and not all(assignment.sources[joint, POSITION].said.side == JOINT for joint in coupling.joints)
    ]
    return done
