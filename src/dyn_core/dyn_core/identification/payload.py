# SPDX-License-Identifier: Apache-2.0
"""What a link holds, from a motion with it: mass, centre of mass and inertia.

The ten parameters of a payload add to those of the body that carries its link, and so ``B_p k`` to the base
parameters, k in the frame of the link. As the arm is known, or identified from a motion without the payload,
nothing of them is grouped with parameters of the arm: what the motion excites is found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dyn_core.errors import DynError
from dyn_core.facade.arrays import Array
from dyn_core.identification.base_columns import BaseColumns
from dyn_core.identification.consistent import Prior, consistent
from dyn_core.identification.factors import Factors, triangular
from dyn_core.identification.least_squares import Solution, own_columns, weighted
from dyn_core.identification.pseudo_inertia import nearest_possible, parameters_of
from dyn_core.linalg.transform import Transform
from dyn_core.model.inertial_parameters import InertialParameters, in_frame
from dyn_core.model.standard_parameters import INERTIAL

WEIGHT = 0.02
"""Weight of what is expected of a payload: next to nothing, as nothing is known of it."""
USUAL_RADIUS = 0.05
"""Radius of gyration of a payload of which nothing is known (m)."""
LEAST_MASS = 1e-3
"""Mass that a payload is expected to have at least (kg)."""
_FREE = 1e-9


@dataclass(frozen=True, eq=False)
class Payload:
    """A body that a link holds: what `Robot.with_payload` takes.

    Attributes:
        link: the link.
        mass: its mass (kg).
        centre: its centre of mass in the frame of the link (m).
        inertia: XX XY XZ YY YZ ZZ about the centre of mass, on the axes of the link (kg m^2).
        parameters: ten parameters in the frame of the link, about its origin, that a body can have.
        deviations: their standard deviations.
        least_squares: the ten parameters by least squares alone, which need be those of no body.
        least_squares_deviations: their standard deviations; inf for those that the motion does not show.
    """

    link: str
    mass: float
    centre: tuple[float, float, float]
    inertia: tuple[float, float, float, float, float, float]
    parameters: Array
    deviations: Array
    least_squares: Array
    least_squares_deviations: Array


def payload_of_pair(link: str, base: BaseColumns, without: Factors, with_it: Factors) -> Payload:
    """Answer what a link holds in one of two motions; the arm is identified along with it.

    Args:
        link: the link.
        base: the columns of the base parameters of the robot.
        without: factors of a motion without the payload.
        with_it: factors of a motion with it, with the same models of friction.
    """
    B = payload_columns(link, base)
    one, other = without.merged(), with_it.merged()
    p = one.shared
    parts = []
    for R1, R2 in zip(one.parts[0], other.parts[0], strict=True):
        if R1.shape[1] != R2.shape[1]:
            raise DynError("the two motions have different models of friction: give both the same")
        none = np.zeros((len(R1), 10))
        rows = [
            np.column_stack([none, R1]),
            np.column_stack([R2[:, :p] @ B, R2]),
        ]
        parts.append(triangular(np.concatenate(rows)))
    return _estimated(link, Factors(p + 10, (tuple(parts),), (one.count + other.count,)))


def payload_of_known_arm(
    link: str,
    base: BaseColumns,
    with_it: Factors,
    x: Array,
    friction: bool = True,
) -> Payload:
    """Answer what a link holds in a motion of an arm that is known.

    Args:
        link: the link.
        base: the columns of the base parameters of the robot.
        with_it: factors of a motion with the payload.
        x: parameters of the arm without it: base parameters, then friction.
        friction: whether friction is estimated anew, which changes with load and temperature.
    """
    B = payload_columns(link, base)
    whole = with_it.merged()
    p = whole.shared
    parts = []
    for R, own in zip(whole.parts[0], own_columns(whole), strict=True):
        known = R[:, -1] - R[:, :p] @ x[:p]
        columns = R[:, p:-1]
        if not friction:
            known = known - columns @ x[list(own)]
            columns = columns[:, :0]
        parts.append(np.column_stack([R[:, :p] @ B, columns, known]))
    return _estimated(link, Factors(10, (tuple(parts),), (whole.count,)))


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


def _estimated(link: str, data: Factors) -> Payload:
    solution = weighted(data)
    x, spread = solution.x[:10], solution.deviations[:10]
    shown = np.isfinite(spread)
    k, deviations = _possible(data, solution)
    if not shown[9] and not shown[6:9].any():
        raise DynError(
            f"the motion does not show what link '{link}' holds: let the joints that carry it move, and turn "
            "against gravity"
        )
    mass = float(k[9])
    c = k[6:9] / mass
    S = 0.5 * (k[0] + k[3] + k[5]) * np.eye(3) - _matrix(k)
    central = np.zeros((4, 4))
    central[:3, :3] = S - mass * np.outer(c, c)
    XX, XY, XZ, YY, YZ, ZZ = parameters_of(central)[:6].tolist()
    return Payload(
        link,
        mass,
        (float(c[0]), float(c[1]), float(c[2])),
        (XX, XY, XZ, YY, YZ, ZZ),
        k,
        deviations,
        x,
        spread,
    )


def _possible(data: Factors, solution: Solution) -> tuple[Array, Array]:
    """The payload that fits best of those that bodies can be; parameters of the arm are free."""
    whole = data.merged()
    places = own_columns(whole)
    count = len(solution.x)
    maps: list[Array] = []
    for own in places:
        pick: Sequence[int] = [*range(whole.shared), *own]
        maps.append(np.eye(count)[pick])
    mass = max(float(solution.x[9]) if solution.identifiable[9] else 0.0, LEAST_MASS)
    centre = np.where(solution.identifiable[6:9], solution.x[6:9], 0.0)
    guess = np.concatenate(
        [np.zeros(6), centre * min(mass / max(abs(float(solution.x[9])), mass), 1.0), [mass]]
    )
    prior = Prior(
        nearest_possible(guess, mass, USUAL_RADIUS)[None, :],
        WEIGHT,
        np.maximum(np.abs(solution.x[10:]), 1e-3),
        np.full(count - 10, _FREE),
        np.zeros(count - 10, dtype=bool),
        solution.x[10:],
    )
    found = consistent(whole.parts[0], solution.sigma, maps, prior)
    return found.x[:10], np.sqrt(np.diag(found.covariance))[:10]


def _matrix(k: Array) -> Array:
    return np.array([[k[0], k[1], k[2]], [k[1], k[3], k[4]], [k[2], k[4], k[5]]])
