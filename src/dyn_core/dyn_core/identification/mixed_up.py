# SPDX-License-Identifier: Apache-2.0
"""Torques with the wrong sign, and joints whose signals were swapped.

A friction that drives its joint says that the sign of the torque is wrong, whatever the bodies are; between
joints that move the same bodies, a wrong sign shows in what is left. Where the signals of two joints are
swapped, exchanging them leaves much less.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from dyn_core.check.finding import Finding, Severity
from dyn_core.identification.channels import Assignment, Channels, channels
from dyn_core.identification.equations import Equations
from dyn_core.identification.friction import FrictionModel

BETTER = 0.7
"""Least gain in misfit by another sign: the residuals of two joints are divided by the square root of 2."""
DRIVING = 1.4
"""What friction that drives a joint counts, in misfit."""
CLEAR, PERHAPS = 0.3, 0.1
"""Least gains in misfit of signals that are swapped, and that may be."""
NEGATIVE = 5.0
"""Deviations by which friction is less than 0 where a sign is wrong."""
LIKELY = 4
"""Exchanges that are looked at closely."""
UNLIKELY = 1.0
"""Misfit above that of no exchange at which an exchange is not looked at."""
SAMPLES = 1500
"""Samples of a motion that are enough to see what was mixed up."""


class Hypothesis(NamedTuple):
    """What may have happened to the signals.

    Attributes:
        signs: sign of the torque of each joint.
        torques: by joint, whose torque it is.
        positions: by joint, whose motion it is.
        misfit: how badly it fits.
    """

    signs: tuple[float, ...]
    torques: tuple[int, ...]
    positions: tuple[int, ...]
    misfit: float


def mixed_up(equations: Equations, friction: Sequence[FrictionModel]) -> list[Finding]:
    """Answer which signs are wrong and which joints swapped, as the equations say.

    Args:
        equations: the equations.
        friction: friction of each joint.
    """
    robot, n = equations.base.robot, equations.signals.dof
    seen = channels(equations, friction)
    start = seen.assigned(range(n), [1.0] * n).misfit
    signs = _signs(seen)
    best = Hypothesis(signs, tuple(range(n)), tuple(range(n)), seen.assigned(range(n), signs).misfit)
    swapped = _swapped(equations, friction, best)
    gained = best.misfit - swapped.misfit
    found = swapped if gained > PERHAPS else best
    names = robot.joint_names
    shrunk = np.exp((start - found.misfit) / n)
    gain = f", and the residuals are {shrunk:.3g} times smaller on average" if shrunk > 1.1 else ""
    findings = [
        Finding(
            Severity.ERROR,
            "joint",
            (names[i],),
            "its torque has the wrong sign: with the other one its friction brakes instead of driving"
            f"{gain}; negate it in the mapping of the log",
        )
        for i in range(n)
        if found.signs[i] < 0.0
    ]
    for i, k in combinations(range(n), 2):
        if k in (found.torques[i], found.positions[i]):
            sure = gained > CLEAR
            message = (
                f"their {_what(found, i)} {'are' if sure else 'may be'} swapped: exchanged, the residuals of "
                f"two joints are {np.exp(gained / 2.0):.3g} times smaller; correct the mapping of the log"
            )
            severity = Severity.ERROR if sure else Severity.WARNING
            findings.append(Finding(severity, "joint", (names[i], names[k]), message))
    return findings


def _what(hypothesis: Hypothesis, joint: int) -> str:
    if hypothesis.torques[joint] == joint:
        return "positions"
    return "torques" if hypothesis.positions[joint] == joint else "positions and torques"


def _signs(seen: Channels) -> tuple[float, ...]:
    """Signs of the torques with which little friction drives and that fit well."""

    def score(signs: list[float]) -> float:
        fit = seen.assigned(range(seen.dof), signs)
        return fit.misfit + DRIVING * sum(_drives(seen, fit))

    found = []
    for start in (1.0, -1.0):  # those of all may be wrong together, which fits as well
        signs = [start] * seen.dof
        lowest = score(signs)
        for _ in range(2 * seen.dof):
            changed = [_with_other_sign(signs, i) for i in range(seen.dof)]
            scores = [score(new) for new in changed]
            best = int(np.argmin(scores))
            if scores[best] > lowest - BETTER:
                break
            signs, lowest = changed[best], scores[best]
        found.append((lowest, signs))
    (plain, signs), (opposite, others) = found
    return tuple(others if opposite < plain - BETTER else signs)


def _with_other_sign(signs: Sequence[float], joint: int) -> list[float]:
    return [-sign if i == joint else sign for i, sign in enumerate(signs)]


def _drives(seen: Channels, fit: Assignment) -> list[bool]:
    """By joint, whether its viscous or Coulomb friction is negative, and the other no more than nothing."""
    found = []
    for own in seen.own:
        sizes = [fit.x[k] / fit.deviations[k] for k in own[:2]]
        found.append(bool(sizes) and min(sizes) < -NEGATIVE and max(sizes) < NEGATIVE)
    return found


def _swapped(equations: Equations, friction: Sequence[FrictionModel], start: Hypothesis) -> Hypothesis:
    """The best of what two joints could have exchanged.

    Few samples that are not filtered say which are likely; all of them say which of these is the best.
    """
    some = _some(equations)
    unfiltered = channels(some, friction).assigned(start.torques, start.signs).misfit
    likely = sorted(_exchanges(some, friction, start), key=lambda h: h.misfit)[:LIKELY]
    found = [start]
    for one in likely:
        if one.misfit < unfiltered + UNLIKELY:
            data = channels(_moved(equations, one.positions), friction)
            found.append(one._replace(misfit=data.assigned(one.torques, one.signs).misfit))
    return min(found, key=lambda h: h.misfit)


def _exchanges(
    equations: Equations, friction: Sequence[FrictionModel], start: Hypothesis
) -> Iterator[Hypothesis]:
    """Two joints with their torques, their positions, or both exchanged, with the signs that suit."""
    n = equations.signals.dof
    as_it_is = channels(equations, friction)
    for i, k in combinations(range(n), 2):
        order = list(range(n))
        order[i], order[k] = k, i
        moved = channels(_moved(equations, order), friction)
        for torques, positions, data in (
            (order, range(n), as_it_is),
            (range(n), order, moved),
            (order, order, moved),
        ):
            for signs in _sign_choices(start.signs):
                left = data.assigned(torques, signs).misfit
                yield Hypothesis(signs, tuple(torques), tuple(positions), left)


def _sign_choices(signs: Sequence[float]) -> list[tuple[float, ...]]:
    """The signs that were found, and none changed: which was found may be due to the exchange."""
    plain = tuple(1.0 for _ in signs)
    return [tuple(signs)] if tuple(signs) == plain else [tuple(signs), plain]


def _some(equations: Equations) -> Equations:
    """Equations of samples all over the motion, as few as are enough, which are not filtered."""
    signals = equations.signals
    every = slice(None, None, max(1, len(signals) // SAMPLES))
    t, q, qd, qdd, tau = (a[every] for a in (signals.time, signals.q, signals.qd, signals.qdd, signals.tau))
    few = replace(signals, time=t, q=q, qd=qd, qdd=qdd, tau=tau, segments=((0, len(t)),), decimate=1)
    return Equations(few, equations.base, stood=equations.stands[every])


def _moved(equations: Equations, order: Sequence[int]) -> Equations:
    """The equations if the motion of each joint were that of another."""
    signals, k = equations.signals, list(order)
    changed = replace(signals, q=signals.q[:, k], qd=signals.qd[:, k], qdd=signals.qdd[:, k])
    return Equations(changed, equations.base, stood=equations.stands[:, k])
