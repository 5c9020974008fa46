# SPDX-License-Identifier: Apache-2.0
"""What is suspicious about the signals of a log as a whole."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from dyn_core.core.findings import Finding, Severity
from dyn_core.logs.log import Log
from dyn_core.logs.repair.column_anomalies import clipping, longest_still, resolution
from dyn_core.robot.joints import Limits
from dyn_core.robot.robot import Robot

SLOW = 50.0
"""Rates (Hz) below which dynamics is missed."""
STUCK = 0.5
"""A signal that stays the same for longer (s) while its joint moves is stuck."""
FEW_LEVELS = 200
JITTER = 0.05
"""Deviation of the steps, in periods, that is worth a word."""
DEGREES = 180.0 / math.pi


def suspicious(log: Log, robot: Robot | None) -> Iterator[Finding]:
    """Answer what is suspicious about a log, with what is known of the robot."""
    yield from _rate(log)
    for k, joint in enumerate(log.joint_names):
        yield from _position(log, k, joint)
        if log.has_effort[k]:
            yield from _effort(log, k, joint, robot)
    if log.qd is not None:
        yield from _velocities(log)
    if robot is not None:
        yield from _limits(log, robot)


def jitter(log: Log) -> tuple[float, float]:
    """Answer standard deviation and largest deviation of the steps from the period (s), beside gaps."""
    steps = np.concatenate([np.diff(log.time[a:b]) for a, b in log.segments])
    off = steps - log.period
    return float(np.sqrt(np.mean(off**2))), float(np.abs(off).max())


def _rate(log: Log) -> Iterator[Finding]:
    if log.rate < SLOW:
        yield Finding(
            Severity.WARNING,
            "time",
            (),
            f"{log.rate:.3g} Hz is slow for the dynamics of a robot: record at least at 100 Hz",
        )
    usual, worst = jitter(log)
    if usual > JITTER * log.period:
        yield Finding(
            Severity.WARNING if usual > 0.5 * log.period else Severity.NOTE,
            "time",
            (),
            f"the time stamps are irregular: steps differ by {1e3 * usual:.3g} ms from "
            f"{1e3 * log.period:.4g} ms, "
            f"by {1e3 * worst:.3g} ms at most",
        )


def _position(log: Log, k: int, joint: str) -> Iterator[Finding]:
    q, unit = log.q[:, k], log.units[k]
    step = resolution(q)
    span = float(q.max() - q.min())
    if span <= max(2.0 * step, 1e-6):
        yield Finding(
            Severity.WARNING,
            "joint",
            (joint,),
            f"it does not move ({span:.2g} {unit}): what only its own motion shows cannot be identified",
        )
        return
    if step and span / step < FEW_LEVELS:
        yield Finding(
            Severity.WARNING,
            "joint",
            (joint,),
            f"its position is coarse: {span / step:.0f} steps of {step:.2g} {unit} in its whole range",
        )
    a, b = longest_still(q)
    still = float(log.time[b - 1] - log.time[a]) if b > a else 0.0
    if log.has_effort[k] and still > STUCK and _jumps_after(q, a, b):
        yield Finding(
            Severity.WARNING,
            "joint",
            (joint,),
            f"its position stays at {q[a]:.6g} {unit} for {still:.3g} s from {log.time[a]:.4g} s and jumps "
            "then, as "
            "when a sensor hangs: leave this part out",
        )


def _jumps_after(q: np.ndarray, a: int, b: int) -> bool:
    """Tell a sensor that hangs from a joint that rests: that one does not go on with a jump."""
    usual = float(np.quantile(np.abs(np.diff(q)), 0.99))
    return bool(b < len(q) and abs(q[b] - q[b - 1]) > 3.0 * usual)


def _effort(log: Log, k: int, joint: str, robot: Robot | None) -> Iterator[Finding]:
    tau, unit = log.tau[:, k], "N" if log.units[k] == "m" else "N m"
    clipped = clipping(tau)
    if clipped is not None:
        limit = None if robot is None else _limit(robot, joint).effort
        at_limit = limit is not None and abs(abs(clipped.level) - limit) < 0.02 * limit
        yield Finding(
            Severity.WARNING,
            "joint",
            (joint,),
            f"its effort is clipped at {clipped.level:.4g} "
            f"{unit}{', the limit of the robot' if at_limit else ''}: "
            f"{clipped.count} samples in {clipped.tops} flat stretches; move slower, or leave them out",
        )
    a, b = longest_still(tau)
    still = float(log.time[b - 1] - log.time[a]) if b > a else 0.0
    moved = float(np.ptp(log.q[a:b, k])) if b > a else 0.0
    moves = moved > 0.02 * float(np.ptp(log.q[:, k]))
    if still > STUCK and moves and clipped is None and _jumps_after(tau, a, b):
        yield Finding(
            Severity.WARNING,
            "joint",
            (joint,),
            f"its effort stays at {tau[a]:.4g} {unit} for {still:.3g} s from {log.time[a]:.4g} s while it "
            "moves: the "
            "sensor hangs; leave this part out",
        )


def _limit(robot: Robot, joint: str) -> Limits:
    return robot.limits.get(joint, Limits())


def _velocities(log: Log) -> Iterator[Finding]:
    """Compare measured velocities with differences of positions."""
    assert log.qd is not None
    for k, joint in enumerate(log.joint_names):
        slopes: list[np.ndarray] = []
        measured: list[np.ndarray] = []
        for a, b in log.segments:
            if b - a > 10:
                slopes.append(
                    (log.q[a + 2 : b, k] - log.q[a : b - 2, k]) / (log.time[a + 2 : b] - log.time[a : b - 2])
                )
                measured.append(log.qd[a + 1 : b - 1, k])
        if not slopes:
            continue
        x, y = np.concatenate(slopes), np.concatenate(measured)
        power, own = float(x @ x), float(y @ y)
        if power <= 0.0 or own <= 0.0:
            continue
        # Where the two have little in common, noise or the wrong joint, no factor says anything.
        alike = float(x @ y) / math.sqrt(power * own)
        factor = float(x @ y) / power
        if abs(alike) < 0.9 or 0.8 < factor < 1.25:
            continue
        why = {True: ": it is in deg/s", False: ""}[abs(abs(factor) / DEGREES - 1.0) < 0.1]
        yield Finding(
            Severity.WARNING,
            "joint",
            (joint,),
            f"its velocity is {_short(factor)} times the derivative of its position{why}: check units, ratio "
            "and sign",
        )


def _short(factor: float) -> str:
    return f"{factor:.0f}" if abs(factor) >= 10.0 else f"{factor:.2g}"


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
        is_degrees = (
            log.units[k] == "rad"
            and over > 2.0
            and lower - 0.1 < low / DEGREES
            and high / DEGREES < upper + 0.1
        )
        yield Finding(
            Severity.ERROR if is_degrees else Severity.WARNING,
            "joint",
            (joint,),
            f"its positions, {low:.4g} to {high:.4g} {log.units[k]}, are beyond the limits of the robot, "
            f"{lower:.4g} to "
            f"{upper:.4g}: "
            + (
                "they are in deg: give 'units: {position: deg}' in a map"
                if is_degrees
                else "check units, ratio, zero and order"
            ),
        )
