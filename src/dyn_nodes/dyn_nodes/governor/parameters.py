# SPDX-License-Identifier: Apache-2.0
"""The parameters of the node `governor`, checked as far as this can be done without a robot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from rclpy.node import Node

from dyn_core import ActuatorLimits, DynError, Robot, TorqueSpeedCurve, actuator_limits
from dyn_core.feasibility.actuator_limits import described_limit, why_unlimited
from dyn_core.feasibility.limits_file import given_limits
from dyn_nodes.common.parameters import PART, declare, declare_by_joint
from dyn_nodes.max_age import MAX_AGE_S, declared_max_age

OnInfeasible = Literal["slow", "refuse"]
_OF_JOINTS = {
    "velocity": "Greatest speed of joint {joint}, rad/s or m/s.",
    "effort": "Greatest torque or force of joint {joint} at all speeds, N m or N.",
    "power": "Greatest power that the actuator of joint {joint} gives, W.",
    "braking_power": "Greatest power that the actuator of joint {joint} takes in, W.",
}
_LEAST, _GREATEST = 1e-6, 1e9


@dataclass(frozen=True)
class GovernorSettings:
    """What the node does.

    Attributes:
        limits_file: path of a YAML file with limits of the actuators; empty for none.
        of_joints: limits by kind and joint, which count more.
        effort_scale: part of the torques and powers that motions may use.
        velocity_scale: part of the speeds that they may use.
        friction: whether joints have friction.
        rotor_inertia: whether rotors have inertia.
        check_period: time between the samples at which trajectories are looked at (s).
        greatest_time_scaling: how many times as long a trajectory may take at most.
        max_age: greatest difference between a stamp and the clock of the node (s).
        timeout: time without references after which the next begins a new stream (s).
        greatest_lag: by how much references may go out late (s); those that come then are refused.
        on_infeasible: what becomes of a motion that is not feasible: "slow" or "refuse".
        tell_period: time between two messages about references that go on being changed (s).
        rate: at which references go out that are still to be reached when no more come in (Hz).
    """

    limits_file: str = ""
    of_joints: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    effort_scale: float = 1.0
    velocity_scale: float = 1.0
    friction: bool = True
    rotor_inertia: bool = True
    check_period: float = 0.005
    greatest_time_scaling: float = 100.0
    max_age: float = MAX_AGE_S
    timeout: float = 0.2
    greatest_lag: float = 10.0
    on_infeasible: OnInfeasible = "slow"
    tell_period: float = 0.1
    rate: float = 200.0

    def limits(self, robot: Robot) -> ActuatorLimits:
        """Answer the limits for a robot; DynError where they do not fit it."""
        given = given_limits(self.limits_file, robot) if self.limits_file else {}
        for kind, values in self.of_joints.items():
            for name, value in values.items():
                if why := why_unlimited(robot, name):
                    raise DynError(f"parameter limits.{name}.{kind}: this {why}", element=f"joint '{name}'")
                limit = given.get(name, described_limit(robot, name))
                given[name] = (
                    replace(limit, curve=TorqueSpeedCurve.constant(value))
                    if kind == "effort"
                    else replace(
                        limit,
                        velocity=value if kind == "velocity" else limit.velocity,
                        power=value if kind == "power" else limit.power,
                        braking_power=value if kind == "braking_power" else limit.braking_power,
                    )
                )
        return actuator_limits(robot, given).scaled(self.effort_scale, self.velocity_scale)


def declared_governor(node: Node) -> GovernorSettings:
    """Declare the parameters and answer their values; DynError where one will not do."""
    defaults = GovernorSettings()
    return GovernorSettings(
        limits_file=declare(
            node,
            "limits_file",
            defaults.limits_file,
            "Path of a YAML file with limits of the actuators, torque-speed curves, powers; empty: none.",
        ),
        of_joints=declare_by_joint(node, "limits", _OF_JOINTS, within=(_LEAST, _GREATEST)),
        effort_scale=declare(
            node,
            "effort_scale",
            defaults.effort_scale,
            "Part of the torques and powers that motions may use; the rest is for the controller.",
            within=PART,
        ),
        velocity_scale=declare(
            node,
            "velocity_scale",
            defaults.velocity_scale,
            "Part of the speeds that motions may use.",
            within=PART,
        ),
        friction=declare(node, "friction", defaults.friction, "Whether the joints have friction."),
        rotor_inertia=declare(
            node, "rotor_inertia", defaults.rotor_inertia, "Whether the rotors have inertia."
        ),
        check_period=declare(
            node,
            "check_period",
            defaults.check_period,
            "Time between the samples at which trajectories are looked at, s.",
            within=(1e-4, 1.0),
        ),
        greatest_time_scaling=declare(
            node,
            "greatest_time_scaling",
            defaults.greatest_time_scaling,
            "How many times as long a trajectory may take at most; it is refused otherwise.",
            within=(1.0, 1e4),
        ),
        max_age=declared_max_age(node),
        timeout=declare(
            node,
            "timeout",
            defaults.timeout,
            "Time without references after which the next one begins a new stream, s.",
            within=(0.001, 60.0),
        ),
        greatest_lag=declare(
            node,
            "greatest_lag",
            defaults.greatest_lag,
            "By how much references may go out late, s; those that come then are refused.",
            within=(0.001, 3600.0),
        ),
        on_infeasible=declare(
            node,
            "on_infeasible",
            defaults.on_infeasible,
            "What becomes of a motion that is not feasible: slowed down on its path, or not sent on.",
            choices=get_args(OnInfeasible),
        ),
        tell_period=declare(
            node,
            "tell_period",
            defaults.tell_period,
            "Time between two messages about references that go on being changed, s.",
            within=(0.0, 60.0),
        ),
        rate=declare(
            node,
            "rate",
            defaults.rate,
            "Rate of references that are still to be reached when no more come in, Hz.",
            within=(1.0, 2000.0),
        ),
    )
