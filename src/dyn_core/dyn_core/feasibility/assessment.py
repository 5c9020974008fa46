# SPDX-License-Identifier: Apache-2.0
"""Check a whole motion against the actuator limits: loads of motors and bearings, heat, time scaling."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dyn_core.core.arrays import Array
from dyn_core.feasibility.actuator_limits import ROUNDING, ActuatorLimits, actuator_limits
from dyn_core.feasibility.limit_violations import (
    DriveTorques,
    Excess,
    Failure,
    Scaling,
    failures,
    greatest_rate,
)
from dyn_core.feasibility.sampled_motion import SampledMotion
from dyn_core.feasibility.step_feasibility import check_actuated
from dyn_core.model.fixed_base.compiled_model import compile_model
from dyn_core.robot.joints import Sigma
from dyn_core.robot.robot import Robot


@dataclass(frozen=True)
class MotorLoad:
    """Load of the motor of one joint, at the joint (SYMORO+ 2003, sec. 3.6.2).

    Peak values tell whether the motor is strong enough, the root mean square of its torque whether it stays
    cool. A use is the fraction of a limit, of the torque limit at the present speed.
    """

    joint: str  # name of the joint
    effort_unit: str  # N m or N
    speed_unit: str  # rad/s or m/s
    peak_effort: float  # greatest absolute torque or force
    peak_effort_time: float  # its time (s)
    rms_effort: float  # root mean square of the torque
    peak_speed: float  # greatest speed
    rms_speed: float  # root mean square of the velocity
    peak_power: float  # greatest driving power (W), at least 0
    peak_braking_power: float  # greatest absorbed power (W), at least 0
    rms_power: float  # root mean square of the power (W)
    mean_power: float  # mean of the driving power (W), with absorbed power as 0
    effort_use: float  # greatest use of the torque limit
    speed_use: float  # use of the speed limit
    power_use: float  # greatest use of the power limits, driving or braking
    continuous_use: float  # ratio of the root mean square of the torque to the continuous torque


def motor_loads(limits: ActuatorLimits, times: Array, qd: Array, torques: Array) -> tuple[MotorLoad, ...]:
    """Return the load of each motor.

    Args:
        times: times of the samples (s), (m,).
        qd: velocities (rad/s or m/s), (m, n).
        torques: torques (N m or N), (m, n).
    """
    power = torques * qd
    with np.errstate(divide="ignore", invalid="ignore"):
        use = np.nan_to_num(np.abs(torques) / limits.effort(qd), nan=0.0).max(axis=0)
    rms_effort, rms_speed, rms_power = (rms(times, values) for values in (torques, qd, power))
    driving_power = np.maximum(power, 0.0)
    mean_power = _weighted(times, 0.5 * (driving_power[:-1] + driving_power[1:]))
    loads = []
    for j, limit in enumerate(limits.of_joints):
        worst = int(np.abs(torques[:, j]).argmax())
        speed = float(np.abs(qd[:, j]).max())
        driving, braking = max(0.0, float(power[:, j].max())), max(0.0, -float(power[:, j].min()))
        loads.append(
            MotorLoad(
                joint=limits.joint_names[j],
                effort_unit=limits.effort_units[j],
                speed_unit=f"{limits.position_units[j]}/s",
                peak_effort=float(abs(torques[worst, j])),
                peak_effort_time=float(times[worst]),
                rms_effort=float(rms_effort[j]),
                peak_speed=speed,
                rms_speed=float(rms_speed[j]),
                peak_power=driving,
                peak_braking_power=braking,
                rms_power=float(rms_power[j]),
                mean_power=float(mean_power[j]),
                effort_use=float(use[j]),
                speed_use=speed / limit.velocity,
                power_use=max(driving / limit.power, braking / limit.braking_power),
                continuous_use=float(rms_effort[j]) / limit.continuous_effort,
            )
        )
    return tuple(loads)


def rms(times: Array, values: Array) -> Array:
    """Return the root mean square over time of values (m, n), which are linear between samples."""
    first, second = values[:-1], values[1:]
    # The square of a straight line has the mean (a^2 + a b + b^2) / 3.
    return np.sqrt(_weighted(times, (first * first + first * second + second * second) / 3.0))


def _weighted(times: Array, means: Array) -> Array:
    """Return the mean over time of the means between samples, (m - 1, n)."""
    steps = np.diff(times)
    return np.asarray(steps @ means / steps.sum())


@dataclass(frozen=True)
class Overheating:
    """A motor whose root mean square torque exceeds its continuous torque."""

    joint: str  # name of the joint
    value: float  # root mean square of the torque over the motion (N m or N)
    limit: float  # continuous torque
    unit: str  # unit of both

    @property
    def sentence(self) -> str:
        """The overload as a sentence without a full stop."""
        return (
            f"joint '{self.joint}' needs {self.value:.4g} {self.unit} in the root mean square, "
            f"{self.value - self.limit:.3g} {self.unit} beyond the {self.limit:.4g} {self.unit} that "
            "it bears for ever"
        )


def overheatings(limits: ActuatorLimits, loads: tuple[MotorLoad, ...]) -> tuple[Overheating, ...]:
    """Return the motors that overheat if the motion is repeated for ever, by joint."""
    return tuple(
        Overheating(load.joint, load.rms_effort, limit.continuous_effort, load.effort_unit)
        for limit, load in zip(limits.of_joints, loads, strict=True)
        if load.rms_effort > limit.continuous_effort * (1.0 + ROUNDING)
    )


@dataclass(frozen=True)
class BearingLoad:
    """Greatest loads of the bearing of one joint, in the frame of its child link and about its origin.

    The actuator carries the axial force of a prismatic joint and the axial moment of a revolute joint, which
    are 0 here.
    """

    joint: str  # name of the joint
    axial_force: float  # greatest force along the axis (N)
    radial_force: float  # greatest force across the axis (N)
    axial_moment: float  # greatest moment about the axis (N m)
    tilting_moment: float  # greatest moment across the axis (N m)
    rms_force: float  # root mean square of the force (N)
    rms_moment: float  # root mean square of the moment (N m)
    time: float  # time of the greatest force (s)


def bearing_loads(
    robot: Robot,
    times: Array,
    q: Array,
    qd: Array,
    qdd: Array,
    wrenches: Mapping[str, npt.ArrayLike] | None = None,
) -> tuple[BearingLoad, ...]:
    """Return the loads of the bearings of all joints of the tree, including passive joints of loops.

    Args:
        times: times of the samples (s), (m,).
        q: positions of the coordinates (rad or m), (m, n).
        qd: velocities (rad/s or m/s), (m, n).
        qdd: accelerations (rad/s^2 or m/s^2), (m, n).
    """
    # In Python: compiling takes longer than one call for each joint.
    model = compile_model(robot, backend="python", open_rows="error")
    loads = []
    for joint, link in zip(robot.joints, robot.child_links, strict=True):
        wrench = model.reaction_wrench(q, qd, qdd, joint.name, wrenches)
        axis = np.array(link.T_body_link.R)[2]  # z of the body, on the axes of the link
        force, moment = wrench[:, :3], wrench[:, 3:]
        along, about = force @ axis, moment @ axis
        across, tilting = force - np.outer(along, axis), moment - np.outer(about, axis)
        if joint.sigma is Sigma.PRISMATIC:
            along = np.zeros(len(times))
        else:
            about = np.zeros(len(times))
        radial, tilt = np.linalg.norm(across, axis=1), np.linalg.norm(tilting, axis=1)
        size = np.hypot(along, radial)
        loads.append(
            BearingLoad(
                joint.name,
                float(np.abs(along).max()),
                float(radial.max()),
                float(np.abs(about).max()),
                float(tilt.max()),
                float(rms(times, size[:, None])[0]),
                float(rms(times, np.hypot(about, tilt)[:, None])[0]),
                float(times[size.argmax()]),
            )
        )
    return tuple(loads)


@dataclass(frozen=True, eq=False)
class Assessment:
    """Result of the check of a motion against the actuator limits.

    Attributes:
        robot: the robot.
        limits: the limits.
        motion: the motion.
        torques: required torques (N m or N), (m, n).
        failures: where limits are exceeded.
        scaling: smallest uniform time scaling that keeps all limits except position ranges.
        motors: load of each motor.
        bearings: load of each bearing.
        slower_torques: torques with that scaling; None if there is none.
        blocked: why no time scaling helps, in a sentence; empty if one does.
        overheating: motors that overheat if the motion is repeated for ever.
    """

    robot: Robot
    limits: ActuatorLimits
    motion: SampledMotion
    torques: Array
    failures: tuple[Failure, ...]
    scaling: Scaling
    motors: tuple[MotorLoad, ...]
    bearings: tuple[BearingLoad, ...]
    slower_torques: Array | None
    blocked: str
    overheating: tuple[Overheating, ...]

    @property
    def feasible(self) -> bool:
        """True if all known limits are kept at all samples."""
        return not self.failures

    @property
    def repeatable(self) -> bool:
        """True if the motion can also be repeated for ever without pauses."""
        return self.feasible and not self.overheating

    @property
    def factor(self) -> float | None:
        """Ratio of the required duration to the given one; 1 if feasible, None if no time helps."""
        return None if self.blocked else self.scaling.factor

    @property
    def slower(self) -> SampledMotion | None:
        """The motion with that scaling; None if no time helps."""
        return None if self.factor is None else self.motion.slower(self.factor)


def assess_motion(
    robot: Robot,
    motion: SampledMotion,
    limits: ActuatorLimits | None = None,
    wrenches: Mapping[str, npt.ArrayLike] | None = None,
    *,
    friction: bool = True,
    rotor_inertia: bool = True,
) -> Assessment:
    """Check a motion against the actuator limits at its samples.

    Raise DynError if a joint has no actuator, or the loops do not close at some sample.

    Args:
        robot: the robot; with loops the actuated joints move.
        motion: the motion of its coordinates.
        limits: the limits; None for those of the description.
    """
    check_actuated(robot)
    limits = actuator_limits(robot) if limits is None else limits
    times, q, qd, qdd = motion.times, motion.q, motion.qd, motion.qdd
    drives = DriveTorques(robot, friction=friction, rotor_inertia=rotor_inertia)
    rated = drives.rated(q, qd, qdd, wrenches)
    torques = rated.at(1.0)
    found = failures(limits, times, q, qd, torques)
    scaling = greatest_rate(limits, qd, rated)
    out = next((failure for failure in found if failure.excess.quantity == "position"), None)
    blocked = ""
    if out is not None:
        blocked = f"{out.excess.sentence}, however slowly it moves"
    elif not scaling.rate:
        blocked = _cannot_hold(limits, times, rated.c, scaling)
    slower = None if blocked else rated.at(scaling.rate)
    loads = motor_loads(limits, times, qd, torques)
    return Assessment(
        robot,
        limits,
        motion,
        torques,
        found,
        scaling,
        loads,
        bearing_loads(robot, times, q, qd, qdd, wrenches),
        slower,
        blocked,
        overheatings(limits, loads),
    )


def _cannot_hold(limits: ActuatorLimits, times: Array, holding: Array, scaling: Scaling) -> str:
    """Return in words which joint's holding torque, of (m, n), exceeds its limit."""
    k, j = scaling.sample or 0, scaling.joint or 0
    torque = float(holding[k, j])
    limit = math.copysign(limits.of_joints[j].curve.efforts[0], torque)
    excess = Excess(limits.joint_names[j], "effort", torque, limit, limits.effort_units[j])
    return f"at {times[k]:.4g} s {excess.sentence}, however slowly it moves"
