# SPDX-License-Identifier: Apache-2.0
"""Physically consistent parameters: pseudo-inertia and constrained least squares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dyn_core.core.arrays import Array, BoolArray
from dyn_core.core.blas_threads import one_thread
from dyn_core.core.errors import DynError

# The pseudo-inertia of a body, which is positive definite if and only if the body can exist
#
# With mass M, first moments MS and inertia J about the origin of the frame, and ``S = tr(J)/2 1 - J`` the
# integral of r r^T over the mass,
#
#     P = [[S, MS], [MS^T, M]]  (4 x 4, symmetric).
#
# ``P > 0``: the mass is positive, the inertia about the centre of mass is positive definite, and no principal
# moment exceeds the sum of the others (Wensing, Kim, Slotine 2018). P is linear in the ten parameters. The
# distance of a body from an expected one, P0, is the divergence
#
#     d(P, P0) = tr(P0^-1 P) - log det(P0^-1 P) - 4  >= 0.
#
# It is convex in P, the same in every frame and unit, and infinite at the limit of possible bodies (Lee,
# Wensing, Park 2020). Near P0 it is half the square of the relative difference.


def _basis() -> Array:
    basis = np.zeros((10, 4, 4))
    # J = tr(S) 1 - S: what each entry of J is in S.
    for k, (i, j) in enumerate(((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))):
        if i == j:
            basis[k][:3, :3] = 0.5 * np.eye(3)
            basis[k][i, i] -= 1.0
        else:
            basis[k][i, j] = basis[k][j, i] = -1.0
    for k in range(3):
        basis[6 + k][k, 3] = basis[6 + k][3, k] = 1.0
    basis[9][3, 3] = 1.0
    return basis


# derivative of P by each of the ten parameters XX XY XZ YY YZ ZZ MX MY MZ M, (10, 4, 4)
BASIS: Array = _basis()

# derivative of each of the ten parameters by the entries of P
_READ: Array = np.linalg.pinv(BASIS.reshape(10, 16)).T.reshape(10, 4, 4)

BORDER = 1e-9  # tolerance for roundings of a smallest eigenvalue of P that is 0, relative to the trace


def pseudo_inertia(parameters: Array) -> Array:
    """Return P of the ten parameters of a body (SI units)."""
    P: Array = np.tensordot(parameters, BASIS, axes=1)
    return P


def parameters_of(P: Array) -> Array:
    """Return the ten parameters of a body (SI units) from P."""
    S, MS, M = P[:3, :3], P[:3, 3], P[3, 3]
    J = np.trace(S) * np.eye(3) - S
    return np.array([J[0, 0], J[0, 1], J[0, 2], J[1, 1], J[1, 2], J[2, 2], *MS, M])


def congruence(L: Array) -> Array:
    """Return matrices (..., 10, 10) that map parameters of P to those of L P L^T, for L (..., 4, 4)."""
    moved = L[..., None, :, :] @ BASIS @ np.swapaxes(L, -1, -2)[..., None, :, :]
    columns: Array = np.tensordot(moved, _READ, axes=((-2, -1), (-2, -1)))
    return np.swapaxes(columns, -1, -2)


def is_possible(parameters: Array) -> bool:
    """Return whether a body can have these ten parameters."""
    try:
        factor = np.linalg.cholesky(pseudo_inertia(parameters))
    except np.linalg.LinAlgError:
        return False
    return bool(np.isfinite(factor).all())


def is_nearly_possible(parameters: Array) -> bool:
    """Return whether possible bodies come arbitrarily near to these ten parameters: rods, points, no mass."""
    P = pseudo_inertia(parameters)
    return bool(np.linalg.eigvalsh(P)[0] >= -BORDER * np.trace(P)) if np.isfinite(P).all() else False


def nearest_possible(parameters: Array, mass: float, radius: float) -> Array:
    """Return possible parameters near ten parameters (SI units) that need not be possible.

    `mass` is the least mass (kg), `radius` the least radius of gyration in any direction (m), > 0.
    """
    M = max(float(parameters[9]), mass)
    centre = parameters[6:9] / M
    S = pseudo_inertia(parameters)[:3, :3] - M * np.outer(centre, centre)
    values, axes = np.linalg.eigh(0.5 * (S + S.T))
    S = (axes * np.maximum(values, M * radius**2)) @ axes.T + M * np.outer(centre, centre)
    P = np.block([[S, M * centre[:, None]], [M * centre[None, :], np.array([[M]])]])
    return parameters_of(P)


# The physically consistent parameters that fit best
#
# With f(x) half the weighted squares of the residuals, P_b the pseudo-inertias of the bodies and P0_b the
# expected ones, minimise
#
#     f(x) + w sum_b d(P_b, P0_b) + sum_k (x_k / e_k - log(x_k / e_k))
#
# over the standard inertial parameters and rotor inertias, which give the base parameters, and over friction;
# k runs over the parameters that cannot be negative. Directions that the equations do not determine take the
# expected values; elsewhere many equations outweigh w. The function is convex and smooth where all parameters
# are possible, and infinite elsewhere: Newton's method from the expected values finds the one minimum and
# never leaves the possible region, if the weight of the equations rises in steps (Boyd, Vandenberghe 2004,
# sec. 9.5, 11.3).

STEPS = 500
DONE = 1e-6  # Newton decrement at the minimum, in units of the negative logarithm of a probability

_ARMIJO = 0.25
_TOWARDS = 0.5  # greatest step, relative to the way to the limit of the possible region
_SHORTEST = 1e-12
_GROWTH = 2.0  # factor by which the weight of the equations rises: less is slower, more diverges


@dataclass(frozen=True, eq=False)
class Prior:
    """The expected parameters."""

    bodies: Array  # ten possible parameters of each body, (b, 10)
    weight: float  # w: about the squared reciprocal of the relative error of the expected bodies
    scales: Array  # e_k of the other parameters that cannot be negative; the usual size of the rest
    weights: Array  # weight of each of `scales`
    nonnegative: BoolArray  # which of the other parameters cannot be negative
    centres: Array  # expected values of the parameters that can be negative; for the rest it is their scale


@dataclass(frozen=True, eq=False)
class ConsistentSolution:
    """The minimum."""

    x: Array  # ten parameters of each body, then the others
    covariance: Array  # of x, by the equations and the prior
    prior_deviations: Array  # deviations of x by the prior alone
    expected: Array  # covariance of x by a prior that has its minimum here
    steps: int  # number of Newton steps


@one_thread()
def consistent(
    factors: Sequence[Array], sigma: Array, maps: Sequence[Array], prior: Prior
) -> ConsistentSolution:
    """Return the minimum; DynError if it is not found.

    `factors` has the factor of the rows ``[W tau]`` of each joint, `sigma` the deviation of its residuals (N
    m or N), and `maps` the matrix that gives the parameters of W from x.
    """
    # From unit-free coordinates, in which the expected bodies are unit matrices:
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
    return _solution(_Objective(H, g, prior), y, to_x, total)


def _trusts(H: Array, g: Array, y: Array, prior: Prior) -> list[float]:
    """Return rising weights of the equations, up to 1: with small weights the minimum is near the prior."""
    slope = float(np.abs(H @ y - g).max(initial=0.0)) / min(prior.weight, *prior.weights, 1.0)
    rounds = max(0, math.ceil(math.log(max(slope, 1.0)) / math.log(_GROWTH)))
    return [_GROWTH**-k for k in range(rounds, -1, -1)]


def _descended(objective: _Objective, y: Array) -> tuple[Array, int]:
    """Return the minimum of an objective by Newton's method from y, and the number of steps."""
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
            if length < _SHORTEST:
                break
        if length < _SHORTEST or new == value:  # no digits are left to descend by
            return y, step
        y, value = y + length * move, new
    raise DynError("consistent-parameters-not-found", steps=STEPS)


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
        """Return the length, in moves, at which the first parameter becomes impossible."""
        inverses = np.linalg.inv(np.linalg.cholesky(self._matrices(y)))
        moves = inverses @ self._matrices(move) @ inverses.transpose(0, 2, 1)
        held = np.flatnonzero(self.prior.nonnegative) + 10 * self.b
        relative = move[held] / y[held]
        fastest = -min(float(np.linalg.eigvalsh(moves).min()), float(relative.min(initial=0.0)))
        return 1.0 / fastest if fastest > 0.0 else math.inf

    def derivatives(self, y: Array) -> tuple[Array, Array, Array]:
        """Return a matrix T of local coordinates, and gradient and Hessian in those.

        In these coordinates the prior of the bodies has the same curvature in all directions, however near
        they are to the limit of possible bodies; there the Hessian in y is ill-conditioned.
        """
        T = _scaling(self._matrices(y), self._units(y))
        gradient, hessian = self._of_prior(y, T)
        return T, T.T @ (self.H @ y - self.g) + gradient, _congruent(self.H, T, self.b) + hessian

    def prior_covariance(self, y: Array) -> Array:
        """Return the covariance of y without the equations."""
        T = _scaling(self._matrices(y), self._units(y))
        return np.asarray(T @ np.linalg.inv(self._of_prior(y, T)[1]) @ T.T)

    def _units(self, y: Array) -> Array:
        """Return the sizes of the parameters behind the bodies in local coordinates."""
        return np.where(self.prior.nonnegative, y[10 * self.b :], 1.0)

    def _of_prior(self, y: Array, T: Array) -> tuple[Array, Array]:
        """Return gradient and Hessian of the prior."""
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


