# SPDX-License-Identifier: Apache-2.0
"""Condition number of the columns of base parameters and friction, and the columns that a robot shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from dyn_core.algorithms.base_parameters.independent_columns import dependent_columns
from dyn_core.control.trajectories.piecewise_polynomials import Motion
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.excitation.motion_limits import LoopLimits, MotionLimits, where_closed
from dyn_core.identification.friction.friction_model import STANDARD, FrictionModel, direction
from dyn_core.identification.regressor.base_columns import base_columns
from dyn_core.robot.robot import Robot

Indices: TypeAlias = npt.NDArray[np.intp]

LEAST = 1e-13
"""Least eigenvalue of the Gram matrix that differs from zero."""
PIECE = 500
"""Samples that are computed at a time, so that memory stays bounded."""
HIDDEN = 1e-3
"""A parameter is hidden if the part of its column that is independent of the others is smaller."""
_STATES = 100


class Spread(NamedTuple):
    """Deviation of columns from orthogonality, a smooth bound of the logarithm of their condition number.

    Attributes:
        value: ``(log sum s^(2 p) + log sum s^(-2 p)) / (2 p)`` of the singular values s, at least the
            logarithm of the condition number; the two are close if p is large.
        gradient: derivative of the value with respect to each entry.
        condition: condition number of the columns, scaled to unit length.
    """

    value: float
    gradient: Array
    condition: float


def spread(W: Array, power: float) -> Spread:
    """Return the deviation of the columns of W (N, p), scaled to unit length, from orthogonality."""
    lengths = np.maximum(np.linalg.norm(W, axis=0), np.finfo(float).tiny)
    U = W / lengths
    found, V = _eigenvectors(U.T @ U)
    eigenvalues = np.maximum(found, LEAST)
    up, down = eigenvalues**power, eigenvalues**-power
    value = 0.5 * (np.log(up.sum()) + np.log(down.sum())) / power
    slopes = 0.5 * (up / up.sum() - down / down.sum()) / eigenvalues
    G = 2.0 * U @ ((V * slopes) @ V.T)
    gradient = (G - U * (U * G).sum(axis=0)) / lengths
    return Spread(float(value), gradient, float(np.sqrt(eigenvalues[-1] / eigenvalues[0])))


def _eigenvectors(G: Array) -> tuple[Array, Array]:
    """Return eigenvalues and eigenvectors of a Gram matrix; DynError where its numbers are not finite."""
    if not np.isfinite(G).all():
        raise DynError("columns-not-finite")
    found: tuple[Array, Array] = np.linalg.eigh(G)
    return found


def own_parts(products: Array) -> Array:
    """Return the part (0 to 1) of each column that is independent of the others, (p,), from ``W^T W`` (p, p).

    Values below about 3e-7 are rounding errors.
    """
    lengths = np.sqrt(np.diag(products))
    shown = np.flatnonzero(lengths)
    G = products[np.ix_(shown, shown)] / np.outer(lengths[shown], lengths[shown])
    found, V = _eigenvectors(G)
    parts = np.zeros(len(lengths))
    parts[shown] = 1.0 / np.sqrt((V**2 / np.maximum(found, LEAST)).sum(axis=1))
    return parts


def scaled_condition(products: Array) -> float:
    """Return the condition number of columns scaled to unit length, from their products ``W^T W`` (p, p).

    It is infinite above about 3e6, where it cannot be determined.
    """
    lengths = np.sqrt(np.diag(products))
    if not lengths.all():
        return float("inf")
    eigenvalues, _ = _eigenvectors(products / np.outer(lengths, lengths))
    if eigenvalues[0] < LEAST:
        return float("inf")
    return float(np.sqrt(eigenvalues[-1] / eigenvalues[0]))


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of all identifiable parameters of bodies, rotors and friction.

    Attributes:
        names: names of the parameters.
        left_out: friction parameters with the same effect as others, such as the offset of a joint that lifts
            a mass straight up.
        unshown: parameters that only exact numbers could separate from others: everywhere within the limits,
            their columns are combinations of others, except for the part `HIDDEN`.
        rigid: function of q, qd, qdd (N, n) that returns the columns (N, n, b) of bodies and rotors.
        bodies: number of columns of bodies and rotors.
        friction: indices of the friction columns, of 3 for each joint: viscous, Coulomb, offset.
    """

    names: tuple[str, ...]
    left_out: tuple[str, ...]
    unshown: tuple[str, ...]
    rigid: Callable[[Array, Array, Array], Array]
    bodies: int
    friction: Indices

    def at(self, q: Array, qd: Array, qdd: Array, v0: Array | None = None) -> Array:
        """Return all columns (N, n, p) at q, qd, qdd (N, n); `v0` as in `friction_columns`."""
        return np.concatenate([self.rigid(q, qd, qdd), friction_columns(qd, v0)[:, :, self.friction]], axis=2)


