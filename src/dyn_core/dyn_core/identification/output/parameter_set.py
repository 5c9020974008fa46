# SPDX-License-Identifier: Apache-2.0
"""The dynamic parameters of one robot as a set, with fingerprints of what they belong to.

Also the torques that they predict along a motion, and their errors.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.core.text import path_text
from dyn_core.identification.friction.friction_model import (
    FrictionModel,
    described_friction,
    friction_torques,
)
from dyn_core.identification.output.identified_parameters import KnownArm, TorqueError
from dyn_core.identification.regressor.base_columns import MotorCoupling, coupling_columns, unit_of
from dyn_core.logs.conditioning.signals import Protocol, Signals
from dyn_core.model.fixed_base.compiled_model import compile_model
from dyn_core.model.fixed_base.dynamics_programs import with_passive_friction
from dyn_core.robot.robot import Robot, refuse_springs

NOT_NEGATIVE = ("M", "Ia", "Fv", "Fs")  # parameters of bodies and drives that are never negative


@dataclass(frozen=True)
class SetValue:
    """A parameter."""

    name: str  # with the number of its joint
    value: float
    deviation: float | None  # standard deviation, if it is known
    unit: str


class Reason(NamedTuple):
    """A reason why parameters must not be used on a robot."""

    code: str  # of the finding; empty if a file does not have it
    text: str  # the joint and what is wrong


@dataclass(frozen=True)
class SetFriction:
    """The friction model of a joint."""

    joint: str
    model: FrictionModel
    values: tuple[SetValue, ...]  # its parameters, in the order of the terms


@dataclass(frozen=True)
class SetMotor:
    """A motor that moves several joints; see `MotorCoupling`."""

    name: str
    joints: Mapping[str, float]
    values: tuple[SetValue, ...]  # rotor inertia, viscous and Coulomb friction


@dataclass(frozen=True)
class ParameterSet:
    """The complete dynamic parameters of a robot, and how they were made.

    Attributes:
        robot_name: name of the robot.
        descriptions: SHA-256 of the descriptions that it is for: the one that was used, and identified.urdf.
        kinematics: of `kinematics_hash`.
        standard: all standard parameters, in the order of `Robot.parameter_names`.
        friction: the friction models, one for each independent joint; empty if none were identified.
        made: how it was made.
        protocol: how signals were conditioned for it.
        coulomb_velocity: by joint, transition velocity of its Coulomb friction in the node feedforward (rad/s
            or m/s); a sharp sign for other joints.
        motors: motors that move several joints; `standard` contains only the inertia that each joint feels
            alone.
        errors: relative torque errors on held-out data by friction model, where they are known.
        reasons: the verdict: why the parameters must not be used on a robot; none where they may be used.
        forced: whether they are used all the same.
        source: the file that it was read from.
    """

    robot_name: str
    descriptions: tuple[str, ...]
    kinematics: str
    standard: tuple[SetValue, ...]
    friction: tuple[SetFriction, ...] = ()
    made: Mapping[str, str] = field(default_factory=dict)
    protocol: Protocol = field(default_factory=Protocol)
    coulomb_velocity: Mapping[str, float] = field(default_factory=dict)
    motors: tuple[SetMotor, ...] = ()
    errors: Mapping[str, float | None] = field(default_factory=dict)
    reasons: tuple[Reason, ...] = ()
    forced: bool = False
    source: str = ""

    @property
    def values(self) -> dict[str, float]:
        """Standard parameters by name, for `Robot.with_parameters` and `Model.set_parameters`."""
        return {parameter.name: parameter.value for parameter in self.standard}

    @property
    def deviations(self) -> dict[str, float | None]:
        """Standard deviations by name; None where none is known."""
        return {parameter.name: parameter.deviation for parameter in self.standard}

    def applied_to(self, robot: Robot) -> Robot:
        """Return the robot with these parameters.

        Raise DynError if they are those of another robot, incomplete, or must not be used.
        """
        try:
            self._check(robot)
        except DynError as error:
            raise error.in_file(self.source) if self.source else error from None
        return robot.with_parameters(self.values)

    def friction_of(self, robot: Robot) -> tuple[tuple[FrictionModel, ...], Array]:
        """Return the friction model of each independent joint of their robot, and its values.

        Without identified models, they are those of the standard model.
        """
        if self.friction:
            models = tuple(friction.model for friction in self.friction)
            return models, np.array([p.value for friction in self.friction for p in friction.values])
        values = self.values
        x = [values[name] for j in robot.coordinates for name in FrictionModel().names(j)]
        return (FrictionModel(),) * robot.dof, np.array(x)

    def known_arm(self, robot: Robot) -> KnownArm:
        """Return the known arm for `identify_payload`; DynError as in `applied_to`."""
        self.applied_to(robot)
        standard = self.values
        couplings = tuple(MotorCoupling(motor.name, motor.joints) for motor in self.motors)
        for coupling, motor in zip(couplings, self.motors, strict=True):
            standard |= {p.name: p.value for p in motor.values}
            # The coupled rotor has a column of its own: its part in the joints is removed.
            for j, a in zip(robot.coordinates, coupling.speeds(robot).tolist(), strict=True):
                standard[f"Ia{j}"] -= motor.values[0].value * a**2
        return KnownArm(standard, self.friction_of(robot)[0], couplings)

    def check_verdict(self) -> None:
        """Raise DynError if the parameters must not be used, and are not forced."""
        if self.reasons and not self.forced:
            codes = [one.code for one in self.reasons]
            raise DynError("verdict-do-not-use", cause=self.reasons[0].text, codes=codes)

    def _check(self, robot: Robot) -> None:
        if robot.name != self.robot_name:
            raise DynError("parameters-other-robot", expected=self.robot_name, given=robot.name)
        refuse_springs(robot, "a file of identified parameters")
        if robot.description_hash not in self.descriptions:
            same = kinematics_hash(robot) == self.kinematics
            raise DynError(
                "parameters-other-description" if same else "parameters-other-kinematics",
                robot=robot.name,
                expected=" or ".join(f"{text[:12]}..." for text in self.descriptions),
                given=f"{robot.description_hash[:12]}...",
            )
        unknown = [p.name for p in self.standard if p.name not in robot.parameter_names]
        if unknown:
            raise DynError("robot-parameter-unknown", robot=robot.name, unknown=unknown)
        values, known = self.values, robot.coordinate_names
        missing = [name for name in robot.parameter_names if name not in values]
        if missing:
            raise DynError("parameters-missing", missing=missing)
        self.check_verdict()
        for p in self.standard:
            unit = unit_of(p.name, robot)
            if p.unit != unit:
                raise DynError("parameter-unit", parameter=p.name, given=p.unit, expected=unit)
        with_friction = tuple(friction.joint for friction in self.friction)
        if with_friction and with_friction != known:
            raise DynError("friction-joints-mismatch", given=with_friction, expected=known)
        for motor in self.motors:
            unknown = [name for name in motor.joints if name not in known]
            if unknown:
                raise DynError("motor-joint-unknown", motor=motor.name, unknown=unknown, known=known)
        unknown = [name for name in self.coulomb_velocity if name not in known]
        if unknown:
            raise DynError("coulomb-velocity-joint-unknown", unknown=unknown, known=known)


DECIMALS = 6  # decimal places for the comparison of lengths (m) and angles (rad)


def kinematics_hash(robot: Robot) -> str:
    """Return the SHA-256 of joints and geometric parameters, in hexadecimal.

    With the same hash, two descriptions have the same frames, and parameters have the same meaning.
    """
    lines = []
    for joint in robot.joints:
        mdh = (joint.mdh.gamma, joint.mdh.b, joint.mdh.alpha, joint.mdh.d, joint.mdh.theta, joint.mdh.r)
        numbers = " ".join(f"{round(x, DECIMALS) + 0.0:.{DECIMALS}f}" for x in mdh)
        mimic = joint.mimic
        follows = "" if mimic is None else f" {mimic.leader} {mimic.multiplier:.6f} {mimic.offset:.6f}"
        lines.append(f"{joint.name} {joint.antecedent} {int(joint.sigma)} {numbers}{follows}")
    return hashlib.sha256("\n".join(lines).encode(errors="surrogatepass")).hexdigest()


_BLOCK = 1 << 20


def input_hash(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file, in hexadecimal; of a directory, that of its names and hashes.

    Raise DynError if it cannot be read.
    """
    place = Path(os.fsdecode(path))
    try:
        if not place.is_dir():
            return _of_file(place)
        whole = hashlib.sha256()
        for file in sorted(entry for entry in place.rglob("*") if entry.is_file()):
            whole.update(f"{file.relative_to(place)} {_of_file(file)}\n".encode(errors="surrogateescape"))
    except OSError as error:
        raise DynError("input-unreadable", reason=error.strerror or error, file=path_text(path)) from error
    return whole.hexdigest()


