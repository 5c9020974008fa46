# SPDX-License-Identifier: Apache-2.0
"""Unknowns that equations determine from what is given, kept on one branch of their solutions.

From a solution that is known the given numbers are moved to where they are wanted on a straight line, in
steps that are short, along the tangent of the branch. Newton's method corrects each of them, and has to have
no doubt: each of its steps is much shorter than the one before, the first than that along the tangent
(Deuflhard 2004, sec. 5.1). So the branch of the first solution, the assembly mode of a mechanism, is kept.
`codegen/c/closure.h` is the same in C.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

ADVANCE = 0.2
"""How far what is given may be moved at a time, in units of its scales.

Further away a solution of another branch may happen to be near.
"""

FIRST_STEP = 0.3
"""How far the unknowns may go at a time along the tangent of the branch, in units of their scales."""

CONTRACTION = 0.25
"""Largest part of a step that the next one may be.

Before a fold, beyond which there is another branch, it is the first step over the distance of the branches.
"""

TANGENT = 1e-4
"""Part of a step from which the direction of the branch is taken."""

CONVERGED = 1e-9
"""A step after which what is left is rounding, as convergence is quadratic."""

CLOSED = 1e-6
"""Largest value of the constraints that are not solved for, but have to hold."""

ITERATIONS = 12
SMALLEST_ADVANCE = 2.0**-24
ATTEMPTS = 400
"""How many steps may be tried, where the way is not a long one."""

Numbers: TypeAlias = Sequence[float]
Step: TypeAlias = Callable[[Numbers, Numbers], tuple[Numbers, Numbers]]
"""From what is given and the unknowns to the change of these, and what has to be 0."""


@dataclass(frozen=True)
class Scales:
    """What is about as much as 1 rad.

    Attributes:
        given: of each number that is given; infinite where the unknowns do not depend on it.
        unknowns: of each unknown.
        given_turns: by how much each number that is given may change and the unknowns still have to fulfil
            the same equations: 2 pi of an angle; 0 where there is no such number, empty where of none.
        unknown_turns: the same of each unknown.
    """

    given: tuple[float, ...]
    unknowns: tuple[float, ...]
    given_turns: tuple[float, ...] = ()
    unknown_turns: tuple[float, ...] = ()


def distance(a: Numbers, b: Numbers, scales: Numbers) -> float:
    """Answer the largest difference, in units of the scales; NaN where one is NaN."""
    largest = 0.0
    for x, y, scale in zip(a, b, scales, strict=True):
        part = abs(y - x) / scale
        largest = largest if part <= largest else part
    return largest


def newton(step: Step, given: Numbers, guess: Numbers, scales: Scales, before: float) -> list[float] | None:
    """Answer the solution near a guess; None where it is not certain to be the one that belongs to it.

    Args:
        step: Newton's step.
        given: what is given.
        guess: the unknowns to begin with.
        scales: what is about as much as 1 rad.
        before: length of the step that led to the guess.
    """
    x = list(guess)
    for _ in range(ITERATIONS):
        change, others = step(given, x)
        size = distance([0.0] * len(x), change, scales.unknowns)
        if not (size <= CONTRACTION * before or size <= CONVERGED):
            return None
        x = [a + d for a, d in zip(x, change, strict=True)]
        if size <= CONVERGED:
            return x if all(abs(value) <= CLOSED for value in others) else None
        before = size
    return None


def follow(
    step: Step, start: tuple[Numbers, Numbers], given: Numbers, scales: Scales, attempts: int = ATTEMPTS
) -> list[float] | None:
    """Answer the solution on the branch of a known one.

    Args:
        step: Newton's step.
        start: what is given, and the unknowns, of the known solution.
        given: what is given.
        scales: what is about as much as 1 rad.
        attempts: how many steps may be tried.

    Returns:
        the unknowns; None where the branch ends before `given` is reached.
    """
    origin, x = start[0], list(start[1])
    length = distance(origin, given, scales.given)
    if not length < math.inf:
        return None
    longest = ADVANCE / length if length > ADVANCE else 1.0
    done, advance, slope = 0.0, longest, None
    for _ in range(attempts):
        if slope is None:  # of the unknowns, along the line
            change, _ = step(_between(origin, given, done + TANGENT * longest), x)
            slope = [d / (TANGENT * longest) for d in change]
            steepness = distance([0.0] * len(x), slope, scales.unknowns)
        while advance * steepness > FIRST_STEP and advance >= SMALLEST_ADVANCE:
            advance *= 0.5
        if not advance >= SMALLEST_ADVANCE:
            return None
        target = min(1.0, done + advance)
        guess = [a + (target - done) * d for a, d in zip(x, slope, strict=True)]
        here = _between(origin, given, target) if target < 1.0 else given
        found = newton(step, here, guess, scales, (target - done) * steepness)
        if found is None:
            advance *= 0.5
        elif target == 1.0:
            return found
        else:
            x, done, advance, slope = found, target, min(2.0 * advance, longest), None
    return None


def _between(origin: Numbers, given: Numbers, part: float) -> list[float]:
    return [a + part * (b - a) for a, b in zip(origin, given, strict=True)]
