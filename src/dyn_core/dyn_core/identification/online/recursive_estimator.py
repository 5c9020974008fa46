# SPDX-License-Identifier: Apache-2.0
"""Parameters while the robot moves: recursive weighted least squares with forgetting.

For each joint the product ``G = sum lambda^k [W tau]^T [W tau]`` is kept, in which old samples have less
weight. It is all that least squares need, whenever parameters are requested; a sample costs no solution of
equations. Accelerations are not measured: the columns are those of the filtered dynamic model, with ``F(s) =
a^2 / (s + a)^2`` and ``s F(s)`` (SYMORO+ 2003, eq. (3.118)) on both sides. Derivatives are differences of
filtered samples, combined with the means of the other columns at both.

The filter correlates the noise of successive samples: with the period T, one sample in ``4 / (a T)`` is
independent. The deviations take this into account.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.blas_threads import one_thread
from dyn_core.core.errors import ArgumentError
from dyn_core.identification.estimators.described_parameters import consistent_parameters
from dyn_core.identification.estimators.least_squares import Factors, Solution, own_columns, system, weighted
from dyn_core.identification.friction.friction_model import STANDARD, FrictionModel
from dyn_core.identification.regressor.base_columns import BaseColumns
from dyn_core.identification.regressor.momentum_energy import momenta
from dyn_core.robot.dynamic_parameters import PER_JOINT

USUAL_CUTOFF = 10.0  # cutoff of the filter (Hz), unless another is given
_SETTLING = 10.0  # time constants after which the filter has settled
BUFFERED = 16  # samples that are gathered before the products are updated


@dataclass(frozen=True, eq=False)
class RecursiveEstimate:
    """The present parameters.

    Attributes:
        names: base parameters, then friction of each joint.
        values: their values (SI units).
        deviations: their standard deviations; inf for those that the motion has not shown.
        sigma: deviation of the residuals of each joint (N m or N).
        samples: number of samples since the beginning.
        moved: greatest change since the previous estimate, in deviations; inf in the first.
        doubt: deviation of the predicted torques, relative to them; the greatest of the joints.
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
        """Return whether all parameters are known, with torques as certain and changes as small as given.

        `doubt` is the greatest deviation of the torques, relative to them, `moved` the greatest change from
        estimate to estimate, in deviations.
        """
        known = bool(np.isfinite(self.deviations).all())
        return known and self.doubt <= doubt and self.moved <= moved


@dataclass(frozen=True, eq=False)
class Knowledge:
    """The equations until some time; later samples do not change it."""

    base: BaseColumns  # the columns of the base parameters
    friction: tuple[FrictionModel, ...]  # friction of each joint
    data: Factors  # the factors of the equations
    solution: Solution  # the parameters that fit best
    independent: float  # number of samples that are worth one independent sample


