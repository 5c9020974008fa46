# SPDX-License-Identifier: Apache-2.0
"""The parameters of a robot's description as a prior that measurements correct."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dyn_core.core.arrays import Array, BoolArray
from dyn_core.identification.estimators.physical_consistency import (
    ConsistentSolution,
    Prior,
    consistent,
    is_possible,
    nearest_possible,
)
from dyn_core.identification.friction.friction_model import NONNEGATIVE, FrictionModel, described_friction
from dyn_core.identification.regressor.base_columns import BaseColumns
from dyn_core.robot.dynamic_parameters import INERTIAL, PER_JOINT
from dyn_core.robot.robot import Robot

WEIGHT = 0.5  # weight of the expected bodies: they may be about twice, or less than half, as heavy
DRIVE_WEIGHT = 1e-3  # tiny weight of the barrier that keeps friction and rotor inertias from being negative

NEXT_TO_NOTHING = 1e-3  # expected part of the usual size, for a parameter that another one can stand for

LEAST_MASS = 0.01  # mass of a body that is described without one (kg)
LEAST_RADIUS = 0.01  # radius of gyration of a body that is described without extent (m)


@dataclass(frozen=True, eq=False)
class Consistent:
    """Physically consistent standard parameters, and the base parameters that they give."""

    x: Array  # base parameters, then friction, in the order of the estimators
    standard: Array  # ten parameters of each body, (n, 10)
    Ia: Array  # rotor inertias (kg m^2 or kg), (n,)
    passive: Array  # friction of passive joints, in the order of `BaseColumns.passive`
    motors: Array  # rotor inertia, viscous and Coulomb friction of motors that move several joints, (m, 3)
    deviations: Array  # of the standard parameters, (n, 11), rotor inertias last
    informed: Array  # share of the measurement in the knowledge of each, 0 to 1, (n, 11)
    friction_deviations: Array  # in the order of x
    passive_deviations: Array
    motor_deviations: Array  # (m, 3)


def expected_bodies(robot: Robot) -> tuple[Array, tuple[int, ...]]:
    """Return ten possible parameters of each body, and the numbers of bodies described as impossible."""
    table = np.array(robot.parameters, dtype=float).reshape(len(robot.joints), PER_JOINT)[:, : len(INERTIAL)]
    impossible = tuple(j for j, row in enumerate(table, start=1) if not is_possible(row))
    bodies = [row if is_possible(row) else nearest_possible(row, LEAST_MASS, LEAST_RADIUS) for row in table]
    return np.array(bodies).reshape(len(robot.joints), len(INERTIAL)), impossible


def consistent_parameters(
    base: BaseColumns, models: Sequence[FrictionModel], rows: Array, count: int, weight: float = WEIGHT
) -> Consistent:
    """Return physically consistent parameters of bodies, rotors and friction.

    `rows` are rows ``[W tau]`` in base parameters and friction, each divided by the deviation of its
    residual; they stand for `count` equations of each joint. `weight` is that of the described bodies.
    """
    robot = base.robot
    n, p0 = len(robot.joints), len(base.kept)
    to_base = _standard_to_base(base, n)
    drives = to_base.shape[1] - 10 * n  # rotors, friction of passive joints, motors that move several joints
    friction = rows.shape[1] - 1 - p0
    to_all = np.zeros((p0 + friction, to_base.shape[1] + friction))
    to_all[:p0, : to_base.shape[1]] = to_base
    to_all[p0:, to_base.shape[1] :] = np.eye(friction)
    bodies, _ = expected_bodies(robot)
    held = [term in NONNEGATIVE for model in models for term in model.terms]
    nonnegative = np.array([True] * drives + held, dtype=bool)
    rotors = _rotor_scales(robot, bodies)
    of_columns = _friction_scales(rows[:, :-1], count)
    passive, of_friction = _shared_scales(base, of_columns), of_columns[p0:]
    motors = np.full(drives - n - len(passive), rotors.mean())
    replaced = without_motor(base, n)
    rotors = np.where(replaced, NEXT_TO_NOTHING * rotors, rotors)
    viscous = [
        term == "viscous" and bool(replaced[j - 1])
        for j, model in zip(robot.coordinates, models, strict=True)
        for term in model.terms
    ]
    of_friction = np.where(viscous, NEXT_TO_NOTHING * of_friction, of_friction)
    scales = np.concatenate([rotors, passive, motors, of_friction])
    others = drives + friction
    prior = Prior(
        bodies, weight, scales, np.full(others, DRIVE_WEIGHT), nonnegative, np.where(nonnegative, scales, 0.0)
    )
    solution = consistent((rows,), np.ones(1), (to_all,), prior)
    unseen = np.linalg.norm(rows[:, p0:-1], axis=0) == 0.0
    return _with_described(_consistent(solution, to_base, n, len(base.passive)), robot, models, unseen)


def _with_described(
    found: Consistent, robot: Robot, models: Sequence[FrictionModel], unseen: Array
) -> Consistent:
    """Take the described friction where the motion shows none, as of a joint that stood."""
    described = [
        described_friction(joint).get(term, 0.0)
        for model, joint in zip(models, robot.independent_joints, strict=True)
        for term in model.terms
    ]
    start = len(found.x) - len(described)
    x = np.concatenate([found.x[:start], np.where(unseen, described, found.x[start:])])
    deviations = found.friction_deviations.copy()
    deviations[len(deviations) - len(described) :][unseen] = np.inf
    return replace(found, x=x, friction_deviations=deviations)


def _shared_scales(base: BaseColumns, of_columns: Array) -> Array:
    """Return the sizes of the friction of passive joints: those of the columns that they are in."""
    start = len(base.standard_names) - len(base.passive) - 3 * len(base.couplings)
    own = base.matrix[:, start : start + len(base.passive)] != 0.0
    return of_columns[: len(own)][np.argmax(own, axis=0)] if len(base.passive) else np.zeros(0)


def _consistent(solution: ConsistentSolution, to_base: Array, n: int, passive: int) -> Consistent:
    x = solution.x
    spread = np.sqrt(np.maximum(np.diag(solution.covariance), 0.0))  # roundings may leave less than 0
    informed = 1.0 - np.minimum(spread / solution.prior_deviations, 1.0) ** 2

    def table(values: Array) -> Array:
        return np.column_stack([values[: 10 * n].reshape(n, 10), values[10 * n : 11 * n]])

    known, bodies = to_base.shape[1], 11 * n + passive
    return Consistent(
        np.concatenate([to_base @ x[:known], x[known:]]),
        x[: 10 * n].reshape(n, 10),
        x[10 * n : 11 * n],
        x[11 * n : bodies],
        x[bodies:known].reshape(-1, 3),
        table(spread),
        table(informed),
        spread[known:],
        spread[11 * n : bodies],
        spread[bodies:known].reshape(-1, 3),
    )


def _standard_to_base(base: BaseColumns, n: int) -> Array:
    """Return the matrix of the base parameters: bodies, rotors, friction, motors of several joints."""
    order = [11 * k + j for k in range(n) for j in range(10)] + [11 * k + 10 for k in range(n)]
    order += range(11 * n, len(base.standard_names))
    return base.matrix[:, order]


def without_motor(base: BaseColumns, n: int) -> BoolArray:
    """Return which joints are moved by a coupled motor instead of their own.

    Torques do not tell the rotors and the viscous friction of two motors that move two joints from those of
    the joints: the three numbers of a symmetric matrix are made by four.
    """
    numbers = {name.removeprefix("Iam") for name in base.standard_names[(len(INERTIAL) + 1) * n :]}
    return np.array([str(j) in numbers for j in range(1, n + 1)])


def _rotor_scales(robot: Robot, bodies: Array) -> Array:
    """Return the sizes of rotor inertias: those of the description, else of the body that the joint moves.

    A passive joint has no motor, and next to no rotor.
    """
    own = np.array([joint.Ia for joint in robot.joints])
    part = np.array([1.0 if joint.mu or not robot.loops else NEXT_TO_NOTHING for joint in robot.joints])
    about_axis = np.array(
        [body[5] if joint.sigma == 0 else body[9] for joint, body in zip(robot.joints, bodies, strict=True)]
    )
    return np.where(own > 0.0, own, part * np.maximum(about_axis, 1e-3))


def _friction_scales(columns: Array, count: int) -> Array:
    """Return the sizes of friction that make residuals of one deviation."""
    lengths = np.linalg.norm(columns, axis=0)
    present = lengths > 0.0
    return np.where(present, math.sqrt(count) / np.where(present, lengths, 1.0), 1.0)
