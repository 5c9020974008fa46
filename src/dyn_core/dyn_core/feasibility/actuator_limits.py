# SPDX-License-Identifier: Apache-2.0
"""Limits of actuators: position ranges, speeds, torques over speed, power."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress

import numpy as np
import numpy.typing as npt

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError, at_joint, listed
from dyn_core.robot.joint_coupling import followers, range_of_leader, speed_of_leader
from dyn_core.robot.joints import Joint, position_range
from dyn_core.robot.robot import Robot

ROUNDING = 1e-9  # Part of a limit by which rounding may exceed it
SLACK = 1e-6
"""Distance (rad or m) by which a mimic joint that stands still may be out of its range: both are printed with
few digits."""


@dataclass(frozen=True)
class TorqueSpeedCurve:
    """Greatest torque of an actuator over its speed: straight between points, constant before and after them.

    It is the same for driving and braking; power limits distinguish these.

    Attributes:
        speeds: speeds at the joint (rad/s or m/s), increasing from 0 on.
        efforts: greatest torques or forces there (N m or N), infinite without a limit.
    """

    speeds: tuple[float, ...]
    efforts: tuple[float, ...]

    @staticmethod
    def constant(effort: float) -> TorqueSpeedCurve:
        """Return the curve of a torque (N m or N) that does not depend on the speed."""
        return TorqueSpeedCurve((0.0,), (effort,))

    def at(self, speed: npt.ArrayLike) -> Array:
        """Return the greatest torque at speeds of either sign (rad/s or m/s)."""
        return np.interp(np.abs(np.asarray(speed, dtype=np.float64)), self.speeds, self.efforts)

    @property
    def slopes(self) -> tuple[float, ...]:
        """Slopes of the torque over the speed between the points."""
        points = itertools.pairwise(zip(self.speeds, self.efforts, strict=True))
        return tuple(0.0 if math.isinf(e1) else (e1 - e0) / (s1 - s0) for (s0, e0), (s1, e1) in points)


def checked_curve(owner: str, points: Sequence[tuple[float, float]]) -> TorqueSpeedCurve:
    """Return the curve through points of speed (rad/s or m/s) and torque (N m or N); DynError if invalid.

    Args:
        owner: what the curve belongs to, for messages: "joint 'elbow'".
        points: the points, by increasing speed.
    """
    if not points:
        raise DynError("curve-empty", owner=owner)
    speeds = tuple(float(speed) for speed, _ in points)
    efforts = tuple(float(effort) for _, effort in points)
    for speed, effort in zip(speeds, efforts, strict=True):
        if not (math.isfinite(speed) and math.isfinite(effort) and speed >= 0.0 and effort >= 0.0):
            raise DynError("curve-point-invalid", owner=owner, speed=speed, effort=effort, element=owner)
    for before, after in itertools.pairwise(speeds):
        if after <= before:
            raise DynError(
                "curve-speeds-not-increasing", owner=owner, after=after, before=before, element=owner
            )
    if efforts[0] == 0.0:
        raise DynError("curve-without-holding-effort", owner=owner, element=owner)
    return TorqueSpeedCurve(speeds, efforts)


@dataclass(frozen=True)
class ActuatorLimit:
    """Limits of the actuator of one joint; infinite where there is no limit.

    A limit may come from a joint that mimics this one: `lower_of`, `upper_of` and `velocity_of` name it, and
    are empty for the joint's own limits.

    Attributes:
        lower: least position (rad or m).
        upper: greatest position (rad or m).
        velocity: greatest speed (rad/s or m/s).
        curve: greatest torque or force over the speed.
        power: greatest driving power (W).
        braking_power: greatest power that it absorbs (W).
        continuous_effort: torque that it can hold for ever, compared with the root mean square (N m or N).
    """

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    curve: TorqueSpeedCurve = field(default_factory=lambda: TorqueSpeedCurve.constant(math.inf))
    power: float = math.inf
    braking_power: float = math.inf
    continuous_effort: float = math.inf
    lower_of: str = ""
    upper_of: str = ""
    velocity_of: str = ""

    def check(self, joint: str) -> None:
        """Raise DynError, with the name of the joint, for limits that contradict each other."""
        if math.isnan(self.lower) or math.isnan(self.upper) or self.lower > self.upper:
            if not (self.lower_of or self.upper_of):
                raise at_joint(joint, "joint-limits-inverted", lower=self.lower, upper=self.upper)
            least, greatest = (
                f"{end:.4g} by the range of joint '{name}', which mimics it"
                if name
                else f"{end:.4g} by its own range"
                for end, name in ((self.lower, self.lower_of), (self.upper, self.upper_of))
            )
            raise at_joint(joint, "joint-ranges-disjoint", least=least, greatest=greatest)
        most = self.curve.efforts[0]
        for what, value in (
            ("velocity limit", self.velocity),
            ("effort limit", most),
            ("power limit", self.power),
            ("limit of braking power", self.braking_power),
            ("continuous effort", self.continuous_effort),
        ):
            if not value > 0.0:
                of_effort = "effort" in what
                raise at_joint(
                    joint,
                    "actuator-effort-not-positive" if of_effort else "actuator-limit-not-positive",
                    limit=what,
                    given=value,
                )
        if most < self.continuous_effort < math.inf:
            varies = len(self.curve.speeds) > 1
            raise at_joint(
                joint,
                "continuous-effort-above-curve" if varies else "continuous-effort-above-limit",
                given=self.continuous_effort,
                limit=most,
            )


def _of_joints(name: str) -> cached_property[Array]:
    """Return a property with one limit of all joints as a read-only array, (n,)."""

    def values(limits: ActuatorLimits) -> Array:
        return _fixed([getattr(limit, name) for limit in limits.of_joints])

    return cached_property(values)


@dataclass(frozen=True)
class ActuatorLimits:
    """Limits of all actuators of a robot, in the order of its coordinates.

    Attributes:
        joint_names: the joints; with loops the actuated ones.
        of_joints: the limits of each; `lower` to `continuous_effort` are the same as arrays, (n,).
        position_units: rad or m.
        effort_units: N m or N.
    """

    joint_names: tuple[str, ...]
    of_joints: tuple[ActuatorLimit, ...]
    position_units: tuple[str, ...]
    effort_units: tuple[str, ...]

    lower = _of_joints("lower")
    upper = _of_joints("upper")
    velocity = _of_joints("velocity")
    power = _of_joints("power")
    braking_power = _of_joints("braking_power")
    continuous_effort = _of_joints("continuous_effort")

    @cached_property
    def unlimited(self) -> dict[str, tuple[str, ...]]:
        """Joints without a limit, by quantity; only quantities for which there is such a joint."""
        values = {
            "position": np.minimum(-self.lower, self.upper),
            "velocity": self.velocity,
            "effort": _fixed([limit.curve.efforts[0] for limit in self.of_joints]),
            "power": self.power,
            "braking power": self.braking_power,
            "continuous effort": self.continuous_effort,
        }
        return {
            quantity: tuple(compress(self.joint_names, np.isinf(limits)))
            for quantity, limits in values.items()
            if np.isinf(limits).any()
        }

    @property
    def points(self) -> int:
        """Largest number of points of a curve."""
        return max((len(limit.curve.speeds) for limit in self.of_joints), default=1)

    def scaled(self, effort: float = 1.0, velocity: float = 1.0) -> ActuatorLimits:
        """Return the limits with fractions of the torques and powers, and of the speeds.

        Continuous efforts and the speeds of curves stay.
        """
        return replace(
            self,
            of_joints=tuple(
                replace(
                    limit,
                    velocity=velocity * limit.velocity,
                    curve=replace(limit.curve, efforts=tuple(effort * x for x in limit.curve.efforts)),
                    power=effort * limit.power,
                    braking_power=effort * limit.braking_power,
                )
                for limit in self.of_joints
            ),
        )

    def widened(self, q: Array, slack: float = 0.0) -> ActuatorLimits:
        """Return the limits with ranges extended to a position (rad or m), (n,), and by `slack` beyond."""
        return replace(
            self,
            of_joints=tuple(
                replace(limit, lower=min(limit.lower, x) - slack, upper=max(limit.upper, x) + slack)
                for limit, x in zip(self.of_joints, q.tolist(), strict=True)
            ),
        )

    def effort(self, qd: Array) -> Array:
        """Return the greatest torques (N m or N) at velocities (rad/s or m/s), (..., n)."""
        columns = [limit.curve.at(qd[..., j]) for j, limit in enumerate(self.of_joints)]
        return np.stack(columns, axis=-1) if columns else np.zeros(qd.shape)


def actuator_limits(robot: Robot, given: Mapping[str, ActuatorLimit] | None = None) -> ActuatorLimits:
    """Return the limits of a robot's description, replaced by given ones for some joints.

    A limit of speed or effort of 0 in a URDF means that it is not known. Ranges and speeds of joints that
    mimic others limit the joints that they follow. Raise DynError if a joint in `given` cannot have
    limits, or limits contradict each other.

    Args:
        given: complete limits by joint name; only range and speed for a joint that mimics another.
    """
    given = given or {}
    for name, limit in given.items():
        if why := unlimited_reason(robot, name):
            raise at_joint(name, "limits-joint-unsupported", cause=why)
        if robot.joint(name).mimic is not None and limit != _of_motion(limit):
            raise at_joint(name, "limits-of-mimicking-joint", relation=mimicking(robot, name))
        limit.check(name)
    own = {joint.name: given.get(joint.name, described_limit(robot, joint.name)) for joint in robot.joints}
    for joint in robot.joints:
        _check_standing(joint, own[joint.name])
    names = robot.coordinate_names
    of_joints = tuple(_with_followers(robot, j, own) for j in robot.coordinates)
    for name, limit in zip(names, of_joints, strict=True):
        limit.check(name)
    joints = robot.independent_joints
    return ActuatorLimits(
        tuple(names),
        of_joints,
        tuple(joint.position_unit for joint in joints),
        tuple(joint.effort_unit for joint in joints),
    )


def described_limit(robot: Robot, name: str) -> ActuatorLimit:
    """Return a joint's own limits in the description; of one that mimics another, range and speed."""
    joint = robot.joint(name)
    velocity, effort = joint.limits.velocity or math.inf, joint.limits.effort or math.inf
    curve = TorqueSpeedCurve.constant(effort)
    limit = ActuatorLimit(*position_range(joint.limits), velocity=velocity, curve=curve)
    return limit if joint.mimic is None else _of_motion(limit)


