# SPDX-License-Identifier: Apache-2.0
"""Torques of stops, as little as is needed.

With friction and stops of other joints, velocities are a piecewise linear function of these torques, and
the torques are found by Newton's method: on each piece they solve a linear complementarity problem. Where
that does not find them, the stops take turns: what a joint does falls as its own torque grows, whatever else
is held, so that this torque is the root of a function of one variable.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import combinations

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.simulation.root import root

SAME = 1e-9
"""Differences of velocities (rad/s or m/s) below this are none."""

_ROUNDS = 8
_MOST_ACTING = 4
_SWEEPS = 20

_SINGULAR = 1e-6
"""Part of the greatest singular value of a matrix below which others are 0."""

_SMALL, _MOST = 1e-3, 1e12
"""Torques (N m or N) with which the search begins, and beyond which it ends."""


def stop_torques(excess: Callable[[Array], Array], count: int) -> Array:
    """Answer torques s >= 0 (N m or N) with which no excess is above 0, and is 0 where the torque is not.

    Args:
        excess: by how much the joints are too fast (rad/s or m/s), from the torques.
        count: number of joints.
    """
    s = np.zeros(count)
    for _ in range(_ROUNDS):
        f = excess(s)
        if f.max() <= SAME and (np.abs(f[s > 0.0]) <= SAME).all():
            return s
        moved = np.diag(np.maximum(_SMALL, _SMALL * s))
        slopes = np.array([(excess(s + step) - f) / step[k] for k, step in enumerate(moved)]).T
        found = _of_line(f - slopes @ s, slopes)
        if found is None:
            break
        s = found
    s = np.zeros(count)
    for _ in range(_SWEEPS):
        before = s.copy()
        for k in range(count):
            s[k] = _least(partial(_of_one, excess, s, k))
        if np.allclose(s, before, rtol=1e-9):
            break
    return s


def _of_line(f: Array, slopes: Array) -> Array | None:
    """Answer s >= 0 with ``f + slopes s <= 0``, and 0 where s is not, or None: tries which s are not 0."""
    numbers, rows = f.tolist(), slopes.tolist()
    places = range(len(numbers))
    for number in range(min(len(numbers), _MOST_ACTING) + 1):
        for acting in combinations(places, number):
            found = _solution([[rows[i][k] for k in acting] for i in acting], [numbers[i] for i in acting])
            if all(x >= 0.0 for x in found):
                left = (
                    numbers[i] + sum(rows[i][k] * x for k, x in zip(acting, found, strict=True))
                    for i in places
                )
                if all(excess <= SAME for excess in left):
                    s = np.zeros(len(numbers))
                    s[list(acting)] = found
                    return s
    return None


def _solution(A: list[list[float]], f: list[float]) -> list[float]:
    """Answer s with ``A s = -f``, the shortest where there are many; one or two numbers in no time."""
    if len(f) == 1 and A[0][0]:
        return [-f[0] / A[0][0]]
    if len(f) == 2:
        (a, b), (c, d) = A
        determinant = a * d - b * c
        if abs(determinant) > _SINGULAR * max(abs(a), abs(b), abs(c), abs(d)) ** 2:
            return [(b * f[1] - d * f[0]) / determinant, (c * f[0] - a * f[1]) / determinant]
    found: list[float] = (
        np.linalg.lstsq(-np.array(A).reshape(len(f), -1), f, rcond=_SINGULAR)[0].tolist() if f else []
    )
    return found


def _of_one(excess: Callable[[Array], Array], s: Array, k: int, value: float) -> float:
    return float(excess(np.where(np.arange(len(s)) == k, value, s))[k])


def _least(excess: Callable[[float], float]) -> float:
    """Answer the least torque s >= 0 at which a function that falls is not above 0."""
    f_low = excess(0.0)
    if f_low <= 0.0:
        return 0.0
    low, high = 0.0, _SMALL
    while (f_high := excess(high)) > 0.0:
        if high > _MOST:  # an actuated joint is at a stop of its own: no torque moves it
            return 0.0
        # As far as a straight line says, and a little more; but neither too little nor much too far.
        fall = (f_low - f_high) / (high - low)
        line = high + 1.01 * f_high / fall if fall > 0.0 else math.inf
        low, f_low, high = high, f_high, min(max(2.0 * high, line), 1e3 * high)
    return root(excess, high) or high
