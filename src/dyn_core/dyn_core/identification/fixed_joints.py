# SPDX-License-Identifier: Apache-2.0
"""Joints that stand all the time are fixed: the bodies on both sides become one body.

So the number of columns depends only on the moving joints. A parameter keeps its name and number. Parameters
of merged bodies are seen in combination only, which the description divides.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from dyn_core.core.errors import DynError
from dyn_core.identification.estimators.identification_settings import IdentificationSettings
from dyn_core.identification.friction.friction_model import FrictionModel, described_friction, unit
from dyn_core.identification.output.identified_parameters import (
    Identified,
    IdentifiedParameter,
    JointFriction,
)
from dyn_core.identification.regressor.motion_equations import moving
from dyn_core.logs.conditioning.signals import Signals
from dyn_core.robot.joints import Joint, Mimic
from dyn_core.robot.robot import Robot

SAME = 0.02  # distance (rad or m) within which a fixed joint has not moved


def fixed_positions(signals: Signals, free: Collection[str] = ()) -> dict[str, float]:
    """Return the positions of joints that stand all the time (rad or m), by name, except those in `free`."""
    return {
        name: float(np.median(q))
        for name, q, moves in zip(signals.joint_names, signals.q.T, moving(signals), strict=True)
        if not moves and name not in free
    }


def check_fixed(signals: Signals, positions: Mapping[str, float]) -> None:
    """Reject signals in which joints are not at their fixed positions (rad or m)."""
    for name, position in positions.items():
        if name not in signals.joint_names:
            continue
        q = signals.q[:, signals.joint_names.index(name)]
        at = float(q[np.argmax(np.abs(q - position))])
        if abs(at - position) > SAME:
            raise DynError(
                "fixed-joint-moved", joint=name, expected=position, given=at, element=f"joint '{name}'"
            )


def with_fixed_joints(robot: Robot, positions: Mapping[str, float]) -> Robot:
    """Return the robot with these joints, and those that mimic them, fixed at positions by name."""
    numbers = {joint.name: j for j, joint in enumerate(robot.joints, start=1)}
    at = {numbers[name]: position for name, position in positions.items()}

    def fixed(j: int, joint: Joint) -> Joint:
        if j in at:
            return replace(joint, mimic=Mimic(0, 0.0, at[j]))
        mimic = joint.mimic
        if mimic is None or mimic.leader not in at:
            return joint
        return replace(joint, mimic=Mimic(0, 0.0, mimic.multiplier * at[mimic.leader] + mimic.offset))

    return replace(robot, joints=tuple(fixed(j, joint) for j, joint in enumerate(robot.joints, start=1)))


def of_free_joints(
    robot: Robot, signals: Signals, settings: IdentificationSettings, positions: Mapping[str, float]
) -> tuple[Robot, Signals, IdentificationSettings]:
    """Return the robot with fixed joints, and the signals and settings of the others."""
    if not positions:
        return robot, signals, settings
    fixed = with_fixed_joints(robot, positions)
    friction = settings.friction
    if friction is not None:
        pairs = zip(robot.coordinate_names, friction, strict=True)
        friction = tuple(model for name, model in pairs if name not in positions)
    return fixed, signals.of_joints(fixed.coordinate_names), replace(settings, friction=friction)


def with_all_joints(found: Identified, robot: Robot, positions: Mapping[str, float]) -> Identified:
    """Return the result for a robot with fixed joints as that of the robot itself.

    `positions` are those of the fixed joints by name (rad or m).
    """
    if not positions:
        return found
    place = {name: i for i, name in enumerate(found.joint_names)}

    def numbers(values: tuple[float, ...], otherwise: float) -> tuple[float, ...]:
        return tuple(values[place[n]] if n in place else otherwise for n in robot.coordinate_names)

    def errors(values: tuple[float, ...]) -> tuple[float, ...]:
        return numbers(values, math.nan)

    def friction(of_free: tuple[JointFriction, ...]) -> tuple[JointFriction, ...]:
        return tuple(
            of_free[place[joint.name]] if joint.name in place else _described(joint, j)
            for j, joint in zip(robot.coordinates, robot.independent_joints, strict=True)
        )

    def described(parameter: IdentifiedParameter) -> IdentifiedParameter:
        value = parameter.value if parameter.prior is None else parameter.prior
        return replace(parameter, value=value, deviation=math.inf, essential=False, identifiable=False)

    joints = enumerate(with_fixed_joints(robot, positions).joints, start=1)
    still = {f"Ia{j}" for j, joint in joints if joint.mimic is not None and joint.mimic.leader == 0}
    return replace(
        found,
        standard=tuple(described(p) if p.name in still else p for p in found.standard),
        joint_names=robot.coordinate_names,
        friction=friction(found.friction),
        consistent_friction=friction(found.consistent_friction),
        coulomb_velocity=numbers(found.coulomb_velocity, 0.0),
        errors=found.errors.by_joint(errors),
        consistent_errors=found.consistent_errors.by_joint(errors),
        whiteness=errors(found.whiteness),
        stood=numbers(found.stood, 1.0),
        fixed=dict(positions),
    )


def _described(joint: Joint, number: int) -> JointFriction:
    """Return the described friction, of a joint that the motion does not show."""
    known = zip(FrictionModel().names(number), described_friction(joint).items(), strict=True)
    parameters = tuple(
        IdentifiedParameter(name, value, math.inf, value, unit(term, joint), False, False)
        for name, (term, value) in known
    )
    return JointFriction(FrictionModel(), parameters, ())
