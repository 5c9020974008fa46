# SPDX-License-Identifier: Apache-2.0
"""Viscous and Coulomb friction and an offset, which is all that simple models take, as near as they come.

With the torques of bodies and rotors known, Fv, Fs, Fo and the velocity v0 over which Coulomb friction
``Fs tanh(qd / v0)`` changes its sign are those that leave least of the measured torques. They take up in the
mean what other terms of friction, such as that of the load, would say.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.identification.bool_array import BoolArray
from dyn_core.identification.estimators.standard_deviations import SAFETY, residuals
from dyn_core.identification.friction.friction_model import STANDARD, FrictionModel
from dyn_core.identification.friction.friction_selection import V0
from dyn_core.logs.conditioning.signals import Signals

GAIN = 0.04
"""Least part of the squares of the residuals that another model than the first has to take away."""


@dataclass(frozen=True)
class StandardFriction:
    """Friction of a joint as simple models take it.

    Attributes:
        v0: velocity over which Coulomb friction changes its sign (rad/s or m/s); 0: at once.
        values: Fv, Fs and Fo.
        deviations: their standard deviations.
    """

    v0: float
    values: tuple[float, float, float]
    deviations: tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class ChosenFriction:
    """Friction of a joint as it was identified.

    Attributes:
        model: the model.
        x: its parameters.
        deviations: their standard deviations.
    """

    model: FrictionModel
    x: Array
    deviations: Array

    def standard(self) -> StandardFriction:
        """Answer what is viscous and Coulomb friction and offset in it, and nothing else."""
        values = dict(zip(self.model.terms, self.x.tolist(), strict=True))
        spreads = dict(zip(self.model.terms, self.deviations.tolist(), strict=True))
        Fv, Fs, Fo = (values.get(term, 0.0) for term in STANDARD)
        dv, ds, do = (spreads.get(term, math.inf) for term in STANDARD)
        return StandardFriction(self.model.v0, (max(Fv, 0.0), max(Fs, 0.0), Fo), (dv, ds, do))


def nearest_standard(
    chosen: ChosenFriction,
    signals: Signals,
    joint: int,
    load: Array,
    parts: Sequence[float] = V0,
    used: BoolArray | None = None,
) -> StandardFriction:
    """Answer the standard friction of a joint that leaves least of its measured torques.

    That which was chosen is kept where it is of this kind and others are not better.

    Args:
        chosen: what was identified.
        signals: the motion that was fitted.
        joint: place of the joint.
        load: torques of bodies and rotors (N m or N), (N,).
        parts: velocities v0 that are tried, as parts of the greatest speed; the first one is 0.
        used: which of the filtered samples count; by default all.
    """
    qd, torque = signals.qd[:, joint], signals.tau[:, joint] - load
    speed = float(np.abs(qd).max(initial=0.0))
    if not signals.has_effort[joint] or speed == 0.0 or not (used is None or used.any()):
        return chosen.standard()
    velocities = sorted({speed * part for part in parts})
    signs = [FrictionModel(("coulomb",), v0).columns(qd, qd)[:, 0] for v0 in velocities]
    columns = np.column_stack([qd, np.ones_like(qd), torque, *signs])
    which = slice(None) if used is None else used
    filtered = signals.parallel(columns)[0][which]
    right = filtered[:, 2]
    found = []
    for k, v0 in enumerate(velocities):
        W = filtered[:, [0, 3 + k, 1]]
        x = _braking(W, right)
        left = right - W @ x
        found.append((float(left @ left), v0, W, x, left))
    least, v0, W, x, left = min(found, key=lambda one: one[0])
    first = found[0][0]  # that of velocity 0
    kept = chosen.model.terms == STANDARD and (chosen.model.v0 == 0.0 or len(velocities) > 1)
    if kept:
        sign = chosen.model.columns(qd, qd)[:, 1]
        own = np.column_stack([filtered[:, 0], signals.parallel(sign)[0][which], filtered[:, 1]])
        first = float(np.sum((right - own @ chosen.x) ** 2))
    if least < (1.0 - GAIN) * first:
        return StandardFriction(v0, *_told(W, x, left, signals.decimation.memory))
    if kept:
        return chosen.standard()
    _, v0, W, x, left = found[0]
    return StandardFriction(v0, *_told(W, x, left, signals.decimation.memory))


def _braking(W: Array, right: Array) -> Array:
    """Least squares in which Fv and Fs are not negative."""
    found = []
    for kept in product((False, True), (False, True), (True,)):
        x = np.zeros(3)
        x[list(kept)] = np.linalg.lstsq(W[:, kept], right, rcond=None)[0]
        if np.all(x[:2] >= 0.0):
            found.append((float(np.sum((right - W @ x) ** 2)), x))
    return min(found, key=lambda pair: pair[0])[1]


def _told(
    W: Array, x: Array, left: Array, memory: float
) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Values and deviations, of residuals that resemble those before them."""
    count = len(left)
    effective = float(residuals(left[:, None]).effective[0])
    sigma = math.sqrt(float(left @ left) / max(count - 3, 1) * max(memory, count / effective))
    spread = SAFETY * sigma * np.sqrt(np.diag(np.linalg.pinv(W.T @ W)))
    (Fv, Fs, Fo), (dv, ds, do) = x.tolist(), spread.tolist()
    return (Fv, Fs, Fo), (dv, ds, do)
