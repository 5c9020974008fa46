# SPDX-License-Identifier: Apache-2.0
"""The outcome of an identification as data: parameters, friction, motors, errors, procedure.

A `KnownArm` is what a payload identification needs of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.core.findings import Finding
from dyn_core.core.messages import Message
from dyn_core.identification.estimators.identification_settings import Estimator
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.regressor.base_columns import BaseColumns, MotorCoupling
from dyn_core.robot.robot import Robot


@dataclass(frozen=True)
class IdentifiedParameter:
    """A parameter with its reliability."""

    name: str  # with the number of the joint: ``ZZR1``, ``Fv3``
    value: float  # SI units
    deviation: float  # standard deviation; inf where the measurement does not show it
    prior: float | None  # value in the robot's description, if it has one
    unit: str
    essential: bool  # whether the measured torques require it
    identifiable: bool  # whether the measurement shows it

    @property
    def relative_deviation(self) -> float:
        """Deviation relative to the value; inf for a value of 0."""
        return self.deviation / abs(self.value) if self.value else float("inf")


@dataclass(frozen=True)
class TorqueError:
    """Difference of the torques of a model from the measured ones."""

    relative: float  # ``|tau - tau_model| / |tau|`` over all joints and samples
    by_joint: tuple[float, ...]  # the same of each joint
    rms: tuple[float, ...]  # root of the mean square of each joint (N m or N)

    @classmethod
    def of(cls, squares: Array, torques: Array) -> TorqueError:
        """Return the error by mean squares of differences and of torques, (n,); NaN where unknown."""
        tiny, known = float(np.finfo(float).tiny), np.isfinite(squares)
        relative = float(np.sqrt(squares[known].sum() / max(float(torques[known].sum()), tiny)))
        by_joint, rms = np.sqrt(squares / np.maximum(torques, tiny)), np.sqrt(squares)
        return cls(relative, tuple(by_joint.tolist()), tuple(rms.tolist()))


@dataclass(frozen=True)
class Errors:
    """Errors on the fitted part, and on the held-out part if there is one."""

    fitted: TorqueError
    held_out: TorqueError | None

    def by_joint(self, changed: Callable[[tuple[float, ...]], tuple[float, ...]]) -> Errors:
        """Return errors with changed values of the joints."""
        parts = [self.fitted] if self.held_out is None else [self.fitted, self.held_out]
        found = [replace(part, by_joint=changed(part.by_joint), rms=changed(part.rms)) for part in parts]
        return Errors(found[0], found[1] if len(found) == 2 else None)


@dataclass(frozen=True)
class JointFriction:
    """Friction of a joint, and how it was chosen."""

    model: FrictionModel
    parameters: tuple[IdentifiedParameter, ...]  # in the order of the terms
    # models on the way, with their relative torque errors in cross-validation within the fitted part
    tried: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class IdentifiedMotor:
    """A motor that moves several joints, physically consistent; see `MotorCoupling`."""

    name: str
    joints: Mapping[str, float]
    parameters: tuple[IdentifiedParameter, ...]  # rotor inertia, viscous and Coulomb friction


@dataclass(frozen=True)
class Procedure:
    """Settings and numbers of the identification."""

    conditioning: tuple[Message, ...]  # steps of the conditioning of the log
    samples: int  # samples of the motion
    period: float  # time between samples (s)
    cutoff: float  # of the filter of positions (Hz)
    train: float  # part of the time that was fitted; the rest was held out
    decimation: int  # of this many equations one was kept, after a filter of both sides
    equations: int  # equations of each joint that were fitted
    estimator: Estimator
    parts: int  # parts of the fitted time in cross-validation
    prior_weight: float  # weight of the description among physically consistent parameters


@dataclass(frozen=True)
class Identified:
    """The parameters of a robot that a motion shows.

    Attributes:
        robot_name: name of the robot.
        joint_names: its joints, in the order of every vector.
        base: base parameters, by least squares alone.
        friction: friction of each joint, by least squares alone.
        standard: all standard parameters, physically consistent; directions that the measurement does not
            show are those of the description. Friction is the standard one nearest to the measured torques.
        consistent_friction: parameters of the friction models for `standard`.
        consistent_base: base parameters of `standard`.
        coulomb_velocity: by joint, transition velocity of the Coulomb friction in `standard` (rad/s or m/s);
            0 for a sharp sign.
        at_once: by name, the nearest standard friction with a sharp sign of Coulomb friction.
        motors: motors that move several joints; `standard` contains only the inertia that each joint feels
            alone.
        errors: of `base` and `friction`.
        consistent_errors: of `standard` with `consistent_friction`.
        condition: condition number of the equations, columns of unit length.
        whiteness: by joint, the probability that residuals of white noise, behind the filter of both sides,
            look less independent; NaN for too few residuals.
        stood: by joint, part of the fitted time for which it stood, which its equations leave out.
        fixed: positions of joints that did not move and were taken as fixed, by name (rad or m); their errors
            are NaN, their friction is that of the description.
        grouped_offsets: by name, offsets that no motion tells from weights, and their part in base
            parameters; 0 in `base` and `friction`.
        procedure: settings and numbers of the identification.
        remarks: limits of the result.
        findings: what is wrong with the signals.
        cross_validated: relative torque error of least squares in cross-validation, where nothing was held
            out; else None.
    """

    robot_name: str
    joint_names: tuple[str, ...]
    base: tuple[IdentifiedParameter, ...]
    friction: tuple[JointFriction, ...]
    standard: tuple[IdentifiedParameter, ...]
    consistent_friction: tuple[JointFriction, ...]
    consistent_base: tuple[IdentifiedParameter, ...]
    coulomb_velocity: tuple[float, ...]
    at_once: Mapping[str, float]
    motors: tuple[IdentifiedMotor, ...]
    errors: Errors
    consistent_errors: Errors
    condition: float
    whiteness: tuple[float, ...]
    stood: tuple[float, ...]
    fixed: Mapping[str, float]
    grouped_offsets: Mapping[str, Mapping[str, float]]
    procedure: Procedure
    remarks: tuple[Message, ...]
    findings: tuple[Finding, ...]
    cross_validated: float | None = None

    @property
    def parameters(self) -> Mapping[str, float]:
        """Standard parameters by name, for `Robot.with_parameters` and `Model.set_parameters`."""
        return {parameter.name: parameter.value for parameter in self.standard}


@dataclass(frozen=True)
class Verdict:
    """Whether parameters may be used on a robot.

    Attributes:
        reasons: what speaks against it; without reasons they may be used.
        warnings: what limits their use.
    """

    reasons: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()

    @property
    def is_usable(self) -> bool:
        """Whether the parameters may be used."""
        return not self.reasons

    def entries(self) -> dict[str, Any]:
        """Return the verdict as data for JSON."""
        return {
            "use": self.is_usable,
            "reasons": [one.entries() for one in self.reasons],
            "warnings": [one.entries() for one in self.warnings],
        }


@dataclass(frozen=True, eq=False)
class KnownArm:
    """The known parameters of an arm without payload."""

    # standard parameters by name, with those of motors that move several joints
    standard: Mapping[str, float]
    friction: tuple[FrictionModel, ...]  # the friction model of each joint
    couplings: tuple[MotorCoupling, ...] = ()  # the motors that move several joints

    def base_values(self, base: BaseColumns) -> Array:
        """Return the values of base parameters; DynError if a motor is not known."""
        unknown = [name for name in base.standard_names if name not in self.standard]
        if unknown:
            raise DynError("arm-parameters-missing", missing=unknown)
        values: Array = base.matrix @ np.array([self.standard[name] for name in base.standard_names])
        return values


class ArmSource(Protocol):
    """A source of arm parameters, such as a parameter file."""

    def known_arm(self, robot: Robot) -> KnownArm:
        """Return the known parameters; DynError for another robot."""


def identified_values(robot: Robot, base: BaseColumns, found: Identified) -> Array:
    """Return the values of the base parameters that `identify` has found."""
    if tuple(p.name for p in found.base) != base.names:
        raise DynError("arm-parameters-mismatch", arm=found.robot_name, robot=robot.name)
    return np.array([p.value for p in found.base])
