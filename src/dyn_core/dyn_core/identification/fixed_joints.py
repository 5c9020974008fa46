# SPDX-License-Identifier: Apache-2.0
"""Joints that stand all the time are fixed: what they carry is one body with what carries them.

So there are as many columns as what moves needs, be the robot ever so large. A parameter keeps its name and
number; those of bodies that are one are seen in combination alone, which the description divides.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from dyn_core.core.errors import DynError
from dyn_core.identification.at_rest import moving
from dyn_core.identification.friction.friction_model import FrictionModel, unit
from dyn_core.identification.output.identified_parameters import (
    Errors,
    Identified,
    IdentifiedParameter,
    JointFriction,
    TorqueError,
)
from dyn_core.identification.settings import IdentificationSettings
from dyn_core.logs.conditioning.signals import Signals
from dyn_core.robot.joints import Joint, Mimic
from dyn_core.robot.robot import Robot

SAME = 0.02
"""Distance (rad or m) at which a joint that is fixed is still where it was."""


def fixed_positions(signals: Signals, free: Collection[str] = ()) -> dict[str, float]:
    """Answer by joint where those stand that stand all the time (rad or m).

    Args:
        signals: the whole motion.
        free: joints that are not to be fixed, such as those that motors move together with others.
    """
    return {
        name: float(np.median(q))
        for name, q, moves in zip(signals.joint_names, signals.q.T, moving(signals), strict=True)
        if not moves and name not in free
    }


def check_fixed(signals: Signals, positions: Mapping[str, float]) -> None:
    """Refuse signals in which joints are elsewhere than where they were taken as fixed (rad or m)."""
    for name, position in positions.items():
        if name not in signals.joint_names:
            continue
        q = signals.q[:, signals.joint_names.index(name)]
        at = float(q[np.argmax(np.abs(q - position))])
        if abs(at - position) > SAME:
            raise DynError(
                f"joint '{name}' stood at {position:.4g} when the arm was identified, which is known with it "
                f"there alone, but is at {at:.4g} here: hold it there, or let it move in both motions",
                element=f"joint '{name}'",
            )


def with_fixed_joints(robot: Robot, positions: Mapping[str, float]) -> Robot:
    """Answer the robot whose joints of these names stand at these positions, as do those that mimic them."""
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
    """Answer the robot with fixed joints, and the signals and settings of those that are left."""
    if not positions:
        return robot, signals, settings
    fixed = with_fixed_joints(robot, positions)
    friction = settings.friction
    if friction is not None:
        pairs = zip(robot.coordinate_names, friction, strict=True)
        friction = tuple(model for name, model in pairs if name not in positions)
    return fixed, signals.of_joints(fixed.coordinate_names), replace(settings, friction=friction)


def with_all_joints(found: Identified, robot: Robot, positions: Mapping[str, float]) -> Identified:
    """Answer what was found of a robot with fixed joints as that of the robot itself.

    Args:
        found: of `with_fixed_joints`.
        robot: the robot.
        positions: by joint, where those stand that are fixed (rad or m).
    """
    if not positions:
        return found
    place = {name: i for i, name in enumerate(found.joint_names)}

    def numbers(values: tuple[float, ...], otherwise: float) -> tuple[float, ...]:
        return tuple(values[place[n]] if n in place else otherwise for n in robot.coordinate_names)

    def error(one: TorqueError) -> TorqueError:
        return TorqueError(one.relative, numbers(one.by_joint, math.nan), numbers(one.rms, math.nan))

    def errors(both: Errors) -> Errors:
        return Errors(error(both.fitted), None if both.held_out is None else error(both.held_out))

    def friction(of_free: tuple[JointFriction, ...]) -> tuple[JointFriction, ...]:
        return tuple(
            of_free[place[joint.name]] if joint.name in place else _described(joint, j)
            for j, joint in zip(robot.coordinates, robot.independent_joints, strict=True)
        )

    still = {
        f"Ia{j}" for j, joint in enumerate(with_fixed_joints(robot, positions).joints, 1) if _is_fixed(joint)
    }
    return replace(
        found,
        standard=tuple(_as_described(p) if p.name in still else p for p in found.standard),
        joint_names=robot.coordinate_names,
        friction=friction(found.friction),
        consistent_friction=friction(found.consistent_friction),
        coulomb_velocity=numbers(found.coulomb_velocity, 0.0),
        errors=errors(found.errors),
        consistent_errors=errors(found.consistent_errors),
        whiteness=numbers(found.whiteness, math.nan),
        stood=numbers(found.stood, 1.0),
        fixed=dict(positions),
    )


def _is_fixed(joint: Joint) -> bool:
    return joint.mimic is not None and joint.mimic.leader == 0


def _as_described(parameter: IdentifiedParameter) -> IdentifiedParameter:
    value = parameter.value if parameter.prior is None else parameter.prior
    return replace(parameter, value=value, deviation=math.inf, essential=False, identifiable=False)


def _described(joint: Joint, number: int) -> JointFriction:
    """Answer the friction of a joint that the motion does not show: that of the description."""
    model = FrictionModel()
    known = {"viscous": joint.friction.Fv, "coulomb": joint.friction.Fs, "offset": joint.friction.Fo}
    parameters = tuple(
        IdentifiedParameter(
            name, known[term], math.inf, known[term], unit(term, joint), essential=False, identifiable=False
        )
        for name, term in zip(model.names(number), model.terms, strict=True)
    )
    return JointFriction(model, parameters, ())
