# SPDX-License-Identifier: Apache-2.0
"""Semi-implicit Euler, implicit midpoint and Runge-Kutta methods, with friction, stops and impacts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from operator import ge, gt, le, lt, mul
from typing import NamedTuple

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.simulation.integrators.complementarity import HoldPoints, resolve
from dyn_core.simulation.integrators.mechanism import Load, Mechanism


def semi_implicit_euler(
    mechanism: Mechanism, q: Array, qd: Array, load: Load, h: float, _mode: object = None
) -> tuple[Array, Array]:
    """Positions and velocities after a step h (s): ``qd+ = qd + h qdd``, then ``q+ = q + h qd+``.

    Viscous friction, Coulomb friction and stops are those at the velocity qd+: friction stops a joint but
    does not reverse it, and a joint that would pass its stop within the step moves just up to it.
    """
    usual = _usual_step(mechanism, q, qd, load, h)
    if usual is not None:
        return usual
    positions, rates = q.tolist(), qd.tolist()
    # Velocities at which the joints just reach their stops; 0 for joints at their stops.
    slowest = [min((low - x) / h, 0.0) for low, x in zip(mechanism.lower, positions, strict=True)]
    fastest = [max((high - x) / h, 0.0) for high, x in zip(mechanism.upper, positions, strict=True)]
    lower = [(end - v) / h for end, v in zip(slowest, rates, strict=True)]
    upper = [(end - v) / h for end, v in zip(fastest, rates, strict=True)]
    middle = [-v / h if Fs > 0.0 else -math.inf for v, Fs in zip(rates, mechanism.Fs, strict=True)]
    middle = [min(max(x, low), high) for x, low, high in zip(middle, lower, upper, strict=True)]
    respond = mechanism.respond(q, qd, mechanism.torques(load, q), h)
    a, free, _ = resolve(respond, HoldPoints(lower, middle, upper, mechanism.Fs))
    for j, is_free in enumerate(free):
        if is_free:
            rates[j] += h * a[j]
            positions[j] += h * rates[j]
        elif a[j] == upper[j] and fastest[j] > 0.0:
            rates[j], positions[j] = fastest[j], max(positions[j], mechanism.upper[j])
        elif a[j] == lower[j] and slowest[j] < 0.0:
            rates[j], positions[j] = slowest[j], min(positions[j], mechanism.lower[j])
        else:  # qd + h qdd would not be exactly 0
            rates[j] = 0.0
    return np.array(positions), np.array(rates)


def _usual_step(
    mechanism: Mechanism, q: Array, qd: Array, load: Load, h: float
) -> tuple[Array, Array] | None:
    """Return a step without search; None if a joint stops, breaks away or meets its stop in it."""
    friction, free = _sliding(mechanism, qd)
    tau, unmoved = mechanism.torques(load, q), mechanism.unmoved
    held = (friction, free, mechanism.zeros, unmoved, unmoved, mechanism.implicit(h))
    found = mechanism.dynamics(q, qd, tau, *held)
    after = qd + h * found[: len(q)]
    positions = q + h * after
    return (positions, after) if _as_before(mechanism, qd, positions, after, found) else None


def _sliding(mechanism: Mechanism, qd: Array) -> tuple[Array, Array]:
    """Return the friction on joints that move, and 1 for each joint that is free, 0 for joints at rest."""
    rates, Fs = qd.tolist(), mechanism.Fs
    friction = np.array([-math.copysign(F, v) if v else 0.0 for F, v in zip(Fs, rates, strict=True)])
    if 0.0 not in rates:
        return friction, mechanism.ones
    return friction, np.array([1.0 if v or not F else 0.0 for F, v in zip(Fs, rates, strict=True)])


def _as_before(mechanism: Mechanism, qd: Array, positions: Array, after: Array, found: Array) -> bool:
    """True if all joints are between their stops, and friction holds or slows the same joints as before."""
    inside = zip(mechanism.lower, positions.tolist(), mechanism.upper, strict=True)
    joints = zip(mechanism.Fs, qd.tolist(), after.tolist(), found[len(qd) :].tolist(), strict=True)
    return all(low < x < high for low, x, high in inside) and all(
        not F or v * w > 0.0 or (v == 0.0 and -F <= r <= F) for F, v, w, r in joints
    )


def after_impact(mechanism: Mechanism, q: Array, qd: Array) -> Array:
    """Velocities after impacts without rebound on all stops that joints are at: ``A (qd+ - qd) = impulses``.

    Impulses act away from the stops and stop the joints that move into them; friction has no time to act. If
    no joint moves into a stop, `qd` itself is returned.
    """
    positions = q.tolist()
    if not any(map(le, positions, mechanism.lower)) and not any(map(ge, positions, mechanism.upper)):
        return qd
    rates, joints = qd.tolist(), range(len(q))
    at_lower = [x <= low for x, low in zip(positions, mechanism.lower, strict=True)]
    at_upper = [x >= high for x, high in zip(positions, mechanism.upper, strict=True)]
    if not any((at_lower[j] and rates[j] < 0.0) or (at_upper[j] and rates[j] > 0.0) for j in joints):
        return qd
    lower = [-rates[j] if at_lower[j] else -math.inf for j in joints]
    upper = [-rates[j] if at_upper[j] else math.inf for j in joints]
    none, unmoved = mechanism.zeros, mechanism.unmoved
    bias = mechanism.dynamics(q, qd, none, none, none, none, unmoved, unmoved, mechanism.at_once)[len(q) :]
    respond = mechanism.respond(q, qd, bias, 0.0)
    change, free, _ = resolve(respond, HoldPoints(lower, lower, upper, [0.0] * len(rates)))
    return np.array([rates[j] + change[j] if free[j] else 0.0 for j in joints])


MOST_ITERATIONS = 20
ENOUGH = 1e-13  # Largest relative change of the velocities in the last iteration
ROUNDING = 1e-15  # Relative rounding error of positions, which stiff springs turn into accelerations


def implicit_midpoint(
    mechanism: Mechanism, q: Array, qd: Array, load: Load, h: float, _mode: object = None
) -> tuple[Array, Array]:
    """Positions and velocities after a step h (s): ``qd+ = qd + h a``, ``q+ = q + h (qd + qd+) / 2``.

    a is the acceleration in the middle of the step. The method is symplectic and preserves quadratic
    invariants: for springs that oscillate about a point at rest it preserves the energy exactly for any
    stiffness. Oscillations faster than the step are too slow.

    If a joint comes to rest, breaks away or meets its stop, or if the iteration does not converge, the
    semi-implicit Euler method, which is also implicit in springs, makes the step.
    """
    friction, free = _sliding(mechanism, qd)
    found = _middle(mechanism, q, qd, load, h, friction, free)
    if found is not None:
        after = qd + h * found[: len(q)]
        positions = q + 0.5 * h * (qd + after)
        if _as_before(mechanism, qd, positions, after, found):
            return positions, after
    return semi_implicit_euler(mechanism, q, after_impact(mechanism, q, qd), load, h)


def _middle(
    mechanism: Mechanism, q: Array, qd: Array, load: Load, h: float, friction: Array, free: Array
) -> Array | None:
    """Accelerations and reactions in the middle of the step; None without convergence."""
    assert mechanism.midpoint is not None
    n, step = len(q), np.array([h])
    a, tau, speed = mechanism.zeros, load.tau, float(np.abs(qd).max())
    lost = ROUNDING * (float(np.abs(q).max()) + h * speed) / (0.25 * h)
    for _ in range(MOST_ITERATIONS):
        if load.w is not None:
            tau = mechanism.torques(load, q + 0.5 * h * (qd + 0.5 * h * a))
        found = mechanism.midpoint(q, qd, tau, friction, free, a, step)
        change, a = h * float(np.abs(found[:n] - a).max()), found[:n]
        if change <= ENOUGH * (speed + h * float(np.abs(a).max())) + lost:
            return found
        if not change < math.inf:
            return None
    return None


# Root finding

PRECISION = 1e-12  # Precision of a root as a fraction of the interval


def root(f: Callable[[float], float], end: float) -> float | None:
    """Return a root in (0, end] of a function that is negative at the end, by the Illinois method.

    The method uses secants, and halves the function value of an end that is kept. The function must be
    positive at 0, or rise there from 0; return None if it does not.
    """
    low, f_low = _above(f, end)
    if low is None:
        return None
    high, f_high = end, f(end)
    kept = 0
    for _ in range(100):
        if high - low <= PRECISION * end or f_high == 0.0:
            break
        middle = high - f_high * (high - low) / (f_high - f_low)
        if not low < middle < high:
            middle = 0.5 * (low + high)
        f_middle = f(middle)
        if f_middle > 0.0:
            low, f_low = middle, f_middle
            f_high = 0.5 * f_high if kept == 1 else f_high
            kept = 1
        else:
            high, f_high = middle, f_middle
            f_low = 0.5 * f_low if kept == -1 else f_low
            kept = -1
    return high


def _above(f: Callable[[float], float], end: float) -> tuple[float | None, float]:
    """The start, or a point shortly after it, at which the function is positive."""
    t, value = 0.0, f(0.0)
    while not value > 0.0:
        t = 0.5 * t if t else 0.5 * end
        if t < 1e-6 * end:
            return None, value
        value = f(t)
    return t, value


SAME_TIME = 1e-9  # Fraction of a step within which two events are simultaneous


class Mode(NamedTuple):
    """Mode of the joints at one time, and until the next event."""

    free: Array  # for each joint, 1 if it is free and 0 if it is held
    friction: Array  # Coulomb friction on the free joints (N m or N), against their motion
    dynamics: Array  # results of `held_dynamics`: accelerations (rad/s^2 or m/s^2), then reactions


def runge_kutta(
    mechanism: Mechanism, q: Array, qd: Array, load: Load, h: float, mode: Mode | None = None
) -> tuple[Array, Array]:
    """Positions and velocities after a step h (s), which begins with `mode` if that is known.

    Between events the motion is smooth: every joint slides in one direction, moves without friction, or is
    held. An event is a joint that comes to rest, where its friction would jump, or that meets its stop. A
    step with an event is split there, so that the method keeps its order. If events are too close to be
    separated, the semi-implicit Euler method, which needs no events, makes the rest of the step.
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
                (qd if event.stop is None else q)[event.joint] = event.stop or 0.0
        left, mode = left - first, None
        if left <= 0.0:
            return q, qd
    return semi_implicit_euler(mechanism, q, qd, load, left)


