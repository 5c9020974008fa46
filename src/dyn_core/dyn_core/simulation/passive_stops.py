# SPDX-License-Identifier: Apache-2.0
"""Passive joints of loops that come to the limits of their positions.

A step at whose end such a joint would be beyond its limit is made again, by the semi-implicit Euler
method, with what its stop exerts: a torque s >= 0 on the joint, ``g^T s`` on the actuated ones with g its
row of ``qd_tree = G qd_a``, just large enough for the joint to move up to its limit and no further.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import gt, lt

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.simulation.integrators.integration_step import stop_torques
from dyn_core.simulation.integrators.mechanism import Load, Mechanism
from dyn_core.simulation.integrators.passive_motion import AT_LIMIT, BEYOND
from dyn_core.simulation.semi_implicit_euler import semi_implicit_euler

_BACK = 0.2
"""Part of what a joint is beyond its limit, by rounding and curvature, that it goes back in a step."""


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
    """Answer positions and velocities after a step h (s) in which stops hold passive joints back.

    Args:
        mechanism: the robot.
        q: positions before it (rad or m).
        qd: velocities before it (rad/s or m/s).
        here: positions of the passive joints before it (rad or m).
        load: what acts on the joints.
        h: the step (s).
        after: positions and velocities after it where nothing holds passive joints back, which are the
            answer if no passive joint is beyond its limit there.
        there: positions of the passive joints there.
    """
    signs = _beyond(mechanism, there)
    if not signs:
        return after
    rows = _gradient(mechanism, q)
    while True:
        places = sorted(signs)
        toward = np.array([signs[k] * rows[k] for k in places])
        fastest = np.array([_fastest(mechanism, here, k, signs[k], h) for k in places])
        pushed = partial(_pushed, mechanism, q, qd, load, h, toward)
        after = pushed(stop_torques(partial(_excess, pushed, toward, fastest), len(places)))
        more = _beyond(mechanism, mechanism.passive.motion(*after).q)
        if more.keys() <= signs.keys():
            return after
        signs = more | signs


def held_back(mechanism: Mechanism, q: Array, qd: Array, load: Load, h: float, free: Array) -> Array:
    """Answer accelerations (rad/s^2 or m/s^2) with what stops exert on passive joints that are at them.

    Args:
        mechanism: the robot.
        q: positions (rad or m).
        qd: velocities (rad/s or m/s).
        load: what acts on the joints.
        h: the step (s) that they are those of.
        free: accelerations where nothing holds passive joints.
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
    """By how much joints are too fast (rad/s or m/s) where their stops exert torques s."""
    return np.asarray(toward @ pushed(s)[1] - fastest)


def _beyond(mechanism: Mechanism, positions: list[float]) -> dict[int, float]:
    """Answer the passive joints beyond a limit, by number: 1.0 for the upper one, -1.0 for the lower."""
    lower, upper = mechanism.passive.lower, mechanism.passive.upper
    if not any(map(gt, positions, upper)) and not any(map(lt, positions, lower)):
        return {}
    above = {k: 1.0 for k, x in enumerate(positions) if x > upper[k] + BEYOND}
    return above | {k: -1.0 for k, x in enumerate(positions) if x < lower[k] - BEYOND}


def _gradient(mechanism: Mechanism, q: Array) -> Array:
    """Answer the rows g of the passive joints."""
    units = np.eye(len(q))
    columns = [mechanism.passive.motion(q, unit).qd for unit in units]
    return np.array(list(zip(*columns, strict=True)))


def _fastest(mechanism: Mechanism, here: list[float], k: int, sign: float, h: float) -> float:
    """Answer the velocity (rad/s or m/s) with which a joint comes just up to its limit in a step."""
    passive = mechanism.passive
    left = passive.upper[k] - here[k] if sign > 0.0 else here[k] - passive.lower[k]
    return left / h if left > 0.0 else _BACK * left / h
