# SPDX-License-Identifier: Apache-2.0
"""What the actuators of a robot can do: ranges, speeds, torques over speed, power."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from dyn_core.errors import DynError, listed
from dyn_core.facade.arrays import Array
from dyn_core.feasibility.torque_speed_curve import TorqueSpeedCurve
from dyn_core.model.robot import Robot


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
    """

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    curve: TorqueSpeedCurve = field(default_factory=lambda: TorqueSpeedCurve.constant(math.inf))
    power: float = math.inf
    braking_power: float = math.inf
    continuous_effort: float = math.inf

    def check(self, joint: str) -> None:
        """Refuse limits that contradict each other; DynError names the joint."""
        owner = f"joint '{joint}'"
        if math.isnan(self.lower) or math.isnan(self.upper) or self.lower > self.upper:
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

    A limit of speed or effort of 0 in a URDF says that it is not known.

    Args:
        robot: the robot.
        given: whole limits by name of a joint, in the place of those of the description.

    Raises:
        DynError: a joint is not one of those with an actuator, or its limits contradict each other.
    """
    given = given or {}
    names = robot.coordinate_names
    for name in given:
        if name not in names:
            raise DynError(
                f"limits are given for joint '{name}', which has no actuator of its own: "
                f"the joints are {listed(names)}",
                element=f"joint '{name}'",
            )
    joints = robot.independent_joints
    of_joints = tuple(given[name] if name in given else described_limit(robot, name) for name in names)
    for name, limit in zip(names, of_joints, strict=True):
        limit.check(name)
    return ActuatorLimits(
        tuple(names),
        of_joints,
        tuple(joint.position_unit for joint in joints),
        tuple(joint.effort_unit for joint in joints),
    )


def described_limit(robot: Robot, name: str) -> ActuatorLimit:
    """Answer the limits that the description of a robot has for one of its joints, by name."""
    limits = robot.independent_joints[robot.coordinate_names.index(name)].limits
    return ActuatorLimit(
        lower=-math.inf if limits.lower is None else limits.lower,
        upper=math.inf if limits.upper is None else limits.upper,
        velocity=limits.velocity or math.inf,
        curve=TorqueSpeedCurve.constant(limits.effort or math.inf),
    )


def _fixed(values: list[float]) -> Array:
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array
