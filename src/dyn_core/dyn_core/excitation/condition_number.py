# SPDX-License-Identifier: Apache-2.0
"""What a motion shows of the parameters: the columns of the base parameters and of the friction of joints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dyn_core.algorithms.base_parameters.independent_columns import dependent_columns
from dyn_core.control.motion import Motion
from dyn_core.core.arrays import Array
from dyn_core.excitation.loop_limits import LoopLimits, where_closed
from dyn_core.excitation.motion_limits import MotionLimits
from dyn_core.excitation.spectrum import own_parts
from dyn_core.identification.friction.friction_model import STANDARD, FrictionModel, direction
from dyn_core.identification.regressor.base_columns import base_columns
from dyn_core.robot.robot import Robot

Indices: TypeAlias = npt.NDArray[np.intp]

PIECE = 500
"""Samples that are computed at a time, so that memory stays bounded."""
HIDDEN = 1e-3
"""Part of a column, that no combination of others makes, with which a parameter counts as hidden."""
_STATES = 100


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of all parameters that can be told apart, of bodies, rotors and friction.

    Attributes:
        names: names of the parameters.
        left_out: names of parameters of friction that cannot be told from others, as the offset of a joint
            that lifts a mass straight up.
        unshown: names of parameters that could be told from others by exact numbers alone: anywhere within
            the limits their columns are, but for the part `HIDDEN`, combinations of others.
        rigid: the columns (N, n, b) of bodies and rotors at positions, velocities and accelerations (N, n).
        bodies: how many of the names are of bodies and rotors.
        friction: which columns of friction there are: 3 for each joint, viscous, Coulomb, offset.
    """

    names: tuple[str, ...]
    left_out: tuple[str, ...]
    unshown: tuple[str, ...]
    rigid: Callable[[Array, Array, Array], Array]
    bodies: int
    friction: Indices

    def at(self, q: Array, qd: Array, qdd: Array, v0: Array | None = None) -> Array:
        """Answer all columns (N, n, p) at positions, velocities and accelerations (N, n).

        Args:
            q: positions (rad or m).
            qd: velocities (rad/s or m/s).
            qdd: accelerations (rad/s^2 or m/s^2).
            v0: velocities over which the sign in Coulomb friction is smoothed (rad/s or m/s), (n,).
        """
        return np.concatenate([self.rigid(q, qd, qdd), friction_columns(qd, v0)[:, :, self.friction]], axis=2)


def parameter_columns(robot: Robot, limits: MotionLimits, loops: LoopLimits | None = None) -> Columns:
    """Answer the columns of a robot that are independent where it can move.

    Args:
        robot: the robot.
        limits: where it can move.
        loops: what its loops allow: where they do not close, the columns are those of somewhere nearer.
    """
    base = base_columns(robot)
    whole = base.columns if loops is None else where_closed(base.columns, loops)
    random = np.random.default_rng(0)
    part = random.uniform(size=(3, _STATES, robot.dof))
    q = limits.lower + (limits.upper - limits.lower) * part[0]
    qd, qdd = limits.velocity * (2.0 * part[1] - 1.0), limits.acceleration * (2.0 * part[2] - 1.0)
    rigid, friction = whole(q, qd, qdd), friction_columns(qd)
    count = rigid.shape[2]
    own = list(dependent_columns(rigid.reshape(-1, count)).columns)
    W = np.concatenate([rigid[:, :, own], friction], axis=2)
    kept = dependent_columns(W.reshape(-1, W.shape[2]), len(own)).columns[len(own) :]
    of_friction = np.array([k - len(own) for k in kept], dtype=np.intp)
    names = [name for j in robot.coordinates for name in FrictionModel(STANDARD).names(j)]
    left_out = tuple(name for k, name in enumerate(names) if k not in of_friction)
    W = np.concatenate([rigid[:, :, own], friction[:, :, of_friction]], axis=2)
    both = [*(base.names[k] for k in own), *(names[k] for k in of_friction)]
    shown = _shown(W.reshape(-1, W.shape[2]))
    unshown = tuple(name for k, name in enumerate(both) if k not in shown)
    of_friction = of_friction[[k - len(own) for k in shown if k >= len(own)]]
    own = [own[k] for k in shown if k < len(own)]

    def some(q: Array, qd: Array, qdd: Array) -> Array:
        return whole(q, qd, qdd)[:, :, own]

    return Columns(
        tuple(both[k] for k in shown),
        left_out,
        unshown,
        whole if len(own) == count else some,
        len(own),
        of_friction,
    )


def _shown(W: Array) -> list[int]:
    """Answer the columns of W (N, p) that are left without those that others make, but for `HIDDEN`.

    One after the other is taken out, that of which least is its own: of two that are nearly the same one
    stays.
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
    """Answer the products ``W^T W`` (p, p) of all columns of a motion, the joints below each other."""
    total = np.zeros((len(columns.names), len(columns.names)))
    for begin in range(0, len(motion.q), PIECE):
        q, qd, qdd = (part[begin : begin + PIECE] for part in motion)
        W = columns.at(q, qd, qdd)
        W = W.reshape(-1, W.shape[2])
        total += W.T @ W
    return total


def friction_columns(qd: Array, v0: Array | None = None) -> Array:
    """Answer viscous, Coulomb and offset columns of each joint, (N, n, 3 n), at velocities (N, n).

    Args:
        qd: velocities (rad/s or m/s).
        v0: velocities over which the sign in Coulomb friction is smoothed (rad/s or m/s), (n,).
    """
    N, n = qd.shape
    W = np.zeros((N, n, 3 * n))
    each = np.arange(n)
    W[:, each, 3 * each] = qd
    W[:, each, 3 * each + 1] = direction(qd, 0.0) if v0 is None else np.tanh(qd / v0)
    W[:, each, 3 * each + 2] = 1.0
    return W