def parameter_columns(robot: Robot, limits: MotionLimits, loops: LoopLimits | None = None) -> Columns:
    """Return the columns of a robot that are independent within its limits.

    Where loops do not close, the columns are those of a position nearer to the assembly.
    """
    base = base_columns(robot)
    whole = base.columns if loops is None else where_closed(base.columns, loops)
    part = np.random.default_rng(0).uniform(size=(3, _STATES, robot.dof))
    q = limits.lower + (limits.upper - limits.lower) * part[0]
    qd, qdd = limits.velocity * (2.0 * part[1] - 1.0), limits.acceleration * (2.0 * part[2] - 1.0)
    W = np.concatenate([whole(q, qd, qdd), friction_columns(qd)], axis=2)
    W = W.reshape(-1, W.shape[2])
    names = [*base.names, *(name for j in robot.coordinates for name in FrictionModel(STANDARD).names(j))]
    count = len(base.names)
    of_bodies = dependent_columns(W[:, :count]).columns
    candidates = [*of_bodies, *range(count, len(names))]
    kept = [candidates[k] for k in dependent_columns(W[:, candidates], len(of_bodies)).columns]
    shown = [kept[k] for k in _shown(W[:, kept])]
    own = [k for k in shown if k < count]

    def some(q: Array, qd: Array, qdd: Array) -> Array:
        return whole(q, qd, qdd)[:, :, own]

    return Columns(
        names=tuple(names[k] for k in shown),
        left_out=tuple(names[k] for k in candidates if k not in kept),
        unshown=tuple(names[k] for k in kept if k not in shown),
        rigid=whole if len(own) == count else some,
        bodies=len(own),
        friction=np.array([k - count for k in shown if k >= count], dtype=np.intp),
    )


def _shown(W: Array) -> list[int]:
    """Return the columns of W (N, p) that are independent of the others by more than `HIDDEN`.

    Columns are removed one by one, the most dependent first, so that one of two nearly equal columns stays.
    """
    lengths = np.linalg.norm(W, axis=0)
    R = np.linalg.qr(W / np.where(lengths > 0.0, lengths, 1.0))[1]
    shown = list(range(W.shape[1]))
    while shown:
        parts = own_parts(R[:, shown].T @ R[:, shown])
        least = int(parts.argmin())
        if parts[least] >= HIDDEN:
            break
        del shown[least]
    return shown


def gram(columns: Columns, motion: Motion) -> Array:
    """Return the products ``W^T W`` (p, p) of the columns of a motion, with the rows of all joints."""
    total = np.zeros((len(columns.names), len(columns.names)))
    for begin in range(0, len(motion.q), PIECE):
        q, qd, qdd = (part[begin : begin + PIECE] for part in motion)
        W = columns.at(q, qd, qdd)
        W = W.reshape(-1, W.shape[2])
        total += W.T @ W
    return total


def friction_columns(qd: Array, v0: Array | None = None) -> Array:
    """Return viscous, Coulomb and offset columns of each joint, (N, n, 3 n), at velocities (N, n).

    `v0`, (n,), are the velocities over which the sign in Coulomb friction is smoothed (rad/s or m/s).
    """
    N, n = qd.shape
    W = np.zeros((N, n, 3 * n))
    each = np.arange(n)
    W[:, each, 3 * each] = qd
    W[:, each, 3 * each + 1] = direction(qd, 0.0) if v0 is None else np.tanh(qd / v0)
    W[:, each, 3 * each + 2] = 1.0
    return W
