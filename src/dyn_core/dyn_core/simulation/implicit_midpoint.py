# SPDX-License-Identifier: Apache-2.0
"""The implicit midpoint rule: ``qd+ = qd + h a``, ``q+ = q + h (qd + qd+) / 2``, a that of the middle.

It is symplectic and keeps what is quadratic: of springs that swing about a point at rest it keeps the energy
exactly, however stiff they are; what is faster than the step swings more slowly than it should.
"""

from __future__ import annotations

import math

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.simulation.impact import after_impact
from dyn_core.simulation.integrators.mechanism import Load, Mechanism
from dyn_core.simulation.semi_implicit_euler import semi_implicit_euler

MOST_ITERATIONS = 20
ENOUGH = 1e-13
"""Part of the velocities that an iteration may change at the end."""
ROUNDING = 1e-15
"""Part of the positions that is rounding, which stiff springs turn into accelerations."""


def implicit_midpoint(
    mechanism: Mechanism, q: Array, qd: Array, load: Load, h: float, _mode: object = None
) -> tuple[Array, Array]:
    """Positions and velocities after a step h (s).

    A step in which a joint comes to rest, breaks away or meets its stop, and one whose middle is not found,
    is one of the semi-implicit Euler method, which takes springs implicitly, too.
    """
    rates, Fs = qd.tolist(), mechanism.Fs
    friction = np.array([-math.copysign(F, v) if v else 0.0 for F, v in zip(Fs, rates, strict=True)])
    free = mechanism.ones
    if 0.0 in rates:
        free = np.array([1.0 if v or not F else 0.0 for F, v in zip(Fs, rates, strict=True)])
    found = _middle(mechanism, q, qd, load, h, friction, free)
    if found is not None:
        n = len(rates)
        after = qd + h * found[:n]
        positions = q + 0.5 * h * (qd + after)
        inside = zip(mechanism.lower, positions.tolist(), mechanism.upper, strict=True)
        as_before = zip(Fs, rates, after.tolist(), found[n:].tolist(), strict=True)
        if all(low < x < high for low, x, high in inside) and all(
            not F or v * w > 0.0 or (v == 0.0 and -F <= r <= F) for F, v, w, r in as_before
        ):
            return positions, after
    return semi_implicit_euler(mechanism, q, after_impact(mechanism, q, qd), load, h)


def _middle(
    mechanism: Mechanism, q: Array, qd: Array, load: Load, h: float, friction: Array, free: Array
) -> Array | None:
    """Accelerations and reactions in the middle of the step; None where they are not found."""
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
