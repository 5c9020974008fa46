# SPDX-License-Identifier: Apache-2.0
"""Signs of torques and positions that are wrong, and joints whose signals were swapped.

A friction that drives its joint says that the sign of the torque or of the position is wrong, whatever the
bodies are; between joints that move the same bodies, a wrong sign shows in what is left. Where the signals of
two joints are swapped, exchanging them leaves much less. All are tried, and that which explains best is it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from dyn_core.core.findings import Finding, Severity
from dyn_core.identification.hypothesis import Evidence, Hypothesis, nothing_wrong, score
from dyn_core.robot.robot import Robot

BETTER = 0.7
"""Least gain in misfit by another sign: the residuals of two joints are divided by the square root of 2."""
CLEAR, PERHAPS = 0.3, 0.1
"""Least gains in misfit of signals that are swapped, and that may be."""
LIKELY = 4
"""Exchanges, or signs of positions, that are looked at closely."""
BEAM = 4
"""Signs from which the next are looked for, where several are wrong."""
FAR = 3.0
"""Misfit above that of the best signs at which others do not lead to the next."""
UNLIKELY = 1.0
"""Misfit above that of no exchange at which an exchange is not looked at."""


class Explained(NamedTuple):
    """A hypothesis, and how well it explains the signals.

    Attributes:
        hypothesis: what may have happened.
        score: how badly it fits then.
        gain: how much better that is than the next simpler hypothesis, which is none for signs.
    """

    hypothesis: Hypothesis
    score: float
    gain: float = np.inf


def mixed_up(evidence: Evidence) -> Explained:
    """Answer which signs or exchanges explain the signals best, which may be none."""
    signs = _signs(evidence)
    swapped = _swapped(evidence, signs)
    gained = signs.score - swapped.score
    return swapped._replace(gain=gained) if gained > PERHAPS else signs


def mixed_up_findings(robot: Robot, evidence: Evidence, found: Explained) -> list[Finding]:
    """Answer in words what `mixed_up` has found."""
    names, n, h = robot.coordinate_names, evidence.dof, found.hypothesis
    plain = nothing_wrong(n)
    start = evidence.as_it_is.assigned(plain.torques, plain.factors).misfit
    fit = evidence.of(h).assigned(h.torques, h.factors).misfit
    shrunk = np.exp((start - fit) / n)
    gain = f", and the residuals are {shrunk:.3g} times smaller on average" if shrunk > 1.1 else ""
    findings = []
    for i, (factor, turn) in enumerate(zip(h.factors, h.turns, strict=True)):
        if factor > 0.0 and turn > 0.0:
            continue
        if turn > 0.0:
            message = (
                "its torque has the wrong sign: with the other one its friction brakes instead of driving"
                f"{gain}; negate it in the mapping of the log"
            )
        elif factor > 0.0:
            message = (
                "its position has the wrong sign: with the other one the torques of all joints fit"
                f"{gain}; negate it, not the torque, in the mapping of the log"
            )
        else:
            message = (
                "its position and its torque both have the wrong sign: its axis is not that of the "
                f"description{gain}; say 'sign: -1' of the joint in the mapping of the log"
            )
        findings.append(Finding(Severity.ERROR, "joint", (names[i],), message))
    for i, k in combinations(range(n), 2):
        if k in (h.torques[i], h.positions[i]):
            sure = found.gain > CLEAR
            message = (
                f"their {_what(h, i)} {'are' if sure else 'may be'} swapped: exchanged, the residuals of "
                f"two joints are {np.exp(found.gain / 2.0):.3g} times smaller; correct the mapping of the log"
            )
            severity = Severity.ERROR if sure else Severity.WARNING
            findings.append(Finding(severity, "joint", (names[i], names[k]), message))
    return findings


def _what(hypothesis: Hypothesis, joint: int) -> str:
    if hypothesis.torques[joint] == joint:
        return "positions"
    return "torques" if hypothesis.positions[joint] == joint else "positions and torques"


def _signs(evidence: Evidence) -> Explained:
    """Signs of torques and positions with which little friction drives and that fit well."""
    plain = nothing_wrong(evidence.dof)
    start = Explained(plain, score(evidence.as_it_is, plain))
    # Those of all may be wrong together.
    minus = tuple(-one for one in plain.turns)
    opposite = [
        replace(plain, factors=minus),
        replace(plain, turns=minus),
        replace(plain, factors=minus, turns=minus),
    ]
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
    """The best of what one sign after the other leads to, from the few best of each round."""
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
    """The signs of one joint changed: of its torque, of its position, or of both.

    Few samples that are not filtered say which positions are likely; all of them say how well these fit.
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
    """The best of what two joints could have exchanged.

    Few samples that are not filtered say which are likely; all of them say which of these is the best.
    """
    unfiltered = score(evidence.of_few(start.hypothesis), start.hypothesis)
    likely = sorted(_exchanges(evidence, start.hypothesis), key=lambda one: one.score)[:LIKELY]
    found = [start]
    found += [_scored(evidence, one.hypothesis) for one in likely if one.score < unfiltered + UNLIKELY]
    return min(found, key=lambda one: one.score)


def _exchanges(evidence: Evidence, start: Hypothesis) -> Iterator[Explained]:
    """Two joints with their torques, their positions, or both exchanged, with the signs that suit.

    Which signs were found may be due to the exchange: none changed are tried, too.
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