class RecursiveEstimator:
    """Recursive least squares with forgetting, for one thread.

    Attributes:
        names: names of the parameters.
        samples: number of samples since the beginning.
    """

    def __init__(
        self,
        base: BaseColumns,
        friction: Sequence[FrictionModel],
        period: float,
        cutoff: float = USUAL_CUTOFF,
        memory: float = math.inf,
    ) -> None:
        """Prepare for samples.

        `friction` of each joint must not depend on the load; `period` is the time between samples (s),
        `cutoff` is a / 2 pi of the filter (Hz), and `memory` the time after which the weight of a sample is
        1/e (s). Raise ValueError for numbers that are not > 0, and for load-dependent friction.
        """
        for name, value in (("period", period), ("cutoff", cutoff), ("memory", memory)):
            if not value > 0.0:
                raise ArgumentError("argument-range", argument=name, expected="a number > 0", given=value)
        if any(model.loaded for model in friction):
            raise ArgumentError("friction-load-dependent")
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
        self.samples = 0
        self._since_begin = 0
        self._before: Array | None = None

    def add(self, q: Array, qd: Array, tau: Array) -> None:
        """Take a sample: q (rad or m), qd (rad/s or m/s) and tau (N m or N), (n,) each."""
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
        self.samples += 1
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

    def interrupt(self) -> None:
        """Restart the filter with the next sample, after a gap in time; the equations stay."""
        self._stages, self._since_begin = None, 0

    @one_thread()
    def knowledge(self) -> Knowledge | None:
        """Return the equations until now; None if there are too few."""
        self._empty_buffer()
        if self._weight < len(self.names):
            return None
        parts = []
        for G, model in zip(self._grams, self._friction, strict=True):
            keep = [*range(len(self._base.kept) + len(model.terms)), G.shape[0] - 1]
            parts.append(_root(G[np.ix_(keep, keep)]))
        data = Factors(len(self._base.kept), tuple(parts), np.full(len(parts), round(self._weight)))
        try:
            solution = weighted(data)
        except np.linalg.LinAlgError:
            return None  # torques that are all zero have no deviation
        if not np.isfinite(solution.x).all():
            return None
        return Knowledge(self._base, self._friction, data, solution, self._independent)

    @one_thread()
    def estimate(self) -> RecursiveEstimate | None:
        """Return the present parameters; None if too few are known."""
        knowledge = self.knowledge()
        if knowledge is None:
            return None
        solution = knowledge.solution
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
            self.samples,
            moved,
            math.sqrt(self._independent) * _doubt(knowledge.data, solution),
            solution.condition,
        )

    @one_thread()
    def _empty_buffer(self) -> None:
        """Add the buffered samples to the products."""
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
    """The friction columns of all joints at once, one row for each joint."""

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
    """Return the deviation of the predicted torques, relative to the torques; the greatest of the joints."""
    covariance = solution.covariance
    found = 0.0
    for R, own in zip(data.parts, own_columns(data), strict=True):
        places = [*range(data.shared), *own]
        W = R[:, :-1]
        spread = float(np.sum((W @ covariance[np.ix_(places, places)]) * W))
        found = max(found, math.sqrt(max(spread, 0.0) / max(float(R[:, -1] @ R[:, -1]), 1e-300)))
    return found


