# SPDX-License-Identifier: Apache-2.0
"""The semi-implicit Euler method, with friction and stops as they are at the end of the step."""

from __future__ import annotations

import math

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.simulation.integrators.complementarity import Places, resolve
from dyn_core.simulation.integrators.mechanism import Load, Mechanism


def semi_implicit_euler(
    mechanism: Mechanism, q: Array, qd: Array, load: Load, h: float, _mode: object = None
) -> tuple[Array, Array]:
    """Positions and velocities after a step h (s): ``qd+ = qd + h qdd``, then ``q+ = q + h qd+``.

    Viscous friction, Coulomb friction and stops act as they must at the velocity qd+: friction stops
    a joint but does not turn it round, and a joint that would pass its stop within the step moves just
    up to it.
    """
    usual = _usual_step(mechanism, q, qd, load, h)
    if usual is not None:
        return usual
    positions, rates = q.tolist(), qd.tolist()
    # Velocities with which the joints just reach their stops; 0 where they are there already.
    slowest = [min((low - x) / h, 0.0) for low, x in zip(mechanism.lower, positions, strict=True)]
    fastest = [max((high - x) / h, 0.0) for high, x in zip(mechanism.upper, positions, strict=True)]
    lower = [(end - v) / h for end, v in zip(slowest, rates, strict=True)]
    upper = [(end - v) / h for end, v in zip(fastest, rates, strict=True)]
    middle = [-v / h if Fs > 0.0 else -math.inf for v, Fs in zip(rates, mechanism.Fs, strict=True)]
    middle = [min(max(x, low), high) for x, low, high in zip(middle, lower, upper, strict=True)]
    respond = mechanism.respond(q, qd, mechanism.torques(load, q), h)
    a, free, _ = resolve(respond, Places(lower, middle, upper, mechanism.Fs))
    for j, is_free in enumerate(free):
        if is_free:
            rates[j] += h * a[j]
            positions[j] += h * rates[j]
        elif a[j] == upper[j] and fastest[j] > 0.0:
            rates[j], positions[j] = fastest[j], max(positions[j], mechanism.upper[j])
        elif a[j] == lower[j] and slowest[j] < 0.0:
            rates[j], positions[j] = slowest[j], min(positions[j], mechanism.lower[j])
        else:  # qd + h qdd would not be quite 0
            rates[j] = 0.0
    return np.array(positions), np.array(rates)


def _usual_step(
    mechanism: Mechanism, q: Array, qd: Array, load: Load, h: float
) -> tuple[Array, Array] | None:
    """Answer a step without search, if it is one in which no joint stops, breaks away or meets its stop."""
    rates, Fs = qd.tolist(), mechanism.Fs
    friction = np.array([-math.copysign(F, v) if v else 0.0 for F, v in zip(Fs, rates, strict=True)])
    free = mechanism.ones
    if 0.0 in rates:
        free = np.array([1.0 if v or not F else 0.0 for F, v in zip(Fs, rates, strict=True)])
    tau, unmoved, times = mechanism.torques(load, q), mechanism.unmoved, mechanism.implicit(h)
    held = (friction, free, mechanism.zeros, unmoved, unmoved, times)
    answer = mechanism.dynamics(q, qd, tau, *held)
    after = qd + h * answer[: len(q)]
    positions = q + h * after
    inside = zip(mechanism.lower, positions.tolist(), mechanism.upper, strict=True)
    as_before = zip(Fs, rates, after.tolist(), answer[len(q) :].tolist(), strict=True)
    usual = all(low < x < high for low, x, high in inside) and all(
        not F or v * w > 0.0 or (v == 0.0 and -F <= r <= F) for F, v, w, r in as_before
    )
    return (positions, after) if usual else None
