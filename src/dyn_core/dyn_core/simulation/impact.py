# SPDX-License-Identifier: Apache-2.0
"""Joints that run into their stops."""

from __future__ import annotations

import math
from operator import ge, le

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.simulation.integrators.complementarity import Places, resolve
from dyn_core.simulation.integrators.mechanism import Mechanism


def after_impact(mechanism: Mechanism, q: Array, qd: Array) -> Array:
    """Velocities after impacts without rebound on all stops that joints are at: ``A (qd+ - qd) = impulses``.

    Impulses push away from the stops and stop what runs into them; friction has no time to act. Where
    nothing runs into a stop, the answer is `qd` itself.
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
    change, free, _ = resolve(respond, Places(lower, lower, upper, [0.0] * len(rates)))
    return np.array([rates[j] + change[j] if free[j] else 0.0 for j in joints])
