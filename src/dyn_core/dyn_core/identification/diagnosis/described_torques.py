# SPDX-License-Identifier: Apache-2.0
"""Torques beside those of the description: units, gains of joints, gravity, and zeros of positions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dyn_core.core.arrays import Array, BoolArray
from dyn_core.core.findings import Finding, Severity
from dyn_core.core.messages import Message
from dyn_core.identification.diagnosis.signal_hypotheses import (
    Evidence,
    described_values,
    moved,
    nothing_wrong,
    thinned,
)
from dyn_core.identification.regressor.motion_equations import Equations

# The description is only about right, and drives have friction and rotors that it lacks. So torques are
# compared without what acts on a joint alone, and a contradiction has to be large.

UNLIKE = math.log(1.6)  # logarithm of a gain that is wrong by the description
OTHER_SCALE, WRONG_SCALE = math.log(1.5), math.log(2.0)  # the same of all torques: reported, and wrong
ALL = 3  # least number of joints that tell a gain of all from the masses of one or two
MOST = 0.6  # part of the joints whose gains are wrong where those of all are
KNOWN = 0.2  # relative deviation of a gain that counts
CONFIRMED = 0.15  # reduction of the misfit by a zero that the description agrees with
FEW = 400  # number of samples that are compared
LEAST_LEFT = 1e-4  # part of the squared torque that a description always leaves


class DescribedGains(NamedTuple):
    """Torques relative to those of the description; NaN where it needs none."""

    by_joint: Array  # factors of torques without friction, (n,)
    known: BoolArray  # which of them are known well enough, (n,)
    gravity: float  # factor of gravity alone, over all joints
    of_all: float  # factor of all joints

    def agrees(self, joint: int, ratio: float) -> bool:
        """Return whether the torque of a joint is about so many times what the others are."""
        if not self.known[joint] or not self.by_joint[joint] / self.of_all > 0.0:
            return False
        return abs(math.log(self.by_joint[joint] / self.of_all / ratio)) < UNLIKE / 2.0


def described_gains(evidence: Evidence) -> DescribedGains:
    """Compare unfiltered torques with those of the description, both without friction and rotors."""
    few, base = evidence.few.signals, evidence.equations.base
    x, still = described_values(base), np.zeros_like(few.q)
    weight = base.columns(few.q, still, still) @ x
    inertial = base.columns(few.q, few.qd, few.qdd) @ x - weight
    gains, deviations, sums = np.full(few.dof, np.nan), np.full(few.dof, np.inf), np.zeros((3, 3))
    for i in np.flatnonzero(evidence.equations.measured):
        moves = ~evidence.few.stands[:, i]
        own = np.column_stack([few.qd[:, i], np.sign(few.qd[:, i]), few.qdd[:, i], np.ones(len(few.q))])
        all_of = np.column_stack([inertial[:, i], weight[:, i], few.tau[:, i]])[moves]
        left = all_of - own[moves] @ np.linalg.lstsq(own[moves], all_of, rcond=None)[0]
        needed = left[:, :2].sum(axis=1)
        power = float(needed @ needed)
        if power <= 1e-12 * float(left[:, 2] @ left[:, 2]) or power == 0.0:
            continue
        gains[i] = float(needed @ left[:, 2]) / power
        residual = left[:, 2] - gains[i] * needed
        variance = float(residual @ residual) / len(needed)
        # Of successive samples, about one in ten is independent.
        deviations[i] = math.sqrt(10.0 * variance / power)
        sums += left.T @ left / max(variance, 1e-12 * float(left[:, 2] @ left[:, 2]) / len(needed))
    known = deviations < KNOWN * np.abs(gains)
    normal, right = sums[:2, :2], sums[:2, 2]
    of_all = float(np.median(gains[known])) if known.any() else math.nan
    usable = normal[1, 1] > 1e-6 * max(normal[0, 0], 1e-300) and normal[1, 1] > 0.0
    gravity = float(np.linalg.lstsq(normal, right, rcond=None)[0][1]) if usable else math.nan
    return DescribedGains(gains, known, gravity, of_all)


def scaled_findings(described: DescribedGains) -> list[Finding]:
    """Return whether all torques are negated, or have one gain, by the description alone."""
    gains = described.by_joint[described.known]
    scale = described.of_all
    alike = float(np.mean(np.abs(np.log(np.maximum(gains / scale, 1e-12))) < UNLIKE)) if len(gains) else 0.0
    size = abs(math.log(abs(scale))) if len(gains) else 0.0
    if len(gains) < ALL or alike < MOST or (scale > 0.0 and size <= OTHER_SCALE):
        return []
    severity = Severity.ERROR if scale < 0.0 or size > WRONG_SCALE else Severity.WARNING
    return [Finding(severity, "robot", (), Message("efforts-scaled", scale=scale, factor=1.0 / scale))]


def misfit_to_description(evidence: Evidence, few: Equations, zeros: tuple[float, ...]) -> float:
    """Return the sum over the joints of log(residual / torque) with bodies in the shape of the description.

    Friction, rotor inertia and mass of each joint are free.
    """
    h = replace(nothing_wrong(evidence.dof), zeros=zeros)
    signals, base = moved(few, h).signals, evidence.equations.base
    needed = base.columns(signals.q, signals.qd, signals.qdd) @ described_values(base)
    total = 0.0
    for i in np.flatnonzero(evidence.equations.measured):
        columns = (needed[:, i], signals.qd[:, i], np.sign(signals.qd[:, i]), signals.qdd[:, i])
        W = np.column_stack([*columns, np.ones(len(needed))])
        tau = signals.tau[:, i]
        left = tau - W @ np.linalg.lstsq(W, tau, rcond=None)[0]
        power = float(np.var(tau))
        total += 0.5 * math.log(max(float(left @ left) / len(left) / power, LEAST_LEFT)) if power else 0.0
    return total


def is_described(evidence: Evidence, joint: int, zero: float) -> bool:
    """Return whether the description is nearer to the torques with another zero of a joint."""
    few, plain = thinned(evidence.equations, FEW), nothing_wrong(evidence.dof)
    before = misfit_to_description(evidence, few, plain.zeros)
    return misfit_to_description(evidence, few, plain.shifted(joint, zero).zeros) < before - CONFIRMED


# Torques in another unit than N m, by the limits and masses of the description
#
# One factor of all torques is one of all masses, and no equation disagrees. The description does: its joints
# have limits, and its masses need torques along the motion.

# ratio to the torques for the described masses that shows a wrong unit; much lower masses are made up
FAR_GAIN, LITTLE = 60.0, 1.0 / 200.0
SUSPICIOUS = 15.0  # ratio, or its reciprocal, that is reported
OVER = 10.0  # ratio to its limit that no torque of a joint reaches
# Samples that are enough
PEAK = 0.99  # quantile of the samples that is compared with the limit, so that spikes do not count


def effort_scale_findings(equations: Equations) -> list[Finding]:
    """Return whether unfiltered torques are in another unit than the description."""
    few = thinned(equations, FEW).signals
    base = equations.base
    measured = np.array(equations.measured)
    needed = base.columns(few.q, few.qd, few.qdd)[:, measured] @ described_values(base)
    scale = _ratio(few.qd[:, measured], few.tau[:, measured], needed)
    peaks = np.quantile(np.abs(equations.signals.tau), PEAK, axis=0)
    limits = np.array([joint.limits.effort or math.nan for joint in base.robot.independent_joints])
    over = np.where(measured & (limits > 0.0), peaks / np.where(limits > 0.0, limits, 1.0), math.nan)
    return list(_findings(equations, scale, over))


def _ratio(qd: Array, tau: Array, needed: Array) -> float:
    """Return the ratio of torques to needed ones, both without friction; NaN if none are needed."""
    squares = np.zeros((tau.shape[1], 2))
    for i in range(tau.shape[1]):
        both = np.column_stack([tau[:, i], needed[:, i]])
        friction = np.column_stack([qd[:, i], np.sign(qd[:, i]), np.ones(len(qd))])
        left = both - friction @ np.linalg.lstsq(friction, both, rcond=None)[0]
        squares[i] = np.sum(left**2, axis=0)
    # A single joint with another gain is not a matter of units: it is left out if the others disagree.
    sums = [squares.sum(axis=0), *(np.delete(squares, i, axis=0).sum(axis=0) for i in range(len(squares)))]
    ratios = [math.sqrt(a / b) for a, b in sums if a > 0.0 and b > 0.0]
    return min(ratios, key=lambda ratio: abs(math.log(ratio)), default=math.nan)


def _findings(equations: Equations, scale: float, over: Array) -> Iterator[Finding]:
    names = equations.base.robot.coordinate_names
    beyond = [name for name, times in zip(names, over.tolist(), strict=True) if times > OVER]
    limited = np.isfinite(over)
    within = bool(limited.any()) and not (over[limited] > 1.0).any()
    all_beyond = bool(limited.any()) and bool(np.all(over[limited] > OVER))
    too_great = (scale > FAR_GAIN and not within) or (all_beyond and not scale < OVER)
    if too_great or scale < LITTLE:
        times = float(np.nanmax(over)) if limited.any() else math.nan
        by_masses = "torque-unit-wrong-beyond-limits" if beyond else "torque-unit-wrong"
        code = "torque-unit-wrong-by-limits" if math.isnan(scale) else by_masses
        suspected = _unit(times if math.isnan(scale) else scale)
        message = Message(code, scale=scale, times=times, suspected=suspected)
        yield Finding(Severity.ERROR, "robot", (), message)
        return
    if beyond:
        times = float(np.nanmax(over))
        message = Message("torques-beyond-limits", times=times, suspected=_unit(times))
        yield Finding(Severity.WARNING, "joint", tuple(beyond), message)
    elif scale > SUSPICIOUS or scale < 1.0 / SUSPICIOUS:
        message = Message("torques-unlike-masses", scale=scale, suspected=_unit(scale))
        yield Finding(Severity.WARNING, "robot", (), message)


def _unit(scale: float) -> Message:
    """Return the unit that a factor of torques suggests."""
    if scale > 300.0:
        return Message("unit-millinewton-metre")
    if scale > 1.0:
        return Message("unit-newton-centimetre")
    return Message("unit-kilonewton-metre" if scale < 1.0 / 300.0 else "unit-ampere")
