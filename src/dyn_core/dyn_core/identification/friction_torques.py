# SPDX-License-Identifier: Apache-2.0
"""Torques of the friction of all joints at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.identification.friction.friction_model import FrictionModel, Term

FrictionTorques = Callable[[Array, Array], Array]


def friction_torques(
    models: Sequence[FrictionModel], x: Array, least_v0: Array | None = None
) -> FrictionTorques:
    """Answer the function of velocities and loads, (n,) or (N, n), whose values are torques of friction.

    Args:
        models: friction of each joint.
        x: its parameters, joint by joint.
        least_v0: least velocities over which signs are smoothed (rad/s or m/s), (n,); by default 0.
    """
    values: dict[Term, Array] = {}
    start = 0
    for i, model in enumerate(models):
        for k, term in enumerate(model.terms):
            values.setdefault(term, np.zeros(len(models)))[i] = x[start + k]
        start += len(model.terms)
    v0 = np.array([model.v0 for model in models])
    v0 = v0 if least_v0 is None else np.maximum(v0, least_v0)
    # A sign is smoothed over so little that no velocity shows it.
    v0 = np.maximum(v0, np.finfo(float).tiny / np.finfo(float).eps)
    vt = np.array([model.vt or 1.0 for model in models])
    vx = np.array([model.vx or 1.0 for model in models])
    shapes: dict[Term, Callable[[Array, Array, Array], Array]] = {
        "viscous": lambda qd, s, load: qd,
        "coulomb": lambda qd, s, load: s,
        "offset": lambda qd, s, load: np.ones_like(qd),
        "asymmetry": lambda qd, s, load: np.abs(qd),
        "quadratic": lambda qd, s, load: qd * np.abs(qd),
        "cubic": lambda qd, s, load: qd**3,
        "saturating": lambda qd, s, load: np.tanh(qd / vx),
        "stribeck": lambda qd, s, load: s * np.exp(-((qd / vt) ** 2)),
        "load": lambda qd, s, load: np.abs(load) * s,
        "load_viscous": lambda qd, s, load: np.abs(load) * qd,
    }
    present = [(value, shapes[term]) for term, value in values.items()]

    def torques(qd: Array, load: Array) -> Array:
        with np.errstate(over="ignore"):
            s = np.tanh(qd / v0)
        total = np.zeros_like(qd)
        for value, shape in present:
            total += value * shape(qd, s, load)
        return total

    return torques
