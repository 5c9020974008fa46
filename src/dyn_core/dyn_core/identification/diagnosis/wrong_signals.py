# SPDX-License-Identifier: Apache-2.0
"""Hypotheses about wrong signals: signs, swapped joints, gains, units and zeros."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np

from dyn_core.core.findings import Finding, Severity
from dyn_core.core.messages import Message
from dyn_core.identification.diagnosis.described_torques import (
    FEW,
    MOST,
    UNLIKE,
    DescribedGains,
    is_described,
    misfit_to_description,
)
from dyn_core.identification.diagnosis.signal_hypotheses import (
    Channels,
    Evidence,
    Explained,
    Hypothesis,
    lowest,
    nothing_wrong,
    score,
    thinned,
)
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


def miscalibrated_findings(
    robot: Robot,
    found: Explained,
    evidence: Evidence | None = None,
    described: DescribedGains | None = None,
) -> list[Finding]:
    """Return the findings of `miscalibrated`; what explains little is sure where the description agrees."""
    findings = []
    gain = math.exp(found.gain / 2.0)
    for i, joint in enumerate(robot.independent_joints):
        factor, zero = found.hypothesis.factors[i], found.hypothesis.zeros[i]
        if abs(math.log(factor)) > OTHER_GAIN:
            sure = found.gain > SURE or (described is not None and described.agrees(i, 1.0 / factor))
            wrong = abs(math.log(factor)) > WRONG_GAIN and sure
            message = Message("torque-gain-wrong", ratio=1.0 / factor, factor=factor, gain=gain)
            findings.append(_finding(joint.name, message, wrong=wrong))
        unit = joint.position_unit
        if abs(zero) > OTHER_ZERO[unit]:
            sure = found.gain > SURE or (evidence is not None and is_described(evidence, i, zero))
            wrong = abs(zero) > WRONG_ZERO[unit] and sure
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


# What drives report in place of torques: efforts without gravity, currents, another gain of all joints
#
# Efforts without gravity fit equations without it, or those with the gravity of the description, if that is
# what the drive compensates. Currents have a gain for each joint: the equations tell the gains relative to
# each other, and the description tells all together. One gain of all joints is one of all masses: only the
# description contradicts it.

LITTLE_GRAVITY = 0.5  # part of the described gravity in torques without it
SWEEPS = 3  # rounds of changing the gain of each joint


def without_gravity(evidence: Evidence, described: DescribedGains) -> Explained | None:
    """Return the better of two hypotheses of torques without gravity; None if they have gravity."""
    plain = nothing_wrong(evidence.dof)
    if not abs(described.gravity) < LITTLE_GRAVITY:
        return None
    start = score(evidence.as_it_is, plain)
    absent, compensated = (
        _scored(evidence, replace(plain, gravity="absent")),
        _scored(evidence, replace(plain, gravity="compensated")),
    )
    # Residuals count relative to the torques that were reported, without the gravity that is added.
    whole = evidence.of(compensated.hypothesis)
    powers = [np.diag(seen.torques)[list(evidence.equations.measured)] for seen in (whole, evidence.as_it_is)]
    known = (powers[0] > 0.0) & (powers[1] > 0.0)
    added = 0.5 * float(np.log(powers[0][known] / powers[1][known]).sum())
    found = min(absent, compensated._replace(score=compensated.score + added), key=lambda one: one.score)
    return found._replace(gain=start - found.score) if found.score < start - PERHAPS else None


def gravity_finding(found: Explained, described: DescribedGains) -> Finding:
    """Return the finding of `without_gravity`."""
    message = Message("efforts-without-gravity", gravity=described.gravity, gain=math.exp(found.gain / 2.0))
    return Finding(Severity.ERROR, "robot", (), message)


def currents(evidence: Evidence, described: DescribedGains) -> Explained | None:
    """Return the factors that make torques of currents; None if the description does not need them."""
    off = np.abs(np.log(np.maximum(np.abs(described.by_joint), 1e-12))) > UNLIKE
    if not described.known.any() or np.mean(off[described.known]) < MOST:
        return None
    usual = described.of_all
    gains = np.where(described.known, described.by_joint, usual)
    if not (gains > 0.0).all():
        return None
    plain, seen = nothing_wrong(evidence.dof), evidence.as_it_is
    start = score(seen, plain)
    h = replace(plain, factors=tuple((usual / gains).tolist()))
    for _ in range(SWEEPS):
        for i in np.flatnonzero(evidence.equations.measured).tolist():

            def misfit(logarithm: float, joint: int = i, before: Hypothesis = h) -> float:
                return _misfit(seen, before.scaled(joint, math.exp(logarithm)))

            h = h.scaled(i, math.exp(lowest(misfit, -UNLIKE, UNLIKE, CLOSER)))
    spread = float(np.ptp(np.log(h.factors)))
    found = Explained(h, score(seen, h))
    found = found._replace(gain=start - found.score)
    return found if spread > OTHER_GAIN and found.gain > CLEAR else None


def currents_finding(robot: Robot, found: Explained, described: DescribedGains) -> Finding:
    """Return the finding of `currents`."""
    gains = 1.0 / np.array(found.hypothesis.factors)
    gains *= float(np.median((described.by_joint / gains)[described.known]))
    by_joint = dict(zip(robot.coordinate_names, gains.tolist(), strict=True))
    shown = tuple(f"{name}: {{gain: {1.0 / gain:.3g}}}" for name, gain in by_joint.items())
    message = Message("efforts-are-currents", gains=by_joint, shown=shown, gain=math.exp(found.gain / 2.0))
    return Finding(Severity.ERROR, "robot", (), message)


# Zeros that only the description contradicts: bodies behind a joint whose axis is parallel to those beside it
# can be turned with its zero, and no torque shows it.

CONTRADICTED = 0.5  # least reduction of the misfit to the description by a zero


def slipped_findings(evidence: Evidence) -> list[Finding]:
    """Return the zero of a joint that the description contradicts by far."""
    few, plain = thinned(evidence.equations, FEW), nothing_wrong(evidence.dof)
    before = misfit_to_description(evidence, few, plain.zeros)

    def misfit(joint: int, zero: float) -> float:
        return misfit_to_description(evidence, few, plain.shifted(joint, zero).zeros)

    robot = evidence.equations.base.robot
    carriers = {joint.antecedent for joint in robot.joints}  # the last joint turns its own body alone
    inner = [i for i, j in enumerate(robot.coordinates) if j in carriers]
    tried = [(misfit(i, zero), i, zero) for i in inner for zero in _tried(evidence, i)]
    least, joint, start = min(tried, default=(before, 0, 0.0))
    if least > before - CONTRADICTED / 2.0:
        return []
    places = sorted({0.0, *_tried(evidence, joint)})
    k = places.index(start)
    near = places[max(k - 1, 0)], places[min(k + 1, len(places) - 1)]
    zero = lowest(lambda value: misfit(joint, value), *near, CLOSER)
    gain = before - misfit(joint, zero)
    found = plain.shifted(joint, zero)
    if gain < CONTRADICTED or abs(zero) < WRONG_ZERO[robot.independent_joints[joint].position_unit]:
        return []
    # The signals alone must not contradict it.
    if score(evidence.of(found), found) > score(evidence.as_it_is, plain):
        return []
    return miscalibrated_findings(robot, Explained(found, 0.0, max(gain, 2.0 * SURE)))
