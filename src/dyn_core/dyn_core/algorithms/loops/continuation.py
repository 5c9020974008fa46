# SPDX-License-Identifier: Apache-2.0
"""Continuation: follow a solution of equations on one branch along a line of given numbers.

From a known solution, the given numbers move to the goal on a straight line, in short steps along the
tangent of the branch. Newton's method corrects each step. Each Newton step must be much shorter than the
one before, and the first much shorter than the tangent step (Deuflhard 2004, sec. 5.1). So the solution
stays on the branch of the first one, the assembly mode.

Full turns: after a full turn of a crank, all joints are at their first positions except for whole turns. One
turn is followed and repeated, and only the rest of the line is followed to the goal. If a turn cannot be made
alone, or leads to another solution, the straight line is followed with more steps. `codegen/c/closure.h` is
the same algorithm in C.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

ADVANCE = 0.2
"""Largest step of the given numbers, in units of their scales.

With a larger step, a solution of another branch may be near.
"""

FIRST_STEP = 0.3  # Largest step of the unknowns along the tangent of the branch, in units of their scales
CONTRACTION = 0.25
"""Largest ratio of the lengths of two successive Newton steps.

Near a fold, beyond which there is another branch, the ratio is the first step over the distance of the
branches.
"""

TANGENT = 1e-4  # Fraction of a step over which the tangent of the branch is computed
CONVERGED = 1e-9  # Step length at convergence: as convergence is quadratic, the remaining error is rounding
CLOSED = 1e-6  # Largest value of the constraints that are not solved for, but must hold
ITERATIONS = 12
SMALLEST_ADVANCE = 2.0**-24
ATTEMPTS = 400  # Largest number of steps on a line that is not long

Numbers: TypeAlias = Sequence[float]
Step: TypeAlias = Callable[[Numbers, Numbers], tuple[Numbers, Numbers]]
"""Newton's step: from the given numbers and the unknowns to the change of the unknowns, and to the values
of the other constraints."""


@dataclass(frozen=True)
class Scales:
    """Scales of the variables: changes that compare with 1 rad.

    The equations of the unknowns are the same after one period of a given number; without periods, the
    tuples are empty.
    """

    given: tuple[float, ...]  # scale of each given number; infinite if the unknowns do not depend on it
    unknowns: tuple[float, ...]  # scale of each unknown
    given_turns: tuple[float, ...] = ()  # period of each given number: 2 pi for an angle, 0 for none
    unknown_turns: tuple[float, ...] = ()  # period of each unknown


def distance(a: Numbers, b: Numbers, scales: Numbers) -> float:
    """Return the largest difference, in units of the scales; NaN if one is NaN."""
    largest = 0.0
    for x, y, scale in zip(a, b, scales, strict=True):
        part = abs(y - x) / scale
        largest = largest if part <= largest else part
    return largest


def newton(step: Step, given: Numbers, guess: Numbers, scales: Scales, before: float) -> list[float] | None:
    """Return the solution near a guess, to which a step of length `before` led; None if it is uncertain."""
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
    """Follow the branch of a known solution on a straight line to a goal; None if it ends before."""
    origin, x = start[0], list(start[1])
    length = distance(origin, given, scales.given)
    if not length < math.inf:
        return None
    longest = ADVANCE / length if length > ADVANCE else 1.0
    done, advance, slope = 0.0, longest, None
    for _ in range(attempts):
        if slope is None:  # slope of the unknowns along the line
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


# Goals many turns away

FAR = 40.0  # Distance, in units of the scales, beyond which whole turns are added: half the reach of ATTEMPTS
MOST_ATTEMPTS = 20_000  # Largest number of steps on a long straight line: ms in C, seconds in Python


def follow_far(
    step: Step, start: tuple[Numbers, Numbers], given: Numbers, scales: Scales
) -> list[float] | None:
    """Follow the branch of a known solution to a goal at any distance; None if the goal is not found."""
    length = distance(start[0], given, scales.given)
    if length > FAR:
        nearer = after_turns(step, start, given, scales)
        found = None if nearer is None else follow(step, nearer, given, scales)
        if found is not None:
            return found
    return follow(step, start, given, scales, attempts(length))


def attempts(length: float) -> int:
    """Return the largest number of steps on a straight line: twice the smallest possible number."""
    return int(min(max(2.0 * length / ADVANCE, ATTEMPTS), MOST_ATTEMPTS)) if length == length else 0


def after_turns(
    step: Step, start: tuple[Numbers, Numbers], given: Numbers, scales: Scales
) -> tuple[list[float], list[float]] | None:
    """Add the whole turns to a known solution that bring it nearest to a goal.

    Return None if no number turns, or if a turn leads to another solution.
    """
    origin, x = list(start[0]), list(start[1])
    for k, turn in enumerate(scales.given_turns):
        count = round((given[k] - start[0][k]) / turn) if turn else 0
        if count == 0:
            continue
        if scales.given[k] < float("inf"):
            winding = _winding(step, start, k, scales)
            if winding is None:
                return None
            x = [value + count * change for value, change in zip(x, winding, strict=True)]
        origin[k] += count * turn
    return None if origin == list(start[0]) else (origin, x)


def _winding(step: Step, start: tuple[Numbers, Numbers], k: int, scales: Scales) -> list[float] | None:
    """Return the change of the unknowns in one turn of a given number; None if the turn cannot be made."""
    once = list(start[0])
    once[k] += scales.given_turns[k]
    after = follow(step, start, once, scales)
    if after is None:
        return None
    winding = []
    for before, value, scale, turn in zip(
        start[1], after, scales.unknowns, scales.unknown_turns, strict=True
    ):
        whole = turn * round((value - before) / turn) if turn else 0.0
        if not abs(value - before - whole) <= CLOSED * scale:
            return None
        winding.append(whole)
    return winding
