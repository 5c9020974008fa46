# SPDX-License-Identifier: Apache-2.0
"""Parameters of the node `feedforward`: declared, and checked as far as this can be done without a robot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from rclpy.node import Node

from dyn_core.control.command_limits import OnLimit
from dyn_core.control.terms import Switches
from dyn_core.control.trajectories.loop_positions import ConditionLimits
from dyn_core.control.watchdog import Reaction, WatchSettings
from dyn_nodes.base_settings import BaseSettings, declared_base
from dyn_nodes.common.parameters import declare, declare_by_joint
from dyn_nodes.loop_condition import declared_condition_limits
from dyn_nodes.max_age import MAX_AGE_S, declared_max_age
from dyn_nodes.parameter_lists import declare_names

Mode = Literal["gravity", "inverse_dynamics", "computed_torque"]
FinalMessage = Literal["zero", "hold"]

_REACTIONS: Mapping[str, Reaction] = {"hold": "hold", "ramp": "ramp_to_zero", "stop": "stop"}
_SECONDS = (0.0, 3600.0)


@dataclass(frozen=True)
class GainSettings:
    """Gains of computed torque.

    Attributes:
        natural_frequency: of the error, for joints without gains of their own (Hz).
        damping: damping ratio of the error, for the same joints.
        p: gains of the position by joint (1/s^2).
        d: gains of the velocity by joint (1/s).
    """

    natural_frequency: float = 2.0
    damping: float = 1.0
    p: Mapping[str, float] = field(default_factory=dict)
    d: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class ReferenceSettings:
    """What is asked of references.

    Attributes:
        max_speed: fastest that the position may move (rad/s or m/s); 0 for the limits of the description.
        slack: what may be added to that, and how far from the measured position the first may be (rad or m).
        derivative_cutoff: of the filter for derivatives that are not given (Hz).
        carry: longest time by which a reference is carried on from its stamp, or back (s).
        controller_state: whether the state of a joint_trajectory_controller is read as references.
    """

    max_speed: float = 0.0
    slack: float = 0.1
    derivative_cutoff: float = 30.0
    carry: float = 0.0
    controller_state: bool = False


@dataclass(frozen=True)
class FeedforwardSettings:
    """All parameters of the node.

    Attributes:
        mode: what is computed.
        switches: which terms the torques have.
        coulomb_velocity: of the transition of Coulomb friction (rad/s or m/s); 0 for its sign, below 0 for
            what the file of dynamic parameters says of each joint.
        gains: of computed torque.
        references: what is asked of references.
        max_age: greatest difference between a stamp and the clock of the node (s).
        watch: when data is stale, and what is done then, on a steady clock.
        ramp_start: how long the first torques take from zero (s).
        rate: at which torques are published that no message asks for (Hz).
        on_limit: what becomes of torques above an effort limit.
        on_shutdown: the last message.
        command_joints: order of the commands; empty for that of the robot.
        blend_time: how long torques take to those of other dynamic parameters or payloads (s).
        effort_period: between points of a trajectory with efforts (s); 0 for the points that it has.
        loop_condition: condition numbers of loops.
        base: what is known of the motion of the base.
    """

    mode: Mode = "gravity"
    switches: Switches = field(default_factory=Switches)
    coulomb_velocity: float = -1.0
    gains: GainSettings = field(default_factory=GainSettings)
    references: ReferenceSettings = ReferenceSettings()
    max_age: float = MAX_AGE_S
    watch: WatchSettings = field(default_factory=lambda: WatchSettings(timeout=0.2, reaction="hold"))
    ramp_start: float = 0.0
    rate: float = 200.0
    on_limit: OnLimit = "clip"
    on_shutdown: FinalMessage = "zero"
    command_joints: tuple[str, ...] = ()
    blend_time: float = 1.0
    effort_period: float = 0.0
    loop_condition: ConditionLimits = field(default_factory=ConditionLimits)
    base: BaseSettings = field(default_factory=BaseSettings)


_DEFAULTS = FeedforwardSettings()


def declared_settings(node: Node) -> FeedforwardSettings:
    """Declare the parameters and answer their values; DynError where one will not do."""
    return FeedforwardSettings(
        mode=declare(
            node,
            "mode",
            _DEFAULTS.mode,
            "What is computed: torques that hold the measured position, inverse dynamics of the desired "
            "motion, or computed torque from both.",
            choices=get_args(Mode),
        ),
        switches=_switches(node),
        coulomb_velocity=declare(
            node,
            "coulomb_velocity",
            _DEFAULTS.coulomb_velocity,
            "Velocity, rad/s or m/s, over which Coulomb friction changes its sign; 0: at once; below 0: what "
            "dynamic_parameters_file says of each joint, and at once without it.",
            within=(-1.0, 10.0),
        ),
        gains=_gains(node),
        references=replace(
            declared_references(node),
            controller_state=declare(
                node,
                "controller_state",
                _DEFAULTS.references.controller_state,
                "Whether ~/controller_state, the state of a joint_trajectory_controller, is read as "
                "references; this needs control_msgs.",
            ),
        ),
        max_age=declared_max_age(node),
        watch=_watch(node),
        ramp_start=declare(
            node,
            "ramp_start",
            _DEFAULTS.ramp_start,
            "Time, s, that the first torques after activation take from zero.",
            within=_SECONDS,
        ),
        rate=declare(
            node,
            "rate",
            _DEFAULTS.rate,
            "Rate, Hz, of torques that no message asks for: along a trajectory, and while data is stale.",
            within=(1.0, 2000.0),
        ),
        on_limit=declare(
            node,
            "on_limit",
            _DEFAULTS.on_limit,
            "What becomes of torques above the effort limit of a joint: 'clip' holds this joint at its "
            "limit, 'scale' makes all joints smaller by one factor, 'withhold' publishes nothing.",
            choices=get_args(OnLimit),
        ),
        on_shutdown=declare(
            node,
            "on_shutdown",
            _DEFAULTS.on_shutdown,
            "The last message at deactivation and at the end: 'zero', or 'hold', the gravity torques of the "
            "last good position.",
            choices=get_args(FinalMessage),
        ),
        command_joints=declare_names(
            node,
            "command_joints",
            "Joints of ~/commands, in the order of the controller that takes them; ['']: all that are "
            "actuated, in the order of the robot.",
        ),
        blend_time=declare(
            node,
            "blend_time",
            _DEFAULTS.blend_time,
            "Time, s, that torques take to those of another payload or other dynamic parameters.",
            within=_SECONDS,
        ),
        effort_period=declare(
            node,
            "effort_period",
            _DEFAULTS.effort_period,
            "Time, s, between the points of trajectories with efforts; 0: the points that they have.",
            within=(0.0, 60.0),
        ),
        loop_condition=declared_condition_limits(node),
        base=declared_base(node),
    )


def _switches(node: Node) -> Switches:
    names = {
        "inertial": "what accelerates links and rotors",
        "coriolis": "Coriolis and centrifugal torques",
        "gravity": "what holds the robot still",
        "friction": "joint friction",
    }
    return Switches(
        **{
            name: declare(node, f"terms.{name}", True, f"Whether the torques have this term: {meaning}.")
            for name, meaning in names.items()
        }
    )


def _gains(node: Node) -> GainSettings:
    natural_frequency: float = declare(
        node,
        "natural_frequency",
        _DEFAULTS.gains.natural_frequency,
        "Of the error under computed torque, Hz: p = w^2, d = 2 damping w, with w = 2 pi natural_frequency.",
        within=(0.0, 1000.0),
    )
    damping: float = declare(
        node,
        "damping",
        _DEFAULTS.gains.damping,
        "Damping ratio of the error under computed torque.",
        within=(0.0, 100.0),
    )
    by_joint = declare_by_joint(
        node,
        "gains",
        {
            "p": "Gain of the position error of joint '{joint}' under computed torque, 1/s^2.",
            "d": "Gain of the velocity error of joint '{joint}' under computed torque, 1/s.",
        },
        within=(0.0, 1e8),
    )
    return GainSettings(natural_frequency, damping, by_joint["p"], by_joint["d"])


def declared_references(node: Node) -> ReferenceSettings:
    """Declare the parameters about references that all nodes have, and answer what they say."""
    return ReferenceSettings(
        max_speed=declare(
            node,
            "max_reference_speed",
            _DEFAULTS.references.max_speed,
            "Fastest that a reference may move, rad/s or m/s; 0: the velocity limits of the description.",
            within=(0.0, 1e6),
        ),
        slack=declare(
            node,
            "reference_slack",
            _DEFAULTS.references.slack,
            "How far a reference may move, rad or m, beyond max_reference_speed times the time since the "
            "last; and how far the first may be from the measured position.",
            within=(0.0, 1e6),
        ),
        derivative_cutoff=declare(
            node,
            "derivative_cutoff",
            _DEFAULTS.references.derivative_cutoff,
            "Cutoff, Hz, of the filter for velocities and accelerations that messages lack.",
            within=(0.01, 10000.0),
        ),
        carry=declare(
            node,
            "reference_carry",
            _DEFAULTS.references.carry,
            "A reference is carried on from its stamp to that of the measurement, or back, with its velocity "
            "and acceleration, by at most this time, s; 0: it is used as it is.",
            within=(0.0, 1.0),
        ),
    )


def _watch(node: Node) -> WatchSettings:
    timeout: float = declare(
        node,
        "timeout",
        _DEFAULTS.watch.timeout,
        "Without good data for longer than this, s on a steady clock, on_stale is done.",
        within=(0.001, 60.0),
    )
    on_stale: str = declare(
        node,
        "on_stale",
        "hold",
        "What is done while data is stale: 'hold' publishes the gravity torques of the last good position, "
        "'ramp' goes to zero and publishes zero, 'stop' publishes nothing, and receivers may hold what they "
        "got last for ever.",
        choices=tuple(_REACTIONS),
    )
    ramp_down: float = declare(
        node,
        "ramp_down",
        _DEFAULTS.watch.ramp_down,
        "Time, s, that torques take to those of on_stale.",
        within=_SECONDS,
    )
    ramp_up: float = declare(
        node,
        "ramp_up",
        _DEFAULTS.watch.ramp_up,
        "Time, s, that torques take to live ones when data is good again.",
        within=_SECONDS,
    )
    return WatchSettings(timeout, _REACTIONS[on_stale], ramp_down, ramp_up)
