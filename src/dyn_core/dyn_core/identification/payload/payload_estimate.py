# SPDX-License-Identifier: Apache-2.0
"""The payload of a link, from equations of a motion with it.

The ten parameters of a payload add to those of the body that carries its link, and so ``B_p k`` to the base
parameters, k in the frame of the link. The arm is known, or identified from a motion without the payload, so
that no payload parameter is grouped with those of the arm: the motion alone decides which are excited.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dyn_core.core.arrays import Array, BoolArray
from dyn_core.core.errors import DynError
from dyn_core.identification.estimators.least_squares import (
    Factors,
    Solution,
    own_columns,
    solved,
    system,
    triangular,
    weighted,
)
from dyn_core.identification.estimators.physical_consistency import (
    ConsistentSolution,
    Prior,
    consistent,
    is_possible,
    nearest_possible,
)
from dyn_core.identification.estimators.standard_deviations import (
    SAFETY,
    Fit,
    residual_rows,
    residuals,
    score_products,
)
from dyn_core.identification.payload.payload_parameters import Payload, central
from dyn_core.identification.regressor.base_columns import BaseColumns
from dyn_core.robot.dynamic_parameters import INERTIAL
from dyn_core.robot.links import InertialParameters, in_frame

WEIGHT = 0.02  # small weight of the prior of an unknown payload
USUAL_RADIUS = 0.05  # radius of gyration of an unknown payload (m)
LEAST_MASS = 1e-3  # least expected mass of a payload (kg)
FAR = 3.0  # deviations from the best fit, or from 0, that are reported
NONE = 1e-8  # part of a column of unit length that is a rounding
_FREE = 1e-9


@dataclass(frozen=True, eq=False)
class PayloadEstimate:
    """A payload, and the parameters of the arm in the motion with it."""

    payload: Payload
    x: Array  # base parameters of the arm with the payload, then its friction
    without: Array  # the same of the arm without the payload
    least_squares: Array  # as `x`, by least squares alone


@dataclass(frozen=True, eq=False)
class _Motion:
    """A motion, and its parameters as a function of all: ``offset + matrix @ all``."""

    fit: Fit
    matrix: Array
    offset: Array

    def own(self, everything: Array) -> Array:
        x: Array = self.offset + self.matrix @ everything
        return x


def payload_of_pair(
    link: str, base: BaseColumns, without: Fit, with_it: Fit, friction: bool = True
) -> PayloadEstimate:
    """Return the payload in one of two motions; the arm is identified along with it.

    With `friction`, each motion has friction of its own, which changes with load and temperature. Raise
    DynError if the motions do not show the payload, or have different friction models for a common friction.
    """
    B = payload_columns(link, base)
    data, *matrices = _together(B, without.data, with_it.data, friction)
    pairs = zip((without, with_it), matrices, strict=True)
    motions = [_Motion(fit, matrix, np.zeros(len(matrix))) for fit, matrix in pairs]
    return _estimated(link, data, motions, np.ones(10))


def _together(B: Array, one: Factors, other: Factors, friction: bool) -> tuple[Factors, Array, Array]:
    """Return the equations of a motion without and one with a payload, and the own parameters of each."""
    p = one.shared
    parts: list[Array] = []
    places_one: list[int] = []
    places_other: list[int] = []
    start = 10 + p
    for R1, R2 in zip(one.parts, other.parts, strict=True):
        m1, m2 = (R.shape[1] - p - 1 for R in (R1, R2))
        if not friction and m1 != m2:
            raise DynError("payload-friction-models-unequal")
        shift = m1 if friction else 0
        count = shift + m2
        rows = np.zeros((len(R1) + len(R2), 10 + p + count + 1))
        first, second = rows[: len(R1)], rows[len(R1) :]
        first[:, 10 : 10 + p + m1] = R1[:, :-1]
        second[:, :10] = R2[:, :p] @ B
        second[:, 10 : 10 + p] = R2[:, :p]
        second[:, 10 + p + shift : -1] = R2[:, p:-1]
        first[:, -1], second[:, -1] = R1[:, -1], R2[:, -1]
        parts.append(triangular(rows))
        places_one += range(start, start + m1)
        places_other += range(start + shift, start + count)
        start += count
    arm = range(10, 10 + p)
    of_one = np.eye(start)[[*arm, *places_one]]
    of_other = np.eye(start)[[*arm, *places_other]]
    of_other[:p, :10] = B
    return Factors(p + 10, tuple(parts), one.count + other.count), of_one, of_other


def payload_of_known_arm(
    link: str, base: BaseColumns, with_it: Fit, x: Array, friction: bool = True
) -> PayloadEstimate:
    """Return the payload in a motion of a known arm.

    `x` are the parameters of the arm without it: base parameters, then friction unless `friction` is
    estimated anew, as it changes with load and temperature. The deviations contain errors of the arm, which
    are assumed to be those of an arm that was identified from a motion as informative as this one. Raise
    DynError if the motion does not show the payload.
    """
    B = payload_columns(link, base)
    whole = with_it.data
    p = whole.shared
    own = own_columns(whole)
    parts = []
    for R, places in zip(whole.parts, own, strict=True):
        known = R[:, -1] - R[:, :p] @ x[:p]
        columns = R[:, p:-1]
        if not friction:
            known = known - columns @ x[list(places)]
            columns = columns[:, :0]
        parts.append(np.column_stack([R[:, :p] @ B, columns, known]))
    count = sum(len(places) for places in own)
    kept = count if friction else 0
    matrix, offset = np.zeros((p + count, 10 + kept)), np.zeros(p + count)
    matrix[:p, :10], offset[:p] = B, x[:p]
    matrix[p : p + kept, 10:] = np.eye(kept)
    if not friction:
        offset[p:] = x[p:]
    data = Factors(10, tuple(parts), whole.count)
    pair = _together(B, whole, whole, friction=True)[0]
    sigma = weighted(data).sigma
    exact, doubtful = (solved(one, sigma).deviations[:10] for one in (data, pair))
    both = np.isfinite(exact) & np.isfinite(doubtful)
    growth = np.ones(10)
    growth[both] = doubtful[both] / exact[both]
    return _estimated(link, data, [_Motion(with_it, matrix, offset)], growth)


def payload_columns(link: str, base: BaseColumns) -> Array:
    """Return B_p: the base parameters by ten parameters in the frame of a link."""
    frame = base.robot.link_frame(link)
    if frame.body == 0:
        raise DynError("motion-shows-no-payload", link=link, element=f"link '{link}'")
    first = base.standard_names.index(f"{INERTIAL[0]}{frame.body}")
    units = (InertialParameters(*row) for row in np.eye(len(INERTIAL)).tolist())
    to_body = np.array([in_frame(frame.T_body_link, unit).values for unit in units], dtype=float).T
    B: Array = base.matrix[:, first : first + len(INERTIAL)] @ to_body
    return B


def _estimated(link: str, data: Factors, motions: Sequence[_Motion], growth: Array) -> PayloadEstimate:
    """Return the payload from all equations; the last motion is the one with it.

    `growth` are factors of the deviations of the ten parameters.
    """
    solution = weighted(data)
    hidden = _hidden(system(data, solution.sigma))
    shown = np.linalg.norm(hidden, axis=1) <= NONE * np.linalg.norm(hidden, axis=1).max(initial=1.0)
    if not shown[9] and not shown[6:9].any():
        raise DynError("payload-not-excited", link=link)
    covariance = _covariance(solution, motions)[:10, :10] * growth[:, None] * growth
    mass, deviation = float(solution.x[9]), float(np.sqrt(covariance[9, 9]))
    if shown[9] and mass < -FAR * deviation:
        raise DynError("payload-mass-negative", link=link, mass=mass, deviation=deviation)
    try:
        found = _possible(data, solution, mass_is_shown=bool(shown[9]))
    except DynError as error:
        raise DynError("payload-body-not-found", link=link) from error
    # Correlated residuals raise the deviations of possible bodies by the same factors.
    scales = np.sqrt(np.diag(covariance) / np.maximum(np.diag(solution.covariance)[:10], _TINY))
    scales = np.where(shown, scales, 1.0)
    k = found.x[:10]
    best = solution.x.copy()
    away = _distance(k - best[:10], covariance, shown)
    mass, x, y, z, XX, XY, XZ, YY, YZ, ZZ = central(k).tolist()
    payload = Payload(
        link,
        mass,
        (x, y, z),
        (XX, XY, XZ, YY, YZ, ZZ),
        k,
        scales[:, None] * found.covariance[:10, :10] * scales,
        found.expected[:10, :10],
        hidden,
        best[:10],
        np.where(shown, np.sqrt(np.diag(covariance)), np.inf),
        bool(is_possible(best[:10])) if shown.all() else away < SAFETY,
        away,
    )
    nothing = found.x.copy()
    nothing[:10] = 0.0
    loaded = motions[-1]
    return PayloadEstimate(payload, loaded.own(found.x), loaded.own(nothing), loaded.own(solution.x))


_TINY = float(np.finfo(float).tiny)


def _covariance(solution: Solution, motions: Sequence[_Motion]) -> Array:
    """Return the covariance of all parameters, for correlated residuals."""
    C = solution.covariance
    total, memory = np.zeros_like(C), 1.0
    for motion in motions:
        rows, weights = motion.fit.rows, motion.fit.weights
        errors = residual_rows(rows, motion.own(solution.x))
        lag = int(residuals(errors).memory.max())
        counted = errors if weights is None else weights**2 * errors
        scores = score_products(rows, solution.sigma, counted, lag, np.zeros(len(motion.matrix)))
        total += motion.matrix.T @ scores @ motion.matrix
        memory = max(memory, rows.equations.decimation.memory)
    robust = C @ total @ C
    kept = solution.identifiable
    alone = np.where(kept, np.diag(C), 1.0)
    size = SAFETY * np.sqrt(np.maximum(np.diag(robust) / alone, memory))
    covariance: Array = size[:, None] * C * size
    return covariance


def _distance(difference: Array, covariance: Array, shown: BoolArray) -> float:
    """Return the root mean square of a difference of parameters, in deviations."""
    inner = np.ix_(shown, shown)
    seen = difference[shown]
    return math.sqrt(max(float(seen @ np.linalg.solve(covariance[inner], seen)) / len(seen), 0.0))


def _hidden(rows: Array) -> Array:
    """Return a basis of directions of the ten parameters that other parameters compensate, (10, r).

    `rows` are rows ``[W tau]`` in all parameters; the ten come first.
    """
    lengths = np.linalg.norm(rows[:, :-1], axis=0)
    scales = np.where(lengths > 0.0, lengths, 1.0)
    W = rows[:, :-1] / scales
    U, sizes, _ = np.linalg.svd(W[:, 10:], full_matrices=False)
    Q = U[:, sizes > NONE * sizes.max(initial=0.0)]
    own = W[:, :10] - Q @ (Q.T @ W[:, :10])
    _, sizes, V = np.linalg.svd(own, full_matrices=len(own) < own.shape[1])
    unseen = np.ones(len(V), dtype=bool)
    unseen[: len(sizes)] = sizes <= NONE
    directions: Array = V[unseen].T / scales[:10, None]
    return directions


def _possible(data: Factors, solution: Solution, *, mass_is_shown: bool) -> ConsistentSolution:
    """Return the physically consistent payload that fits best; parameters of the arm are free."""
    count = len(solution.x)
    maps = [np.eye(count)[[*range(data.shared), *own]] for own in own_columns(data)]
    guess = _guess(solution, mass_is_shown)
    prior = Prior(
        nearest_possible(guess, float(guess[9]), USUAL_RADIUS)[None, :],
        WEIGHT,
        np.maximum(np.abs(solution.x[10:]), 1e-3),
        np.full(count - 10, _FREE),
        np.zeros(count - 10, dtype=bool),
        solution.x[10:],
    )
    return consistent(data.parts, solution.sigma, maps, prior)


def _guess(solution: Solution, mass_is_shown: bool) -> Array:
    """Return mass and first moments as the motion shows them; a hidden mass is that of a point mass."""
    x = np.where(solution.identifiable, solution.x, 0.0)[:10]
    moments, inertia = float(np.linalg.norm(x[6:9])), float(x[[0, 3, 5]].max())
    mass = float(x[9])
    if not mass_is_shown:
        mass = moments**2 / inertia if inertia > 0.0 else moments / USUAL_RADIUS
    kept = min(max(mass, 0.0) / LEAST_MASS, 1.0)
    return np.concatenate([np.zeros(6), kept * x[6:9], [max(mass, LEAST_MASS)]])
