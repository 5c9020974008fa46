# SPDX-License-Identifier: Apache-2.0
"""The equations with the torques of all joints as right-hand sides: what if they had been mixed up?

The product ``[W_i | tau_1 ... tau_n]^T [W_i | tau_1 ... tau_n]`` of each joint answers what would be left if
any torque, with any sign, were that of the joint. How good an assignment is, is the sum over the joints of
the logarithm of what its residuals are to its torque: the logarithm of a likelihood, per independent
equation. Products have half the digits of factors, which is enough to tell good from bad: many assignments
are tried.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.regressor.motion_equations import Equations

ROUNDS = 12
SETTLED = 1e-3
"""Greatest relative change of the deviations of residuals in a round that is none."""
LEAST = 1e-6
"""Residuals below this part of the torque say nothing more."""
_RIDGE = 1e-11
"""What is added to columns of unit length, for those that cannot be told apart."""


@dataclass(frozen=True, eq=False)
class Assignment:
    """How the equations fit torques that were assigned to the joints.

    Attributes:
        misfit: how badly: the sum over the joints of log(residual / torque).
        x: the parameters that fit best.
        deviations: their standard deviations.
    """

    misfit: float
    x: Array
    deviations: Array


@dataclass(frozen=True, eq=False)
class Channels:
    """Products of equations with the torques of all joints.

    Attributes:
        shared: number of columns that the joints share.
        own: by joint, the places of the parameters of its friction.
        columns: ``W_i^T W_i`` by joint, in all parameters, (n, p, p).
        mixed: ``W_i^T tau_k``, (n, p, n).
        torques: ``tau_k^T tau_k`` at the equations of joint i, (n, n).
        count: number of equations of each joint, (n,).
        possible: whether the motion can be: not where loops would have to be open. Nothing fits one that
            cannot.
    """

    shared: int
    own: tuple[range, ...]
    columns: Array
    mixed: Array
    torques: Array
    count: Array
    possible: bool = True

    @property
    def dof(self) -> int:
        """Number of joints."""
        return len(self.own)

    def with_joint_of(self, other: Channels, joint: int) -> Channels:
        """Answer the same, with the equations of a joint that others have."""
        columns, mixed, torques = self.columns.copy(), self.mixed.copy(), self.torques.copy()
        columns[joint], mixed[joint] = other.columns[joint], other.mixed[joint]
        torques[joint] = other.torques[joint]
        count = self.count.copy()
        count[joint] = other.count[joint]
        return replace(self, columns=columns, mixed=mixed, torques=torques, count=count)

    def assigned(self, torques: Sequence[int], factors: Sequence[float]) -> Assignment:
        """Answer how it fits if the torque of each joint is that of another, times a factor."""
        if not self.possible:
            return Assignment(math.inf, np.zeros(len(self.columns[0])), np.ones(len(self.columns[0])))
        joints, scales = np.arange(self.dof), np.array(factors)
        right = self.mixed[joints, :, list(torques)] * scales[:, None]
        squares = self.torques[joints, list(torques)]
        known = squares > 0.0
        squares = np.where(known, squares, 1.0) * scales**2
        variances = (
            squares / squares.mean()
        )  # which depend on no unit, and lead to lower minima than equal ones
        for _ in range(ROUNDS):
            weights = np.where(known, 1.0 / variances, 0.0)  # a torque that was not measured says nothing
            x, inverse = _solved(np.tensordot(weights, self.columns, 1), weights @ right)
            left = squares - 2.0 * right @ x + (self.columns @ x) @ x
            found = np.maximum(left, LEAST**2 * squares) / self.count
            settled = np.all(np.abs(found - variances) <= SETTLED * found)
            variances = found
            if settled:
                break
        misfit = 0.5 * float(np.log(variances * self.count / squares)[known].sum())
        return Assignment(misfit, x, np.sqrt(np.diag(inverse)))


def channels(equations: Equations, friction: Sequence[FrictionModel]) -> Channels:
    """Answer the products of equations with the torques of all joints."""
    signals, shared = equations.signals, equations.shared
    ends = np.cumsum([shared, *(len(model.terms) for model in friction)]).tolist()
    own = tuple(range(a, b) for a, b in pairwise(ends))
    n, p = signals.dof, ends[-1]
    columns, mixed, torques = np.zeros((n, p, p)), np.zeros((n, p, n)), np.zeros((n, n))
    if not equations.base.closes(signals.q):
        return Channels(shared, own, columns, mixed, torques, np.ones(n), possible=False)
    for piece in equations.pieces():
        of_bodies, tau = equations.filtered(piece)
        part = slice(piece.first, piece.last)
        used = equations.used[piece.which]
        torques += used.T.astype(float) @ tau**2
        for i, model in enumerate(friction):
            qd = signals.qd[part, i]
            of_friction = equations.decimation.of(model.columns(qd, np.zeros_like(qd)))
            W = np.concatenate([of_bodies[:, i], of_friction], axis=1) * used[:, i, None]
            places = [*range(shared), *own[i]]
            columns[i][np.ix_(places, places)] += W.T @ W
            mixed[i, places] += W.T @ tau
    return Channels(shared, own, columns, mixed, torques, np.maximum(equations.used.sum(axis=0), 1))


def _solved(A: Array, b: Array) -> tuple[Array, Array]:
    """Solution of normal equations, and the inverse of their matrix, which may be singular."""
    diagonal = np.diag(A)
    scales = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    inverse = np.linalg.inv(A * scales[:, None] * scales + _RIDGE * np.eye(len(A)))
    inverse = inverse * scales[:, None] * scales
    return inverse @ b, inverse
