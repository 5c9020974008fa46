# SPDX-License-Identifier: Apache-2.0
"""Parameters that fit best among those that bodies, rotors and friction can have.

With f(x) half the weighted squares of the residuals, P_b the pseudo-inertias of the bodies and P0_b those
that are expected, minimise

    f(x) + w sum_b d(P_b, P0_b) + sum_k (x_k / e_k - log(x_k / e_k))

over the standard inertial parameters and rotor inertias, which give the base parameters, and over friction;
k goes over what cannot be negative. Directions that the equations say nothing of take the values that are
expected; where they say something, many equations outweigh w. This is convex and smooth where all is
possible, and infinite elsewhere: Newton's method from what is expected finds the one minimum and never
leaves what is possible, once the equations are let in by and by (Boyd, Vandenberghe 2004, sec. 9.5, 11.3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.blas_threads import one_thread
from dyn_core.core.errors import DynError
from dyn_core.identification.bool_array import BoolArray
from dyn_core.identification.pseudo_inertia import BASIS, congruence, pseudo_inertia

STEPS = 500
DONE = 1e-6
"""Newton decrement at which the minimum is reached, in units of the negative logarithm of a probability."""

_ARMIJO = 0.25
_TOWARDS = 0.5
"""Part of the way to where something becomes impossible that a step goes at most."""
_SHORTEST = 1e-12
_GROWTH = 2.0
"""Factor by which more of the equations are let in: less is slower, more leads astray."""


@dataclass(frozen=True, eq=False)
class Prior:
    """What is expected of parameters before anything is measured.

    Attributes:
        bodies: ten parameters of each body, which it can have, (b, 10).
        weight: w: about the square of the reciprocal of the relative error of what is expected.
        scales: of the parameters behind those of the bodies: e_k of those that cannot be negative, and
            the size that others may have.
        weights: how much each of `scales` counts.
        nonnegative: which of the parameters behind those of the bodies cannot be negative.
        centres: what is expected of those that can be; of the others it is their scale.
    """

    bodies: Array
    weight: float
    scales: Array
    weights: Array
    nonnegative: BoolArray
    centres: Array


@dataclass(frozen=True, eq=False)
class ConsistentSolution:
    """The minimum.

    Attributes:
        x: ten parameters of each body, then the others.
        covariance: of x, as the equations and what is expected say together.
        prior_deviations: deviations of x as expected, without the equations.
        expected: covariance of x by what is expected alone, if that had its minimum here.
        steps: steps that Newton's method took.
    """

    x: Array
    covariance: Array
    prior_deviations: Array
    expected: Array
    steps: int


@one_thread()
def consistent(
    factors: Sequence[Array], sigma: Array, maps: Sequence[Array], prior: Prior
) -> ConsistentSolution:
    """Answer the minimum.

    Args:
        factors: by joint, the factor of its rows ``[W tau]``.
        sigma: deviation of the residuals of each joint (N m or N).
        maps: by joint, the matrix that answers the parameters of W from x.
        prior: what is expected.

    Raises:
        DynError: the numbers are such that no minimum is found.
    """
    # From unit-free coordinates, in which what is expected is the unit matrix:
    to_x = _scaling(np.array([pseudo_inertia(body) for body in prior.bodies]), prior.scales)
    H, g = np.zeros_like(to_x), np.zeros(len(to_x))
    for R, s, to_own in zip(factors, sigma, maps, strict=True):
        W = R[:, :-1] @ (to_own @ to_x) / s
        H, g = H + W.T @ W, g + W.T @ (R[:, -1] / s)
    b = len(prior.bodies)
    y = np.concatenate([np.tile(_UNIT, b), np.where(prior.nonnegative, 1.0, prior.centres / prior.scales)])
    total = 0
    for trust in _trusts(H, g, y, prior):
        y, steps = _descended(_Objective(trust * H, trust * g, prior), y)
        total += steps
    return _answer(_Objective(H, g, prior), y, to_x, total)


def _trusts(H: Array, g: Array, y: Array, prior: Prior) -> list[float]:
    """Answer factors of the equations, up to 1: with few of them, what is expected is near the minimum."""
    slope = float(np.abs(H @ y - g).max(initial=0.0)) / min(prior.weight, *prior.weights, 1.0)
    rounds = max(0, math.ceil(math.log(max(slope, 1.0)) / math.log(_GROWTH)))
    return [_GROWTH**-k for k in range(rounds, -1, -1)]


def _descended(objective: _Objective, y: Array) -> tuple[Array, int]:
    """Answer the minimum of an objective by Newton's method from y, and its steps."""
    value = objective.value(y)
    for step in range(STEPS):
        T, gradient, hessian = objective.derivatives(y)
        local = -np.linalg.solve(hessian, gradient)
        decrement, move = float(-gradient @ local), T @ local
        if decrement < DONE:
            return y, step
        length = min(1.0, _TOWARDS * objective.longest(y, move))
        while not (new := objective.value(y + length * move)) <= value - _ARMIJO * length * decrement:
            length *= 0.5
            if length < _SHORTEST:  # no digits are left to descend by
                return y, step
        y, value = y + length * move, new
    raise DynError(
        f"no physically consistent parameters were found in {STEPS} steps: the columns of the equations "
        "differ too much in size, or the torques are not in N m"
    )


