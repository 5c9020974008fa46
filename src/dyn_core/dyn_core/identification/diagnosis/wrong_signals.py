# SPDX-License-Identifier: Apache-2.0
"""Hypotheses about wrong signals: signs, swapped joints, gains, units and zeros."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.findings import Finding, Severity
from dyn_core.core.messages import Message
from dyn_core.identification.diagnosis.signal_hypotheses import (
    Channels,
    Evidence,
    Hypothesis,
    lowest,
    nothing_wrong,
    score,
    thinned,
)
from dyn_core.identification.regressor.motion_equations import Equations
from dyn_core.robot.joints import Sigma
from dyn_core.robot.robot import Robot

# Wrong signs of torques and positions, and swapped joints
#
# Friction that drives its joint indicates a wrong sign of the torque or the position, for any bodies.
# Between joints that move the same bodies, residuals show a wrong sign. Exchanging the signals of two swapped
# joints reduces residuals a lot. All hypotheses are tried, and the best one is taken.

BETTER = 0.7  # least gain in misfit by another sign: two residuals are divided by the square root of 2
CLEAR, PERHAPS = 0.3, 0.1  # least gains in misfit of swapped signals: certain, and possible
LIKELY = 4  # number of exchanges, or signs of positions, that are examined closely
BEAM = 4  # number of sign hypotheses that are kept in each round
FAR = 3.0  # misfit above the best one from which a sign hypothesis is not continued
UNLIKELY = 1.0  # misfit above that of no exchange from which an exchange is not examined


class Explained(NamedTuple):
    """A hypothesis, and how well it explains the signals."""

    hypothesis: Hypothesis
    score: float  # its misfit
    gain: float = np.inf  # reduction of the misfit from the next simpler hypothesis; infinite for signs


def mixed_up(evidence: Evidence) -> Explained:
    """Return the signs or exchanges, which may be none, that explain the signals best."""
    signs = _signs(evidence)
    swapped = _swapped(evidence, signs)
    gained = signs.score - swapped.score
    return swapped._replace(gain=gained) if gained > PERHAPS else signs


def mixed_up_findings(robot: Robot, evidence: Evidence, found: Explained) -> list[Finding]:
    """Return the findings of `mixed_up`."""
    names, n, h = robot.coordinate_names, evidence.dof, found.hypothesis
    plain = nothing_wrong(n)
    start = evidence.as_it_is.assigned(plain.torques, plain.factors).misfit
    fit = evidence.of(h).assigned(h.torques, h.factors).misfit
    shrunk = float(np.exp((start - fit) / n))
    evidence_of_fit = Message("residuals-smaller" if shrunk > 1.1 else "residuals-alike", factor=shrunk)
    findings = []
    for i, (factor, turn) in enumerate(zip(h.factors, h.turns, strict=True)):
        if factor > 0.0 and turn > 0.0:
            continue
        of_position = "position-sign-wrong" if factor > 0.0 else "axis-sign-wrong"
        message = Message("torque-sign-wrong" if turn > 0.0 else of_position, evidence=evidence_of_fit)
        findings.append(Finding(Severity.ERROR, "joint", (names[i],), message))
    for i, k in combinations(range(n), 2):
        if k in (h.torques[i], h.positions[i]):
            sure = found.gain > CLEAR
            code = "signals-swapped" if sure else "signals-perhaps-swapped"
            message = Message(code, signals=_swapped_signals(h, i), gain=float(np.exp(found.gain / 2.0)))
            severity = Severity.ERROR if sure else Severity.WARNING
            findings.append(Finding(severity, "joint", (names[i], names[k]), message))
    return findings


def _swapped_signals(hypothesis: Hypothesis, joint: int) -> str:
    if hypothesis.torques[joint] == joint:
        return "positions"
    return "torques" if hypothesis.positions[joint] == joint else "positions and torques"


def _signs(evidence: Evidence) -> Explained:
    """Return signs of torques and positions with little driving friction and a good fit."""
    plain = nothing_wrong(evidence.dof)
    start = Explained(plain, score(evidence.as_it_is, plain))
    # All signs may be wrong together.
    minus = tuple(-one for one in plain.turns)
    turned = replace(plain, turns=minus)
    opposite = [replace(plain, factors=minus), turned, replace(turned, factors=minus)]
    best = _descended(evidence, start)
    other = min((_scored(evidence, one) for one in opposite), key=lambda one: one.score)
    if other.score < start.score - BETTER:
        other = _descended(evidence, other)
        if other.score < best.score - BETTER:
            return other
    return best


def _scored(evidence: Evidence, hypothesis: Hypothesis) -> Explained:
    return Explained(hypothesis, score(evidence.of(hypothesis), hypothesis))


def _descended(evidence: Evidence, found: Explained) -> Explained:
    """Return the best hypothesis by changing one sign after the other, keeping a few best of each round."""
    best, beam = found, [found]
    for _ in range(2 * evidence.dof):
        changed = {one.hypothesis: one for start in beam for one in _changes(evidence, start.hypothesis)}
        beam = sorted(changed.values(), key=lambda one: one.score)[:BEAM]
        beam = [one for one in beam if one.score < beam[0].score + FAR]
        if beam[0].score > best.score - BETTER:
            break
        best = beam[0]
    return best


def _changes(evidence: Evidence, h: Hypothesis) -> Iterator[Explained]:
    """Yield hypotheses with other signs of one joint: of its torque, its position, or both.

    A few unfiltered samples find the likely positions; all equations score these.
    """
    seen = evidence.of(h)
    for i in range(evidence.dof):
        changed = h.scaled(i, -1.0)
        yield Explained(changed, score(seen, changed))
    usual = score(evidence.of_few(h), h)
    likely = []
    for i in range(evidence.dof):
        turned = h.turned(i)
        seen = evidence.of_few(turned)
        likely += [Explained(one, score(seen, one)) for one in (turned, turned.scaled(i, -1.0))]
    for one in sorted(likely, key=lambda one: one.score)[:LIKELY]:
        if one.score < usual + UNLIKELY:
            yield _scored(evidence, one.hypothesis)


def _swapped(evidence: Evidence, start: Explained) -> Explained:
    """Return the best exchange of two joints.

    A few unfiltered samples find the likely ones; all equations score these.
    """
    unfiltered = score(evidence.of_few(start.hypothesis), start.hypothesis)
    likely = sorted(_exchanges(evidence, start.hypothesis), key=lambda one: one.score)[:LIKELY]
    found = [start]
    found += [_scored(evidence, one.hypothesis) for one in likely if one.score < unfiltered + UNLIKELY]
    return min(found, key=lambda one: one.score)


def _exchanges(evidence: Evidence, start: Hypothesis) -> Iterator[Explained]:
    """Yield exchanges of two joints, of their torques, their positions, or both, with the signs that suit.

    The signs in `start` may be due to the exchange, so unchanged signs are tried, too.
    """
    plain = nothing_wrong(evidence.dof)
    choices = {start.factors, plain.factors}
    as_it_is = evidence.of_few(plain)
    for i, k in combinations(range(evidence.dof), 2):
        order = list(plain.torques)
        order[i], order[k] = k, i
        exchanged = tuple(order)
        moved = replace(plain, positions=exchanged)
        of_moved = evidence.of_few(moved)
        for one, seen in (
            (replace(plain, torques=exchanged), as_it_is),
            (moved, of_moved),
            (replace(moved, torques=exchanged), of_moved),
        ):
            for factors in choices:
                signed = replace(one, factors=factors)
                yield Explained(signed, score(seen, signed))


# Wrong torque gains of single joints, and wrong zeros of positions
#
# Joints that move the same bodies have to agree on them. A torque with another gain disagrees with the
# others; another zero of a position turns gravity and inertia. Not observable are one factor of all torques
# (which is one of all masses), the zero of a joint that gravity and the other joints do not depend on, as of
# a first vertical axis, and the zero of the last joint, which turns its body.

GAINS = np.logspace(-4.0, 4.0, 81)  # factors of a torque that are tried first
DEGREES = (3.0, 10.0, 30.0, 60.0, 90.0, 120.0, 150.0, 180.0)
METRES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)  # zeros that are tried first, with both signs
SURE = 0.5  # least gain in misfit of certainly wrong gains and zeros
SAMPLES = 600  # number of samples for trying zeros
LIKELY_GAIN = 3  # number of zeros that are examined closely
CLOSER = 16  # evaluations that find a place between two that were tried
# least logarithms of gains that are wrong, and that are reported
WRONG_GAIN, OTHER_GAIN = math.log(1.2), math.log(1.05)
# least zeros that are wrong, and that are reported
WRONG_ZERO, OTHER_ZERO = {"rad": math.radians(3.0), "m": 0.01}, {"rad": math.radians(1.0), "m": 0.003}


def miscalibrated(evidence: Evidence, others: float = math.inf) -> Explained:
    """Return the gains and zeros, which may all be right, that explain the signals best.

    The search stops far below `others`, the score of another explanation.
    """
    plain = nothing_wrong(evidence.dof)
    start = score(evidence.as_it_is, plain)
    best = Explained(plain, start, 0.0)
    for _ in range(2 * evidence.dof):
        found = min(_gain_changes(evidence, best.hypothesis), key=lambda one: one.score, default=best)
        if found.score > best.score - PERHAPS:
            break
        best = found._replace(gain=start - found.score)
        if best.score > others + FAR:
            break
    return best


def miscalibrated_findings(robot: Robot, found: Explained) -> list[Finding]:
    """Return the findings of `miscalibrated`."""
    findings = []
    gain = math.exp(found.gain / 2.0)
    for i, joint in enumerate(robot.independent_joints):
        factor, zero = found.hypothesis.factors[i], found.hypothesis.zeros[i]
        if abs(math.log(factor)) > OTHER_GAIN:
            wrong = abs(math.log(factor)) > WRONG_GAIN and found.gain > SURE
            message = Message("torque-gain-wrong", ratio=1.0 / factor, factor=factor, gain=gain)
            findings.append(_finding(joint.name, message, wrong=wrong))
        unit = joint.position_unit
        if abs(zero) > OTHER_ZERO[unit]:
            wrong = abs(zero) > WRONG_ZERO[unit] and found.gain > SURE
            if unit == "rad":
                message = Message("revolute-zero-wrong", zero=zero, degrees=math.degrees(zero), gain=gain)
            else:
                message = Message("prismatic-zero-wrong", zero=zero, gain=gain)
            findings.append(_finding(joint.name, message, wrong=wrong))
    return findings


def _finding(name: str, message: Message, *, wrong: bool) -> Finding:
    return Finding(Severity.ERROR if wrong else Severity.WARNING, "joint", (name,), message)


def _gain_changes(evidence: Evidence, h: Hypothesis) -> Iterator[Explained]:
    """Yield hypotheses with another gain, or another zero, of one joint."""
    seen = evidence.of(h)
    for i in range(evidence.dof):
        if seen.torques[i, i] > 0.0:
            yield from _another_gain(seen, h, i)
    few = thinned(evidence.equations, SAMPLES)
    start = _misfit(evidence.of_few(h, few), h)
    tried = []
    for i in range(evidence.dof):
        shifted = [(zero, h.shifted(i, zero)) for zero in _tried(evidence, i)]
        tried += [(i, zero, _misfit(evidence.of_few(one, few), one)) for zero, one in shifted]
    best = sorted(tried, key=lambda one: one[2])[:LIKELY_GAIN]
    for i in {i for i, _, found in best if found < start - 0.5 * PERHAPS}:
        yield from _another_zero(evidence, h, i, [(zero, found) for k, zero, found in tried if k == i])


def _another_gain(seen: Channels, h: Hypothesis, joint: int) -> Iterator[Explained]:
    """Yield the best gain, if it is better than ignoring the torque of the joint."""

    def misfit(logarithm: float) -> float:
        return _misfit(seen, h.scaled(joint, math.exp(logarithm)))

    places = np.log(GAINS).tolist()
    values = [misfit(place) for place in places]
    k = int(np.argmin(values))
    if not 0 < k < len(places) - 1:
        return
    at = lowest(misfit, places[k - 1], places[k + 1], CLOSER)
    if misfit(at) > min(values[0], values[-1]) - PERHAPS:
        return
    changed = h.scaled(joint, math.exp(at))
    yield Explained(changed, score(seen, changed))


def _tried(evidence: Evidence, joint: int) -> list[float]:
    robot = evidence.equations.base.robot
    if robot.independent_joints[joint].sigma is Sigma.PRISMATIC:
        return sorted([*METRES, *(-one for one in METRES)])
    return sorted(math.radians(one) for one in (*DEGREES, *(-one for one in DEGREES[:-1])))


def _another_zero(
    evidence: Evidence, h: Hypothesis, joint: int, tried: list[tuple[float, float]]
) -> Iterator[Explained]:
    """Yield the best zero near the best of those that were tried."""

    def misfit(zero: float) -> float:
        changed = h.shifted(joint, zero)
        return _misfit(evidence.of_few(changed), changed)

    places = sorted({0.0, *(zero for zero, _ in tried)})
    k = places.index(min(tried, key=lambda one: one[1])[0])
    below = places[k - 1] if k else 2.0 * places[0] - places[1]
    above = places[k + 1] if k + 1 < len(places) else 2.0 * places[-1] - places[-2]
    changed = h.shifted(joint, lowest(misfit, below, above, CLOSER))
    yield Explained(changed, score(evidence.of(changed), changed))


def _misfit(seen: Channels, h: Hypothesis) -> float:
    return seen.assigned(h.torques, h.factors).misfit


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
    few = thinned(equations, SAMPLES).signals
    base = equations.base
    measured = np.array(equations.measured)
    known = dict(zip(base.robot.parameter_names, base.robot.parameters, strict=True))
    described = base.matrix @ np.array([known.get(name, 0.0) for name in base.standard_names])
    needed = base.columns(few.q, few.qd, few.qdd)[:, measured] @ described
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
