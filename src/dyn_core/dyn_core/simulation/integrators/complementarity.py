# SPDX-License-Identifier: Apache-2.0
"""Accelerations of joints that friction and stops can hold.

The unknowns a and the reactions r obey ``M a = b + r`` with M symmetric and positive definite. The
reaction of joint j depends on a_j alone, falls as a_j grows, and is constant but for three places, in
terms of accelerations ``lower <= middle <= upper``:

    a_j = lower              any r down to that of the next piece: a stop
    lower < a_j < middle     r =  Fs
    a_j = middle             -Fs <= r <= Fs: friction holds the joint at velocity 0
    middle < a_j < upper     r = -Fs
    a_j = upper              any r from that of the piece before down: a stop

This is what a minimum of ``a M a / 2 - b a + sum of Fs |a_j - middle_j|`` between lower and upper obeys, of
which there is one. It is found by going down: each round solves for the joints that are free in their
pieces and goes there, but only to the first place where one of them has to be held; where none has to,
the joint whose holding asks most in excess is let go. Every round goes further down, so that no set of
held joints comes twice and the search ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

Vector: TypeAlias = Sequence[float]
Respond: TypeAlias = Callable[[Vector, Vector, Vector], tuple[list[float], list[float]]]
"""From what is free (1 or 0), the accelerations of the others, and the friction on those that are free,
to all accelerations and the reactions on those that are held."""

ROUNDING = 1e-12
"""Part of the largest reaction, by which one can seem to exceed what friction holds."""


class Places(NamedTuple):
    """Where joints can be held, as accelerations (rad/s^2 or m/s^2), and their friction (N m or N).

    Attributes:
        lower: where a stop holds a joint from below; -inf where there is none.
        middle: where friction holds it, between the others; one of them where there is no friction.
        upper: where a stop holds it from above; inf where there is none.
        Fs: the largest force of friction.
    """

    lower: Vector
    middle: Vector
    upper: Vector
    Fs: Vector


class Resolved(NamedTuple):
    """A solution.

    Attributes:
        a: accelerations; exactly one of the places where a joint is held.
        free: by joint, 1 where it is free and 0 where it is held.
        reaction: what friction and stops exert on each joint (N m or N).
    """

    a: list[float]
    free: list[float]
    reaction: list[float]


def resolve(respond: Respond, places: Places) -> Resolved:
    """Find the accelerations that go with the reactions, beginning the search at 0 or nearest to it.

    Args:
        respond: solves ``M a = b + r`` where it is known which joints are held.
        places: where they can be held.
    """
    lower, middle, upper, Fs = places
    a = [min(max(0.0, low), high) for low, high in zip(lower, upper, strict=True)]
    joints = range(len(a))
    held = [a[j] in (lower[j], middle[j], upper[j]) for j in joints]
    side = [1.0 if a[j] < middle[j] else -1.0 for j in joints]  # sign of the friction on a joint that is free
    for _ in range(20 * len(a) + 20):
        free = [0.0 if is_held else 1.0 for is_held in held]
        friction = [0.0 if held[j] else side[j] * Fs[j] for j in joints]
        given = [a[j] if held[j] else 0.0 for j in joints]
        there, holding = respond(free, given, friction)
        reaction = [x + y for x, y in zip(holding, friction, strict=True)]
        if not all(map(math.isfinite, there)):
            return Resolved(there, free, reaction)
        met = _first_met(places, a, there, held, side)
        if met:
            part = min(met.values())
            for j in joints:
                a[j] += part * (there[j] - a[j])
            for j, own in met.items():
                if own == part:
                    a[j], held[j] = _place(places, j, there[j], side[j]), True
            continue
        a = there
        joint, direction = _let_go(places, a, held, reaction)
        if direction == 0:
            return Resolved(a, free, reaction)
        held[joint] = False
        below = a[joint] <= middle[joint] if direction < 0 else a[joint] < middle[joint]
        side[joint] = 1.0 if below else -1.0
    return Resolved(a, free, reaction)  # rounding alone leads here: a is between its bounds


def _first_met(
    places: Places, a: Vector, there: Vector, held: Sequence[bool], side: Vector
) -> dict[int, float]:
    """By joint that leaves its piece on the way from a, the part of the way up to where it does."""
    met = {}
    for j, x in enumerate(there):
        if not held[j]:
            place = _place(places, j, x, side[j])
            if place != x:
                met[j] = (place - a[j]) / (x - a[j])
    return met


def _place(places: Places, j: int, x: float, side: float) -> float:
    """The nearest acceleration to x in the piece of a joint that is free."""
    if side > 0.0:
        return min(max(x, places.lower[j]), places.middle[j])
    return min(max(x, places.middle[j]), places.upper[j])


def _let_go(places: Places, a: Vector, held: Sequence[bool], reaction: Vector) -> tuple[int, int]:
    """The held joint whose holding asks most in excess, and where it goes: down, up, or 0: nowhere."""
    joint, direction, most = 0, 0, ROUNDING * max(map(abs, reaction))
    for j, is_held in enumerate(held):
        if is_held:
            Fs, middle = places.Fs[j], places.middle[j]
            greatest = Fs if a[j] <= middle else -Fs
            least = -Fs if a[j] >= middle else Fs
            if a[j] != places.lower[j] and reaction[j] - greatest > most:
                joint, direction, most = j, -1, reaction[j] - greatest
            elif a[j] != places.upper[j] and least - reaction[j] > most:
                joint, direction, most = j, 1, least - reaction[j]
    return joint, direction
