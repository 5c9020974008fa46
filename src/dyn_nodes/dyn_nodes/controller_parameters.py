# SPDX-License-Identifier: Apache-2.0
"""The parameters of the node `controller`, checked as far as this can be done without a robot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import get_args

from rclpy.node import Node

from dyn_core.control.laws.pid import AntiWindup, Derivative
from dyn_core.control.trajectories.loop_positions import ConditionLimits
from dyn_core.control.watchdog import Reaction, WatchSettings
from dyn_nodes.common.parameters import declare, declare_by_joint
from dyn_nodes.controller.parameters import PidGains
from dyn_nodes.feedforward.parameters import ReferenceSettings, declared_references
from dyn_nodes.loop_condition import declared_condition_limits
from dyn_nodes.max_age import declared_max_age
from dyn_nodes.parameter_lists import declare_names

_GAINS = {
    "p": "Gain of the position error{of}, N m/rad or N/m.",
    "i": "Gain of its integral{of}, N m/(rad s) or N/(m s).",
    "d": "Gain of the velocity error{of}, N m s/rad or N s/m.",
}
_REACTIONS: Mapping[str, Reaction] = {"ramp": "ramp_to_zero", "stop": "stop"}
_SECONDS = (0.0, 3600.0)
_GREATEST_GAIN = 1e8


@dataclass(frozen=True)
class ControllerSettings:
    """What the controller does.

    Attributes:
        gains: of the errors.
        derivative: of what the derivative is.
        damping_cutoff: of the low-pass of the derivative (Hz); 0 for none.
        anti_windup: how the integral is kept from winding up.
        references: what is asked of references.
        watch: when joint states are stale, and what is done then, on a steady clock.
        ramp_start: how long the first torques take from zero (s).
        feedforward: when torques of the feedforward are stale, and how long they take to zero and back.
        loop_condition: condition numbers of loops.
    """

    gains: PidGains = field(default_factory=PidGains)
    derivative: Derivative = "error"
    damping_cutoff: float = 0.0
    anti_windup: AntiWindup = "clamping"
    references: ReferenceSettings = field(default_factory=ReferenceSettings)
    watch: WatchSettings = field(default_factory=lambda: WatchSettings(timeout=0.2))
    ramp_start: float = 0.5
    feedforward: WatchSettings = field(
        default_factory=lambda: WatchSettings(timeout=0.2, ramp_down=0.5, ramp_up=0.1)
    )
    loop_condition: ConditionLimits = field(default_factory=ConditionLimits)


@dataclass(frozen=True)
class ControllerParameters:
    """All parameters of the node.

    Attributes:
        settings: what the controller does.
        max_age: greatest difference between a stamp and the clock of the node (s).
        rate: at which torques are published while joint states are stale (Hz).
        command_joints: order of ~/commands; empty for that of the robot.
    """

    settings: ControllerSettings
    max_age: float
    rate: float
    command_joints: tuple[str, ...]


def declare_controller_parameters(node: Node) -> ControllerParameters:
    """Declare the parameters and answer what they say; DynError where one makes no sense."""
    defaults = ControllerSettings()
    settings = ControllerSettings(
        gains=_gains(node),
        derivative=declare(
            node,
            "derivative",
            defaults.derivative,
            "What it is taken of: 'error', or 'measurement', which also brakes a motion that is wanted.",
            choices=get_args(Derivative),
        ),
        damping_cutoff=declare(
            node,
            "damping_cutoff",
            defaults.damping_cutoff,
            "Cutoff of the low-pass of the derivative, Hz; 0: none.",
            within=(0.0, 10000.0),
        ),
        anti_windup=declare(
            node,
            "anti_windup",
            defaults.anti_windup,
            "How the integral is kept from winding up at an effort limit.",
            choices=get_args(AntiWindup),
        ),
        references=declared_references(node),
        watch=_watch(node),
        ramp_start=declare(
            node,
            "ramp_start",
            defaults.ramp_start,
            "Time that the first torques after activation take from zero, s.",
            within=_SECONDS,
        ),
        feedforward=_feedforward(node),
        loop_condition=declared_condition_limits(node),
    )
    return ControllerParameters(
        settings,
        max_age=declared_max_age(node),
        rate=declare(
            node,
            "rate",
            200.0,
            "Rate of torques while joint states are stale, Hz.",
            within=(1.0, 2000.0),
        ),
        command_joints=declare_names(
            node, "command_joints", "Joints of ~/commands, in order; ['']: all that are actuated."
        ),
    )


def _gains(node: Node) -> PidGains:
    within = (0.0, _GREATEST_GAIN)
    general = {
        kind: float(declare(node, kind, 0.0, text.format(of=", of joints without their own"), within=within))
        for kind, text in _GAINS.items()
    }
    of_joint = {kind: text.format(of=" of joint '{joint}'") for kind, text in _GAINS.items()}
    by_joint = declare_by_joint(node, "gains", of_joint, within=within)
    natural_frequency: float = declare(
        node,
        "natural_frequency",
        0.0,
        "Of the error, Hz: p and d follow from it and the inertia at each joint, where joints have none of "
        "their own; 0: they are as given.",
        within=(0.0, 1000.0),
    )
    damping: float = declare(
        node,
        "damping",
        1.0,
        "Damping ratio of the error, where natural_frequency is given.",
        within=(0.01, 100.0),
    )
    return PidGains(general, by_joint, natural_frequency, damping)


def _watch(node: Node) -> WatchSettings:
    timeout: float = declare(
        node,
        "timeout",
        0.2,
        "Without good joint states for longer than this, s on a steady clock, on_stale is done.",
        within=(0.001, 60.0),
    )
    on_stale: str = declare(
        node,
        "on_stale",
        "ramp",
        "What is done while joint states are stale: 'ramp' goes to zero and publishes zero, 'stop' publishes "
        "nothing, and receivers may hold what they got last for ever.",
        choices=tuple(_REACTIONS),
    )
    ramp_down: float = declare(
        node, "ramp_down", 0.5, "Time that torques take to zero then, s.", within=_SECONDS
    )
    ramp_up: float = declare(
        node,
        "ramp_up",
        0.5,
        "Time that torques take to live ones when joint states are good again, s.",
        within=_SECONDS,
    )
    return WatchSettings(timeout, _REACTIONS[on_stale], ramp_down, ramp_up)


def _feedforward(node: Node) -> WatchSettings:
    return WatchSettings(
        declare(
            node,
            "feedforward.timeout",
            0.2,
            "Without good torques on ~/feedforward for longer than this, s on a steady clock, they fade out.",
            within=(0.001, 60.0),
        ),
        "ramp_to_zero",
        declare(node, "feedforward.ramp_down", 0.5, "Time that they take to zero, s.", within=_SECONDS),
        declare(
            node,
            "feedforward.ramp_up",
            0.1,
            "Time that they take from there or at first, s.",
            within=_SECONDS,
        ),
    )
