# SPDX-License-Identifier: Apache-2.0
"""One integration step by the chosen method, with stops of passive joints, loops and divergence."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import combinations
from operator import gt, lt

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError, at_joint
from dyn_core.simulation.integrators.integration_methods import (
    Mode,
    implicit_midpoint,
    root,
    runge_kutta,
    semi_implicit_euler,
)
from dyn_core.simulation.integrators.mechanism import Load, Mechanism
from dyn_core.simulation.integrators.passive_motion import AT_LIMIT, BEYOND, JUMP, PassiveMotion
from dyn_core.simulation.simulated_state import Method, State

SAME = 1e-9  # Difference of velocities (rad/s or m/s) that counts as 0

_ROUNDS = 8
_MOST_ACTING = 4
_SWEEPS = 20

_SINGULAR = 1e-6  # Fraction of the greatest singular value of a matrix below which others count as 0
_SMALL, _MOST = 1e-3, 1e12  # Torques (N m or N) at which the search begins, and beyond which it ends


def stop_torques(excess: Callable[[Array], Array], count: int) -> Array:
    """Return torques s >= 0 (N m or N) with excess velocities at most 0, and 0 where the torque is not 0.

    With friction and stops of other joints, velocities are a piecewise linear function of the torques.
    Newton's method solves a linear complementarity problem on each piece. If it fails, the torques are found
    one after the other: the velocity of a joint falls as its own torque grows.

    Args:
        excess: function from the torques to the excess velocities of the joints (rad/s or m/s).
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
    """Return s >= 0 with ``f + slopes s <= 0``, equal to 0 if s is not 0; None if there is none.

    The subsets of torques that are not 0 are tried in turn.
    """
    numbers, rows = f.tolist(), slopes.tolist()
    joints = range(len(numbers))
    for number in range(min(len(numbers), _MOST_ACTING) + 1):
        for acting in combinations(joints, number):
            found = _solution([[rows[i][k] for k in acting] for i in acting], [numbers[i] for i in acting])
            if all(x >= 0.0 for x in found):
                left = (
                    numbers[i] + sum(rows[i][k] * x for k, x in zip(acting, found, strict=True))
                    for i in joints
                )
                if all(excess <= SAME for excess in left):
                    s = np.zeros(len(numbers))
                    s[list(acting)] = found
                    return s
    return None


def _solution(A: list[list[float]], f: list[float]) -> list[float]:
    """Return s with ``A s = -f``, the shortest of several; fast for one or two unknowns."""
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
    """Return the least torque s >= 0 at which a falling function is not positive."""
    f_low = excess(0.0)
    if f_low <= 0.0:
        return 0.0
    low, high = 0.0, _SMALL
    while (f_high := excess(high)) > 0.0:
        if high > _MOST:  # an actuated joint is at a stop of its own: no torque moves it
            return 0.0
        # Extrapolate by a straight line and a little more, between bounds.
        fall = (f_low - f_high) / (high - low)
        line = high + 1.01 * f_high / fall if fall > 0.0 else math.inf
        low, f_low, high = high, f_high, min(max(2.0 * high, line), 1e3 * high)
    return root(excess, high) or high


_BACK = 0.2
"""Fraction of the distance beyond a limit, due to rounding and curvature, that a joint returns in a step."""


def within_stops(
    mechanism: Mechanism,
    q: Array,
    qd: Array,
    here: list[float],
    load: Load,
    h: float,
    after: tuple[Array, Array],
    there: list[float],
) -> tuple[Array, Array]:
    """Return positions and velocities after a step h (s) with stops of passive joints.

    If a passive joint would be beyond its limit at the end of a step, the step is repeated by the
    semi-implicit Euler method with the torque of its stop: s >= 0 on the joint, which is ``g^T s`` on the
    actuated joints, with g its row of ``qd_tree = G qd_a``. It is just large enough to stop the joint at its
    limit.

    Args:
        q, qd: positions and velocities before the step (rad or m; rad/s or m/s).
        here: positions of the passive joints before the step (rad or m).
        after: positions and velocities after the step without stops of passive joints; they are returned if
            no passive joint is beyond its limit there.
        there: positions of the passive joints after that step.
    """
    signs = _beyond(mechanism, there)
    if not signs:
        return after
    rows = _gradient(mechanism, q)
    while True:
        joints = sorted(signs)
        toward = np.array([signs[k] * rows[k] for k in joints])
        fastest = np.array([_fastest(mechanism, here, k, signs[k], h) for k in joints])
        pushed = partial(_pushed, mechanism, q, qd, load, h, toward)
        after = pushed(stop_torques(partial(_excess, pushed, toward, fastest), len(joints)))
        more = _beyond(mechanism, mechanism.passive.motion(*after).q)
        if more.keys() <= signs.keys():
            return after
        signs = more | signs


