# SPDX-License-Identifier: Apache-2.0
"""The Runge-Kutta method of order 4, from one event to the next.

Between events the motion is smooth: every joint slides one way, moves without friction, or is held. An
event is a joint that comes to rest, where its friction would jump, or one that comes to its stop. A step
in which there is one is cut there, so that the method keeps its order, and ends with another one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from operator import gt, lt, mul
from typing import NamedTuple

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.simulation.impact import after_impact
from dyn_core.simulation.integrators.complementarity import Places, resolve
from dyn_core.simulation.integrators.mechanism import Load, Mechanism
from dyn_core.simulation.root import root
from dyn_core.simulation.semi_implicit_euler import semi_implicit_euler

SAME_TIME = 1e-9
"""Part of a step within which two events are one."""


class Mode(NamedTuple):
    """What the joints do at one moment, and until the next event.

    Attributes:
        free: by joint, 1 where it is free and 0 where it is held.
        friction: Coulomb friction on the joints that are free (N m or N), against their motion.
        dynamics: accelerations (rad/s^2 or m/s^2), and more, as `held_dynamics` answers them.
    """

    free: Array
    friction: Array
    dynamics: Array


def runge_kutta(
    mechanism: Mechanism, q: Array, qd: Array, load: Load, h: float, mode: Mode | None = None
) -> tuple[Array, Array]:
    """Positions and velocities after a step h (s), which begins with `mode` where that is known.

    Where events follow one another faster than they can be told apart, the rest of the step is one of
    the semi-implicit Euler method, which needs no events.
    """
    left = h
    for _ in range(2 * len(q) + 8):
        rates = after_impact(mechanism, q, qd)
        if mode is None or rates is not qd:
            mode = present_mode(mechanism, q, rates, load)
        qd = rates
        if 1.0 not in mode.free.tolist():
            return q, qd
        positions, rates = _smooth(mechanism, q, qd, load, mode, left)
        if not _passed(mechanism, mode, positions, rates):
            return positions, rates
        events = _events(mechanism, q, qd, load, mode, left)
        if events is None:
            break
        if not events:
            return positions, rates
        first = min(event.time for event in events)
        q, qd = _smooth(mechanism, q, qd, load, mode, first)
        for event in events:
            if event.time - first <= SAME_TIME * h:
                (qd if event.place is None else q)[event.joint] = event.place or 0.0
        left, mode = left - first, None
        if left <= 0.0:
            return q, qd
    return semi_implicit_euler(mechanism, q, qd, load, left)


def present_mode(mechanism: Mechanism, q: Array, qd: Array, load: Load) -> Mode:
    """Answer which joints friction and stops hold, and the accelerations of the others."""
    usual = mechanism.usual_mode(q, qd, load.tau) if mechanism.usual_mode and load.w is None else None
    if usual is not None:
        return Mode(*usual)
    rates, Fs = qd.tolist(), mechanism.Fs
    resting = 0.0 in rates
    lower, middle, upper = _places(mechanism, q, rates) if resting else ([], [], [])
    # Mostly what rests can go on resting, and nothing has to be searched for.
    friction = np.array([-math.copysign(F, v) if v else 0.0 for F, v in zip(Fs, rates, strict=True)])
    free = mechanism.ones
    if resting:
        free = np.array([0.0 if 0.0 in places else 1.0 for places in zip(lower, middle, upper, strict=True)])
    tau, unmoved = mechanism.torques(load, q), mechanism.unmoved
    dynamics = mechanism.dynamics(
        q, qd, tau, friction, free, mechanism.zeros, unmoved, unmoved, mechanism.at_once
    )
    if not resting or _holds(dynamics[len(q) :].tolist(), lower, upper, Fs):
        return Mode(free, friction, dynamics)
    a, found, reaction = resolve(
        mechanism.respond(q, qd, tau, 0.0), Places(lower, middle, upper, mechanism.Fs)
    )
    rubbing = [r if is_free else 0.0 for r, is_free in zip(reaction, found, strict=True)]
    return Mode(np.array(found), np.array(rubbing), np.array(a + [0.0] * len(a)))


def _places(
    mechanism: Mechanism, q: Array, rates: list[float]
) -> tuple[list[float], list[float], list[float]]:
    """Accelerations at which joints can be held, for `resolve`: 0, and only for joints at rest."""
    lower, middle, upper = [-math.inf] * len(rates), [-math.inf] * len(rates), [math.inf] * len(rates)
    for j, (x, v) in enumerate(zip(q.tolist(), rates, strict=True)):
        if v < 0.0:
            middle[j] = math.inf
        elif v == 0.0:
            if x <= mechanism.lower[j]:
                lower[j] = middle[j] = 0.0
            if x >= mechanism.upper[j]:
                upper[j] = 0.0
            if mechanism.Fs[j] > 0.0:
                middle[j] = 0.0
    return lower, middle, upper


def _holds(reaction: list[float], lower: list[float], upper: list[float], Fs: Sequence[float]) -> bool:
    """Whether friction, and stops where there are some at 0, can exert these reactions."""
    return all(
        (r >= -F or high == 0.0) and (r <= F or low == 0.0)
        for r, low, high, F in zip(reaction, lower, upper, Fs, strict=True)
    )


def _smooth(
    mechanism: Mechanism, q: Array, qd: Array, load: Load, mode: Mode, h: float
) -> tuple[Array, Array]:
    """Positions and velocities after a time h in which no joint changes what it does."""
    second, third, fourth, whole = _times(h, mechanism.step)
    a1 = mode.dynamics
    a2 = _stage(mechanism, q, qd, load, mode, mechanism.unmoved, a1, second)
    a3 = _stage(mechanism, q, qd, load, mode, a1, a2, third)
    a4 = _stage(mechanism, q, qd, load, mode, a2, a3, fourth)
    found = mechanism.sum(q, qd, a1, a2, a3, a4, whole)
    return found[: len(q)], found[len(q) :]


@lru_cache(maxsize=16)
def _times(h: float, step: float) -> tuple[Array, Array, Array, Array]:
    """Times of the later stages for `held_dynamics`, and h alone for `runge_kutta_sum`."""
    half = 0.5 * h
    stages = ((half, 0.0), (half, half * half), (h, half * h))
    second, third, fourth = (np.array([c, d, 0.0, step]) for c, d in stages)
    return second, third, fourth, np.array([h])


def _stage(
    mechanism: Mechanism, q: Array, qd: Array, load: Load, mode: Mode, old: Array, last: Array, times: Array
) -> Array:
    """Dynamics at ``q + c qd + d old`` and ``qd + c last``, as `held_dynamics` computes them."""
    tau = load.tau
    if load.w is not None:
        c, d = times[:2]
        tau = mechanism.torques(load, q + c * qd + d * old[: len(q)])
    return mechanism.dynamics(q, qd, tau, mode.friction, mode.free, mechanism.zeros, old, last, times)


def _passed(mechanism: Mechanism, mode: Mode, q: Array, qd: Array) -> bool:
    """Whether a joint turned round, or passed its stop."""
    positions = q.tolist()
    return (
        any(map((0.0).__lt__, map(mul, qd.tolist(), mode.friction.tolist())))
        or any(map(gt, positions, mechanism.upper))
        or any(map(lt, positions, mechanism.lower))
    )


class _Event(NamedTuple):
    """A joint that comes to rest or to a stop.

    Attributes:
        joint: its number, from 0.
        place: position of the stop (rad or m); None for rest.
        time: time since the beginning of the step (s).
    """

    joint: int
    place: float | None
    time: float


def _events(
    mechanism: Mechanism, q: Array, qd: Array, load: Load, mode: Mode, h: float
) -> list[_Event] | None:
    """Answer the events of a step; None where the time of one cannot be told."""
    ahead = np.sign(-mode.friction)
    lower, upper = np.array(mechanism.lower), np.array(mechanism.upper)
    n = len(q)

    def margins(t: float) -> Array:
        """What is left to the rest of each joint, to its lower stop and to its upper; negative after it."""
        x, v = (q, qd) if t == 0.0 else _smooth(mechanism, q, qd, load, mode, t)
        return np.concatenate((ahead * v, x - lower, upper - x))

    before, after = margins(0.0), margins(h)
    events = []
    for k in np.flatnonzero((after < 0.0) & (before >= 0.0)).tolist():
        time = root(partial(_component, margins, k), h)
        if time is None:
            return None
        place = None if k < n else (mechanism.lower + mechanism.upper)[k - n]
        events.append(_Event(k % n, place, time))
    return events


def _component(margins: Callable[[float], Array], k: int, t: float) -> float:
    return float(margins(t)[k])
