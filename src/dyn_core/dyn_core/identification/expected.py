# SPDX-License-Identifier: Apache-2.0
"""What the description of a robot says of its parameters, as something that measurements may correct."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dyn_core.facade.arrays import Array
from dyn_core.identification.base_columns import BaseColumns
from dyn_core.identification.consistent import ConsistentSolution, Prior, consistent
from dyn_core.identification.factors import Factors
from dyn_core.identification.friction import NONNEGATIVE, FrictionModel
from dyn_core.identification.least_squares import own_columns
from dyn_core.identification.pseudo_inertia import is_possible, nearest_possible
from dyn_core.model.robot import Robot
from dyn_core.model.standard_parameters import INERTIAL, PER_JOINT

WEIGHT = 0.5
"""Weight of what is expected of bodies: they may be some two times heavier, or less than half as heavy."""
DRIVE_WEIGHT = 1e-3
"""Weight of what keeps friction and rotors from being negative: next to nothing."""

LEAST_MASS = 0.01
"""Mass that a body without any is taken to have (kg)."""
LEAST_RADIUS = 0.01
"""Radius of gyration that a body without extent is taken to have (m)."""


@dataclass(frozen=True, eq=False)
class Consistent:
    """Standard parameters that bodies can have, and the base parameters that they make.

    Attributes:
        x: base parameters, then friction, as the estimators have them.
        standard: ten parameters of each body, (n, 10).
        Ia: rotor inertias (kg m^2 or kg), (n,).
        deviations: of the standard parameters, (n, 11), rotor inertias last.
        informed: how much of what is known of each the measurement said, 0 to 1, (n, 11).
        friction_deviations: of the friction, in the order of x.
    """

    x: Array
    standard: Array
    Ia: Array
    deviations: Array
    informed: Array
    friction_deviations: Array


def expected_bodies(robot: Robot) -> tuple[Array, tuple[int, ...]]:
    """Answer ten parameters that each body can have, and the numbers of those whose own are impossible."""
    table = np.array(robot.parameters, dtype=float).reshape(len(robot.joints), PER_JOINT)[:, : len(INERTIAL)]
    impossible = tuple(j for j, row in enumerate(table, start=1) if not is_possible(row))
    bodies = [row if is_possible(row) else nearest_possible(row, LEAST_MASS, LEAST_RADIUS) for row in table]
    return np.array(bodies).reshape(len(robot.joints), len(INERTIAL)), impossible


def consistent_parameters(
    robot: Robot,
    base: BaseColumns,
    models: Sequence[FrictionModel],
    data: Factors,
    sigma: Array,
    start: Array,
    weight: float = WEIGHT,
) -> Consistent:
    """Answer parameters that bodies, rotors and friction can have.

    Args:
        robot: the robot, whose parameters are what is expected.
        base: the columns of its base parameters.
        models: friction of each joint.
        data: factors of the equations.
        sigma: deviation of the residuals of each joint (N m or N).
        start: parameters that need not be possible, for their size.
        weight: weight of what is expected of the bodies.
    """
    whole = data.merged()
    n, p0 = len(robot.joints), whole.shared
    to_base = _standard_to_base(base, n)
    places = own_columns(whole)
    drives = to_base.shape[1] - 10 * n  # rotors, and motors that move several joints
    friction = len(start) - p0
    maps = []
    for columns in places:
        to_own = np.zeros((p0 + len(columns), to_base.shape[1] + friction))
        to_own[:p0, : to_base.shape[1]] = to_base
        to_own[range(p0, p0 + len(columns)), [to_base.shape[1] + k - p0 for k in columns]] = 1.0
        maps.append(to_own)
    bodies, _ = expected_bodies(robot)
    held = [term in NONNEGATIVE for model in models for term in model.terms]
    nonnegative = np.array([True] * drives + held, dtype=bool)
    rotors = _rotor_scales(robot, bodies)
    motors = np.full(drives - n, rotors.mean())
    scales = np.concatenate([rotors, motors, _friction_scales(whole, sigma)])
    count = drives + friction
    prior = Prior(
        bodies, weight, scales, np.full(count, DRIVE_WEIGHT), nonnegative, np.where(nonnegative, scales, 0.0)
    )
    solution = consistent(whole.parts[0], sigma, maps, prior)
    return _with_described(_answer(solution, to_base, n), robot, models, _unseen(whole))


def _with_described(
    found: Consistent, robot: Robot, models: Sequence[FrictionModel], unseen: Array
) -> Consistent:
    """Answer the friction of the description where the motion shows none, as of a joint that stood."""
    described = []
    for model, joint in zip(models, robot.independent_joints, strict=True):
        own = {"viscous": joint.friction.Fv, "coulomb": joint.friction.Fs, "offset": joint.friction.Fo}
        described += [own.get(term, 0.0) for term in model.terms]
    start = len(found.x) - len(described)
    x = np.concatenate([found.x[:start], np.where(unseen, described, found.x[start:])])
    deviations = found.friction_deviations.copy()
    deviations[len(deviations) - len(described) :][unseen] = np.inf
    return replace(found, x=x, friction_deviations=deviations)


def _unseen(whole: Factors) -> Array:
    """Tell of each parameter of friction whether its column is 0."""
    columns = [R[:, whole.shared : -1] for R in whole.parts[0]]
    return np.concatenate([np.linalg.norm(part, axis=0) == 0.0 for part in columns])


def _answer(solution: ConsistentSolution, to_base: Array, n: int) -> Consistent:
    x = solution.x
    spread = np.sqrt(np.diag(solution.covariance))
    informed = 1.0 - np.minimum(spread / solution.prior_deviations, 1.0) ** 2

    def table(values: Array) -> Array:
        return np.column_stack([values[: 10 * n].reshape(n, 10), values[10 * n : 11 * n]])

    known = to_base.shape[1]
    return Consistent(
        np.concatenate([to_base @ x[:known], x[known:]]),
        x[: 10 * n].reshape(n, 10),
        x[10 * n : 11 * n],
        table(spread),
        table(informed),
        spread[known:],
    )


def _standard_to_base(base: BaseColumns, n: int) -> Array:
    """Answer the matrix of the base parameters: bodies first, then rotors, then motors of several joints."""
    order = [11 * k + j for k in range(n) for j in range(10)] + [11 * k + 10 for k in range(n)]
    order += range(11 * n, len(base.standard_names))
    return base.matrix[:, order]


def _rotor_scales(robot: Robot, bodies: Array) -> Array:
    """Sizes that rotor inertias may have: those of the description, or of the body that they move."""
    own = np.array([joint.Ia for joint in robot.joints])
    about_axis = np.array(
        [body[5] if joint.sigma == 0 else body[9] for joint, body in zip(robot.joints, bodies, strict=True)]
    )
    return np.where(own > 0.0, own, np.maximum(about_axis, 1e-3))


def _friction_scales(whole: Factors, sigma: Array) -> Array:
    """Sizes of friction: what would make residuals of one deviation."""
    scales = []
    for R, s in zip(whole.parts[0], sigma, strict=True):
        lengths = np.linalg.norm(R[:, whole.shared : -1], axis=0)
        scales += [s * np.sqrt(whole.count) / length if length > 0.0 else 1.0 for length in lengths]
    return np.array(scales)
