# SPDX-License-Identifier: Apache-2.0
"""Parameters while the robot moves: weighted least squares that forget.

Of each joint the product ``G = sum lambda^k [W tau]^T [W tau]`` is kept, in which samples count the less the
older they are. That is all that least squares need, whenever parameters are wanted; a sample costs no
solution of equations. No accelerations are measured: the columns are those of the filtered dynamic model,
with ``F(s) = a^2 / (s + a)^2`` and ``s F(s)`` (SYMORO+ 2003, eq. (3.118)), of both sides. Derivatives are
differences of what is filtered from sample to sample, which go with the mean of the others at both.

Noise behind the filter resembles that of the sample before: of samples T apart, one in ``4 / (a T)`` is
independent, which the deviations take into account.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.blas_threads import one_thread
from dyn_core.identification.estimators.least_squares import Solution, own_columns, weighted
from dyn_core.identification.factors import Factors
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.regressor.base_columns import BaseColumns
from dyn_core.identification.regressor.momentum_energy import momenta

_SETTLING = 10.0
"""Time constants of the filter after which it has forgotten how it began."""
BUFFERED = 16
"""Samples that are gathered before the products are updated."""


@dataclass(frozen=True, eq=False)
class RecursiveEstimate:
    """Parameters as they are known now.

    Attributes:
        names: their names: base parameters, then friction of each joint.
        values: their values (SI units).
        deviations: their standard deviations; inf for those that the motion has not shown.
        sigma: deviation of the residuals of each joint (N m or N).
        samples: samples since the beginning.
        moved: greatest change since the estimate before, in deviations; inf in the first.
        doubt: deviation of the torques that the parameters make, as a part of those torques; the greatest
            of the joints.
        condition: condition number of the equations, columns of unit length.
    """

    names: tuple[str, ...]
    values: Array
    deviations: Array
    sigma: Array
    samples: int
    moved: float
    doubt: float
    condition: float

    def converged(self, doubt: float = 0.02, moved: float = 1.0) -> bool:
        """Whether the parameters have settled: all are known, the torques are certain, and none moves.

        Args:
            doubt: greatest deviation of the torques, as a part of them.
            moved: greatest change from estimate to estimate, in deviations.
        """
        known = bool(np.isfinite(self.deviations).all())
        return known and self.doubt <= doubt and self.moved <= moved


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What samples have said until some time; more of them change nothing of it.

    Attributes:
        base: the columns of the base parameters.
        friction: friction of each joint.
        data: the factors of the equations.
        solution: the parameters that fit them best.
        independent: number of samples of which one is independent.
    """

    base: BaseColumns
    friction: tuple[FrictionModel, ...]
    data: Factors
    solution: Solution
    independent: float


