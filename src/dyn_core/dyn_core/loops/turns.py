# SPDX-License-Identifier: Apache-2.0
"""Goals that are many turns away from the solution that is known.

A crank that turns fully comes back to where it was, and all joints with it, but for whole turns of theirs. So
one turn is followed, and as many are made as it takes: the winding of the unknowns is that of one turn times
their number. Only what is left of the way, less than a turn, is followed to the goal. Where a turn cannot be
made alone, as that of a joint that swings, or leads to another solution, the straight line is taken, with
more steps. `codegen/c/closure.h` is the same in C.
"""

from __future__ import annotations

from dyn_core.algorithms.loops.continuation import (
    ADVANCE,
    ATTEMPTS,
    CLOSED,
    Numbers,
    Scales,
    Step,
    distance,
    follow,
)

FAR = 40.0
"""From which distance on, in units of the scales, turns are made at once: half of what ATTEMPTS lead to."""

MOST_ATTEMPTS = 20_000
"""How many steps a long straight line may take: ms in C, seconds in Python."""


def followed_far(
    step: Step, start: tuple[Numbers, Numbers], given: Numbers, scales: Scales
) -> list[float] | None:
    """Answer the solution on the branch of a known one, however far away it is.

    Args:
        step: Newton's step.
        start: what is given, and the unknowns, of the known solution.
        given: what is given.
        scales: what is about as much as 1 rad, and what turns.

    Returns:
        the unknowns; None where they are not found.
    """
    length = distance(start[0], given, scales.given)
    if length > FAR:
        nearer = after_turns(step, start, given, scales)
        found = None if nearer is None else follow(step, nearer, given, scales)
        if found is not None:
            return found
    return follow(step, start, given, scales, attempts(length))


def attempts(length: float) -> int:
    """Answer how many steps may be tried on a straight line, twice as many as it has at least."""
    return int(min(max(2.0 * length / ADVANCE, ATTEMPTS), MOST_ATTEMPTS)) if length == length else 0


def after_turns(
    step: Step, start: tuple[Numbers, Numbers], given: Numbers, scales: Scales
) -> tuple[list[float], list[float]] | None:
    """Answer the known solution with the whole turns that bring it nearest to a goal.

    Returns:
        what is given, and the unknowns; None where there is nothing to turn, or a turn does not lead
        back to where it began.
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
    """Answer by how much the unknowns change in one turn of a number that is given; None where it ends."""
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