def present_mode(mechanism: Mechanism, q: Array, qd: Array, load: Load) -> Mode:
    """Return the mode: the joints held by friction and stops, and the accelerations of the others."""
    usual = mechanism.usual_mode(q, qd, load.tau) if mechanism.usual_mode and load.w is None else None
    if usual is not None:
        return Mode(*usual)
    rates, Fs = qd.tolist(), mechanism.Fs
    resting = 0.0 in rates
    lower, middle, upper = _hold_points(mechanism, q, rates) if resting else ([], [], [])
    # In most cases joints at rest stay at rest, and no search is needed.
    friction = np.array([-math.copysign(F, v) if v else 0.0 for F, v in zip(Fs, rates, strict=True)])
    free = mechanism.ones
    if resting:
        free = np.array([0.0 if 0.0 in points else 1.0 for points in zip(lower, middle, upper, strict=True)])
    tau, unmoved = mechanism.torques(load, q), mechanism.unmoved
    dynamics = mechanism.dynamics(
        q, qd, tau, friction, free, mechanism.zeros, unmoved, unmoved, mechanism.at_once
    )
    if not resting or _holds(dynamics[len(q) :].tolist(), lower, upper, Fs):
        return Mode(free, friction, dynamics)
    a, found, reaction = resolve(
        mechanism.respond(q, qd, tau, 0.0), HoldPoints(lower, middle, upper, mechanism.Fs)
    )
    rubbing = [r if is_free else 0.0 for r, is_free in zip(reaction, found, strict=True)]
    return Mode(np.array(found), np.array(rubbing), np.array(a + [0.0] * len(a)))


