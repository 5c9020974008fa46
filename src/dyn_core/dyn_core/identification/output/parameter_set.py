# SPDX-License-Identifier: Apache-2.0
"""The dynamic parameters of one robot, as they are in a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError, listed, shortened
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.known_arm import KnownArm
from dyn_core.identification.motor_coupling import MotorCoupling
from dyn_core.identification.units import unit_of
from dyn_core.model.refuse_springs import refuse_springs
from dyn_core.results.kinematics_hash import kinematics_hash
from dyn_core.robot.robot import Robot
from dyn_core.signals.protocol import Protocol

NOT_NEGATIVE = ("M", "Ia", "Fv", "Fs")
"""What no body and no drive has less than none of."""


@dataclass(frozen=True)
class SetValue:
    """A parameter.

    Attributes:
        name: with the number of its joint.
        value: in its unit.
        deviation: standard deviation; None where none is known.
        unit: its unit.
    """

    name: str
    value: float
    deviation: float | None
    unit: str


@dataclass(frozen=True)
class SetFriction:
    """Friction of a joint beyond what the standard model can say.

    Attributes:
        joint: name of the joint.
        model: what it is a sum of.
        values: its parameters, in the order of the terms.
    """

    joint: str
    model: FrictionModel
    values: tuple[SetValue, ...]


@dataclass(frozen=True)
class SetMotor:
    """A motor that moves several joints; see `MotorCoupling`.

    Attributes:
        name: what its parameters are named by.
        joints: by joint, how fast the motor is when the joint moves at unit speed.
        values: rotor inertia, viscous and Coulomb friction.
    """

    name: str
    joints: Mapping[str, float]
    values: tuple[SetValue, SetValue, SetValue]


@dataclass(frozen=True)
class ParameterSet:
    """Dynamic parameters of a robot, whole, and how they were made.

    Attributes:
        robot_name: name of the robot.
        descriptions: SHA-256 of the descriptions that it is for: the one that was used, and identified.urdf.
        kinematics: of `kinematics_hash`.
        standard: all standard parameters, in the order of `Robot.parameter_names`.
        friction: the friction models, one for each independent joint; none where nobody identified any.
        made: how it was made, by what it says.
        protocol: how signals were conditioned for it.
        coulomb_velocity: by joint, over which its Coulomb friction changes its sign in the node feedforward
            (rad/s or m/s); at once for a joint that is not in it.
        motors: motors that move several joints; the rotor inertias in `standard` have what each joint feels
            of theirs alone.
        errors: relative torque errors on data that was held out, by friction model, where they are known.
        wrong: what is wrong with the signals of the log, so that no robot may have these parameters.
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
    wrong: tuple[str, ...] = ()
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
        """Answer the robot with these parameters.

        Raises:
            DynError: they are those of another robot, not all that this one has, or from wrong signals.
        """
        try:
            self._check(robot)
        except DynError as error:
            raise error.in_file(self.source) if self.source else error from None
        return robot.with_parameters(self.values)

    def friction_of(self, robot: Robot) -> tuple[tuple[FrictionModel, ...], Array]:
        """Answer the friction model of each independent joint of a robot that these are for, and its values.

        Where there are none, they are those of the standard model.
        """
        import numpy as np

        if self.friction:
            models = tuple(friction.model for friction in self.friction)
            return models, np.array([p.value for friction in self.friction for p in friction.values])
        values = self.values
        x = [values[name] for j in robot.coordinates for name in FrictionModel().names(j)]
        return (FrictionModel(),) * robot.dof, np.array(x)

    def known_arm(self, robot: Robot) -> KnownArm:
        """Answer what is known of a robot that these are for, for `identify_payload`.

        Raises:
            DynError: they are those of another robot, not all that this one has, or from wrong signals.
        """
        self.applied_to(robot)
        standard = self.values
        couplings = tuple(MotorCoupling(motor.name, motor.joints) for motor in self.motors)
        for coupling, motor in zip(couplings, self.motors, strict=True):
            standard |= {p.name: p.value for p in motor.values}
            # The rotor that is coupled has its own column: the joints have no part of it any more.
            for j, a in zip(robot.coordinates, coupling.speeds(robot).tolist(), strict=True):
                standard[f"Ia{j}"] -= motor.values[0].value * a**2
        return KnownArm(standard, self.friction_of(robot)[0], couplings)

    def _check(self, robot: Robot) -> None:
        if robot.name != self.robot_name:
            raise DynError(
                f"these are the parameters of robot '{shortened(self.robot_name, 40)}', but this one is "
                f"'{shortened(robot.name, 40)}': identify it too"
            )
        refuse_springs(robot, "a file of identified parameters")
        if robot.description_hash not in self.descriptions:
            raise DynError(self._other_description(robot))
        names = set(robot.parameter_names)
        unknown = [p.name for p in self.standard if p.name not in names]
        if unknown:
            raise DynError(f"robot '{robot.name}' has no parameter {listed(unknown)}: remove what was added")
        missing = names - set(self.values)
        if missing:
            lacking = [name for name in robot.parameter_names if name in missing]
            raise DynError(f"the parameters {listed(lacking)} are missing: a file has to be whole")
        if self.wrong:
            raise DynError(
                f"the log had wrong signals ({self.wrong[0]}): mend it or its map and identify again, or "
                "remove wrong_signals from the file if you know better"
            )
        for parameter in self.standard:
            _check_unit(parameter, unit_of(parameter.name, robot))
        if self.friction and tuple(f.joint for f in self.friction) != robot.coordinate_names:
            raise DynError(
                f"friction_models has the joints {listed(f.joint for f in self.friction)}, but those of the "
                f"robot are {listed(robot.coordinate_names)}, in this order"
            )

        for motor in self.motors:
            lost = [name for name in motor.joints if name not in robot.coordinate_names]
            if lost:
                raise DynError(
                    f"motor '{shortened(motor.name, 40)}' moves {listed(lost)}, but the joints are "
                    f"{listed(robot.coordinate_names)}"
                )
        unknown = [name for name in self.coulomb_velocity if name not in robot.coordinate_names]
        if unknown:
            raise DynError(
                f"coulomb_velocity has {listed(unknown)}, but the joints are {listed(robot.coordinate_names)}"
            )

    def _other_description(self, robot: Robot) -> str:
        known = " or ".join(f"{text[:12]}..." for text in self.descriptions)
        start = (
            f"these parameters are for another description of robot '{shortened(robot.name, 40)}' (SHA-256 "
            f"{known}, this one has {robot.description_hash[:12]}...)"
        )
        if kinematics_hash(robot) != self.kinematics:
            return f"{start}, with other joints or lengths: identify again with this one"
        return (
            f"{start} with the same joints and lengths: give that one or identified.urdf, identify again, "
            "or, if nothing that moves has changed, add this SHA-256 to description_sha256 in the file"
        )


def _check_unit(parameter: SetValue, unit: str) -> None:
    if parameter.unit != unit:
        raise DynError(
            f"the unit of {parameter.name} is '{shortened(parameter.unit, 40)}', but it has to be in {unit}"
        )
