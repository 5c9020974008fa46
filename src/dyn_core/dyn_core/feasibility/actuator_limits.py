# SPDX-License-Identifier: Apache-2.0
"""What the actuators of a robot can do: ranges, speeds, torques over speed, power.

A joint that mimics others has no actuator, but a range and a speed: they limit the joint that it follows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError, listed
from dyn_core.feasibility.torque_speed_curve import TorqueSpeedCurve
from dyn_core.model.followers import followers, range_of_leader, speed_of_leader
from dyn_core.robot.joints import Joint
from dyn_core.robot.robot import Robot

SLACK = 1e-6
"""How far out of its range a joint that stands still may be (rad or m): both are printed with some digits."""


@dataclass(frozen=True)
class ActuatorLimit:
    """What the actuator of one joint can do; infinite where there is no limit.

    Attributes:
        lower: least position (rad or m).
        upper: greatest position (rad or m).
        velocity: greatest speed (rad/s or m/s).
        curve: greatest torque or force over the speed.
        power: greatest power that it gives (W).
        braking_power: greatest power that it takes in (W).
        continuous_effort: torque that it bears for ever, which the root mean square is compared with
            (N m or N).
        lower_of: the joint that mimics this one and whose range makes the least position; empty for its own.
        upper_of: the one whose range makes the greatest.
        velocity_of: the one whose speed makes the greatest speed.
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
        """Refuse limits that contradict each other; DynError names the joint."""
        owner = f"joint '{joint}'"
        if math.isnan(self.lower) or math.isnan(self.upper) or self.lower > self.upper:
            if self.lower_of or self.upper_of:
                least, greatest = (
                    f"{end:.4g} by its own range"
                    if not name
                    else f"{end:.4g} by the range of joint '{name}', which mimics it"
                    for end, name in ((self.lower, self.lower_of), (self.upper, self.upper_of))
                )
                raise DynError(
                    f"{owner} can be nowhere: its least position is {least}, its greatest {greatest}: change "
                    "these ranges, or multiplier and offset, or give one of the joints 'position: none' in a "
                    "file of limits",
                    element=owner,
                )
            raise DynError(
                f"{owner}: its least position {self.lower:g} is above its greatest {self.upper:g}: "
                "exchange them",
                element=owner,
            )
        for what, value in (
            ("velocity limit", self.velocity),
            ("effort limit", self.curve.efforts[0]),
            ("power limit", self.power),
            ("limit of braking power", self.braking_power),
            ("continuous effort", self.continuous_effort),
        ):
            if not value > 0.0:
                raise DynError(
                    f"{owner}: its {what} is {value:g}, with which it "
                    f"{'can hold nothing' if 'effort' in what else 'cannot move'}: "
                    "give a number > 0, or none where there is no limit",
                    element=owner,
                )
        most = self.curve.efforts[0]
        if most < self.continuous_effort < math.inf:
            where = (
                "the effort of its curve at a standstill"
                if len(self.curve.speeds) > 1
                else "its effort limit"
            )
            raise DynError(
                f"{owner}: its continuous effort {self.continuous_effort:g}, that it bears for ever, is "
                f"above {where}, {most:g}: change one of them",
                element=owner,
            )


@dataclass(frozen=True)
class ActuatorLimits:
    """Limits of all actuators of a robot, in the order of its coordinates.

    Attributes:
        joint_names: the joints; with loops the actuated ones.
        of_joints: the limits of each.
        position_units: rad or m.
        effort_units: N m or N.
    """

    joint_names: tuple[str, ...]
    of_joints: tuple[ActuatorLimit, ...]
    position_units: tuple[str, ...]
    effort_units: tuple[str, ...]

    @cached_property
    def lower(self) -> Array:
        """Least positions (rad or m), (n,)."""
        return _fixed([limit.lower for limit in self.of_joints])

    @cached_property
    def upper(self) -> Array:
        """Greatest positions (rad or m), (n,)."""
        return _fixed([limit.upper for limit in self.of_joints])

    @cached_property
    def velocity(self) -> Array:
        """Greatest speeds (rad/s or m/s), (n,)."""
        return _fixed([limit.velocity for limit in self.of_joints])

    @cached_property
    def power(self) -> Array:
        """Greatest powers that the actuators give (W), (n,)."""
        return _fixed([limit.power for limit in self.of_joints])

    @cached_property
    def braking_power(self) -> Array:
        """Greatest powers that the actuators take in (W), (n,)."""
        return _fixed([limit.braking_power for limit in self.of_joints])

    @cached_property
    def continuous_effort(self) -> Array:
        """Torques that the actuators bear for ever (N m or N), (n,)."""
        return _fixed([limit.continuous_effort for limit in self.of_joints])

    @cached_property
    def unlimited(self) -> dict[str, tuple[str, ...]]:
        """The joints that have no limit, by quantity; those that all joints have limits of are not there."""
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
        """Points of the curve that has most of them."""
        return max((len(limit.curve.speeds) for limit in self.of_joints), default=1)

    def scaled(self, effort: float = 1.0, velocity: float = 1.0) -> ActuatorLimits:
        """Answer the limits with parts of the torques and powers, and of the speeds."""
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
        """Answer the limits with ranges that hold a position (rad or m), (n,), and `slack` more."""
        return replace(
            self,
            of_joints=tuple(
                replace(limit, lower=min(limit.lower, x) - slack, upper=max(limit.upper, x) + slack)
                for limit, x in zip(self.of_joints, q.tolist(), strict=True)
            ),
        )

    def effort(self, qd: Array) -> Array:
        """Answer the greatest torques (N m or N) at velocities (rad/s or m/s), (..., n)."""
        columns = [limit.curve.at(qd[..., j]) for j, limit in enumerate(self.of_joints)]
        return np.stack(columns, axis=-1) if columns else np.zeros(qd.shape)


