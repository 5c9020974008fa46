# SPDX-License-Identifier: Apache-2.0
"""Torques of one joint that are too great or too small beside the others, and zeros of positions.

Joints that move the same bodies have to agree on them. A torque with another gain disagrees with those of the
others; a position with another zero makes gravity and inertia point elsewhere. What no joint disagrees on is
not seen: one factor of all torques, which is one of all masses; the zero of a joint that gravity and the
others do not feel, as that of a first vertical axis; that of the last joint, which turns its body.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from dyn_core.core.findings import Finding, Severity
from dyn_core.identification.diagnosis.signal_hypotheses import Channels
from dyn_core.identification.diagnosis.wrong_signals import FAR, PERHAPS, Explained
from dyn_core.identification.golden import lowest
from dyn_core.identification.hypothesis import Evidence, Hypothesis, nothing_wrong, score, thinned
from dyn_core.identification.regressor.motion_equations import Equations
from dyn_core.robot.joints import Sigma
from dyn_core.robot.robot import Robot

GAINS = np.logspace(-4.0, 4.0, 81)
"""Factors of a torque that are tried first."""
DEGREES = (3.0, 10.0, 30.0, 60.0, 90.0, 120.0, 150.0, 180.0)
METRES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Zeros that are tried first, to both sides."""
SURE = 0.5
"""Least gain in misfit of gains and zeros that are wrong for sure."""
SAMPLES = 600
"""Samples that are enough to try them."""
LIKELY = 3
"""Zeros that are looked at closely."""
CLOSER = 16
"""Evaluations that find a place between two that were tried."""
WRONG_GAIN, OTHER_GAIN = math.log(1.2), math.log(1.05)
"""Least logarithms of gains that are wrong, and that are worth a word."""
WRONG_ZERO, OTHER_ZERO = {"rad": math.radians(3.0), "m": 0.01}, {"rad": math.radians(1.0), "m": 0.003}
"""Least zeros that are wrong, and that are worth a word."""


def miscalibrated(evidence: Evidence, others: float = math.inf) -> Explained:
    """Answer the gains and zeros that explain the signals best; the hypothesis may be that none is wrong.

    Args:
        evidence: the equations.
        others: the score of another explanation; what stays far behind it is not looked into.
    """
    plain = nothing_wrong(evidence.dof)
    start = score(evidence.as_it_is, plain)
    best = Explained(plain, start, 0.0)
    for _ in range(2 * evidence.dof):
        found = min(_changes(evidence, best.hypothesis), key=lambda one: one.score, default=best)
        if found.score > best.score - PERHAPS:
            break
        best = found._replace(gain=start - found.score)
        if best.score > others + FAR:
            break
    return best


def miscalibrated_findings(robot: Robot, found: Explained) -> list[Finding]:
    """Answer in words what `miscalibrated` has found."""
    findings = []
    smaller = f"the residuals of two joints are {math.exp(found.gain / 2.0):.3g} times smaller"
    for i, joint in enumerate(robot.independent_joints):
        factor, zero = found.hypothesis.factors[i], found.hypothesis.zeros[i]
        if abs(math.log(factor)) > OTHER_GAIN:
            wrong = abs(math.log(factor)) > WRONG_GAIN and found.gain > SURE
            message = (
                f"its torque is {1.0 / factor:.3g} times what those of the other joints say of the same "
                f"bodies: times {factor:.3g}, {smaller}; see to its gain and ratio in the map of the log"
            )
            findings.append(_finding(joint.name, message, wrong=wrong))
        unit = joint.position_unit
        if abs(zero) > OTHER_ZERO[unit]:
            wrong = abs(zero) > WRONG_ZERO[unit] and found.gain > SURE
            size = f"{math.degrees(zero):+.3g} deg ({zero:+.4g} rad)" if unit == "rad" else f"{zero:+.3g} m"
            message = (
                f"its position has another zero than the description: with {size} added to it, {smaller}; "
                "give its zero in the mapping of the log"
            )
            findings.append(_finding(joint.name, message, wrong=wrong))
    return findings


def _finding(name: str, message: str, *, wrong: bool) -> Finding:
    return Finding(Severity.ERROR if wrong else Severity.WARNING, "joint", (name,), message)


def _changes(evidence: Evidence, h: Hypothesis) -> Iterator[Explained]:
    """Another gain, or another zero, of one joint."""
    seen = evidence.of(h)
    for i in range(evidence.dof):
        if seen.torques[i, i] > 0.0:
            yield from _another_gain(seen, h, i)
    few = thinned(evidence.equations, SAMPLES)
    start = _misfit(evidence.of_few(h, few), h)
    tried = [one for i in range(evidence.dof) for one in _zeros(evidence, few, h, i)]
    for i in {
        i for i, _, found in sorted(tried, key=lambda one: one[2])[:3] if found < start - 0.5 * PERHAPS
    }:
        yield from _another_zero(evidence, h, i, [(zero, found) for k, zero, found in tried if k == i])


def _another_gain(seen: Channels, h: Hypothesis, joint: int) -> Iterator[Explained]:
    """The gain that suits best, if it does so better than that a joint's torque says nothing."""

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


def _zeros(
    evidence: Evidence, few: Equations, h: Hypothesis, joint: int
) -> Iterator[tuple[int, float, float]]:
    """Zeros all over the range, and how they fit."""
    for zero in _tried(evidence, joint):
        changed = h.shifted(joint, zero)
        yield joint, zero, _misfit(evidence.of_few(changed, few), changed)


def _tried(evidence: Evidence, joint: int) -> list[float]:
    robot = evidence.equations.base.robot
    if robot.independent_joints[joint].sigma is Sigma.PRISMATIC:
        return sorted([*METRES, *(-one for one in METRES)])
    return sorted(math.radians(one) for one in (*DEGREES, *(-one for one in DEGREES[:-1])))


def _another_zero(
    evidence: Evidence, h: Hypothesis, joint: int, tried: list[tuple[float, float]]
) -> Iterator[Explained]:
    """The zero that suits best, near the best of those that were tried."""

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
