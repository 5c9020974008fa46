# SPDX-License-Identifier: Apache-2.0
"""Settings and states of the simulators, simulated sensors, and robots with random parameter errors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from dyn_core.core.arrays import Array, as_floats
from dyn_core.core.errors import ArgumentError, DynError, at_joint
from dyn_core.core.messages import Message
from dyn_core.model.tunable_parameters import Backend
from dyn_core.robot.joints import Joint
from dyn_core.robot.links import InertialParameters
from dyn_core.robot.robot import Robot, motor_of

# Settings

Method = Literal["rk4", "semi_implicit_euler", "implicit_midpoint"]
Integrator = Literal["auto", "rk4", "semi_implicit_euler", "implicit_midpoint"]
INTEGRATORS: tuple[Integrator, ...] = ("auto", "rk4", "semi_implicit_euler", "implicit_midpoint")
MOST_SUBSTEPS = 1_000_000


@dataclass(frozen=True)
class SimulationSettings:
    """Settings of a simulation; raises DynError for invalid values.

    Attributes:
        step: time between two states (s); efforts are constant during a step.
        integrator: ``"rk4"``, the Runge-Kutta method of order 4; ``"semi_implicit_euler"``, of order 1,
            stable for any viscous friction; ``"implicit_midpoint"``, of order 2, stable for any spring, and
            preserving the energy of springs; ``"auto"``, implicit_midpoint for robots with springs, else rk4.
        substeps: number of integration steps in each step.
        friction: whether the joints have friction.
        rotor_inertia: whether the rotors have inertia.
        position_limits: whether joints stop at their position limits.
        effort_limits: whether efforts are limited.
        greatest_speed: speed (rad/s or m/s) above which the simulation has diverged.
        backend: backend of the programs, as in `compile_model`.
    """

    step: float = 1e-3
    integrator: Integrator = "auto"
    substeps: int = 1
    friction: bool = True
    rotor_inertia: bool = True
    position_limits: bool = True
    effort_limits: bool = True
    greatest_speed: float = 1e4
    backend: Backend = "auto"

    def __post_init__(self) -> None:
        """Check the values."""
        _check_settings(self)


def chosen_method(integrator: Integrator, with_springs: bool) -> Method:
    """Return the method of a robot."""
    if integrator != "auto":
        return integrator
    return "implicit_midpoint" if with_springs else "rk4"


def is_number(value: object) -> bool:
    """True if a value is a number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _check_settings(settings: SimulationSettings | MovingBaseSettings) -> None:
    """Raise DynError for the first invalid value, numbers before choices."""
    values = {field.name: getattr(settings, field.name) for field in fields(settings)}
    for name in ("step", "slip_speed", "greatest_speed"):
        value = values.get(name, 1.0)
        if not is_number(value) or not 0.0 < value < math.inf:
            unit = "s" if name == "step" else "rad/s or m/s"
            raise _invalid(name, value, f"give a finite number > 0 ({unit})")
    if values.get("integrator", "auto") not in INTEGRATORS:
        raise _invalid("integrator", values["integrator"], f"choose one of {', '.join(INTEGRATORS)}")
    substeps = settings.substeps
    if isinstance(substeps, bool) or not isinstance(substeps, int):
        raise _invalid("substeps", substeps, "give a whole number")
    if not 1 <= substeps <= MOST_SUBSTEPS:
        raise _invalid("substeps", substeps, f"give a number from 1 to {MOST_SUBSTEPS}")
    for name in ("friction", "rotor_inertia", "position_limits", "effort_limits"):
        if not isinstance(values.get(name, True), bool):
            raise _invalid(name, values[name], "give True or False")
    if settings.backend not in ("auto", "c", "python"):
        raise _invalid("backend", settings.backend, "choose one of auto, c, python")


def _invalid(name: str, value: object, remedy: str) -> DynError:
    return DynError("simulation-setting-invalid", setting=name, given=value, remedy=remedy, element=name)


@dataclass(frozen=True)
class MovingBaseSettings:
    """Settings of a simulation on a moving base, as `SimulationSettings`; raises DynError for invalid values.

    `slip_speed` is the velocity of a joint (rad/s or m/s) over which its Coulomb friction changes sign: it is
    ``Fs tanh(qd / slip_speed)``, so a joint creeps instead of being held.
    """

    step: float = 1e-3
    substeps: int = 1
    friction: bool = True
    rotor_inertia: bool = True
    effort_limits: bool = True
    slip_speed: float = 0.01
    greatest_speed: float = 1e4
    backend: Backend = "auto"

    def __post_init__(self) -> None:
        """Check the values."""
        _check_settings(self)


# States


@dataclass(frozen=True, eq=False)
class State:
    """State of the joints at a time (s), read-only: q (rad or m), qd (rad/s or m/s)."""

    time: float
    q: Array
    qd: Array

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        self.q.flags.writeable = False
        self.qd.flags.writeable = False


