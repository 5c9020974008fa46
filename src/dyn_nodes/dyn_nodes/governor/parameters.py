# SPDX-License-Identifier: Apache-2.0
"""Parameters of the node `governor`, checked as far as this needs no robot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from rclpy.node import Node

from dyn_core import ActuatorLimits, DynError, Robot, TorqueSpeedCurve, actuator_limits
from dyn_core.feasibility.actuator_limits import described_limit, unlimited_reason
from dyn_core.feasibility.limits_file import given_limits
from dyn_nodes.common.parameters import (
    MAX_AGE_S,
    PART,
    TIMEOUT,
    declare_by_joint,
    declared,
    declared_max_age,
    parameter,
)

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
    """All parameters of the node; `of_joints` has limits by kind and joint, which override the file."""

    limits_file: str = parameter(
        "", "Path of a YAML file with limits of the actuators: torque-speed curves, powers; empty: none."
    )
    of_joints: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    effort_scale: float = parameter(
        1.0, "Fraction of the torques and powers that motions may use; the controller has the rest.", PART
    )
    velocity_scale: float = parameter(1.0, "Fraction of the speeds that motions may use.", PART)
    friction: bool = parameter(True, "Whether the joints have friction.")
    rotor_inertia: bool = parameter(True, "Whether the rotors have inertia.")
    check_period: float = parameter(
        0.005, "Time between the samples at which trajectories are checked, s.", (1e-4, 1.0)
    )
    greatest_time_scaling: float = parameter(
        100.0,
        "Greatest factor by which a trajectory is slowed; one that needs a greater factor is refused.",
        (1.0, 1e4),
    )
    max_age: float = MAX_AGE_S
    timeout: float = parameter(
        0.2, "Time without references after which the next one begins a new stream, s.", TIMEOUT
    )
    greatest_lag: float = parameter(
        10.0,
        "Longest delay of references, s; references that come at this delay are refused.",
        (0.001, 3600.0),
    )
    on_infeasible: OnInfeasible = parameter(
        "slow",
        "Reaction to a motion that is not feasible: 'slow' slows it down on its path, 'refuse' does not send "
        "it on.",
        choices=get_args(OnInfeasible),
    )
    tell_period: float = parameter(
        0.1, "Time between two messages while references are changed, s.", (0.0, 60.0)
    )
    rate: float = parameter(
        200.0, "Rate of the references that remain on the path when no more come in, Hz.", (1.0, 2000.0)
    )

    def limits(self, robot: Robot) -> ActuatorLimits:
        """Return the limits of a robot; DynError where they do not fit it."""
        given = given_limits(self.limits_file, robot) if self.limits_file else {}
        for kind, values in self.of_joints.items():
            for name, value in values.items():
                if why := unlimited_reason(robot, name):
                    raise DynError(
                        "limit-joint-unfit", joint=name, kind=kind, reason=why, element=f"joint '{name}'"
                    )
                change: dict[str, Any] = {kind: value}
                if kind == "effort":
                    change = {"curve": TorqueSpeedCurve.constant(value)}
                given[name] = replace(given.get(name, described_limit(robot, name)), **change)
        return actuator_limits(robot, given).scaled(self.effort_scale, self.velocity_scale)


def declared_governor(node: Node) -> GovernorSettings:
    """Declare the parameters and return their values; DynError where one is invalid."""
    return declared(
        node,
        GovernorSettings,
        of_joints=declare_by_joint(node, "limits", _OF_JOINTS, within=(_LEAST, _GREATEST)),
        max_age=declared_max_age(node),
    )
