# SPDX-License-Identifier: Apache-2.0
"""From the columns of all joints to a log: repairs, conversion to the joint side, gaps."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.core.findings import Finding, Severity
from dyn_core.core.messages import Message
from dyn_core.logs.log import EFFORT, POSITION, VELOCITY, Log
from dyn_core.logs.mapping.assignment import Assignment
from dyn_core.logs.mapping.joint_side import coupled_drives, joint_side
from dyn_core.logs.mapping.log_map import JOINT, QUANTITIES, LogMap
from dyn_core.logs.repair.column_anomalies import BEYOND, LONGEST_SPIKE, Jump, jumps, repaired
from dyn_core.logs.repair.sampling_gaps import GAP, between_gaps, fill_short_gaps, period_of

SHORTEST, FEWEST = 1.0, 100
"""Least duration (s) and number of samples of a log."""
SLOWEST, FASTEST = 5.0, 100_000.0
"""Rates (Hz) beyond which the unit of time is wrong, or the log is useless."""
FARTHEST, STRONGEST = 1e6, 1e9
"""Positions (rad or m) and efforts (N m or N) that no robot has."""
SHORTEST_SEGMENT = 30
"""Least number of samples of a stretch between gaps."""


class _Findings(list[Finding]):
    """Findings of the repair."""

    def add(self, severity: Severity, kind: str, names: Iterable[str], message: Message) -> None:
        self.append(Finding(severity, kind, tuple(names), message))


def clean_log(
    time: Array,
    columns: dict[tuple[str, str], Array],
    assignment: Assignment,
    log_map: LogMap,
    source: str,
) -> Log:
    """Return the log of raw columns.

    Args:
        time: increasing (s), (N,).
        columns: values by joint and quantity, not finite where they are missing, (N,) each.
        assignment: assignment of the columns.
        log_map: map of the user.
        source: path of the file; empty for arrays.

    Raises:
        DynError: the columns do not make a log; the message gives the reason.
    """
    findings = _Findings()
    if len(time) >= FEWEST:
        _check_rate(period_of(time))
    _check_length(time)
    period = period_of(time)
    joints = tuple(joint for joint in assignment.joints if (joint, POSITION) in columns)
    with_position = set(joints)
    columns = {key: values for key, values in columns.items() if key[0] in with_position}
    columns = _repaired(time, columns, assignment, GAP * period, findings)
    joints = tuple(joint for joint in joints if (joint, POSITION) in columns)
    if not joints:
        raise DynError("log-without-positions")
    q, qd, tau = (joint_side(columns, assignment.sources, joints, what, log_map) for what in QUANTITIES)
    _check_size(joints, q, POSITION, FARTHEST)
    _check_size(joints, tau, EFFORT, STRONGEST)
    tau = _measured(joints, tau, findings)
    usable = np.isfinite(q).all(axis=1) & (np.isfinite(tau) | np.isnan(tau).all(axis=0)).all(axis=1)
    if not usable.all():
        message = Message("samples-incomplete", count=int((~usable).sum()), total=len(time))
        findings.add(Severity.WARNING, "log", (), message)
        time, q, qd, tau = time[usable], q[usable], qd[usable], tau[usable]
    _check_length(time)
    filled = fill_short_gaps(time, q, (qd, tau), period)
    time, q, (qd, tau) = filled.time, filled.q, filled.others
    if filled.gaps:
        message = Message(
            "gaps-filled",
            count=filled.gaps,
            longest_ms=1e3 * filled.longest,
            samples=filled.made_up,
            percent=100.0 * filled.made_up / len(time),
        )
        findings.add(Severity.WARNING, "time", (), message)
    keep, segments = _segments(time, q, joints, period, findings)
    time, q, qd, tau = time[keep], q[keep], qd[keep], tau[keep]
    return Log(
        joint_names=joints,
        time=time - time[0],
        q=q,
        tau=tau,
        qd=_complete(joints, qd, findings),
        units=tuple(_unit(assignment, joint) for joint in joints),
        period=period,
        segments=segments,
        findings=tuple(findings),
        done=tuple(_conversions(assignment, log_map, joints)),
        source=source,
        start=float(time[0]),
        drives=coupled_drives(log_map.couplings),
    )


def _check_length(time: Array, code: str = "log-too-short") -> None:
    duration = float(time[-1] - time[0]) if len(time) else 0.0
    if len(time) < FEWEST or duration < SHORTEST:
        raise DynError(code, count=len(time), duration=duration, least=FEWEST, least_duration=SHORTEST)


def _check_rate(period: float) -> None:
    rate = 1.0 / max(period, 1e-30)
    if not SLOWEST <= rate <= FASTEST:
        raise DynError("log-rate-implausible", rate=rate)


def _check_size(joints: Sequence[str], values: Array, quantity: str, greatest: float) -> None:
    sizes = np.nanmax(np.abs(values), axis=0, initial=0.0)
    k = int(np.argmax(sizes))
    if sizes[k] > greatest:
        joint, element = joints[k], f"joint '{joints[k]}'"
        raise DynError(
            "joint-signal-implausible", element=element, joint=joint, quantity=quantity, greatest=sizes[k]
        )


def _repaired(
    time: Array,
    columns: dict[tuple[str, str], Array],
    assignment: Assignment,
    longest: float,
    findings: _Findings,
) -> dict[tuple[str, str], Array]:
    """Return the columns that have values, repaired."""
    result: dict[tuple[str, str], Array] = {}
    counts: dict[str, int] = {}
    for (joint, quantity), values in columns.items():
        if not (np.abs(values) < BEYOND).any():
            if quantity != VELOCITY:
                message = Message("signal-empty", quantity=quantity)
                findings.add(Severity.WARNING, "joint", (joint,), message)
            continue
        source = assignment.sources[joint, quantity]
        found = repaired(time, values, quantity, source, longest)
        result[joint, quantity] = found.values
        if found.jumps:
            unit = "rad" if source.unit is None else source.unit.name
            message = Message("position-turns", count=found.jumps, turn=found.turn, unit=unit)
            findings.add(Severity.NOTE, "joint", (joint,), message)
        if found.spikes:
            count, first = len(found.spikes), found.spikes[0] + 1
            message = Message(
                "signal-spikes", quantity=quantity, count=count, longest=LONGEST_SPIKE, first=first
            )
            findings.add(Severity.WARNING, "joint", (joint,), message)
        if found.bridged and quantity != VELOCITY:
            counts[joint] = counts.get(joint, 0) + found.bridged
    if counts:
        message = Message("values-bridged", count=sum(counts.values()), longest_ms=1e3 * longest)
        findings.add(Severity.WARNING, "joint", counts, message)
    return result


def _measured(joints: tuple[str, ...], tau: Array, findings: _Findings) -> Array:
    """Return the efforts, with NaN instead of constant ones; DynError if no effort was measured."""
    known = [k for k in range(len(joints)) if not np.isnan(tau[:, k]).all()]
    if not known:
        raise DynError("log-without-efforts")
    missing = [k for k in range(len(joints)) if k not in known]
    constant = [k for k in known if np.nanmax(tau[:, k]) == np.nanmin(tau[:, k])]
    zero = [k for k in constant if not np.nan_to_num(tau[:, k]).any()]
    if len(zero) == len(known):
        raise DynError("efforts-zero", joints=[joints[k] for k in zero])
    if len(constant) == len(known):
        raise DynError("efforts-constant")
    others = [k for k in constant if k not in zero]
    for indices, code in ((missing, "effort-missing"), (zero, "effort-zero"), (others, "effort-constant")):
        if indices:
            findings.add(Severity.WARNING, "joint", [joints[k] for k in indices], Message(code))
    tau = tau.copy()
    tau[:, constant] = np.nan
    return tau


def _complete(joints: tuple[str, ...], qd: Array, findings: _Findings) -> Array | None:
    """Return the measured velocities, or None if some are missing."""
    if np.isfinite(qd).all():
        return qd
    if np.isfinite(qd).any():
        incomplete = [joint for k, joint in enumerate(joints) if not np.isfinite(qd[:, k]).all()]
        findings.add(Severity.NOTE, "joint", incomplete, Message("velocities-incomplete"))
    return None


def _segments(
    time: Array, q: Array, joints: Sequence[str], period: float, findings: _Findings
) -> tuple[np.ndarray, tuple[tuple[int, int], ...]]:
    """Return the indices of the samples in stretches that are long enough, and these stretches."""
    gapless = between_gaps(time, period)
    gaps = [float(time[b] - time[b - 1]) for _, b in gapless[:-1]]
    jumped = jumps(time, q, gapless)
    edges = [*sorted({*(a for a, _ in gapless), *(jump.at for jump in jumped)}), gapless[-1][1]]
    found = list(itertools.pairwise(edges))
    kept = [(a, b) for a, b in found if b - a >= SHORTEST_SEGMENT]
    if not kept:
        if jumped:
            raise DynError("log-gaps-and-jumps", count=len(gaps), jumps=len(jumped), least=SHORTEST_SEGMENT)
        raise DynError("log-gaps", count=len(gaps), least=SHORTEST_SEGMENT)
    lost = sum(b - a for a, b in found) - sum(b - a for a, b in kept)
    code = "log-cut-with-losses" if lost else "log-cut"
    cut = Message(code, segments=len(kept), lost=lost, least=SHORTEST_SEGMENT)
    if gaps:
        message = Message("gaps-cut", count=len(gaps), longest=max(gaps), cut=cut)
        findings.add(Severity.WARNING, "time", (), message)
    if jumped:
        kept = _with_one_zero(time, kept, jumped, joints, cut, findings)
    keep = np.concatenate([np.arange(a, b) for a, b in kept])
    _check_length(time[keep], "log-pieces-too-short" if jumped else "log-too-short")
    ends = np.cumsum([b - a for a, b in kept])
    return keep, tuple((int(end - (b - a)), int(end)) for end, (a, b) in zip(ends, kept, strict=True))


def _with_one_zero(
    time: Array,
    kept: list[tuple[int, int]],
    jumped: Sequence[Jump],
    joints: Sequence[str],
    cut: Message,
    findings: _Findings,
) -> list[tuple[int, int]]:
    """Report the jumps, and return the longest sequence of stretches in which no encoder was reset.

    If several joints jump together, recordings were joined. If one jumps alone, its encoder was reset.
    """
    names = [joints[k] for k in sorted({k for jump in jumped for k in jump.sizes})]
    first = jumped[0]
    size, at = max(first.sizes.values(), key=abs), float(time[first.at] - time[0])
    message = Message("positions-jump", count=len(jumped), size=size, time=at, cut=cut)
    findings.add(Severity.WARNING, "joint", names, message)
    resets = [jump.at for jump in jumped if len(jump.sizes) == 1 and len(joints) > 1]
    if not resets:
        return kept
    edges = [0, *resets, len(time)]
    parts = [[(a, b) for a, b in kept if start <= a and b <= end] for start, end in itertools.pairwise(edges)]
    longest = max(parts, key=lambda part: sum(b - a for a, b in part))
    a, b = longest[0][0], longest[-1][1]
    message = Message("encoder-reset", begin=float(time[a] - time[0]), end=float(time[b - 1] - time[0]))
    names = sorted({joints[k] for jump in jumped if jump.at in resets for k in jump.sizes})
    findings.add(Severity.WARNING, "joint", names, message)
    return longest


def _unit(assignment: Assignment, joint: str) -> str:
    unit = assignment.sources[joint, POSITION].unit
    return "m" if unit is not None and unit.result == "m" else "rad"


def _conversions(assignment: Assignment, log_map: LogMap, joints: tuple[str, ...]) -> list[Message]:
    """Return the conversions, step by step."""
    done: list[Message] = []
    for quantity in QUANTITIES:
        units: dict[str, list[str]] = {}
        for joint in joints:
            source = assignment.sources.get((joint, quantity))
            if source is not None and source.unit is not None and source.unit.name != source.unit.result:
                units.setdefault(source.unit.name, []).append(joint)
        done += [
            Message("quantity-converted", quantity=quantity, joints=names, unit=unit)
            for unit, names in units.items()
        ]
    for joint in joints:
        mapped = log_map.joints.get(joint)
        if mapped is not None and (mapped.ratio != 1.0 or mapped.sign != 1.0):
            done.append(Message("motor-side-converted", joint=joint, ratio=mapped.sign * mapped.ratio))
    for coupling in log_map.couplings:
        sides = {assignment.sources[joint, POSITION].mapping.side for joint in coupling.joints}
        if coupling.side != JOINT and sides != {JOINT}:
            done.append(Message("drives-uncoupled", joints=coupling.joints))
    return done