@dataclass(frozen=True, eq=False)
class MovingState:
    """State of base and joints at a time (s), read-only.

    Attributes:
        pose: position (m) and quaternion x, y, z, w of the base; in a plane x, y (m) and angle (rad).
        V: velocity of the base on its axes (m/s, rad/s).
        q, qd: positions and velocities of the joints (rad or m; rad/s or m/s).
    """

    time: float
    pose: Array
    V: Array
    q: Array
    qd: Array

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for array in (self.pose, self.V, self.q, self.qd):
            array.flags.writeable = False


# Joint values

JointValues: TypeAlias = npt.ArrayLike | Mapping[str, float]
"""One number for each joint in the order of the joints, or numbers by name, 0 for the others."""


def joint_values(name: str, values: JointValues, robot: str, joint_names: Sequence[str]) -> Array:
    """Return finite numbers in the order of the joints; `name` and `robot` are names for messages.

    Raise ValueError if the number of values is not that of the joints, or one is not finite. Raise DynError
    if there is no such joint.
    """
    if not isinstance(values, np.ndarray) and isinstance(values, Mapping):  # the second check is slow
        unknown = [joint for joint in values if joint not in joint_names]
        if unknown:
            raise DynError(
                "argument-joint-unknown",
                argument=name,
                robot=robot,
                unknown=list(map(str, unknown)),
                known=joint_names,
                element=f"joint '{unknown[0]}'",
            )
        values = [values.get(joint, 0.0) for joint in joint_names]
    array = as_floats(name, values)
    if array.shape != (len(joint_names),):
        raise ArgumentError(
            "joint-values-shape", argument=name, count=len(joint_names), given=array.shape, joints=joint_names
        )
    numbers = array.tolist()
    if not all(map(math.isfinite, numbers)):
        joint, value = next(x for x in zip(joint_names, numbers, strict=True) if not math.isfinite(x[1]))
        raise ArgumentError("argument-value-not-finite", argument=name, joint=joint, given=value)
    return array


def no_actuator(robot: Robot, joint: str) -> Message:
    """Return why no actuator moves a passive joint, and which effort to give."""
    if joint in motor_of(robot):
        return Message("effort-column-of-spring-with-motor", motor=motor_of(robot)[joint])
    if joint in robot.elastic_joint_names:
        return Message("effort-column-of-spring")
    return Message("effort-column-of-passive-joint")


def refuse_efforts(robot: Robot, effort: Sequence[float]) -> None:
    """Raise DynError if a passive joint is given an effort (N m or N) that is not 0."""
    for joint, value in zip(robot.independent_joints, effort, strict=True):
        if value != 0.0 and joint.mu != 1:
            given: dict[str, Any] = {"effort": value, "unit": joint.effort_unit}
            if joint.name in motor_of(robot):
                motor = motor_of(robot)[joint.name]
                raise at_joint(joint.name, "effort-on-spring-with-motor", motor=motor, **given)
            spring = joint.name in robot.elastic_joint_names
            code = "effort-on-spring" if spring else "effort-on-passive-joint"
            raise at_joint(joint.name, code, **given)


# Sensors

PerJoint: TypeAlias = float | Mapping[str, float]
"""One value for all joints, or values by joint, 0 for joints that are not named."""


@dataclass(frozen=True)
class SensorSettings:
    """Noise and resolution of the sensors; raises DynError for invalid values.

    Noise is the standard deviation of measured values (rad or m; rad/s or m/s; N m or N). Measured values are
    multiples of the resolution, unless it is 0. `seed` is the seed of the noise.
    """

    position_noise: PerJoint = 0.0
    velocity_noise: PerJoint = 0.0
    effort_noise: PerJoint = 0.0
    position_resolution: PerJoint = 0.0
    velocity_resolution: PerJoint = 0.0
    effort_resolution: PerJoint = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the values."""
        for name in (field.name for field in fields(self) if field.name != "seed"):
            value = getattr(self, name)
            for joint, number in value.items() if isinstance(value, Mapping) else [("", value)]:
                if not is_number(number) or not 0.0 <= number < math.inf:
                    values: dict[str, Any] = {"setting": f"the setting {name}", "given": number}
                    values |= {"expected": "a finite number >= 0", "element": name}
                    if joint:
                        raise DynError("joint-setting-range", joint=joint, **values)
                    raise DynError("setting-range", **values)
        checked_seed(self.seed)


def checked_seed(seed: int) -> int:
    """Return a seed of random numbers; raise DynError if it is invalid."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise DynError(
            "setting-range", setting="the seed", given=seed, expected="a whole number >= 0", element="seed"
        )
    return seed


class Measurement(NamedTuple):
    """Values of the sensors at one time: q (rad or m), qd (rad/s or m/s), effort (N m or N)."""

    q: Array
    qd: Array
    effort: Array


