# SPDX-License-Identifier: Apache-2.0
"""The equations with the torques of all joints as right-hand sides: what if they had been mixed up?

The factor of ``[W_i | tau_1 ... tau_n]`` of each joint answers what would be left if any torque, with any
sign, were that of the joint. How good an assignment is, is the sum over the joints of the logarithm of what
its residuals are to its torque: the logarithm of a likelihood, per independent equation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dyn_core.facade.arrays import Array
from dyn_core.identification.equations import Equations
from dyn_core.identification.factors import Factors, triangular
from dyn_core.identification.friction import FrictionModel
from dyn_core.identification.least_squares import Solution, residual_squares, torque_squares, weighted


@dataclass(frozen=True, eq=False)
class Channels:
    """Factors of equations with the torques of all joints.

    Attributes:
        shared: number of columns that the joints share.
        factors: by joint, the factor of ``[shared | friction | tau_1 ... tau_n]``.
        count: number of equations of each joint.
    """

    shared: int
    factors: tuple[Array, ...]
    count: int

    @property
    def dof(self) -> int:
        """Number of joints."""
        return len(self.factors)

    def assigned(self, torques: Sequence[int], signs: Sequence[float]) -> Factors:
        """Answer the factors if the torque of each joint were that of another, with a sign."""
        parts = []
        for R, k, sign in zip(self.factors, torques, signs, strict=True):
            columns = R.shape[1] - self.dof
            parts.append(np.column_stack([R[:, :columns], sign * R[:, columns + k]]))
        return Factors(self.shared, (tuple(parts),), (self.count,))


def channels(equations: Equations, friction: Sequence[FrictionModel]) -> Channels:
    """Answer the factors of equations with the torques of all joints."""
    signals = equations.signals
    gathered: list[list[Array]] = [[] for _ in range(signals.dof)]
    nothing = np.zeros(0)
    for piece in equations.pieces():
        shared, tau = equations.filtered(piece)
        part = slice(piece.first, piece.last)
        for i, model in enumerate(friction):
            qd = signals.qd[part, i]
            own = equations.decimation.of(model.columns(qd, np.zeros_like(qd) if model.loaded else nothing))
            gathered[i].append(np.concatenate([shared[:, i], own, tau], axis=1))
            if sum(map(len, gathered[i])) > _GATHERED:
                gathered[i] = [triangular(np.concatenate(gathered[i]))]
    return Channels(
        equations.shared, tuple(triangular(np.concatenate(rows)) for rows in gathered), len(equations)
    )


_GATHERED = 16384


def misfit(data: Factors) -> tuple[float, Array, Solution]:
    """Answer how badly equations are fitted: the sum over the joints of log(residual / torque).

    Returns:
        the sum, what it is the sum of, and the fit.
    """
    solution = weighted(data)
    whole = data.merged()
    torques = np.maximum(torque_squares(whole), np.finfo(float).tiny)
    # Below 1e-6 of the torque there is nothing left to compare.
    parts = 0.5 * np.log(np.maximum(residual_squares(whole, solution.x) / torques, 1e-12))
    return float(parts.sum()), parts, solution
