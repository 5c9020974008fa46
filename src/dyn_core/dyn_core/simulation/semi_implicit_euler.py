# SPDX-License-Identifier: Apache-2.0
"""The semi-implicit Euler method, with friction and stops as they are at the end of the step."""

from __future__ import annotations

import math

import numpy as np

from dyn_core.facade.arrays import Array
from dyn_core.simulation.complementarity import Places, resolve
from dyn_core.simulation.mechanism import Load, Mechanism


def semi_implicit_euler(
    mechanism: Mechanism, q: Array, qd: Array, load: Load, h: float, _mode: object = None
) -> tuple[Array, Array]:
    """Positions and velocities after a step h (s): ``qd+ = qd + h qdd``, then ``q+ = q + h qd+``.

    Viscous friction, Coulomb friction and stops act as they must at the velocity qd+: friction stops
    a joint but does not turn it round, and a joint that would pass its stop within the step moves just
    up to it.
    """
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
