# SPDX-License-Identifier: Apache-2.0
"""Accelerations of joints that friction and stops can hold: a linear complementarity problem.

The unknowns a and the reactions r obey ``M a = b + r`` with M symmetric and positive definite. The reaction
of joint j depends only on a_j, falls as a_j grows, and is constant except at three hold points, the
accelerations ``lower <= middle <= upper``:

    a_j = lower              any r down to that of the next piece: a stop
    lower < a_j < middle     r =  Fs
    a_j = middle             -Fs <= r <= Fs: friction holds the joint at velocity 0
    middle < a_j < upper     r = -Fs
    a_j = upper              any r from that of the piece before down: a stop

The solution is the unique minimum of ``a M a / 2 - b a + sum of Fs |a_j - middle_j|`` between lower and
upper. It is found by descent. Each round solves for the joints that are free in their pieces, and moves
towards this solution up to the first point at which a joint must be held. If no joint must be held, the joint
whose reaction exceeds its bound most is released. Every round decreases the function, so no set of held
joints occurs twice and the search ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

Vector: TypeAlias = Sequence[float]
Respond: TypeAlias = Callable[[Vector, Vector, Vector], tuple[list[float], list[float]]]
"""From free (1) or held (0), the accelerations of held joints and the friction on free joints to all
accelerations and the reactions on held joints."""

ROUNDING = 1e-12  # Rounding error of reactions as a fraction of the largest one


class HoldPoints(NamedTuple):
    """Accelerations (rad/s^2 or m/s^2) at which joints can be held, and their Coulomb friction Fs (N m or N).

    A stop holds a joint at `lower` (-inf without a stop) or `upper` (inf without one), friction at `middle`
    between them, which is one of these without friction.
    """

    lower: Vector
    middle: Vector
    upper: Vector
    Fs: Vector


class Resolved(NamedTuple):
    """A solution."""

    a: list[float]  # accelerations; exactly one of the hold points for a held joint
    free: list[float]  # for each joint, 1 if it is free and 0 if it is held
    reaction: list[float]  # reaction of friction and stops on each joint (N m or N)


def resolve(respond: Respond, points: HoldPoints) -> Resolved:
    """Find the accelerations and the reactions; the search begins at 0 or at the nearest bound.

    `respond` solves ``M a = b + r`` for given held joints.
    """
    lower, middle, upper, Fs = points
    a = [min(max(0.0, low), high) for low, high in zip(lower, upper, strict=True)]
    joints = range(len(a))
    held = [a[j] in (lower[j], middle[j], upper[j]) for j in joints]
    side = [1.0 if a[j] < middle[j] else -1.0 for j in joints]  # sign of the friction on a free joint
    for _ in range(20 * len(a) + 20):
        free = [0.0 if is_held else 1.0 for is_held in held]
        friction = [0.0 if held[j] else side[j] * Fs[j] for j in joints]
        given = [a[j] if held[j] else 0.0 for j in joints]
        there, holding = respond(free, given, friction)
        reaction = [x + y for x, y in zip(holding, friction, strict=True)]
        if not all(map(math.isfinite, there)):
            return Resolved(there, free, reaction)
        met = _hold_points_met(points, a, there, held, side)
        if met:
            part = min(met.values())
            for j in joints:
                a[j] += part * (there[j] - a[j])
            for j, own in met.items():
                if own == part:
                    a[j], held[j] = _within_piece(points, j, there[j], side[j]), True
            continue
        a = there
        joint, direction = _joint_to_release(points, a, held, reaction)
        if direction == 0:
            return Resolved(a, free, reaction)
        held[joint] = False
        below = a[joint] <= middle[joint] if direction < 0 else a[joint] < middle[joint]
        side[joint] = 1.0 if below else -1.0
    return Resolved(a, free, reaction)  # only rounding leads here: a is between its bounds


def _hold_points_met(
    points: HoldPoints, a: Vector, there: Vector, held: Sequence[bool], side: Vector
) -> dict[int, float]:
    """Fraction of the path from a at which a joint leaves its piece, for each joint that does."""
    met = {}
    for j, x in enumerate(there):
        if not held[j]:
            point = _within_piece(points, j, x, side[j])
            if point != x:
                met[j] = (point - a[j]) / (x - a[j])
    return met


def _within_piece(points: HoldPoints, j: int, x: float, side: float) -> float:
    """The acceleration nearest to x in the piece of a free joint."""
    if side > 0.0:
        return min(max(x, points.lower[j]), points.middle[j])
    return min(max(x, points.middle[j]), points.upper[j])


def _joint_to_release(
    points: HoldPoints, a: Vector, held: Sequence[bool], reaction: Vector
) -> tuple[int, int]:
    """The held joint whose reaction exceeds its bound most, and its direction: -1, 1, or 0 for no joint."""
    joint, direction, most = 0, 0, ROUNDING * max(map(abs, reaction))
    for j, is_held in enumerate(held):
        if is_held:
            Fs, middle = points.Fs[j], points.middle[j]
            greatest = Fs if a[j] <= middle else -Fs
            least = -Fs if a[j] >= middle else Fs
            if a[j] != points.lower[j] and reaction[j] - greatest > most:
                joint, direction, most = j, -1, reaction[j] - greatest
            elif a[j] != points.upper[j] and least - reaction[j] > most:
                joint, direction, most = j, 1, least - reaction[j]
    return joint, direction