def unlimited_reason(robot: Robot, name: str) -> str:
    """Return why a joint cannot have limits; empty if it can.

    Joints with an actuator, and those that mimic them, have limits.
    """
    names = robot.coordinate_names
    joint = next((joint for joint in robot.joints if joint.name == name), None)
    if joint is None or joint.mimic is None:
        return "" if name in names else f"is not a joint with an actuator: {_limited(robot)}"
    leader = joint.mimic.leader
    if not leader or robot.joints[leader - 1].name in names:
        return ""
    return (
        f"{mimicking(robot, name)}, which is passive, and limits of passive joints are not looked at: "
        f"{_limited(robot)}"
    )


def _limited(robot: Robot) -> str:
    """Return in words which joints can have limits."""
    names = robot.coordinate_names
    others = [joint.name for joint in robot.joints if joint.mimic and not unlimited_reason(robot, joint.name)]
    more = f", and with range and speed alone {listed(others)}" if others else ""
    return f"the joints are {listed(names)}{more}"


def mimicking(robot: Robot, name: str) -> str:
    """Return in words which motion a joint mimics."""
    mimic = robot.joint(name).mimic
    assert mimic is not None
    return f"mimics joint '{robot.joints[mimic.leader - 1].name}'" if mimic.leader else "stands still"


