# SPDX-License-Identifier: Apache-2.0
"""What a motion shows of the parameters: the columns of the base parameters and of the friction of joints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dyn_core.excitation.limits import MotionLimits
from dyn_core.facade.arrays import Array
from dyn_core.identification.base_columns import base_columns, independent_columns
from dyn_core.identification.friction import STANDARD, FrictionModel, direction
from dyn_core.model.robot import Robot

_STATES = 100


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of all parameters that can be told apart, of bodies, rotors and friction.

    Attributes:
        names: names of the parameters.
        left_out: names of parameters of friction that cannot be told from others, as the offset of a joint that
            lifts a mass straight up.
        rigid: the columns (N, n, b) of bodies and rotors at positions, velocities and accelerations (N, n).
        bodies: how many of the names are of bodies and rotors.
        friction: which columns of friction there are: 3 for each joint, viscous, Coulomb, offset.
    """

    names: tuple[str, ...]
    left_out: tuple[str, ...]
    rigid: Callable[[Array, Array, Array], Array]
    bodies: int
    friction: Array

    def at(self, q: Array, qd: Array, qdd: Array, v0: Array | float = 0.0) -> Array:
        """Answer all columns (N, n, p) at positions, velocities and accelerations (N, n).

        Args:
            q: positions (rad or m).
            qd: velocities (rad/s or m/s).
            qdd: accelerations (rad/s^2 or m/s^2).
            v0: velocities over which the sign in Coulomb friction is smoothed (rad/s or m/s).
        """
        return np.concatenate([self.rigid(q, qd, qdd), friction_columns(qd, v0)[:, :, self.friction]], axis=2)


def parameter_columns(robot: Robot, limits: MotionLimits) -> Columns:
    """Answer the columns of a robot that are independent where it can move."""
    base = base_columns(robot)
    random = np.random.default_rng(0)
    part = random.uniform(size=(3, _STATES, robot.dof))
    q = limits.lower + (limits.upper - limits.lower) * part[0]
    qd, qdd = limits.velocity * (2.0 * part[1] - 1.0), limits.acceleration * (2.0 * part[2] - 1.0)
    rigid, friction = base.columns(q, qd, qdd), friction_columns(qd, 0.0)
    W = np.concatenate([rigid, friction], axis=2)
    kept, _ = independent_columns(np.concatenate(list(W.transpose(1, 0, 2))))
    count = rigid.shape[2]
    own = [k for k in kept if k < count]
    of_friction = np.array([k - count for k in kept if k >= count], dtype=np.intp)
    names = [name for j in robot.coordinates for name in FrictionModel(STANDARD).names(j)]

    def some(q: Array, qd: Array, qdd: Array) -> Array:
        return base.columns(q, qd, qdd)[:, :, own]

    return Columns(
        (*(base.names[k] for k in own), *(names[k] for k in of_friction)),
        tuple(name for k, name in enumerate(names) if k not in of_friction),
        base.columns if len(own) == count else some,
        len(own),
        of_friction,
    )


def friction_columns(qd: Array, v0: Array | float) -> Array:
    """Answer viscous, Coulomb and offset columns of each joint, (N, n, 3 n), at velocities (N, n)."""
    N, n = qd.shape
    W = np.zeros((N, n, 3 * n))
    each = np.arange(n)
    W[:, each, 3 * each] = qd
    W[:, each, 3 * each + 1] = direction(qd, v0) if np.ndim(v0) == 0 else np.tanh(qd / v0)
    W[:, each, 3 * each + 2] = 1.0
    return W