class RecursiveEstimator:
    """Least squares that forget, of a robot that moves. It is for one thread.

    Attributes:
        names: names of the parameters.
    """

    def __init__(
        self,
        base: BaseColumns,
        friction: Sequence[FrictionModel],
        period: float,
        cutoff: float = 10.0,
        memory: float = math.inf,
    ) -> None:
        """Prepare for samples.

        Args:
            base: the columns of the base parameters.
            friction: friction of each joint; it cannot depend on the load.
            period: time from sample to sample (s).
            cutoff: a / 2 pi of the filter (Hz).
            memory: time after which a sample counts 1/e (s).

        Raises:
            ValueError: a number is not > 0, or friction depends on the load.
        """
        for name, value in (("period", period), ("cutoff", cutoff), ("memory", memory)):
            if not value > 0.0:
                raise ValueError(f"{name}: expected a number > 0, but it is {value!r}")
        if any(model.loaded for model in friction):
            raise ValueError("friction: while the robot moves, friction cannot depend on the load")
        self._base, self._momenta = base, momenta(base)
        self._friction = tuple(friction)
        rate = 2.0 * math.pi * cutoff
        self._period = period
        self._step = -math.expm1(-rate * period)
        self._forgetting = math.exp(-period / memory)
        self._independent = max(1.0, 4.0 / (rate * period))
        self._settling = math.ceil(_SETTLING / (rate * period))
        numbers = base.robot.coordinates
        own = (name for j, model in zip(numbers, friction, strict=True) for name in model.names(j))
        self.names: tuple[str, ...] = (*base.names, *own)
        self._own = max((len(model.terms) for model in friction), default=0)
        self._columns = _Columns(self._friction, self._own)
        n, p = base.robot.dof, len(base.kept) + self._own + 1
        self._grams = np.zeros((n, p, p))
        self._weight = 0.0
        self._buffer = np.zeros((n, BUFFERED, p))
        self._filled = 0
        self._stages: tuple[Array, Array] | None = None
        self._samples = 0
        self._since_begin = 0
        self._before: Array | None = None

    def add(self, q: Array, qd: Array, tau: Array) -> None:
        """Take a sample.

        Args:
            q: positions (rad or m), (n,).
            qd: velocities (rad/s or m/s), (n,).
            tau: torques (N m or N), (n,).
        """
        n, shared = len(q), len(self._base.kept)
        D = self._momenta(q, qd)
        now = np.empty((n, 2 * shared + self._own + 1))
        now[:, :shared] = D[0]
        now[:, shared : 2 * shared] = D[1]
        now[:, 2 * shared : -1] = self._columns.of(qd)
        now[:, -1] = tau
        if self._stages is None:
            self._stages = now.copy(), now.copy()
        first, second = self._stages
        before = second.copy()
        first += self._step * (now - first)
        second += self._step * (first - second)
        self._samples += 1
        self._since_begin += 1
        if self._since_begin <= self._settling:
            return
        row = self._buffer[:, self._filled]
        mean = 0.5 * (before[:, shared:] + second[:, shared:])
        row[:, :shared] = (second[:, :shared] - before[:, :shared]) / self._period
        row[:, :shared] += mean[:, :shared]
        row[:, shared:] = mean[:, shared:]
        self._filled += 1
        if self._filled == BUFFERED:
            self._empty_buffer()

    @property
    def samples(self) -> int:
        """Samples since the beginning."""
        return self._samples

    def interrupt(self) -> None:
        """Have the filter begin anew with the next sample, after a gap in time; what is known stays."""
        self._stages, self._since_begin = None, 0

    @one_thread()
    def knowledge(self) -> Knowledge | None:
        """Answer what the samples have said until now; None where that is too little, or nothing."""
        self._empty_buffer()
        if self._weight < len(self.names):
            return None
        parts = []
        for G, model in zip(self._grams, self._friction, strict=True):
            keep = [*range(len(self._base.kept) + len(model.terms)), G.shape[0] - 1]
            parts.append(_root(G[np.ix_(keep, keep)]))
        data = Factors(len(self._base.kept), (tuple(parts),), (np.full(len(parts), round(self._weight)),))
        try:
            solution = weighted(data)
        except np.linalg.LinAlgError:
            return None  # torques that are all zero have no deviation that others could be measured by
        if not np.isfinite(solution.x).all():
            return None
        return Knowledge(self._base, self._friction, data, solution, self._independent)

    @one_thread()
    def estimate(self) -> RecursiveEstimate | None:
        """Answer the parameters as they are known now; None where too little is."""
        known_now = self.knowledge()
        if known_now is None:
            return None
        data, solution = known_now.data, known_now.solution
        deviations = solution.deviations * math.sqrt(self._independent)
        known = solution.identifiable
        moved = math.inf
        if self._before is not None and known.any():
            moved = float(np.max(np.abs(solution.x - self._before)[known] / deviations[known]))
        self._before = solution.x
        return RecursiveEstimate(
            self.names,
            solution.x,
            deviations,
            solution.sigma,
            self._samples,
            moved,
            math.sqrt(self._independent) * _doubt(data, solution),
            solution.condition,
        )

    @one_thread()
    def _empty_buffer(self) -> None:
        """Add what is in the buffer to the products."""
        if not self._filled:
            return
        count = self._filled
        ages = self._forgetting ** np.arange(count - 1, -1, -1)
        rows = self._buffer[:, :count] * np.sqrt(ages)[:, None]
        self._grams *= self._forgetting**count
        self._grams += rows.transpose(0, 2, 1) @ rows
        self._weight = self._weight * self._forgetting**count + float(ages.sum())
        self._filled = 0


class _Columns:
    """The columns of friction of all joints at once, one row for each joint."""

    def __init__(self, models: Sequence[FrictionModel], width: int) -> None:
        self._models, self._width = models, width
        self._standard = all(m.terms == FrictionModel().terms for m in models)
        v0 = np.array([model.v0 for model in models])
        self._sharp = not np.any(v0)
        self._v0 = np.where(v0 > 0.0, v0, np.finfo(float).tiny / np.finfo(float).eps)

    def of(self, qd: Array) -> Array:
        columns = np.zeros((len(qd), self._width))
        if self._standard:
            columns[:, 0] = qd
            columns[:, 1] = np.sign(qd) if self._sharp else np.tanh(qd / self._v0)
            columns[:, 2] = 1.0
            return columns
        nothing = np.zeros(1)
        for i, model in enumerate(self._models):
            columns[i, : len(model.terms)] = model.columns(qd[i : i + 1], nothing)[0]
        return columns


def _doubt(data: Factors, solution: Solution) -> float:
    """Deviation of the torques by the parameters, as a part of the torques; the greatest of the joints."""
    covariance = solution.covariance
    found = 0.0
    for R, own in zip(data.parts[0], own_columns(data), strict=True):
        places = [*range(data.shared), *own]
        W = R[:, :-1]
        spread = float(np.sum((W @ covariance[np.ix_(places, places)]) * W))
        found = max(found, math.sqrt(max(spread, 0.0) / max(float(R[:, -1] @ R[:, -1]), 1e-300)))
    return found


def _root(G: Array) -> Array:
    """Answer R of ``G = R^T R``, for a matrix that may be singular."""
    scales = np.sqrt(np.maximum(np.diag(G), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(G / scales[:, None] / scales)
    R: Array = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T * scales
    return R