def _of_motion(limit: ActuatorLimit) -> ActuatorLimit:
    """Return only range and speed of limits."""
    return ActuatorLimit(lower=limit.lower, upper=limit.upper, velocity=limit.velocity)


def _with_followers(robot: Robot, j: int, own: Mapping[str, ActuatorLimit]) -> ActuatorLimit:
    """Return the limits of joint j of the tree, narrowed by the joints that mimic it."""
    limit = own[robot.joints[j - 1].name]
    for follower, mimic in followers(robot, j):
        its = own[follower.name]
        lower, upper = range_of_leader(mimic, its.lower, its.upper)
        velocity = speed_of_leader(mimic, its.velocity)
        if lower > limit.lower:
            limit = replace(limit, lower=lower, lower_of=follower.name)
        if upper < limit.upper:
            limit = replace(limit, upper=upper, upper_of=follower.name)
        if velocity < limit.velocity:
            limit = replace(limit, velocity=velocity, velocity_of=follower.name)
    return limit


def _check_standing(joint: Joint, limit: ActuatorLimit) -> None:
    """Raise DynError for a fixed joint, which mimics no moving joint, at a position out of its range."""
    mimic = joint.mimic
    if mimic is None or mimic.leader:
        return
    if max(limit.lower - mimic.offset, mimic.offset - limit.upper) > SLACK:
        at, unit = mimic.offset, joint.position_unit
        raise at_joint(
            joint.name,
            "standing-joint-out-of-range",
            position=at,
            unit=unit,
            lower=limit.lower,
            upper=limit.upper,
        )


def _fixed(values: list[float]) -> Array:
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array
