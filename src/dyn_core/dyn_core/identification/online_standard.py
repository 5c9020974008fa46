# SPDX-License-Identifier: Apache-2.0
"""From what was learnt while the robot moves to standard parameters, which models take."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dyn_core.identification.estimators.described_parameters import consistent_parameters
from dyn_core.identification.estimators.least_squares import own_columns, system
from dyn_core.identification.online.recursive_estimator import Knowledge
from dyn_core.model.standard_parameters import PER_JOINT


@dataclass(frozen=True)
class StandardEstimate:
    """Standard parameters of a robot, all of them, which bodies can have.

    Attributes:
        names: their names, as of the robot.
        values: their values (SI units).
        deviations: their standard deviations; inf where nothing is known.
    """

    names: tuple[str, ...]
    values: tuple[float, ...]
    deviations: tuple[float, ...]


def online_standard(knowledge: Knowledge) -> StandardEstimate:
    """Answer the standard parameters nearest to those of the description that make the torques measured.

    It takes some tenths of a second.

    Raises:
        DynError: the numbers are such that none are found.
    """
    robot, solution = knowledge.base.robot, knowledge.solution
    # Samples behind a filter say less than their number: all of them count as much less.
    sigma = math.sqrt(knowledge.independent) * solution.sigma
    whole = knowledge.data.merged()
    rows = system(whole, sigma)
    found = consistent_parameters(robot, knowledge.base, knowledge.friction, rows, int(whole.count.max()))
    before = np.array(robot.parameters).reshape(len(robot.joints), PER_JOINT)
    values = np.column_stack([found.standard, found.Ia, before[:, 11:]])
    spreads = np.column_stack([found.deviations, np.full((len(robot.joints), 3), math.inf)])
    own = own_columns(knowledge.data)
    behind = len(knowledge.base.kept)
    terms = ("viscous", "coulomb", "offset")
    for number, columns, model in zip(robot.coordinates, own, knowledge.friction, strict=True):
        for k, term in zip(columns, model.terms, strict=True):
            place = 11 + terms.index(term)
            values[number - 1, place] = found.x[k]
            spreads[number - 1, place] = found.friction_deviations[k - behind]
    for name, value, spread in zip(
        knowledge.base.passive, found.passive, found.passive_deviations, strict=True
    ):
        joint, place = divmod(robot.parameter_names.index(name), PER_JOINT)
        values[joint, place], spreads[joint, place] = value, spread
    return StandardEstimate(
        robot.parameter_names, tuple(values.ravel().tolist()), tuple(spreads.ravel().tolist())
    )
