# SPDX-License-Identifier: Apache-2.0
"""Numbers of an identification as parameters with names, units and what to believe of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.identification.bool_array import BoolArray
from dyn_core.identification.essential import SIGNIFICANT
from dyn_core.identification.estimators.described_parameters import Consistent
from dyn_core.identification.friction.friction_model import FrictionModel, unit
from dyn_core.identification.friction.friction_selection import V0
from dyn_core.identification.motor_coupling import MotorCoupling
from dyn_core.identification.output.identified_parameters import (
    IdentifiedMotor,
    IdentifiedParameter,
    JointFriction,
)
from dyn_core.identification.output.parameter_tables import ChosenFriction, StandardFriction, nearest_standard
from dyn_core.identification.regressor.base_columns import BaseColumns
from dyn_core.identification.regressor.motion_equations import Equations
from dyn_core.identification.rigid_torques import rigid_torques
from dyn_core.identification.units import unit_of
from dyn_core.robot.robot import Robot

INFORMED = 0.5
"""Part of what is known of a standard parameter that has to come from the measurement."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """Numbers of the base parameters and then of friction, joint by joint, each (p,).

    Attributes:
        x: values.
        deviations: their standard deviations.
        essential: whether the measured torques cannot do without them.
        identifiable: whether the measurement says anything of them.
    """

    x: Array
    deviations: Array
    essential: BoolArray
    identifiable: BoolArray

    def parameter(self, k: int, name: str, prior: float | None, unit: str) -> IdentifiedParameter:
        """Answer the parameter at a place."""
        return IdentifiedParameter(
            name,
            float(self.x[k]),
            float(self.deviations[k]),
            prior,
            unit,
            bool(self.essential[k]),
            bool(self.identifiable[k]),
        )


def base_table(robot: Robot, base: BaseColumns, estimate: Estimate) -> tuple[IdentifiedParameter, ...]:
    """Answer the base parameters."""
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
    """Answer the friction of each joint.

    Args:
        robot: the robot.
        models: friction of each joint.
        own: by joint, the places of its parameters.
        estimate: the numbers.
        tried: what was tried on the way to the model of each joint, with the error.
    """
    found = []
    for i, (model, columns) in enumerate(zip(models, own, strict=True)):
        number, joint = robot.coordinates[i], robot.independent_joints[i]
        prior = {"viscous": joint.friction.Fv, "coulomb": joint.friction.Fs, "offset": joint.friction.Fo}
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
    motors: Sequence[MotorCoupling],
    *,
    at_once: bool = False,
) -> tuple[StandardFriction, ...]:
    """Answer the friction of each joint as simple models take it, beside the bodies that were found.

    Args:
        equations: of the motion that was fitted.
        models: friction of each joint.
        consistent: the numbers.
        own: by joint, the places of the parameters of its friction.
        motors: motors that move several joints.
        at_once: whether Coulomb friction has to change its sign at once.
    """
    robot = equations.base.robot
    bodies = np.column_stack([consistent.standard, _rotors(robot, consistent, motors)]).ravel()
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


def _rotors(robot: Robot, consistent: Consistent, motors: Sequence[MotorCoupling]) -> Array:
    """Rotor inertias as simple models take them: of motors of several joints, what each joint feels alone."""
    found: Array = consistent.Ia.copy()
    for motor, (Ia, _, _) in zip(motors, consistent.motors, strict=True):
        for j, speed in zip(robot.coordinates, motor.speeds(robot), strict=True):
            found[j - 1] += Ia * speed**2
    return found


def motor_table(
    robot: Robot, consistent: Consistent, motors: Sequence[MotorCoupling]
) -> tuple[IdentifiedMotor, ...]:
    """Answer the motors that move several joints."""
    found = []
    for motor, values, spreads in zip(motors, consistent.motors, consistent.motor_deviations, strict=True):
        parameters = tuple(
            IdentifiedParameter(
                name, value, spread, None, unit_of(name, robot), abs(value) > SIGNIFICANT * spread, True
            )
            for name, value, spread in zip(
                motor.parameter_names, values.tolist(), spreads.tolist(), strict=True
            )
        )
        found.append(IdentifiedMotor(motor.name, motor.joints, parameters))
    return tuple(found)


def standard_table(
    robot: Robot,
    consistent: Consistent,
    frictions: Sequence[StandardFriction],
    motors: Sequence[MotorCoupling],
    passive_names: Sequence[str] = (),
) -> tuple[IdentifiedParameter, ...]:
    """Answer all standard parameters, in the order of `Robot.parameter_names`.

    Args:
        robot: the robot.
        consistent: the numbers.
        passive_names: names of the friction of passive joints that is not counted as that of others.
        frictions: of each joint, as simple models take it.
        motors: motors that move several joints.
    """
    rotors = _rotors(robot, consistent, motors)
    prior = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    place = {number: i for i, number in enumerate(robot.coordinates)}
    passive = dict(
        zip(passive_names, zip(consistent.passive, consistent.passive_deviations, strict=True), strict=True)
    )
    found = []
    for j, joint in enumerate(robot.joints, start=1):
        values = [*consistent.standard[j - 1], rotors[j - 1]]
        spreads = consistent.deviations[j - 1].tolist()
        informed = consistent.informed[j - 1].tolist()
        friction = (joint.friction.Fv, joint.friction.Fs, joint.friction.Fo)
        if j in place:
            standard = frictions[place[j]]
            friction = standard.values
            spreads += standard.deviations
            informed += [0.0 if np.isinf(spread) else 1.0 for spread in standard.deviations]
        elif robot.loops and joint.mimic is None:
            of_joint = [passive.get(f"{term}{j}", (0.0, np.inf)) for term in ("Fv", "Fs", "Fo")]
            Fv, Fs, Fo = (float(value) for value, _ in of_joint)
            friction = (Fv, Fs, Fo)
            spreads += [float(spread) for _, spread in of_joint]
            informed += [0.0 if np.isinf(spread) else 1.0 for _, spread in of_joint]
        else:
            spreads += [np.inf] * 3
            informed += [0.0] * 3
        names = robot.parameter_names[14 * (j - 1) : 14 * j]
        for name, value, spread, share in zip(names, [*values, *friction], spreads, informed, strict=True):
            found.append(
                IdentifiedParameter(
                    name,
                    float(value),
                    float(spread),
                    float(prior[name]),
                    unit_of(name, robot),
                    abs(value) > SIGNIFICANT * spread,
                    share > INFORMED,
                )
            )
    return tuple(found)
