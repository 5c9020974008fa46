# SPDX-License-Identifier: Apache-2.0
"""Identified parameters with names, units and deviations; standard friction; torque errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from dyn_core.core.arrays import Array, BoolArray
from dyn_core.identification.estimators.described_parameters import Consistent
from dyn_core.identification.estimators.standard_deviations import (
    SAFETY,
    SIGNIFICANT,
    residual_rows,
    residuals,
)
from dyn_core.identification.friction.friction_model import STANDARD, FrictionModel, described_friction, unit
from dyn_core.identification.friction.friction_selection import V0, rows_of
from dyn_core.identification.output.identified_parameters import (
    Errors,
    IdentifiedMotor,
    IdentifiedParameter,
    JointFriction,
    TorqueError,
)
from dyn_core.identification.regressor.base_columns import BaseColumns, unit_of
from dyn_core.identification.regressor.motion_equations import Equations, rigid_torques
from dyn_core.logs.conditioning.signals import Signals
from dyn_core.robot.robot import Robot

INFORMED = 0.5  # least share of the measurement in the knowledge of an identifiable standard parameter


@dataclass(frozen=True, eq=False)
class Estimate:
    """Numbers of the base parameters and then of friction, joint by joint, each (p,)."""

    x: Array  # values
    deviations: Array  # standard deviations
    essential: BoolArray  # whether the measured torques require them
    identifiable: BoolArray  # whether the measurement shows them

    def parameter(self, k: int, name: str, prior: float | None, unit: str) -> IdentifiedParameter:
        """Return the parameter at an index."""
        return IdentifiedParameter(
            name,
            float(self.x[k]),
            float(self.deviations[k]),
            prior,
            unit,
            bool(self.essential[k]),
            bool(self.identifiable[k]),
        )


def base_table(base: BaseColumns, estimate: Estimate) -> tuple[IdentifiedParameter, ...]:
    """Return the base parameters."""
    robot = base.robot
    known = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    prior = base.matrix @ np.array([known.get(name, 0.0) for name in base.standard_names])
    return tuple(
        estimate.parameter(k, name, float(prior[k]), unit_of(kept, robot))
        for k, (name, kept) in enumerate(zip(base.names, base.kept, strict=True))
    )


def friction_table(
    robot: Robot,
    models: Sequence[FrictionModel],
    own: Sequence[range],
    estimate: Estimate,
    tried: Sequence[tuple[tuple[str, float], ...]],
) -> tuple[JointFriction, ...]:
    """Return the friction of each joint.

    `own` are the indices of its parameters, `tried` the models that were tried for it, with their errors.
    """
    found = []
    for i, (model, columns) in enumerate(zip(models, own, strict=True)):
        number, joint = robot.coordinates[i], robot.independent_joints[i]
        prior = described_friction(joint)
        parameters = tuple(
            estimate.parameter(k, name, prior.get(term), unit(term, joint))
            for name, term, k in zip(model.names(number), model.terms, columns, strict=True)
        )
        found.append(JointFriction(model, parameters, tried[i]))
    return tuple(found)


def standard_frictions(
    equations: Equations,
    models: Sequence[FrictionModel],
    consistent: Consistent,
    own: Sequence[range],
    *,
    at_once: bool = False,
) -> tuple[StandardFriction, ...]:
    """Return the friction of each joint for simple models, beside the bodies that were found.

    `own` are the indices of its parameters; with `at_once`, the sign of Coulomb friction is sharp.
    """
    bodies = np.column_stack([consistent.standard, _rotors(equations.base, consistent)]).ravel()
    bodies = np.concatenate([bodies, consistent.passive])
    load = rigid_torques(equations, equations.base.matrix[:, : len(bodies)] @ bodies)
    parts, used = (0.0,) if at_once else V0, equations.used
    found = []
    for i, (model, columns) in enumerate(zip(models, own, strict=True)):
        places = list(columns)
        deviations = consistent.friction_deviations[[k - len(consistent.x) for k in places]]
        chosen = ChosenFriction(model, consistent.x[places], deviations)
        found.append(nearest_standard(chosen, equations.signals, i, load[:, i], parts, used[:, i]))
    return tuple(found)


def _rotors(base: BaseColumns, consistent: Consistent) -> Array:
    """Return rotor inertias for simple models: of motors of several joints, what each joint feels alone."""
    found: Array = consistent.Ia.copy()
    for motor, (Ia, _, _) in zip(base.couplings, consistent.motors, strict=True):
        found[np.array(base.robot.coordinates) - 1] += Ia * motor.speeds(base.robot) ** 2
    return found


def motor_table(base: BaseColumns, consistent: Consistent) -> tuple[IdentifiedMotor, ...]:
    """Return the motors that move several joints."""
    found = []
    numbers = zip(base.couplings, consistent.motors, consistent.motor_deviations, strict=True)
    for motor, values, spreads in numbers:
        is_essential = np.abs(values) > SIGNIFICANT * spreads
        estimate = Estimate(values, spreads, is_essential, np.ones(len(values), dtype=bool))
        names = enumerate(motor.parameter_names)
        parameters = tuple(estimate.parameter(k, name, None, unit_of(name, base.robot)) for k, name in names)
        found.append(IdentifiedMotor(motor.name, motor.joints, parameters))
    return tuple(found)


def standard_table(
    base: BaseColumns, consistent: Consistent, frictions: Sequence[StandardFriction]
) -> tuple[IdentifiedParameter, ...]:
    """Return all standard parameters in the order of `Robot.parameter_names`, with simple frictions."""
    robot, rotors = base.robot, _rotors(base, consistent)
    prior = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    place = {number: i for i, number in enumerate(robot.coordinates)}
    of_passive = zip(consistent.passive.tolist(), consistent.passive_deviations.tolist(), strict=True)
    passive = dict(zip(base.passive, of_passive, strict=True))
    found = []
    for j, joint in enumerate(robot.joints, start=1):
        friction: tuple[float, ...] = tuple(described_friction(joint).values())
        deviations: tuple[float, ...] = (np.inf,) * 3
        if j in place:
            friction, deviations = frictions[place[j]].values, frictions[place[j]].deviations
        elif robot.loops and joint.mimic is None:
            of_joint = [passive.get(f"{term}{j}", (0.0, np.inf)) for term in ("Fv", "Fs", "Fo")]
            friction, deviations = zip(*of_joint, strict=True)
        values = np.array([*consistent.standard[j - 1], rotors[j - 1], *friction])
        spreads = np.array([*consistent.deviations[j - 1], *deviations])
        is_shown = np.array([*(consistent.informed[j - 1] > INFORMED), *np.isfinite(deviations)])
        estimate = Estimate(values, spreads, np.abs(values) > SIGNIFICANT * spreads, is_shown)
        names = robot.parameter_names[14 * (j - 1) : 14 * j]
        found += [
            estimate.parameter(k, name, float(prior[name]), unit_of(name, robot))
            for k, name in enumerate(names)
        ]
    return tuple(found)


# The nearest viscous and Coulomb friction and offset, for simple models
#
# With the torques of bodies and rotors known, Fv, Fs, Fo and the transition velocity v0 of the Coulomb
# friction ``Fs tanh(qd / v0)`` minimise the rest of the measured torques. They contain the mean of other
# terms of friction, such as that of the load.

GAIN = 0.04  # least relative reduction of squared residuals by another model than the first


@dataclass(frozen=True)
class StandardFriction:
    """Friction of a joint for simple models."""

    v0: float  # transition velocity of Coulomb friction (rad/s or m/s); 0 for a sharp sign
    values: tuple[float, ...]  # Fv, Fs and Fo
    deviations: tuple[float, ...]  # standard deviations


@dataclass(frozen=True, eq=False)
class ChosenFriction:
    """Identified friction of a joint."""

    model: FrictionModel
    x: Array  # its parameters
    deviations: Array  # standard deviations

    def standard(self) -> StandardFriction:
        """Return the viscous and Coulomb friction and offset in it."""
        values = dict(zip(self.model.terms, self.x.tolist(), strict=True))
        spreads = dict(zip(self.model.terms, self.deviations.tolist(), strict=True))
        Fv, Fs, Fo = (values.get(term, 0.0) for term in STANDARD)
        deviations = tuple(spreads.get(term, math.inf) for term in STANDARD)
        return StandardFriction(self.model.v0, (max(Fv, 0.0), max(Fs, 0.0), Fo), deviations)


def nearest_standard(
    chosen: ChosenFriction,
    signals: Signals,
    joint: int,
    load: Array,
    parts: Sequence[float] = V0,
    used: BoolArray | None = None,
) -> StandardFriction:
    """Return the standard friction of a joint that minimises the rest of its measured torques.

    A chosen model of this kind is kept unless another one is better. `load` has the torques of bodies and
    rotors (N m or N), (N,), `parts` the velocities v0 to try relative to the greatest speed, 0 first, and
    `used` the filtered samples that count, by default all.
    """
    qd, torque = signals.qd[:, joint], signals.tau[:, joint] - load
    speed = float(np.abs(qd).max(initial=0.0))
    if not signals.has_effort[joint] or speed == 0.0 or not (used is None or used.any()):
        return chosen.standard()
    velocities = sorted({speed * part for part in parts})
    signs = [FrictionModel(("coulomb",), v0).columns(qd, qd)[:, 0] for v0 in velocities]
    columns = np.column_stack([qd, np.ones_like(qd), torque, *signs])
    which = slice(None) if used is None else used
    filtered = signals.parallel(columns)[0][which]
    right = filtered[:, 2]
    found = []
    for k, v0 in enumerate(velocities):
        W = filtered[:, [0, 3 + k, 1]]
        x = _braking(W, right)
        left = right - W @ x
        found.append((float(left @ left), v0, W, x, left))
    least, v0, W, x, left = min(found, key=lambda one: one[0])
    first = found[0][0]  # that of velocity 0
    kept = chosen.model.terms == STANDARD and (chosen.model.v0 == 0.0 or len(velocities) > 1)
    if kept:
        sign = chosen.model.columns(qd, qd)[:, 1]
        own = np.column_stack([filtered[:, 0], signals.parallel(sign)[0][which], filtered[:, 1]])
        first = float(np.sum((right - own @ chosen.x) ** 2))
    if least >= (1.0 - GAIN) * first:
        if kept:
            return chosen.standard()
        _, v0, W, x, left = found[0]
    return _with_deviations(v0, W, x, left, signals.decimation.memory)


def _braking(W: Array, right: Array) -> Array:
    """Return least squares in which Fv and Fs are not negative."""
    found = []
    for kept in product((False, True), (False, True), (True,)):
        x = np.zeros(3)
        x[list(kept)] = np.linalg.lstsq(W[:, kept], right, rcond=None)[0]
        if np.all(x[:2] >= 0.0):
            found.append((float(np.sum((right - W @ x) ** 2)), x))
    return min(found, key=lambda pair: pair[0])[1]


def _with_deviations(v0: float, W: Array, x: Array, left: Array, memory: float) -> StandardFriction:
    """Return values and deviations, for correlated residuals."""
    count = len(left)
    effective = float(residuals(left[:, None]).effective[0])
    sigma = math.sqrt(float(left @ left) / max(count - 3, 1) * max(memory, count / effective))
    spread = SAFETY * sigma * np.sqrt(np.diag(np.linalg.pinv(W.T @ W)))
    return StandardFriction(v0, tuple(x.tolist()), tuple(spread.tolist()))


def torque_errors(
    fitted: Equations, unseen: Equations | None, models: Sequence[FrictionModel], x: Array
) -> Errors:
    """Return the errors on the fitted equations, and on unseen ones if there are any."""
    return Errors(
        torque_error(fitted, models, x), None if unseen is None else torque_error(unseen, models, x)
    )


def torque_error(equations: Equations, models: Sequence[FrictionModel], x: Array) -> TorqueError:
    """Return the difference of torques by parameters from those of a motion, including standing joints."""
    load = rigid_torques(equations, x) if any(model.loaded for model in models) else None
    rows = replace(rows_of(equations, models, load), complete=True)
    squares, torques = (np.mean(residual_rows(rows, values) ** 2, axis=0) for values in (x, np.zeros_like(x)))
    return TorqueError.of(squares, torques)
