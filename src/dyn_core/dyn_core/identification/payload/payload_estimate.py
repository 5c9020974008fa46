# SPDX-License-Identifier: Apache-2.0
"""What a link holds, from equations of a motion with it.

The ten parameters of a payload add to those of the body that carries its link, and so ``B_p k`` to the base
parameters, k in the frame of the link. As the arm is known, or identified from a motion without the payload,
nothing of them is grouped with parameters of the arm: what the motion excites is found.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.identification.bool_array import BoolArray
from dyn_core.identification.estimators.least_squares import Solution, own_columns, solved, system, weighted
from dyn_core.identification.estimators.physical_consistency import ConsistentSolution, Prior, consistent
from dyn_core.identification.estimators.standard_deviations import (
    SAFETY,
    residual_rows,
    residuals,
    score_products,
)
from dyn_core.identification.factors import Factors, triangular
from dyn_core.identification.fit import Fit
from dyn_core.identification.payload.payload_parameters import Payload, central
from dyn_core.identification.pseudo_inertia import is_possible, nearest_possible
from dyn_core.identification.regressor.base_columns import BaseColumns
from dyn_core.linalg.transform import Transform
from dyn_core.model.standard_parameters import INERTIAL
from dyn_core.robot.links import InertialParameters, in_frame

WEIGHT = 0.02
"""Weight of what is expected of a payload: next to nothing, as nothing is known of it."""
USUAL_RADIUS = 0.05
"""Radius of gyration of a payload of which nothing is known (m)."""
LEAST_MASS = 1e-3
"""Mass that a payload is expected to have at least (kg)."""
FAR = 3.0
"""Deviations that a payload is from what fits best, or from nothing, before that is worth a word."""
NONE = 1e-8
"""Part of a column of unit length that is taken for a rounding."""
_FREE = 1e-9


@dataclass(frozen=True, eq=False)
class PayloadEstimate:
    """A payload, and the parameters of the arm that go with it in the motion with it.

    Attributes:
        payload: what the link holds.
        x: base parameters of the arm with it, then its friction.
        without: the same of the arm that holds nothing.
        least_squares: as `x`, by least squares alone.
    """

    payload: Payload
    x: Array
    without: Array
    least_squares: Array


@dataclass(frozen=True, eq=False)
class _Motion:
    """A motion, and its parameters as they depend on all: ``offset + matrix @ all``."""

    fit: Fit
    matrix: Array
    offset: Array

    def own(self, everything: Array) -> Array:
        x: Array = self.offset + self.matrix @ everything
        return x


def payload_of_pair(
    link: str, base: BaseColumns, without: Fit, with_it: Fit, friction: bool = True
) -> PayloadEstimate:
    """Answer what a link holds in one of two motions; the arm is identified along with it.

    Args:
        link: the link.
        base: the columns of the base parameters of the robot.
        without: equations of a motion without the payload.
        with_it: equations of a motion with it.
        friction: whether each motion has friction of its own, which changes with load and temperature.

    Raises:
        DynError: the motions do not show what the link holds, or have different models of friction where
            they are to have the same friction.
    """
    B = payload_columns(link, base)
    one, other = without.data.merged(), with_it.data.merged()
    data, of_one, of_other = _together(B, one, other, friction)
    motions = [
        _Motion(without, of_one, np.zeros(len(of_one))),
        _Motion(with_it, of_other, np.zeros(len(of_other))),
    ]
    return _estimated(link, data, motions, np.ones(10))


def _together(B: Array, one: Factors, other: Factors, friction: bool) -> tuple[Factors, Array, Array]:
    """Answer the equations of a motion without and one with a payload, and the own parameters of each."""
    p = one.shared
    parts: list[Array] = []
    places_one: list[int] = []
    places_other: list[int] = []
    start = 10 + p
    for R1, R2 in zip(one.parts[0], other.parts[0], strict=True):
        m1, m2 = (R.shape[1] - p - 1 for R in (R1, R2))
        if not friction and m1 != m2:
            raise DynError("the two motions have different models of friction: give both the same")
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
    return Factors(p + 10, (tuple(parts),), (one.count + other.count,)), of_one, of_other


def payload_of_known_arm(
    link: str,
    base: BaseColumns,
    with_it: Fit,
    x: Array,
    friction: bool = True,
) -> PayloadEstimate:
    """Answer what a link holds in a motion of an arm that is known.

    The arm is believed, but its errors are in the deviations: they are taken for those of an arm that was
    identified in a motion that shows as much as this one.

    Args:
        link: the link.
        base: the columns of the base parameters of the robot.
        with_it: equations of a motion with the payload.
        x: parameters of the arm without it: base parameters, then friction where that is not estimated.
        friction: whether friction is estimated anew, which changes with load and temperature.

    Raises:
        DynError: the motion does not show what the link holds.
    """
    B = payload_columns(link, base)
    whole = with_it.data.merged()
    p = whole.shared
    own = own_columns(whole)
    parts = []
    for R, places in zip(whole.parts[0], own, strict=True):
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
    data = Factors(10, (tuple(parts),), (whole.count,))
    pair, _, _ = _together(B, whole, whole, friction=True)
    sigma = weighted(data).sigma
    exact, doubtful = (solved(one, sigma).deviations[:10] for one in (data, pair))
    both = np.isfinite(exact) & np.isfinite(doubtful)
    growth = np.ones(10)
    growth[both] = doubtful[both] / exact[both]
    return _estimated(link, data, [_Motion(with_it, matrix, offset)], growth)


def payload_columns(link: str, base: BaseColumns) -> Array:
    """Answer B_p: what ten parameters, in the frame of a link, add to the base parameters."""
    frame = base.robot.link_frame(link)
    if frame.body == 0:
        raise DynError(
            f"link '{link}' does not move: no motion shows what it holds", element=f"link '{link}'"
        )
    first = base.standard_names.index(f"{INERTIAL[0]}{frame.body}")
    to_body = _in_body(frame.T_body_link)
    B: Array = base.matrix[:, first : first + len(INERTIAL)] @ to_body
    return B


def _in_body(T_body_link: Transform) -> Array:
    units = (InertialParameters(*row) for row in np.eye(len(INERTIAL)).tolist())
    moved: Array = np.array([in_frame(T_body_link, unit).values for unit in units], dtype=float).T
    return moved


def _estimated(link: str, data: Factors, motions: Sequence[_Motion], growth: Array) -> PayloadEstimate:
    """Answer what a link holds.

    Args:
        link: the link.
        data: all equations.
        motions: whose they are; the last of them is the one with the payload.
        growth: factors of the deviations of the ten parameters.
    """
    solution = weighted(data)
    hidden = _hidden(system(data.merged(), solution.sigma))
    shown = np.linalg.norm(hidden, axis=1) <= NONE * np.linalg.norm(hidden, axis=1).max(initial=1.0)
    if not shown[9] and not shown[6:9].any():
        raise DynError(
            f"the motion does not show what link '{link}' holds: let the joints that carry it move, and turn "
            "against gravity"
        )
    covariance = _covariance(solution, motions)[:10, :10] * growth[:, None] * growth
    mass, deviation = float(solution.x[9]), float(np.sqrt(covariance[9, 9]))
    if shown[9] and mass < -FAR * deviation:
        raise DynError(
            f"link '{link}' holds {mass:.4g} kg (deviation {deviation:.2g} kg), less than nothing: with "
            "the payload it is lighter than without; are the two interchanged, or was the arm not empty?"
        )
    try:
        found = _possible(data, solution, mass_is_shown=bool(shown[9]))
    except DynError as error:
        raise DynError(
            f"no body at link '{link}' comes near what the motion shows: are that with the payload and that "
            "without it interchanged, is it another link, or has something else changed?"
        ) from error
    # What residuals that resemble each other make of deviations, they make of those of bodies, too.
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
    """Covariance of all parameters, of which residuals that resemble those before them say less."""
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
    """Root of the mean square of a difference of parameters, in deviations."""
    inner = np.ix_(shown, shown)
    seen = difference[shown]
    return math.sqrt(max(float(seen @ np.linalg.solve(covariance[inner], seen)) / len(seen), 0.0))


def _hidden(rows: Array) -> Array:
    """Answer a basis of the directions of the ten parameters that other parameters can make up for, (10, r).

    Args:
        rows: rows ``[W tau]`` in all parameters, of which these are the first.
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
    """The payload that fits best of those that bodies can be; parameters of the arm are free."""
    whole = data.merged()
    places = own_columns(whole)
    count = len(solution.x)
    maps: list[Array] = []
    for own in places:
        pick: Sequence[int] = [*range(whole.shared), *own]
        maps.append(np.eye(count)[pick])
    guess = _guess(solution, mass_is_shown)
    prior = Prior(
        nearest_possible(guess, float(guess[9]), USUAL_RADIUS)[None, :],
        WEIGHT,
        np.maximum(np.abs(solution.x[10:]), 1e-3),
        np.full(count - 10, _FREE),
        np.zeros(count - 10, dtype=bool),
        solution.x[10:],
    )
    return consistent(whole.parts[0], solution.sigma, maps, prior)


def _guess(solution: Solution, mass_is_shown: bool) -> Array:
    """Mass and first moments as the motion shows them; a mass that it does not show is that of a point."""
    x = np.where(solution.identifiable, solution.x, 0.0)[:10]
    moments, inertia = float(np.linalg.norm(x[6:9])), float(x[[0, 3, 5]].max())
    mass = float(x[9])
    if not mass_is_shown:
        mass = moments**2 / inertia if inertia > 0.0 else moments / USUAL_RADIUS
    kept = min(max(mass, 0.0) / LEAST_MASS, 1.0)
    return np.concatenate([np.zeros(6), kept * x[6:9], [max(mass, LEAST_MASS)]])
