# SPDX-License-Identifier: Apache-2.0
"""Plausibility of a log: jitter, limits, velocities, efforts, passive joints of loops."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from dyn_core.control.trajectories.loop_positions import TOLERANCE, PassiveAgreement
from dyn_core.core.arrays import Array
from dyn_core.core.findings import Finding, Severity
from dyn_core.core.messages import Message
from dyn_core.logs.log import POSITION, Log
from dyn_core.logs.mapping.assignment import Assignment, Source, meaning_of
from dyn_core.logs.mapping.joint_side import drive_side
from dyn_core.logs.mapping.log_map import ColumnMap, JointMap, LogMap
from dyn_core.logs.recording import Recording
from dyn_core.logs.repair.column_anomalies import clipping, longest_still, resolution
from dyn_core.robot.joints import Limits
from dyn_core.robot.robot import Robot

SLOW = 50.0
"""Rate (Hz) below which a log misses the dynamics."""
STUCK = 0.5
"""Longest time (s) for which a signal may be constant while its joint moves."""
FEW_LEVELS = 200
JITTER = 0.05
"""Deviation of the steps, in periods, that is reported."""
AT_LIMIT, REACHED = 0.02, 0.01
"""Distance from a limit that reaches it, in parts of the limit; part of the samples that is reported."""
DEGREES = 180.0 / math.pi
PASSIVE = "passive position"
"""Quantity of measured positions of passive joints."""


def suspicious(log: Log, robot: Robot | None) -> Iterator[Finding]:
    """Yield the findings about the signals of a log, and their consistency with the robot."""
    yield from _rate(log)
    for k, joint in enumerate(log.joint_names):
        yield from _position(log, k, joint)
        if log.has_effort[k]:
            yield from _effort(log, k, joint, robot)
    if log.qd is not None:
        yield from _velocities(log)
    if robot is not None:
        yield from _limits(log, robot)
        yield from _reached(log, robot)


def jitter(log: Log) -> tuple[float, float]:
    """Return standard deviation and greatest deviation of the steps from the period (s), without gaps."""
    steps = np.concatenate([np.diff(log.time[a:b]) for a, b in log.segments])
    off = steps - log.period
    return float(np.sqrt(np.mean(off**2))), float(np.abs(off).max())


def _rate(log: Log) -> Iterator[Finding]:
    if log.rate < SLOW:
        yield Finding(Severity.WARNING, "time", (), Message("rate-low", rate=log.rate))
    usual, worst = jitter(log)
    if usual > JITTER * log.period:
        message = Message(
            "time-irregular", usual_ms=1e3 * usual, period_ms=1e3 * log.period, greatest_ms=1e3 * worst
        )
        yield Finding(Severity.WARNING if usual > 0.5 * log.period else Severity.NOTE, "time", (), message)


def _position(log: Log, k: int, joint: str) -> Iterator[Finding]:
    q, unit = log.q[:, k], log.units[k]
    step = resolution(q)
    span = float(q.max() - q.min())
    if span <= max(2.0 * step, 1e-6):
        yield _warning(joint, Message("joint-still", span=span, unit=unit))
        return
    if step and span / step < FEW_LEVELS:
        yield _warning(joint, Message("position-coarse", steps=span / step, step=step, unit=unit))
    a, b = longest_still(q)
    still, start = float(np.ptp(log.time[a:b])) if b > a else 0.0, float(log.time[a])
    if log.has_effort[k] and still > STUCK and _jumps_after(q, a, b):
        position = float(q[a])
        yield _warning(
            joint, Message("position-stuck", position=position, unit=unit, duration=still, time=start)
        )


def _warning(joint: str, message: Message) -> Finding:
    return Finding(Severity.WARNING, "joint", (joint,), message)


def _jumps_after(q: np.ndarray, a: int, b: int) -> bool:
    """Return whether a constant signal from a to b goes on with a jump, unlike that of a joint at rest."""
    usual = float(np.quantile(np.abs(np.diff(q)), 0.99))
    return bool(b < len(q) and abs(q[b] - q[b - 1]) > 3.0 * usual)


def _effort(log: Log, k: int, joint: str, robot: Robot | None) -> Iterator[Finding]:
    tau, unit = log.tau[:, k], "N" if log.units[k] == "m" else "N m"
    clipped = clipping(tau)
    if clipped is not None:
        limit = None if robot is None else _limit(robot, joint).effort
        at_limit = limit is not None and abs(abs(clipped.level) - limit) < 0.02 * limit
        code = "effort-clipped-at-limit" if at_limit else "effort-clipped"
        level, count, tops = clipped.level, clipped.count, clipped.tops
        share = count / len(tau)
        values = {"effort": level, "unit": unit, "count": count, "stretches": tops, "share": share}
        yield _warning(joint, Message(code, **values))
    a, b = longest_still(tau)
    still, start = float(np.ptp(log.time[a:b])) if b > a else 0.0, float(log.time[a])
    moves = b > a and np.ptp(log.q[a:b, k]) > 0.02 * np.ptp(log.q[:, k])
    if still > STUCK and moves and clipped is None and _jumps_after(tau, a, b):
        effort = float(tau[a])
        yield _warning(joint, Message("effort-stuck", effort=effort, unit=unit, duration=still, time=start))


class AtLimit(NamedTuple):
    """Efforts or speeds at the limit of a joint."""

    limit: float
    share: float  # part of the samples


def at_limit(values: Array, limit: float | None) -> AtLimit | None:
    """Return how often values of a joint are at its limit; None if they stay below it, or go far beyond.

    What goes far beyond is not held by this limit.
    """
    if not limit or limit < 0.0:
        return None
    sizes = np.abs(values)
    near = sizes[sizes >= (1.0 - AT_LIMIT) * limit]
    if not len(near) or float(np.median(near)) > (1.0 + AT_LIMIT) * limit:
        return None
    return AtLimit(limit, len(near) / len(sizes))


def _reached(log: Log, robot: Robot) -> Iterator[Finding]:
    """Report limits of efforts and speeds that a joint has reached for a part of the time."""
    for k, joint in enumerate(log.joint_names):
        limits, m = _limit(robot, joint), log.units[k] == "m"
        efforts = at_limit(log.tau[:, k], limits.effort) if log.has_effort[k] else None
        if efforts is not None and efforts.share > REACHED and clipping(log.tau[:, k]) is None:
            yield _warning(joint, Message("effort-at-limit", **efforts._asdict(), unit="N" if m else "N m"))
        qd = np.gradient(log.q[:, k], log.time) if log.qd is None else log.qd[:, k]
        speeds = at_limit(qd, limits.velocity)
        if speeds is not None and speeds.share > REACHED:
            message = Message("velocity-at-limit", **speeds._asdict(), unit="m/s" if m else "rad/s")
            yield Finding(Severity.NOTE, "joint", (joint,), message)


def _limit(robot: Robot, joint: str) -> Limits:
    return robot.limits.get(joint, Limits())


def _velocities(log: Log) -> Iterator[Finding]:
    """Compare measured velocities with differences of positions."""
    assert log.qd is not None
    long = [(a, b) for a, b in log.segments if b - a > 10]
    if not long:
        return
    first, last = (np.concatenate([np.arange(a + s, b + s - 2) for a, b in long]) for s in (0, 2))
    slopes = (log.q[last] - log.q[first]) / (log.time[last] - log.time[first])[:, np.newaxis]
    for joint, x, y in zip(log.joint_names, slopes.T, log.qd[first + 1].T, strict=True):
        power, own = float(x @ x), float(y @ y)
        if power <= 0.0 or own <= 0.0:
            continue
        # If the two are hardly correlated, because of noise or a wrong joint, the factor means nothing.
        alike = float(x @ y) / math.sqrt(power * own)
        factor = float(x @ y) / power
        if abs(alike) < 0.9 or 0.8 < factor < 1.25:
            continue
        is_degrees = abs(abs(factor) / DEGREES - 1.0) < 0.1
        code = "velocity-in-degrees" if is_degrees else "velocity-unlike-positions"
        yield _warning(joint, Message(code, factor=factor))


def _limits(log: Log, robot: Robot) -> Iterator[Finding]:
    """Compare positions with the limits of the robot."""
    for k, joint in enumerate(log.joint_names):
        limits = _limit(robot, joint)
        lower, upper = limits.lower, limits.upper
        if lower is None or upper is None or upper <= lower:
            continue
        low, high = float(log.q[:, k].min()), float(log.q[:, k].max())
        over = max(lower - low, high - upper) / (upper - lower)
        if over <= 0.02:
            continue
        unit = log.units[k]
        in_range = lower - 0.1 < low / DEGREES and high / DEGREES < upper + 0.1
        is_degrees = unit == "rad" and over > 2.0 and in_range
        code = "positions-in-degrees" if is_degrees else "positions-beyond-limits"
        message = Message(code, least=low, greatest=high, lower=lower, upper=upper, unit=unit)
        yield Finding(Severity.ERROR if is_degrees else Severity.WARNING, "joint", (joint,), message)


def passive_sources(
    recording: Recording, assignment: Assignment, log_map: LogMap, robot: Robot | None
) -> dict[tuple[str, str], Source]:
    """Return the sources of measured positions of passive joints of loops, by joint and `PASSIVE`.

    They are in the streams with the positions of the actuated joints. A joint with several possible columns
    has no source, nor has any joint if the map names the columns.
    """
    if robot is None or not robot.loops or log_map.names_columns:
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
            unit = meaning.unit or log_map.units.get(POSITION)
            if meaning.is_command or meaning.is_motor or (unit is not None and unit.is_raw):
                continue
            found.setdefault(meaning.joint, []).append(Source(s, k, unit, ColumnMap()))
    return {
        (joint, PASSIVE): sources[0]
        for joint, sources in found.items()
        if len(sources) == 1 and joint not in log_map.ignore
    }


def passive_findings(
    log: Log,
    robot: Robot,
    sources: Mapping[tuple[str, str], Source],
    time: Array,
    columns: Mapping[tuple[str, str], Array],
) -> Iterator[Finding]:
    """Yield comparisons of measured positions of passive joints with those that close the loops.

    No equation uses these positions. But if they contradict the loops, lengths, zeros or the assembly mode of
    the description are wrong, and so are identified parameters.

    Args:
        log: the log of the actuated joints.
        robot: the robot.
        sources: sources of `passive_sources`.
        time: times of the columns, counted like `Log.start` (s), (N,).
        columns: values of the sources, NaN where they are missing.
    """
    measured: dict[str, Array] = {}
    now = log.start + log.time
    for key, source in sources.items():
        known = np.isfinite(columns[key])
        if known.sum() > 1:
            values = drive_side(columns[key][known], key[0], POSITION, source, JointMap())
            measured[key[0]] = np.interp(now, time[known], values, left=np.nan, right=np.nan)
    if not measured:
        return
    apart = PassiveAgreement(robot).apart(log.q, tuple(measured), np.column_stack(list(measured.values())))
    if apart is None:
        return
    for name, off in zip(measured, apart.T, strict=True):
        known = np.isfinite(off)
        if not known.any():
            continue
        rms = float(np.sqrt((off[known] ** 2).mean()))
        k = int(np.nanargmax(np.abs(off)))
        agrees = rms <= TOLERANCE
        message = Message(
            "passive-position-agrees" if agrees else "passive-position-contradicts",
            rms=rms,
            greatest=float(abs(off[k])),
            time=float(log.time[k]),
            mean=float(off[known].mean()),
            unit=robot.joint(name).position_unit,
        )
        yield Finding(Severity.NOTE if agrees else Severity.WARNING, "joint", (name,), message)
