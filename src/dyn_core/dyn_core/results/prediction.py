# SPDX-License-Identifier: Apache-2.0
"""Torques by identified parameters along a motion, and how far they are from measured ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.facade.compile import compile_model
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.friction_torques import friction_torques
from dyn_core.identification.motor_coupling import MotorCoupling, coupling_columns
from dyn_core.identification.output.identified_parameters import TorqueError
from dyn_core.identification.output.parameter_set import ParameterSet
from dyn_core.logs.conditioning.signals import Signals
from dyn_core.model.fixed_base.dynamics_programs import with_passive_friction
from dyn_core.robot.robot import Robot

BLOCK = 20_000
"""Samples that are computed at once, which bounds the memory that this takes."""


@dataclass(frozen=True, eq=False)
class Prediction:
    """Torques of the actuators that a motion takes (N m or N), (N, n) each.

    Attributes:
        tau: with the friction models that were identified.
        standard: with viscous and Coulomb friction and offset alone, as the node feedforward has it.
        load: of bodies and rotors alone, and of the friction of passive joints, as the nodes have them.
    """

    tau: Array
    standard: Array
    load: Array


def predicted(robot: Robot, parameters: ParameterSet, q: Array, qd: Array, qdd: Array) -> Prediction:
    """Answer torques along a motion.

    Args:
        robot: the robot that the parameters are for.
        parameters: all of them.
        q: positions (rad or m), (N, n).
        qd: velocities (rad/s or m/s), (N, n).
        qdd: accelerations (rad/s^2 or m/s^2), (N, n).

    Raises:
        DynError: the parameters are those of another robot.
    """
    identified = parameters.applied_to(robot)
    # Tracing takes less time than a compiler, for a batch that is computed once.
    model = compile_model(with_passive_friction(identified), backend="python")
    models, x = parameters.friction_of(robot)
    friction = friction_torques(models, x)
    velocities = [parameters.coulomb_velocity.get(name, 0.0) for name in robot.coordinate_names]
    torques = Prediction(*(np.empty_like(q) for _ in range(3)))
    for first in range(0, len(q), BLOCK):
        part = slice(first, first + BLOCK)
        load = model.inverse_dynamics(q[part], qd[part], qdd[part])
        torques.load[part] = load
        whole = load + more_of_motors(robot, parameters, qd[part], qdd[part])
        torques.tau[part] = whole + friction(qd[part], whole)
        torques.standard[part] = load + standard_friction(identified, qd[part], velocities)
    return torques


def more_of_motors(robot: Robot, parameters: ParameterSet, qd: Array, qdd: Array) -> Array:
    """Answer torques of motors that move several joints (N m or N), (N, n), but for what `Ia` has of them.

    Args:
        robot: the robot.
        parameters: with the motors.
        qd: velocities (rad/s or m/s), (N, n).
        qdd: accelerations (rad/s^2 or m/s^2), (N, n).
    """
    total = np.zeros_like(qd)
    for motor in parameters.motors:
        coupling = MotorCoupling(motor.name, motor.joints)
        Ia, Fv, Fs = (value.value for value in motor.values)
        total += coupling_columns(robot, [coupling], qd, qdd) @ np.array([Ia, Fv, Fs])
        total -= Ia * coupling.speeds(robot) ** 2 * qdd
    return total


def standard_friction(robot: Robot, qd: Array, coulomb_velocity: Sequence[float] = ()) -> Array:
    """Answer viscous and Coulomb friction and offset of a robot (N m or N), (N, n).

    Args:
        robot: the robot.
        qd: velocities (rad/s or m/s), (N, n).
        coulomb_velocity: of each joint, velocity over which Coulomb friction changes its sign (rad/s or m/s);
            by default, and for 0, at once.
    """
    joints = robot.independent_joints
    x = [value for joint in joints for value in (joint.friction.Fv, joint.friction.Fs, joint.friction.Fo)]
    models = [FrictionModel(v0=v0) for v0 in coulomb_velocity or (0.0,) * robot.dof]
    return friction_torques(models, np.array(x))(qd, qd)


def torque_error(signals: Signals, predicted: Array) -> TorqueError:
    """Answer how far torques are from those of signals, both behind the same filter.

    A joint whose effort was not measured has the error NaN, and does not count.
    """
    measured, model = signals.parallel(signals.tau, predicted)
    return _error(measured, model)


def unfiltered_error(signals: Signals, predicted: Array) -> TorqueError:
    """Answer how far torques are from those of signals, sample by sample."""
    return _error(signals.tau, predicted)


def _error(measured: Array, model: Array) -> TorqueError:
    squares = np.mean((measured - model) ** 2, axis=0)
    torques = np.mean(measured**2, axis=0)
    known = np.isfinite(squares)
    tiny = float(np.finfo(float).tiny)
    relative = np.sqrt(squares[known].sum() / max(float(torques[known].sum()), tiny))
    return TorqueError(
        float(relative),
        tuple(np.sqrt(squares / np.maximum(torques, tiny)).tolist()),
        tuple(np.sqrt(squares).tolist()),
    )
