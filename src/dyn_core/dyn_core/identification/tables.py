# SPDX-License-Identifier: Apache-2.0
"""Numbers of an identification as parameters with names, units and what to believe of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dyn_core.facade.arrays import Array
from dyn_core.identification.base_columns import BaseColumns
from dyn_core.identification.bool_array import BoolArray
from dyn_core.identification.essential import SIGNIFICANT
from dyn_core.identification.expected import Consistent
from dyn_core.identification.friction import FrictionModel, unit
from dyn_core.identification.identified import IdentifiedParameter, JointFriction
from dyn_core.identification.standard_friction import nearest_standard
from dyn_core.identification.units import unit_of
from dyn_core.model.robot import Robot
from dyn_core.signals.signals import Signals

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


def standard_table(
    robot: Robot,
    models: Sequence[FrictionModel],
    signals: Signals,
    consistent: Consistent,
    own: Sequence[range],
) -> tuple[IdentifiedParameter, ...]:
    """Answer all standard parameters, in the order of `Robot.parameter_names`.

    Args:
        robot: the robot.
        models: friction of each joint.
        signals: the motion, for velocities at which a standard model of friction comes near another one.
        consistent: the numbers.
        own: by joint, the places of the parameters of its friction.
    """
    prior = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    place = {number: i for i, number in enumerate(robot.coordinates)}
    found = []
    for j, joint in enumerate(robot.joints, start=1):
        values = [*consistent.standard[j - 1], consistent.Ia[j - 1]]
        spreads = consistent.deviations[j - 1].tolist()
        informed = consistent.informed[j - 1].tolist()
        friction = [joint.friction.Fv, joint.friction.Fs, joint.friction.Fo]
        if j in place:
            i = place[j]
            x = consistent.x[list(own[i])]
            if np.any(signals.qd[:, i]):
                friction = list(nearest_standard(models[i], x, signals.qd[:, i]))
            of_friction = consistent.friction_deviations[[k - len(consistent.x) for k in own[i]]]
            by_term = dict(zip(models[i].terms, of_friction.tolist(), strict=True))
            terms = ("viscous", "coulomb", "offset")
            spreads += [by_term.get(term, np.inf) for term in terms]
            informed += [0.0 if np.isinf(by_term.get(term, 0.0)) else 1.0 for term in terms]
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