class Sensors:
    """The sensors of a robot; their noise depends on the seed and on the number of readings."""

    def __init__(self, robot: Robot, settings: SensorSettings) -> None:
        """Put the values in the order of the joints; raise DynError for an unknown joint."""
        quantities = ("position", "velocity", "effort")
        self._noise = [_in_order(robot, f"{name}_noise", settings) for name in quantities]
        self._resolution = [_in_order(robot, f"{name}_resolution", settings) for name in quantities]
        self._random = np.random.default_rng(settings.seed)
        self._exact = not any(values.any() for values in (*self._noise, *self._resolution))

    def read(self, *values: Array) -> Measurement:
        """Return the measured values of positions, velocities and efforts."""
        if self._exact:
            return Measurement(*values)
        # The same number is always drawn, so that the noise of one sensor does not change another's.
        drawn = self._random.standard_normal((3, len(values[0])))
        noisy = [value + noise * x for value, noise, x in zip(values, self._noise, drawn, strict=True)]
        return Measurement(*(_rounded(x, step) for x, step in zip(noisy, self._resolution, strict=True)))


def _rounded(values: Array, resolution: Array) -> Array:
    some = np.where(resolution > 0.0, resolution, 1.0)
    return np.where(resolution > 0.0, some * np.rint(values / some), values)


def _in_order(robot: Robot, name: str, settings: SensorSettings) -> Array:
    value = getattr(settings, name)
    if not isinstance(value, Mapping):
        return np.full(robot.dof, float(value))
    names = robot.coordinate_names
    if unknown := [joint for joint in value if joint not in names]:
        element = f"joint '{unknown[0]}'"
        raise DynError(
            "setting-names-unknown-joint", setting=name, unknown=unknown, known=names, element=element
        )
    return np.array([float(value.get(joint, 0.0)) for joint in names])


# Model errors


def with_model_error(robot: Robot, relative: float, seed: int = 0) -> Robot:
    """Return a robot with random errors of its dynamic parameters and physical bodies.

    Let e be the relative error, 0 to 0.9, and each u another random number between -1 and 1. Masses, rotor
    inertias, viscous and Coulomb friction and offsets are multiplied by 1 + e u. Bodies are stretched along
    each axis of their frame by 1 + e u / 2 and moved along each axis by r e u / 2, where r is the root mean
    square distance of their mass from its centre. The geometry does not change.
    """
    if not is_number(relative) or not 0.0 <= relative <= 0.9:
        raise DynError(
            "setting-range", setting="the model error", given=relative, expected="a number from 0 to 0.9"
        )
    random = np.random.default_rng(checked_seed(seed))
    bodies, joints = list(robot.bodies), list(robot.joints)
    for j in range(1, len(bodies)):
        u = relative * random.uniform(-1.0, 1.0, 11)
        bodies[j] = _other_body(bodies[j], u[:7])
        joints[j - 1] = _other_drive(joints[j - 1], u[7:])
    # The base comes last, so that the other bodies are the same for a fixed and a moving base.
    bodies[0] = _other_body(bodies[0], relative * random.uniform(-1.0, 1.0, 7))
    return replace(robot, bodies=tuple(bodies), joints=tuple(joints))


def _other_body(body: InertialParameters, u: Array) -> InertialParameters:
    """Return a body that is heavier, stretched and moved, by random numbers (7,).

    The moments of its mass are ``P = [[S, m s], [m s^T, m]]``, S the integral of x x^T and s the centre of
    mass. A distribution of mass with these moments exists if P is positive semidefinite. For x changed to
    D x + t, P becomes ``k T P T^T`` with ``T = [[D, t], [0, 1]]``, and remains positive semidefinite.
    """
    if body.M == 0.0:
        factor = 1.0 + float(u[0])
        return InertialParameters(*(factor * value for value in body.values))
    J, first = np.array(body.J, dtype=np.float64), np.array(body.MS, dtype=np.float64)
    S = 0.5 * np.trace(J) * np.eye(3) - J
    P = np.block([[S, first[:, None]], [first, np.array([body.M])]])
    spread = np.trace(S) / body.M - first @ first / body.M**2
    T = np.diag([*(1.0 + 0.5 * u[1:4]), 1.0])
    T[:3, 3] = 0.5 * u[4:7] * np.sqrt(max(float(spread), 0.0))
    P = (1.0 + u[0]) * (T @ P @ T.T)
    (XX, XY, XZ), (_, YY, YZ), (_, _, ZZ) = (np.trace(P[:3, :3]) * np.eye(3) - P[:3, :3]).tolist()
    MX, MY, MZ, M = P[3].tolist()
    return InertialParameters(XX, XY, XZ, YY, YZ, ZZ, MX, MY, MZ, M)


def _other_drive(joint: Joint, u: Array) -> Joint:
    Ia, Fv, Fs, Fo = (1.0 + u).tolist()
    friction = joint.friction
    other = replace(friction, Fv=Fv * friction.Fv, Fs=Fs * friction.Fs, Fo=Fo * friction.Fo)
    return replace(joint, Ia=Ia * joint.Ia, friction=other)