def _of_file(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            found.update(block)
    return found.hexdigest()


BLOCK = 20_000  # samples that are computed at once, to limit the memory


@dataclass(frozen=True, eq=False)
class Prediction:
    """Torques of the actuators along a motion (N m or N), (N, n) each."""

    tau: Array  # with the identified friction models
    standard: Array  # with viscous and Coulomb friction and offset alone, as in the node feedforward
    load: Array  # of bodies, rotors and the friction of passive joints alone, as in the nodes


def predicted(robot: Robot, parameters: ParameterSet, q: Array, qd: Array, qdd: Array) -> Prediction:
    """Return torques along a motion: q (rad or m), qd (rad/s or m/s), qdd (rad/s^2 or m/s^2), (N, n) each.

    Raise DynError if the parameters are those of another robot.
    """
    identified = parameters.applied_to(robot)
    # Tracing takes less time than a compiler, for a batch that is computed once.
    model = compile_model(with_passive_friction(identified), backend="python", open_rows="error")
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
    """Return torques of motors that move several joints (N m or N), (N, n), without their part in `Ia`."""
    total = np.zeros_like(qd)
    for motor in parameters.motors:
        coupling = MotorCoupling(motor.name, motor.joints)
        Ia, Fv, Fs = (value.value for value in motor.values)
        total += coupling_columns(robot, [coupling], qd, qdd) @ np.array([Ia, Fv, Fs])
        total -= Ia * coupling.speeds(robot) ** 2 * qdd
    return total


def standard_friction(robot: Robot, qd: Array, coulomb_velocity: Sequence[float] = ()) -> Array:
    """Return viscous and Coulomb friction and offset of a robot (N m or N), (N, n), at velocities qd.

    `coulomb_velocity` is the transition velocity of Coulomb friction of each joint (rad/s or m/s); by
    default, and for 0, the sign is sharp.
    """
    x = [value for joint in robot.independent_joints for value in described_friction(joint).values()]
    models = [FrictionModel(v0=v0) for v0 in coulomb_velocity or (0.0,) * robot.dof]
    return friction_torques(models, np.array(x))(qd, qd)


def torque_error(signals: Signals, predicted: Array) -> TorqueError:
    """Return the difference of torques from those of signals, both behind the same filter.

    A joint whose effort was not measured has the error NaN, and does not count.
    """
    measured, model = signals.parallel(signals.tau, predicted)
    return TorqueError.of(np.mean((measured - model) ** 2, axis=0), np.mean(measured**2, axis=0))


def unfiltered_error(signals: Signals, predicted: Array) -> TorqueError:
    """Return the difference of torques from those of signals, sample by sample."""
    squares = np.mean((signals.tau - predicted) ** 2, axis=0)
    return TorqueError.of(squares, np.mean(signals.tau**2, axis=0))