def _root(G: Array) -> Array:
    """Return R of ``G = R^T R``, for a matrix that may be singular."""
    scales = np.sqrt(np.maximum(np.diag(G), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(G / scales[:, None] / scales)
    R: Array = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T * scales
    return R


# Estimation from samples as they arrive, and its standard parameters

_FIRST = 50  # steps from which the period is found
_OTHERS = 500  # steps in a row that do not have the period, after which it is found anew
# greatest deviation of a step from the period, relative to it; clocks of drives and computers differ
_ODD = 0.5
# greatest speed of standing joints (rad/s or m/s); their friction takes any value within stiction
STILL = 0.01
_STOPPED_S = 0.1  # time after which such slow joints stand, rather than turn round (s)
_IN_A_ROW = 3  # successive estimates that decide whether they have converged


class OnlineEstimator:
    """Estimates parameters from samples with stamps, gaps and repetitions. It has a state, for one thread.

    Without velocities, each sample is combined with the one before: at the midpoint the velocity is their
    difference quotient, and positions and torques are their means. All this is causal.

    Where the period of the samples changes, as after a disturbed beginning, the estimation begins anew.
    """

    def __init__(self, base: BaseColumns, cutoff: float = USUAL_CUTOFF, memory: float = math.inf) -> None:
        """Begin; `cutoff` (Hz) and `memory` (s) are those of `RecursiveEstimator`."""
        self._base, self._cutoff, self._memory = base, cutoff, memory
        self._estimator: RecursiveEstimator | None = None
        self._steps: list[float] = []
        self._odd = 0
        self._last: tuple[float, Array, Array] | None = None
        self._moved_at = -math.inf
        self.period: float | None = None

    @property
    def samples(self) -> int:
        """Number of samples that were used."""
        return 0 if self._estimator is None else self._estimator.samples

    def add(self, t: float, q: Array, qd: Array | None, tau: Array) -> None:
        """Take a sample of time t (s): q (rad or m), qd (rad/s or m/s) or None, tau (N m or N), (n,) each.

        A sample with the stamp of the one before is ignored.
        """
        last, self._last = self._last, (t, q, tau)
        if last is None:
            return
        step = t - last[0]
        if step <= 0.0:
            self._last = last if step == 0.0 else (t, q, tau)
            return
        if self._estimator is None or self.period is None:
            self._find_period(step)
            return
        speed = np.abs(q - last[1]) / step if qd is None else np.abs(qd)
        if (speed > STILL).any():
            self._moved_at = t
        is_odd = abs(step - self.period) > _ODD * self.period
        self._odd = self._odd + 1 if is_odd else 0
        if is_odd or t - self._moved_at > _STOPPED_S:
            self._estimator.interrupt()
            if self._odd == _OTHERS:
                self.period = None
            return
        if qd is None:
            self._estimator.add(0.5 * (q + last[1]), (q - last[1]) / step, 0.5 * (tau + last[2]))
        else:
            self._estimator.add(q, qd, tau)

    def estimate(self) -> RecursiveEstimate | None:
        """Return the present parameters; None if too few are known."""
        if self._estimator is None:
            return None
        # While the robot stands, unknown parameters are not finite.
        with one_thread(), np.errstate(all="ignore"):
            return self._estimator.estimate()

    def knowledge(self) -> Knowledge | None:
        """Return the equations until now; None if there are too few."""
        if self._estimator is None:
            return None
        with one_thread(), np.errstate(all="ignore"):
            return self._estimator.knowledge()

    def _find_period(self, step: float) -> None:
        self._steps.append(step)
        if len(self._steps) == _FIRST:
            self.period = float(np.median(self._steps))
            self._steps, self._odd = [], 0
            friction = (FrictionModel(),) * self._base.robot.dof
            self._estimator = RecursiveEstimator(
                self._base, friction, self.period, self._cutoff, self._memory
            )


class Convergence:
    """Whether estimates have converged; several in a row decide."""

    def __init__(self, doubt: float) -> None:
        """Begin; `doubt` is the greatest deviation of the torques, as a part of them."""
        self.reached = False
        self._doubt = doubt
        self._others = 0

    def look(self, estimate: RecursiveEstimate) -> bool:
        """Take an estimate; return whether `reached` changes."""
        self._others = 0 if estimate.converged(self._doubt) == self.reached else self._others + 1
        if self._others < _IN_A_ROW:
            return False
        self.reached, self._others = not self.reached, 0
        return True


@dataclass(frozen=True)
class StandardEstimate:
    """All standard parameters of a robot, physically consistent."""

    names: tuple[str, ...]
    values: tuple[float, ...]  # SI units
    deviations: tuple[float, ...]  # standard deviations; inf where nothing is known


def online_standard(knowledge: Knowledge) -> StandardEstimate:
    """Return the standard parameters nearest to the description that make the measured torques.

    It takes some tenths of a second. Raise DynError if none are found.
    """
    robot, solution = knowledge.base.robot, knowledge.solution
    # Filtered samples are correlated: their weight is reduced to that of independent ones.
    rows = system(knowledge.data, math.sqrt(knowledge.independent) * solution.sigma)
    count = int(knowledge.data.count.max())
    found = consistent_parameters(knowledge.base, knowledge.friction, rows, count)
    before = np.array(robot.parameters).reshape(len(robot.joints), PER_JOINT)
    values = np.column_stack([found.standard, found.Ia, before[:, 11:]])
    spreads = np.column_stack([found.deviations, np.full((len(robot.joints), 3), math.inf)])
    start = len(knowledge.base.kept)
    own = own_columns(knowledge.data)
    for number, columns, model in zip(robot.coordinates, own, knowledge.friction, strict=True):
        for k, term in zip(columns, model.terms, strict=True):
            place = 11 + STANDARD.index(term)
            values[number - 1, place] = found.x[k]
            spreads[number - 1, place] = found.friction_deviations[k - start]
    passive = zip(knowledge.base.passive, found.passive, found.passive_deviations, strict=True)
    for name, value, spread in passive:
        joint, place = divmod(robot.parameter_names.index(name), PER_JOINT)
        values[joint, place], spreads[joint, place] = value, spread
    return StandardEstimate(
        robot.parameter_names, tuple(values.ravel().tolist()), tuple(spreads.ravel().tolist())
    )