class _Objective:
    def __init__(self, H: Array, g: Array, prior: Prior) -> None:
        self.H, self.g, self.prior = H, g, prior
        self.b = len(prior.bodies)
        self.centres = prior.centres / prior.scales

    def value(self, y: Array) -> float:
        prior = self.prior
        P = self._matrices(y)
        try:
            diagonals = np.diagonal(np.linalg.cholesky(P), axis1=1, axis2=2)
        except np.linalg.LinAlgError:
            return np.inf
        rest, held = y[10 * self.b :], prior.nonnegative
        if np.any(rest[held] <= 0.0):
            return np.inf
        bodies = np.sum(np.trace(P, axis1=1, axis2=2)) - 2.0 * np.sum(np.log(diagonals))
        positive = np.sum(prior.weights[held] * (rest[held] - np.log(rest[held])))
        free = 0.5 * np.sum((prior.weights * (rest - self.centres) ** 2)[~held])
        return float(0.5 * y @ self.H @ y - self.g @ y + prior.weight * bodies + positive + free)

    def longest(self, y: Array, move: Array) -> float:
        """Answer how many moves it is to where the first thing becomes impossible."""
        inverses = np.linalg.inv(np.linalg.cholesky(self._matrices(y)))
        moves = inverses @ self._matrices(move) @ inverses.transpose(0, 2, 1)
        held = np.flatnonzero(self.prior.nonnegative) + 10 * self.b
        relative = move[held] / y[held]
        fastest = -min(float(np.linalg.eigvalsh(moves).min()), float(relative.min(initial=0.0)))
        return 1.0 / fastest if fastest > 0.0 else math.inf

    def derivatives(self, y: Array) -> tuple[Array, Array, Array]:
        """Answer a matrix T of coordinates in which y is the unit, and gradient and Hessian in those.

        In them, what the bodies are expected to be curves alike in all directions, however near to the
        border of what is possible they are: there, the Hessian in y has not enough digits.
        """
        T = _scaling(self._matrices(y), self._units(y))
        gradient, hessian = self._of_prior(y, T)
        return T, T.T @ (self.H @ y - self.g) + gradient, _congruent(self.H, T, self.b) + hessian

    def prior_covariance(self, y: Array) -> Array:
        """Answer the covariance of y without the equations."""
        T = _scaling(self._matrices(y), self._units(y))
        return np.asarray(T @ np.linalg.inv(self._of_prior(y, T)[1]) @ T.T)

    def _units(self, y: Array) -> Array:
        """Sizes of what comes behind the bodies, as its coordinates measure it."""
        return np.where(self.prior.nonnegative, y[10 * self.b :], 1.0)

    def _of_prior(self, y: Array, T: Array) -> tuple[Array, Array]:
        """Gradient and Hessian of what does not come from the equations."""
        prior, start = self.prior, 10 * self.b
        gradient, hessian = np.zeros_like(y), np.zeros_like(T)
        curvature = prior.weight * np.einsum("aij,bji->ab", BASIS, BASIS)
        for k in range(self.b):
            part = slice(10 * k, 10 * k + 10)
            gradient[part] = prior.weight * (T[part, part].T @ _TRACES - _TRACES)
            hessian[part, part] = curvature
        rest, held = y[start:], prior.nonnegative
        gradient[start:] = prior.weights * np.where(held, rest - 1.0, rest - self.centres)
        hessian[range(start, len(y)), range(start, len(y))] = prior.weights
        return gradient, hessian

    def _matrices(self, y: Array) -> Array:
        return np.tensordot(y[: 10 * self.b].reshape(self.b, 10), BASIS, axes=1)


_UNIT = np.array([2.0, 0.0, 0.0, 2.0, 0.0, 2.0, 0.0, 0.0, 0.0, 1.0])
"""Parameters whose pseudo-inertia is the unit matrix."""
_TRACES = np.trace(BASIS, axis1=1, axis2=2)


def _scaling(matrices: Array, sizes: Array) -> Array:
    """Answer coordinates in which pseudo-inertias are the unit matrix, and other numbers 1."""
    b = len(matrices)
    T = np.diag(np.concatenate([np.zeros(10 * b), sizes]))
    for k, block in enumerate(congruence(np.asarray(np.linalg.cholesky(matrices)))):
        part = slice(10 * k, 10 * k + 10)
        T[part, part] = block
    return T


def _congruent(H: Array, T: Array, b: int) -> Array:
    """Answer T^T H T, where T has blocks for b bodies on its diagonal, and one number for each other row."""
    end = 10 * b
    blocks = np.array([T[k : k + 10, k : k + 10] for k in range(0, end, 10)]).reshape(b, 10, 10)

    def times(A: Array) -> Array:
        bodies = A[:, :end].reshape(len(A), b, 10).transpose(1, 0, 2) @ blocks
        return np.hstack([bodies.transpose(1, 0, 2).reshape(len(A), end), A[:, end:] * np.diag(T)[end:]])

    product: Array = times(times(H).T).T
    return product


def _answer(objective: _Objective, y: Array, to_x: Array, steps: int) -> ConsistentSolution:
    T, _, hessian = objective.derivatives(y)
    to_local = to_x @ T
    covariance = to_local @ np.linalg.inv(hessian) @ to_local.T
    expected = np.concatenate([np.tile(_UNIT, objective.b), np.ones(len(objective.centres))])
    prior_covariance = to_x @ objective.prior_covariance(expected) @ to_x.T
    here = to_x @ objective.prior_covariance(y) @ to_x.T
    return ConsistentSolution(to_x @ y, covariance, np.sqrt(np.diag(prior_covariance)), here, steps)