def held_back(mechanism: Mechanism, q: Array, qd: Array, load: Load, h: float, free: Array) -> Array:
    """Return accelerations (rad/s^2 or m/s^2) over a step h (s) with the stops of passive joints.

    `free` are the accelerations without these stops, at positions q and velocities qd.
    """
    passive = mechanism.passive
    here = passive.motion(q, qd).q
    if not any(
        x >= upper - AT_LIMIT or x <= lower + AT_LIMIT
        for x, lower, upper in zip(here, passive.lower, passive.upper, strict=True)
    ):
        return free
    rates = qd + h * free
    after = q + h * rates, rates
    held = within_stops(mechanism, q, qd, here, load, h, after, passive.motion(*after).q)
    return free if held is after else (held[1] - qd) / h


def _pushed(
    mechanism: Mechanism, q: Array, qd: Array, load: Load, h: float, toward: Array, s: Array
) -> tuple[Array, Array]:
    """Positions and velocities after a step in which stops exert torques s against rows of velocities."""
    tau = load.tau - s @ toward
    usual = mechanism.usual_step if load.w is None else None
    made = None if usual is None else usual(True, q, qd, tau, h, None)
    return semi_implicit_euler(mechanism, q, qd, Load(tau, load.w), h) if made is None else made[:2]


def _excess(pushed: Callable[[Array], tuple[Array, Array]], toward: Array, fastest: Array, s: Array) -> Array:
    """Excess velocities of joints (rad/s or m/s) if their stops exert torques s."""
    return np.asarray(toward @ pushed(s)[1] - fastest)


def _beyond(mechanism: Mechanism, positions: list[float]) -> dict[int, float]:
    """Return the passive joints beyond a limit by number: 1.0 for the upper limit, -1.0 for the lower."""
    lower, upper = mechanism.passive.lower, mechanism.passive.upper
    if not any(map(gt, positions, upper)) and not any(map(lt, positions, lower)):
        return {}
    above = {k: 1.0 for k, x in enumerate(positions) if x > upper[k] + BEYOND}
    return above | {k: -1.0 for k, x in enumerate(positions) if x < lower[k] - BEYOND}


def _gradient(mechanism: Mechanism, q: Array) -> Array:
    """Return the rows g of the passive joints."""
    return np.asarray(np.transpose([mechanism.passive.motion(q, unit).qd for unit in np.eye(len(q))]))


def _fastest(mechanism: Mechanism, here: list[float], k: int, sign: float, h: float) -> float:
    """Return the velocity (rad/s or m/s) at which a joint just reaches its limit in a step."""
    passive = mechanism.passive
    left = passive.upper[k] - here[k] if sign > 0.0 else here[k] - passive.lower[k]
    return left / h if left > 0.0 else _BACK * left / h


