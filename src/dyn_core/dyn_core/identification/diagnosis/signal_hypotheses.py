# SPDX-License-Identifier: Apache-2.0
"""Hypotheses about wrong signals, and how well each explains the motion."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.regressor.base_columns import BaseColumns
from dyn_core.identification.regressor.motion_equations import Equations

# The equations with the torques of all joints as right-hand sides
#
# The product ``[W_i | tau_1 ... tau_n]^T [W_i | tau_1 ... tau_n]`` of each joint gives the residuals for any
# torque, with any sign, as that of the joint. The misfit of an assignment is the sum over the joints of the
# logarithm of residual / torque: the logarithm of a likelihood, per independent equation. Products have half
# the digits of factors, which is enough to compare many assignments.

ROUNDS = 12
SETTLED = 1e-3  # greatest relative change of the deviations of residuals in the last round
LEAST = 1e-6  # least residuals, as a part of the torque
_RIDGE = 1e-11  # term that is added to columns of unit length, for those that are dependent


@dataclass(frozen=True, eq=False)
class Assignment:
    """Fit of the equations to torques that were assigned to the joints."""

    misfit: float  # sum over the joints of log(residual / torque)
    x: Array  # the parameters that fit best
    normal: Array  # matrix of the normal equations

    @cached_property
    def deviations(self) -> Array:
        """Standard deviations of the parameters."""
        matrix, scales = _scaled(self.normal)
        return np.sqrt(np.diag(np.linalg.inv(matrix))) * scales


@dataclass(frozen=True, eq=False)
class Channels:
    """Products of equations with the torques of all joints."""

    shared: int  # number of columns that the joints share
    own: tuple[range, ...]  # by joint, the positions of its friction parameters
    columns: Array  # ``W_i^T W_i`` by joint, in all parameters, (n, p, p)
    mixed: Array  # ``W_i^T tau_k``, (n, p, n)
    torques: Array  # ``tau_k^T tau_k`` at the equations of joint i, (n, n)
    count: Array  # number of equations of each joint, (n,)
    possible: bool = True  # whether the loops of the robot close; otherwise nothing fits

    @property
    def dof(self) -> int:
        """Number of joints."""
        return len(self.own)

    def with_joint_of(self, other: Channels, joint: int) -> Channels:
        """Return the products with the equations of one joint from `other`."""
        columns, mixed, torques = self.columns.copy(), self.mixed.copy(), self.torques.copy()
        columns[joint], mixed[joint] = other.columns[joint], other.mixed[joint]
        torques[joint] = other.torques[joint]
        count = self.count.copy()
        count[joint] = other.count[joint]
        return replace(self, columns=columns, mixed=mixed, torques=torques, count=count)

    def assigned(self, torques: Sequence[int], factors: Sequence[float]) -> Assignment:
        """Return the fit if the torque of each joint is that of another, times a factor."""
        if not self.possible:
            return Assignment(math.inf, np.zeros(len(self.columns[0])), np.eye(len(self.columns[0])))
        joints, scales = np.arange(self.dof), np.array(factors)
        right = self.mixed[joints, :, list(torques)] * scales[:, None]
        squares = self.torques[joints, list(torques)]
        known = squares > 0.0
        squares = np.where(known, squares, 1.0) * scales**2
        variances = squares / squares.mean()  # free of units; leads to lower minima than equal ones
        for _ in range(ROUNDS):
            weights = np.where(known, 1.0 / variances, 0.0)  # torques that were not measured have no weight
            normal = np.tensordot(weights, self.columns, 1)
            matrix, units = _scaled(normal)
            x = np.linalg.solve(matrix, weights @ right * units) * units
            left = squares - 2.0 * right @ x + (self.columns @ x) @ x
            found = np.maximum(left, LEAST**2 * squares) / self.count
            settled = np.all(np.abs(found - variances) <= SETTLED * found)
            variances = found
            if settled:
                break
        misfit = 0.5 * float(np.log(variances * self.count / squares)[known].sum())
        return Assignment(misfit, x, normal)


def channels(equations: Equations, friction: Sequence[FrictionModel]) -> Channels:
    """Return the products of equations with the torques of all joints."""
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


def _scaled(normal: Array) -> tuple[Array, Array]:
    """Return the invertible matrix of normal equations for columns of unit length, and their scales."""
    diagonal = np.diag(normal)
    scales = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    return normal * scales[:, None] * scales + _RIDGE * np.eye(len(normal)), scales


# Hypotheses about the signals of a motion, and how well they explain it

DRIVING = 1.4  # misfit of friction that drives a joint
TURNED = 0.1  # misfit of a turned position: where both explain the signals alike, a torque has the wrong sign
NEGATIVE = 5.0  # deviations below 0 from which friction shows a wrong sign
SAMPLES = 1500  # number of samples for a first comparison of hypotheses


# what torques have of gravity: all; nothing; all but that of the description
Gravity = Literal["whole", "absent", "compensated"]


@dataclass(frozen=True)
class Hypothesis:
    """A correction of the signals."""

    factors: tuple[float, ...]  # by joint, factor of its torque
    torques: tuple[int, ...]  # by joint, the joint whose torque it has
    positions: tuple[int, ...]  # by joint, the joint whose motion it has
    turns: tuple[float, ...]  # by joint, sign of its position
    zeros: tuple[float, ...]  # by joint, offset of its position after that (rad or m)
    gravity: Gravity = "whole"

    def scaled(self, joint: int, factor: float) -> Hypothesis:
        """Return the hypothesis with the factor of a torque multiplied."""
        return replace(self, factors=_changed(self.factors, joint, self.factors[joint] * factor))

    def turned(self, joint: int) -> Hypothesis:
        """Return the hypothesis with the position of a joint negated."""
        return replace(self, turns=_changed(self.turns, joint, -self.turns[joint]))

    def shifted(self, joint: int, zero: float) -> Hypothesis:
        """Return the hypothesis with more added to the position of a joint."""
        return replace(self, zeros=_changed(self.zeros, joint, self.zeros[joint] + zero))


def nothing_wrong(n: int) -> Hypothesis:
    """Return the hypothesis that the signals of n joints are right."""
    joints, ones = tuple(range(n)), (1.0,) * n
    return Hypothesis(ones, joints, joints, ones, (0.0,) * n)


def _changed(values: tuple[float, ...], place: int, value: float) -> tuple[float, ...]:
    return (*values[:place], value, *values[place + 1 :])


@dataclass(eq=False)
class Evidence:
    """The equations of a motion, and their products under hypotheses."""

    equations: Equations
    friction: Sequence[FrictionModel]

    @property
    def dof(self) -> int:
        """Number of joints."""
        return self.equations.signals.dof

    @cached_property
    def as_it_is(self) -> Channels:
        """The products of all equations."""
        return channels(self.equations, self.friction)

    @cached_property
    def few(self) -> Equations:
        """A few unfiltered equations of samples all over the motion."""
        return thinned(self.equations, SAMPLES)

    def of(self, hypothesis: Hypothesis) -> Channels:
        """Return the products of all equations with the corrected motion."""
        plain = nothing_wrong(self.dof)
        if hypothesis == replace(plain, factors=hypothesis.factors, torques=hypothesis.torques):
            return self.as_it_is
        return channels(moved(self.equations, hypothesis), self.friction)

    def of_few(self, hypothesis: Hypothesis, few: Equations | None = None) -> Channels:
        """Return the products of a few equations with the corrected motion."""
        return channels(moved(self.few if few is None else few, hypothesis), self.friction)


def thinned(equations: Equations, samples: int) -> Equations:
    """Return about so many unfiltered equations of samples all over the motion."""
    signals = equations.signals
    every = slice(None, None, max(1, len(signals) // samples))
    t, q, qd, qdd, tau = (a[every] for a in (signals.time, signals.q, signals.qd, signals.qdd, signals.tau))
    few = replace(signals, time=t, q=q, qd=qd, qdd=qdd, tau=tau, segments=((0, len(t)),), decimate=1)
    return Equations(few, equations.base, stood=equations.stands[every])


def moved(equations: Equations, hypothesis: Hypothesis) -> Equations:
    """Return the equations with the motion as a hypothesis corrects it."""
    signals, k = equations.signals, list(hypothesis.positions)
    turns, zeros = np.array(hypothesis.turns), np.array(hypothesis.zeros)
    q, qd, qdd = (values[:, k] * turns for values in (signals.q, signals.qd, signals.qdd))
    base, tau = equations.base, signals.tau
    if hypothesis.gravity == "absent":
        base = weightless(base)
    elif hypothesis.gravity == "compensated":
        tau = tau + _at_rest(base, q + zeros) @ described_values(base)
    changed = replace(signals, q=q + zeros, qd=qd, qdd=qdd, tau=tau)
    return Equations(changed, base, stood=equations.stands[:, k])


def described_values(base: BaseColumns) -> Array:
    """Return the base parameters of the description."""
    known = dict(zip(base.robot.parameter_names, base.robot.parameters, strict=True))
    values: Array = base.matrix @ np.array([known.get(name, 0.0) for name in base.standard_names])
    return values


def _at_rest(base: BaseColumns, q: Array) -> Array:
    """Return the columns of gravity, (N, n, p)."""
    still = np.zeros_like(q)
    return base.columns(np.ascontiguousarray(q), still, still)


def weightless(base: BaseColumns) -> BaseColumns:
    """Return the columns without gravity."""
    return replace(base, columns=lambda q, qd, qdd: base.columns(q, qd, qdd) - _at_rest(base, q))


class Explained(NamedTuple):
    """A hypothesis, and how well it explains the signals."""

    hypothesis: Hypothesis
    score: float  # its misfit
    gain: float = np.inf  # reduction of the misfit from the next simpler hypothesis; infinite for signs


def score(seen: Channels, hypothesis: Hypothesis) -> float:
    """Return misfit and penalty of driving friction under a hypothesis; `seen` has its motion."""
    fit = seen.assigned(hypothesis.torques, hypothesis.factors)
    turned = sum(turn < 0.0 for turn in hypothesis.turns)
    return fit.misfit + DRIVING * sum(drives(seen, fit)) + TURNED * turned


def drives(seen: Channels, fit: Assignment) -> list[bool]:
    """Return, by joint, whether viscous or Coulomb friction is negative, and the other not positive."""
    found = []
    for own in seen.own:
        sizes = [fit.x[k] / fit.deviations[k] for k in own[:2]]
        found.append(bool(sizes) and min(sizes) < -NEGATIVE and max(sizes) < NEGATIVE)
    return found


_PART = (math.sqrt(5.0) - 1.0) / 2.0


def lowest(function: Callable[[float], float], low: float, high: float, evaluations: int) -> float:
    """Return where a unimodal function is least between two places, by golden-section search."""
    left, right = high - _PART * (high - low), low + _PART * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(evaluations - 2):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - _PART * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _PART * (high - low)
            at_right = function(right)
    return left if at_left < at_right else right