def _hold_points(
    mechanism: Mechanism, q: Array, rates: list[float]
) -> tuple[list[float], list[float], list[float]]:
    """Accelerations at which joints can be held, for `resolve`: 0 for joints at rest, none for others."""
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
    """True if friction, and stops at an acceleration of 0, can exert these reactions."""
    return all(
        (r >= -F or high == 0.0) and (r <= F or low == 0.0)
        for r, low, high, F in zip(reaction, lower, upper, Fs, strict=True)
    )


def _smooth(
    mechanism: Mechanism, q: Array, qd: Array, load: Load, mode: Mode, h: float
) -> tuple[Array, Array]:
    """Positions and velocities after a time h without change of the mode."""
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
    """True if a joint reversed its motion or passed its stop."""
    positions = q.tolist()
    return (
        any(map((0.0).__lt__, map(mul, qd.tolist(), mode.friction.tolist())))
        or any(map(gt, positions, mechanism.upper))
        or any(map(lt, positions, mechanism.lower))
    )


class _Event(NamedTuple):
    """A joint, by number, that comes to rest or meets a stop (rad or m) at a time (s) within the step."""

    joint: int
    stop: float | None
    time: float


def _events(
    mechanism: Mechanism, q: Array, qd: Array, load: Load, mode: Mode, h: float
) -> list[_Event] | None:
    """Return the events of a step; None if the time of an event cannot be found."""
    ahead = np.sign(-mode.friction)
    lower, upper = np.array(mechanism.lower), np.array(mechanism.upper)
    n = len(q)

    def margins(t: float) -> Array:
        """Distances of each joint from rest, from its lower and its upper stop; negative beyond these."""
        x, v = (q, qd) if t == 0.0 else _smooth(mechanism, q, qd, load, mode, t)
        return np.concatenate((ahead * v, x - lower, upper - x))

    before, after = margins(0.0), margins(h)
    events = []
    for k in np.flatnonzero((after < 0.0) & (before >= 0.0)).tolist():
        time = root(partial(lambda k, t: float(margins(t)[k]), k), h)
        if time is None:
            return None
        stop = None if k < n else (mechanism.lower + mechanism.upper)[k - n]
        events.append(_Event(k % n, stop, time))
    return events