def checked_step(
    mechanism: Mechanism,
    before: tuple[Array, Array],
    passive: PassiveMotion,
    load: Load,
    h: float,
    after: tuple[Array, Array],
) -> tuple[Array, Array]:
    """Return positions and velocities after a step h (s), with stops of passive joints.

    At a singularity two assembly modes meet. The actuated joints do not determine a motion from one mode to
    the other, in which a determinant of the constraints changes sign. If many modes meet, as in a five-bar
    with coincident elbows, a passive joint jumps. Raise DynError if the step passes a singularity.

    Args:
        before: positions and velocities before the step (rad or m; rad/s or m/s).
        passive: the motion of the passive joints before the step.
        after: positions and velocities after the step without stops of passive joints.
    """
    moved = mechanism.passive.motion(*after)
    if mechanism.passive_stops:
        held = within_stops(mechanism, *before, passive.q, load, h, after, moved.q)
        if held is not after:
            after, moved = held, mechanism.passive.motion(*held)
    if _turned(passive, moved) or _jumped(passive, moved, h):
        joints = zip(mechanism.joint_names, before[0].tolist(), strict=True)
        words = ", ".join(f"{name} = {value:.4g}" for name, value in joints)
        raise DynError("loop-singularity-passed", positions=words)
    return after


def _turned(before: PassiveMotion, after: PassiveMotion) -> bool:
    """True if a determinant changed its sign."""
    for old, new in zip(before.orientation, after.orientation, strict=True):  # noqa: SIM110 - faster
        if old * new <= 0.0:
            return True
    return False


def _jumped(before: PassiveMotion, after: PassiveMotion, h: float) -> bool:
    """True if the displacement of a passive joint does not agree with its velocities."""
    for a, b, u, v in zip(before.q, after.q, before.qd, after.qd, strict=True):
        if not abs(b - a - 0.5 * h * (u + v)) <= JUMP + h * (abs(u) + abs(v)):
            return True
    return False


METHODS = {
    "rk4": runge_kutta,
    "semi_implicit_euler": semi_implicit_euler,
    "implicit_midpoint": implicit_midpoint,
}


def advance(
    mechanism: Mechanism,
    integrator: Method,
    state: State,
    load: Load,
    until: float,
    substeps: int,
    mode: Mode | None = None,
) -> State:
    """Return the state at the time `until` (s) after equal steps of the integrator with constant loads.

    `mode` is the initial mode, if it is known. Raise DynError if the simulation diverges, or the loops of the
    robot do not close.
    """
    usual = mechanism.usual_step if load.w is None else None
    implicit = integrator == "semi_implicit_euler"
    h = (until - state.time) / substeps
    q, qd, passive = state.q, state.qd, mechanism.passive
    for k in range(substeps):
        made = None if usual is None else usual(implicit, q, qd, load.tau, h, passive.known(q, qd))
        if made is None:
            moment = state.time + k * h
            q, qd = _step_with_events(
                mechanism, integrator, (q, qd), load, moment, h, mode if k == 0 else None
            )
        else:
            q, qd, known = made
            passive.keep(q, qd, known)
    return State(until, q, qd)


def _step_with_events(
    mechanism: Mechanism,
    integrator: Method,
    before: tuple[Array, Array],
    load: Load,
    moment: float,
    h: float,
    mode: Mode | None,
) -> tuple[Array, Array]:
    """Return positions and velocities after a step that may have events."""
    passive = mechanism.passive.motion(*before)
    try:
        after = METHODS[integrator](mechanism, *before, load, h, mode)
        bound = mechanism.greatest_speed
        diverged = any(not -bound <= v <= bound for v in after[1].tolist())  # also true for NaN
        if mechanism.passive.names and not diverged:
            for array in after:
                array.flags.writeable = False  # so that the values of the passive joints there are stored
            after = checked_step(mechanism, before, passive, load, h, after)
    except DynError as problem:
        raise DynError("simulation-stopped", time=moment, cause=problem, element=problem.element) from problem
    if diverged:
        raise _divergence(mechanism, integrator, after[1], moment + h, h)
    return after


def _divergence(mechanism: Mechanism, integrator: Method, qd: Array, time: float, h: float) -> DynError:
    worst = int(np.where(np.isnan(qd), np.inf, np.abs(qd)).argmax())
    remedy = "take a smaller step or more substeps"
    if integrator == "rk4":
        remedy += ", or the integrator semi_implicit_euler where friction is strong"
    if mechanism.passive.names:
        remedy += "; near a singularity of the loops none is small enough"
    joint, velocity = mechanism.joint_names[worst], qd[worst]
    return at_joint(joint, "simulation-diverged", time=time, velocity=velocity, step=h, remedy=remedy)