# parameters whose pseudo-inertia is the unit matrix
_UNIT = np.array([2.0, 0.0, 0.0, 2.0, 0.0, 2.0, 0.0, 0.0, 0.0, 1.0])
_TRACES = np.trace(BASIS, axis1=1, axis2=2)


def _scaling(matrices: Array, sizes: Array) -> Array:
    """Return coordinates in which pseudo-inertias are the unit matrix, and other numbers are 1."""
    b = len(matrices)
    T = np.diag(np.concatenate([np.zeros(10 * b), sizes]))
    for k, block in enumerate(congruence(np.asarray(np.linalg.cholesky(matrices)))):
        part = slice(10 * k, 10 * k + 10)
        T[part, part] = block
    return T


def _congruent(H: Array, T: Array, b: int) -> Array:
    """Return T^T H T for T with b diagonal blocks of bodies, and one number in each other row."""
    end = 10 * b
    blocks = np.array([T[k : k + 10, k : k + 10] for k in range(0, end, 10)]).reshape(b, 10, 10)

    def times(A: Array) -> Array:
        bodies = A[:, :end].reshape(len(A), b, 10).transpose(1, 0, 2) @ blocks
        return np.hstack([bodies.transpose(1, 0, 2).reshape(len(A), end), A[:, end:] * np.diag(T)[end:]])

    product: Array = times(times(H).T).T
    return product


def _solution(objective: _Objective, y: Array, to_x: Array, steps: int) -> ConsistentSolution:
    T, _, hessian = objective.derivatives(y)
    to_local = to_x @ T
    covariance = to_local @ np.linalg.inv(hessian) @ to_local.T
    expected = np.concatenate([np.tile(_UNIT, objective.b), np.ones(len(objective.centres))])
    prior_covariance = to_x @ objective.prior_covariance(expected) @ to_x.T
    here = to_x @ objective.prior_covariance(y) @ to_x.T
    return ConsistentSolution(to_x @ y, covariance, np.sqrt(np.diag(prior_covariance)), here, steps)
