# SPDX-License-Identifier: Apache-2.0
"""Friction of the joints over their velocities, as curves."""

from __future__ import annotations

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.friction_torques import friction_torques
from dyn_core.identification.output.parameter_set import ParameterSet
from dyn_core.logs.conditioning.signals import Signals
from dyn_core.results.result import FrictionCurves
from dyn_core.robot.robot import Robot

POINTS = 301
BINS = 60
FEWEST = 5
"""Samples that a mean is worth drawing of."""


def friction_curves(
    robot: Robot, parameters: ParameterSet, signals: Signals, load: Array
) -> tuple[FrictionCurves, ...]:
    """Answer the friction of each joint.

    Args:
        robot: the robot.
        parameters: what was identified.
        signals: where velocities and measured efforts come from.
        load: torques of bodies and rotors along them (N m or N), (N, n).
    """
    models, x = parameters.friction_of(robot)
    values = parameters.values
    curves = []
    start = 0
    for i, (j, model) in enumerate(zip(robot.coordinates, models, strict=True)):
        own = x[start : start + len(model.terms)]
        start += len(model.terms)
        speed = float(np.abs(signals.qd[:, i]).max(initial=0.0)) or 1.0
        velocity = np.linspace(-speed, speed, POINTS)
        typical = float(np.median(np.abs(load[:, i])))
        v0 = parameters.coulomb_velocity.get(robot.coordinate_names[i], 0.0)
        standard = np.array([values[name] for name in FrictionModel().names(j)])
        curves.append(
            FrictionCurves(
                velocity,
                _torque(model, own, velocity, typical),
                _torque(FrictionModel(v0=v0), standard, velocity, typical),
                _means(velocity, signals.qd[:, i], signals.tau[:, i] - load[:, i]),
                typical if model.loaded else None,
            )
        )
    return tuple(curves)


def _torque(model: FrictionModel, x: Array, velocity: Array, load: float) -> Array:
    column = velocity[:, None]
    found: Array = friction_torques((model,), x)(column, np.full_like(column, load))[:, 0]
    return found


def _means(velocity: Array, qd: Array, friction: Array) -> Array:
    """Answer means in bins of velocities, by linear interpolation of the places between."""
    edges = np.linspace(velocity[0], velocity[-1], BINS + 1)
    place = np.clip(np.digitize(qd, edges) - 1, 0, BINS - 1)
    counts = np.bincount(place, minlength=BINS)
    sums = np.bincount(place, weights=friction, minlength=BINS)
    means = np.where(counts >= FEWEST, sums / np.maximum(counts, 1), np.nan)
    centres = 0.5 * (edges[:-1] + edges[1:])
    found: Array = np.interp(velocity, centres, means, left=np.nan, right=np.nan)
    return found
