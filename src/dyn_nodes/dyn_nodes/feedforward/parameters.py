# SPDX-License-Identifier: Apache-2.0
"""Parameters of the node `feedforward`, checked as far as this needs no robot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from dyn_core.control.command_limits import OnLimit
from dyn_core.control.laws.inverse_dynamics_control import TrackingGains
from dyn_core.control.trajectories.loop_positions import ConditionLimits
from dyn_core.control.watchdog import Reaction, WatchSettings
from dyn_core.core.errors import DynError
from dyn_core.robot.robot import Robot
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.common.parameters import (
    MAX_AGE_S,
    RATE,
    SECONDS,
    declare,
    declare_by_joint,
    declare_names,
    declared,
    declared_max_age,
    parameter,
)
from dyn_nodes.common.torques.output_stage import Smoothing
from dyn_nodes.common.torques.position_checks import declared_condition_limits
from dyn_nodes.common.torques.reference_parameters import (
    DriveSettings,
    ReferenceSettings,
    declared_drive,
    declared_watch,
)

Source = Literal["none", "imu", "odometry"]
Mode = Literal["gravity", "inverse_dynamics", "computed_torque"]
FinalMessage = Literal["zero", "hold"]

_REACTIONS: Mapping[str, Reaction] = {"hold": "hold", "ramp": "ramp_to_zero", "stop": "stop"}
_REACTION_MEANINGS = (
    "'hold' publishes the gravity torques of the last good position without those that the drive adds, "
    "'ramp' goes to zero and publishes zero, 'stop' publishes nothing, and receivers may hold the last "
    "torques for ever"
)


@dataclass(frozen=True)
class BaseSettings:
    """How the motion of the base is measured."""

    source: Source = parameter(
        "none",
        "Measurement of the motion of the base: 'none' for a base at rest, 'imu' for ~/base_imu "
        "(sensor_msgs/Imu), 'odometry' for ~/base_odometry (nav_msgs/Odometry).",
        choices=get_args(Source),
        name="base.source",
    )
    derivative_cutoff: float = parameter(
        5.0,
        "Cutoff, Hz, of the filters for the angular acceleration of the base and, with odometry, for the "
        "linear one; 0: these accelerations are taken as zero.",
        (0.0, 500.0),
        name="base.derivative_cutoff",
    )


@dataclass(frozen=True)
class GainSettings:
    """Gains of computed torque; `p` (1/s^2) and `d` (1/s) are by joint."""

    natural_frequency: float = parameter(
        2.0,
        "Natural frequency of the error under computed torque, Hz: p = w^2, d = 2 damping w, with "
        "w = 2 pi natural_frequency.",
        (0.0, 1000.0),
        live=True,
    )
    damping: float = parameter(
        1.0, "Damping ratio of the error under computed torque.", (0.0, 100.0), live=True
    )
    p: Mapping[str, float] = field(default_factory=dict)
    d: Mapping[str, float] = field(default_factory=dict)

    def of(self, robot: Robot) -> TrackingGains:
        """Return the gains of a robot; DynError where they name an unknown joint."""
        names, locked = robot.coordinate_names, dict(robot.locked)  # the gains of a locked joint are not used
        for name in (*self.p, *self.d):
            if name not in names and name not in locked:
                raise DynError("gain-joint-unknown", joint=name, known=names)
        general = TrackingGains.of_frequency(names, self.natural_frequency, self.damping)
        Kp = [self.p.get(name, value) for name, value in zip(names, general.Kp.tolist(), strict=True)]
        Kd = [self.d.get(name, value) for name, value in zip(names, general.Kd.tolist(), strict=True)]
        return TrackingGains.checked(names, Kp, Kd)


@dataclass(frozen=True)
class FeedforwardSettings:
    """All parameters of the node."""

    mode: Mode = parameter(
        "gravity",
        "Torques that are computed: those that hold the measured position, inverse dynamics of the desired "
        "motion, or computed torque from both.",
        choices=get_args(Mode),
        live=True,
    )
    drive: DriveSettings = field(default_factory=DriveSettings)
    coulomb_velocity: float = parameter(
        -1.0,
        "Velocity, rad/s or m/s, over which Coulomb friction changes its sign; 0: at once; below 0: the "
        "value of each joint in dynamic_parameters_file, and at once without it.",
        (-1.0, 10.0),
        live=True,
    )
    gains: GainSettings = field(default_factory=GainSettings)
    references: ReferenceSettings = field(default_factory=ReferenceSettings)
    max_age: float = MAX_AGE_S
    watch: WatchSettings = field(default_factory=lambda: WatchSettings(timeout=0.2, reaction="hold"))
    smoothing: Smoothing = field(default_factory=Smoothing)
    rate: float = parameter(
        200.0, "Rate of torques without a message, along a trajectory and while data is stale, Hz.", RATE
    )
    on_limit: OnLimit = parameter(
        "clip",
        "Reaction to torques above the effort limit of a joint: 'clip' holds this joint at its limit, "
        "'scale' reduces the torques of all joints by one factor, 'withhold' publishes nothing.",
        choices=get_args(OnLimit),
        live=True,
    )
    on_shutdown: FinalMessage = parameter(
        "zero",
        "Last message at deactivation and at the end: 'zero', or 'hold' for the gravity torques of the last "
        "good position without those that the drive adds.",
        choices=get_args(FinalMessage),
    )
    command_joints: tuple[str, ...] = ()
    blend_time: float = parameter(
        1.0,
        "Duration of the change to another payload, other dynamic parameters or other gains, s.",
        SECONDS,
        live=True,
    )
    effort_period: float = parameter(
        0.0, "Time between the points of trajectories with efforts, s; 0: their own points.", (0.0, 60.0)
    )
    loop_condition: ConditionLimits = field(default_factory=ConditionLimits)
    base: BaseSettings = field(default_factory=BaseSettings)


def declared_settings(node: ManagedNode) -> FeedforwardSettings:
    """Declare the parameters and return their values; DynError where one is invalid."""
    # Where they were only ignored, gravity would be sent that an older file switches off.
    for name in node.get_parameters_by_prefix("terms"):
        raise DynError("parameter-replaced", parameter=f"terms.{name}", instead="drive_compensates")
    drive = declared_drive(node, _REACTIONS)
    by_joint = declare_by_joint(
        node,
        "gains",
        {
            "p": "Gain of the position error of joint '{joint}' under computed torque, 1/s^2.",
            "d": "Gain of the velocity error of joint '{joint}' under computed torque, 1/s.",
        },
        within=(0.0, 1e8),
        live=True,
    )
    controller_state = declare(
        node,
        "controller_state",
        False,
        "Whether ~/controller_state, the state of a joint_trajectory_controller, is read as references; this "
        "needs control_msgs.",
    )
    settings = declared(
        node,
        FeedforwardSettings,
        drive=drive,
        gains=declared(node, GainSettings, **by_joint),
        references=declared(node, ReferenceSettings, controller_state=controller_state),
        max_age=declared_max_age(node),
        watch=declared_watch(node, "data", _REACTIONS, _REACTION_MEANINGS, FeedforwardSettings().watch),
        command_joints=declare_names(
            node,
            "command_joints",
            "Joints of ~/commands, in the order of the controller that receives them; ['']: all actuated "
            "joints, in the order of the robot.",
        ),
        smoothing=declared(node, Smoothing),
        loop_condition=declared_condition_limits(node),
        base=declared(node, BaseSettings),
    )
    if settings.mode == "gravity" and drive.adds_gravity:
        raise DynError("gravity-compensated-twice")
    return settings
