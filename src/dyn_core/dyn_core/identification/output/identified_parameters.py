# SPDX-License-Identifier: Apache-2.0
"""What an identification answers, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dyn_core.core.findings import Finding
from dyn_core.identification.estimators.estimators import Estimator
from dyn_core.identification.friction.friction_model import FrictionModel


@dataclass(frozen=True)
class IdentifiedParameter:
    """A parameter, and what to believe of it.

    Attributes:
        name: its name, with the number of the joint: ``ZZR1``, ``Fv3``.
        value: its value (SI units).
        deviation: its standard deviation; inf where the measurement says nothing of it.
        prior: its value in the robot's description; None where that has none.
        unit: its unit.
        essential: whether the measured torques cannot do without it.
        identifiable: whether the measurement says anything of it.
    """

    name: str
    value: float
    deviation: float
    prior: float | None
    unit: str
    essential: bool
    identifiable: bool

    @property
    def relative_deviation(self) -> float:
        """Deviation as a part of the value; inf for a value of 0."""
        return self.deviation / abs(self.value) if self.value else float("inf")


@dataclass(frozen=True)
class TorqueError:
    """How far the torques of a model are from those that were measured.

    Attributes:
        relative: ``|tau - tau_model| / |tau|`` over all joints and samples.
        by_joint: the same of each joint.
        rms: root of the mean square of each joint (N m or N).
    """

    relative: float
    by_joint: tuple[float, ...]
    rms: tuple[float, ...]


@dataclass(frozen=True)
class Errors:
    """Errors on the part that was fitted, and on the part that was held out.

    Attributes:
        fitted: on the part that was fitted.
        held_out: on the part that no choice has seen; None where nothing was held out.
    """

    fitted: TorqueError
    held_out: TorqueError | None


@dataclass(frozen=True)
class JointFriction:
    """Friction of a joint, and how it was chosen.

    Attributes:
        model: the model.
        parameters: its parameters, in the order of the terms.
        tried: errors in cross-validation within the fitted part on the way to the model, relative to the
            torque of the joint, with what the models were.
    """

    model: FrictionModel
    parameters: tuple[IdentifiedParameter, ...]
    tried: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class IdentifiedMotor:
    """A motor that moves several joints, physically consistent; see `MotorCoupling`.

    Attributes:
        name: what its parameters are named by.
        joints: by joint, how fast the motor is when the joint moves at unit speed.
        parameters: rotor inertia, viscous and Coulomb friction.
    """

    name: str
    joints: Mapping[str, float]
    parameters: tuple[IdentifiedParameter, ...]


@dataclass(frozen=True)
class Procedure:
    """How it was done.

    Attributes:
        conditioning: what was done to the log, one sentence a step.
        samples: samples of the motion.
        period: time from sample to sample (s).
        cutoff: of the filter of positions (Hz).
        train: part of the time that was fitted; the rest was held out.
        decimation: one equation in so many was kept, behind a filter of both sides.
        equations: equations of each joint that were fitted.
        estimator: how parameters were estimated.
        parts: parts of the fitted time in cross-validation.
        prior_weight: weight of the description among physically consistent parameters.
    """

    conditioning: tuple[str, ...]
    samples: int
    period: float
    cutoff: float
    train: float
    decimation: int
    equations: int
    estimator: Estimator
    parts: int
    prior_weight: float


@dataclass(frozen=True)
class Identified:
    """The parameters of a robot that a motion shows.

    Attributes:
        robot_name: name of the robot.
        joint_names: its joints, in the order of every vector.
        base: base parameters, by least squares alone.
        friction: friction of each joint, by least squares alone.
        standard: all standard parameters, physically consistent; directions that the measurement does not
            show are as the description has them. Friction is the standard one that comes nearest to the
            measured torques.
        consistent_friction: parameters of the friction models that go with `standard`.
        consistent_base: base parameters that `standard` makes.
        coulomb_velocity: by joint, over which the Coulomb friction in `standard` changes its sign (rad/s or
            m/s); 0: at once.
        at_once: by name, the standard friction that comes nearest where Coulomb friction changes its sign at
            once.
        motors: motors that move several joints; `standard` has of their inertia what each joint feels alone.
        errors: of `base` and `friction`.
        consistent_errors: of `standard` with `consistent_friction`.
        condition: condition number of the equations, columns of unit length.
        whiteness: by joint, the probability that residuals of white noise, behind the filter of both sides,
            look less independent; NaN where there are too few to say.
        stood: by joint, part of the fitted time for which it stood, which was left out for it.
        fixed: by joint, where those stood that did not move and were taken as fixed (rad or m); their errors
            are NaN, their friction is that of the description.
        grouped_offsets: offset torques that no motion tells from weights, which are taken as 0 in `base` and
            `friction`; by name, how much of them base parameters have.
        procedure: how it was done.
        remarks: what to know before believing it, in sentences.
        findings: what is wrong with the signals.
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
    remarks: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def parameters(self) -> Mapping[str, float]:
        """Standard parameters by name, for `Robot.with_parameters` and `Model.set_parameters`."""
        return {parameter.name: parameter.value for parameter in self.standard}