def actuator_limits(robot: Robot, given: Mapping[str, ActuatorLimit] | None = None) -> ActuatorLimits:
    """Answer the limits that a robot's description has, with others in their place for some joints.

    A limit of speed or effort of 0 in a URDF says that it is not known. Ranges and speeds of joints that
    mimic others limit the joints that these follow.

    Args:
        robot: the robot.
        given: whole limits by name of a joint, in the place of those of the description; of a joint that
            mimics another, range and speed.

    Raises:
        DynError: a joint is not one of those with an actuator, or limits contradict each other.
    """
    given = given or {}
    for name, limit in given.items():
        if why := why_unlimited(robot, name):
            raise DynError(f"limits are given for joint '{name}', which {why}", element=f"joint '{name}'")
        if robot.joint(name).mimic is not None and limit != _of_motion(limit):
            raise DynError(
                f"limits of effort or power are given for joint '{name}', which {mimicking(robot, name)}: "
                "it has no actuator, give range and speed alone",
                element=f"joint '{name}'",
            )
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
    """Answer the limits that the description of a robot has for one of its joints, by name.

    They are its own, without those of joints that mimic it; of one that mimics another, range and speed.
    """
    joint = robot.joint(name)
    limits = joint.limits
    limit = ActuatorLimit(
        lower=-math.inf if limits.lower is None else limits.lower,
        upper=math.inf if limits.upper is None else limits.upper,
        velocity=limits.velocity or math.inf,
        curve=TorqueSpeedCurve.constant(limits.effort or math.inf),
    )
    return limit if joint.mimic is None else _of_motion(limit)


def why_unlimited(robot: Robot, name: str) -> str:
    """Answer what is wrong with limits of a joint, which nothing would be compared with; empty for nothing.

    Joints that have an actuator have limits, and those that mimic these.
    """
    names = robot.coordinate_names
    joint = next((joint for joint in robot.joints if joint.name == name), None)
    if joint is None or joint.mimic is None:
        return "" if name in names else f"is no joint with an actuator: {_limited(robot)}"
    leader = joint.mimic.leader
    if not leader or robot.joints[leader - 1].name in names:
        return ""
    return (
        f"{mimicking(robot, name)}, which is passive, and limits of passive joints are not looked at: "
        f"{_limited(robot)}"
    )


def _limited(robot: Robot) -> str:
    """Answer in words which joints can have limits."""
    names = robot.coordinate_names
    others = [joint.name for joint in robot.joints if joint.mimic and not why_unlimited(robot, joint.name)]
    more = f", and with range and speed alone {listed(others)}" if others else ""
    return f"the joints are {listed(names)}{more}"


def mimicking(robot: Robot, name: str) -> str:
    """Answer in words what a joint does that mimics another, by name."""
    mimic = robot.joint(name).mimic
    assert mimic is not None
    return f"mimics joint '{robot.joints[mimic.leader - 1].name}'" if mimic.leader else "stands still"


def _of_motion(limit: ActuatorLimit) -> ActuatorLimit:
    """Answer range and speed of limits."""
    return ActuatorLimit(lower=limit.lower, upper=limit.upper, velocity=limit.velocity)


def _with_followers(robot: Robot, j: int, own: Mapping[str, ActuatorLimit]) -> ActuatorLimit:
    """Answer the limits of joint j, of the tree, with those of the joints that mimic it."""
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
    """Refuse a joint that mimics nothing that moves, and stands where its range does not allow it."""
    mimic = joint.mimic
    if mimic is None or mimic.leader:
        return
    if max(limit.lower - mimic.offset, mimic.offset - limit.upper) > SLACK:
        owner = f"joint '{joint.name}'"
        raise DynError(
            f"{owner} follows nothing and stands still at {mimic.offset:.4g} {joint.position_unit}, but its "
            f"range is {limit.lower:.4g} to {limit.upper:.4g}: change the range, multiplier or offset, or "
            "give it 'position: none' in a file of limits",
            element=owner,
        )


def _fixed(values: list[float]) -> Array:
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array
