# SPDX-License-Identifier: Apache-2.0
"""Parameters of the node `controller`, checked as far as this needs no robot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import get_args

from rclpy.node import Node

from dyn_core.control.laws.pid import AntiWindup, Derivative
from dyn_core.control.trajectories.loop_positions import ConditionLimits
from dyn_core.control.watchdog import Reaction, WatchSettings
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.common.parameters import (
    RATE,
    SECONDS,
    TIMEOUT,
    declare,
    declare_by_joint,
    declare_names,
    declared,
    declared_max_age,
    parameter,
)
from dyn_nodes.common.torques.feedback_gains import PidGains
from dyn_nodes.common.torques.output_stage import Smoothing
from dyn_nodes.common.torques.position_checks import declared_condition_limits
from dyn_nodes.common.torques.reference_parameters import (
    DriveSettings,
    ReferenceSettings,
    declared_drive,
    declared_watch,
)

_GAINS = {
    "p": "Gain of the position error{of}, N m/rad or N/m.",
    "i": "Gain of its integral{of}, N m/(rad s) or N/(m s).",
    "d": "Gain of the velocity error{of}, N m s/rad or N s/m.",
}
_ARMATURE = (
    "Rotor inertia of joint '{joint}', seen at the joint, kg m^2 or kg, where the description gives none."
)
_REACTIONS: Mapping[str, Reaction] = {"ramp": "ramp_to_zero", "stop": "stop"}
_REACTION_MEANINGS = (
    "'ramp' goes to zero and publishes zero, 'stop' publishes nothing, and receivers may hold the last "
    "torques for ever"
)
_GREATEST_GAIN = 1e8


@dataclass(frozen=True)
class ControllerSettings:
    """Settings of the controller; `watch` is for joint states, `feedforward` for the torques to add."""

    drive: DriveSettings = field(default_factory=DriveSettings)
    gains: PidGains = field(default_factory=PidGains)
    derivative: Derivative = parameter(
        "error",
        "Signal that the derivative is taken of: 'error', or 'measurement', which also brakes a desired "
        "motion.",
        choices=get_args(Derivative),
    )
    damping_cutoff: float = parameter(
        0.0, "Cutoff of the low-pass filter of the derivative, Hz; 0: none.", (0.0, 10000.0)
    )
    anti_windup: AntiWindup = parameter(
        "clamping", "Method against windup of the integral at an effort limit.", choices=get_args(AntiWindup)
    )
    references: ReferenceSettings = field(default_factory=ReferenceSettings)
    watch: WatchSettings = field(default_factory=lambda: WatchSettings(timeout=0.2))
    smoothing: Smoothing = field(default_factory=Smoothing)
    feedforward: WatchSettings = field(default_factory=lambda: WatchSettings(timeout=0.2, ramp_up=0.1))
    loop_condition: ConditionLimits = field(default_factory=ConditionLimits)


@dataclass(frozen=True)
class ControllerParameters:
    """All parameters of the node; `command_joints` is empty for the order of the robot."""

    settings: ControllerSettings
    max_age: float
    command_joints: tuple[str, ...]
    rate: float = parameter(200.0, "Rate of torques while joint states are stale, Hz.", RATE)


def declare_controller_parameters(node: ManagedNode) -> ControllerParameters:
    """Declare the parameters and return their values; DynError where one is invalid."""
    usual = ControllerSettings()
    drive = declared_drive(node, _REACTIONS)
    settings = declared(
        node,
        ControllerSettings,
        drive=drive,
        gains=_gains(node),
        references=declared(node, ReferenceSettings),
        watch=declared_watch(node, "joint states", _REACTIONS, _REACTION_MEANINGS, usual.watch),
        feedforward=_feedforward(node, usual.feedforward),
        smoothing=declared(node, Smoothing),
        loop_condition=declared_condition_limits(node),
    )
    joints = declare_names(node, "command_joints", "Joints of ~/commands, in order; ['']: all actuated ones.")
    return declared(
        node, ControllerParameters, settings=settings, max_age=declared_max_age(node), command_joints=joints
    )


def _gains(node: Node) -> PidGains:
    within = (0.0, _GREATEST_GAIN)
    general = {
        kind: float(
            declare(
                node, kind, 0.0, text.format(of=", of joints without their own"), within=within, live=True
            )
        )
        for kind, text in _GAINS.items()
    }
    of_joint = {kind: text.format(of=" of joint '{joint}'") for kind, text in _GAINS.items()}
    kinds = {**of_joint, "armature": _ARMATURE}
    by_joint = declare_by_joint(node, "gains", kinds, within=within, live=True)
    armatures = by_joint.pop("armature")
    return declared(node, PidGains, general=general, by_joint=by_joint, armatures=armatures)


def _feedforward(node: Node, usual: WatchSettings) -> WatchSettings:
    parameters = (
        ("timeout", TIMEOUT, "Time without good torques on ~/feedforward after which they fade out, s."),
        ("ramp_down", SECONDS, "Duration of the fade of the feedforward to zero, s."),
        ("ramp_up", SECONDS, "Duration of the fade of the feedforward from zero, s."),
    )
    values = {
        name: declare(
            node,
            f"feedforward.{name}",
            getattr(usual, name),
            description,
            within=within,
            live=name != "timeout",
        )
        for name, within, description in parameters
    }
    return WatchSettings(**values)
