# SPDX-License-Identifier: Apache-2.0
"""PID control of each joint of one robot, with a feedforward.

This module has no node, no clock and no messages. Times t are stamps, on the clock of the node; times `now`
are on a steady clock (both s).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dyn_core import DynError, compile_model
from dyn_core.control.command_limits import EffortLimits
from dyn_core.control.laws.inverse_dynamics_control import Terms
from dyn_core.control.laws.pid import Pid
from dyn_core.control.trajectories.loop_positions import PassiveAgreement
from dyn_core.control.trajectories.piecewise_polynomials import Motion
from dyn_core.control.trajectories.trajectory_planning import PlannedPoints, TrajectoryPoints
from dyn_core.control.watchdog import NO_DATA, Fade, Status, Target, Watch, watched
from dyn_core.core.arrays import Array
from dyn_core.robot.robot import Robot
from dyn_core.robot.side_file.conversion import without_springs
from dyn_nodes.common.data_checks import Notice, Rejection
from dyn_nodes.common.lifecycle.robot_source import DescribedRobot
from dyn_nodes.common.messages.motion_message import GivenMotion
from dyn_nodes.common.torques.desired_motion import DesiredMotion, Kind
from dyn_nodes.common.torques.feedback_gains import feedback
from dyn_nodes.common.torques.gain_blend import GainBlend
from dyn_nodes.common.torques.output_stage import Output
from dyn_nodes.common.torques.position_checks import check_loops
from dyn_nodes.common.torques.torque_maker import MadeTorques, TorqueMaker
from dyn_nodes.controller.parameters import ControllerSettings

_WITHOUT_CONTROL = (Status.NO_DATA, Status.HOLDING, Status.RAMPING_DOWN, Status.STOPPED)


class JointController(TorqueMaker):
    """The controller of one robot. State: the last measurement, and the states of its parts.

    It holds the robot at its measured position at the start, and after joint states were missing. From there
    it follows references that begin near to it.
    """

    def __init__(self, robot: Robot, settings: ControllerSettings) -> None:
        """Begin without data; DynError where a setting does not fit the robot."""
        names = robot.coordinate_names
        self.robot = robot
        self.settings = settings
        gravity = ("gravity_torques",) if settings.drive.adds_gravity else ()
        # On a base at rest.
        self._model = compile_model(robot.with_fixed_base(), functions=("inverse_dynamics", *gravity))
        self._by_drive = self._model.gravity_torques if gravity else None
        limits = EffortLimits.of_robot(robot).scaled(settings.smoothing.effort_scale)
        super().__init__(robot, limits, settings.watch, settings.smoothing, settings.loop_condition)
        cutoff = settings.damping_cutoff or None
        self.feedback = feedback(robot, settings.gains, cutoff)
        self._pid = Pid(
            names,
            self.feedback.kp,
            self.feedback.ki,
            self.feedback.kd,
            limits=limits.limits,
            derivative=settings.derivative,
            cutoff=cutoff,
            anti_windup=settings.anti_windup,
            max_gap=settings.watch.timeout,
        )
        self._gains = GainBlend((self.feedback.kp, self.feedback.ki, self.feedback.kd))
        self._zero = self.stage.zero.total
        self._feedforward_fade = Fade(names)
        self.restart()

    def take_over(self, before: JointController, now: float) -> list[Notice]:
        """Continue, at time `now` (s), from the torques of another robot; hold the new one where it is."""
        self.stage.take_over(before.stage, now)
        self.fault = before.fault
        return [] if before.desired.kind is Kind.NOTHING else [Notice("motion-of-other-robot")]

    def tuning(self, settings: ControllerSettings, t: float) -> Callable[[float], None]:
        """Return what uses other values of live parameters; DynError where they cannot be used."""
        before, made = self.settings, self.feedback
        if settings.gains != before.gains:
            made = feedback(self.robot, settings.gains, settings.damping_cutoff or None)
        if not np.array_equal(made.weighted, self.feedback.weighted):
            raise DynError("gains-of-other-kind")
        if settings.drive.adds_gravity != before.drive.adds_gravity:
            raise DynError("parameter-at-start", parameter="drive_compensates")
        limits = self.stage.limits
        if settings.smoothing.effort_scale != before.smoothing.effort_scale:
            limits = EffortLimits.of_robot(self.robot).scaled(settings.smoothing.effort_scale)

        def tune(now: float) -> None:
            if made is not self.feedback:
                self._gains.change((made.kp, made.ki, made.kd), now, settings.watch.ramp_up)
            self.feedback, self.settings = made, settings
            self.tune_limits(limits, now)
            self.desired.tune(self.robot, settings.references)

        return tune

    def restart(self) -> None:
        """Forget all motions and wait for data as at the start."""
        self.forget_fault()
        self.stage.restart()
        self._believed.forget()
        self._feedforward = self._zero
        self._feedforward_at: float | None = None
        self._feedforward_watch = NO_DATA
        self._feedforward_fade.reset()
        self._hold(self._zero)

    def measure(self, q: Array, qd: Array | None, t: float, now: float) -> Output:
        """Take a measurement, and return the torques to send for it; `qd` is None where it is not measured.

        Raises:
            Rejection: the measurement is older than the last one, jumps, or is at a position where loops do
                not close.
        """
        self.stage.notice_silence(now)
        check_loops(self.guard, q, "the joint state")
        if self.stage.watch.status in _WITHOUT_CONTROL:
            self._believed.forget()
            self._forget_feedforward(now)
        first = self._believed.last is None
        if not self._believed.follows(t, q):
            if not first:
                self.stage.recover(now)
            self._hold(q)
        if self.fault is not None:
            return self.stage.given_up(lambda: self.stage.zero, now)
        desired = self._desired(t, now)
        fed, by_drive = self._fed(now), None if self._by_drive is None else self._by_drive(q)
        if by_drive is not None:
            fed = fed + by_drive  # so that the anti-windup sees what the motor gets
        try:
            gains = self._gains.at(now)
            if gains is not None or self._pid.limits is not self.stage.limits.limits:
                kp, ki, kd = gains or self._gains.target
                self._pid.tune(kp, ki, kd, self.stage.limits.limits)
            weight = self.feedback.weight(q)
            output = self._pid.update(t, desired.q, q, desired.qd, qd, fed, weight)
        except ValueError as problem:
            raise Rejection("torques-not-computed", cause=problem) from problem
        total = output.torques + output.excess
        fed_back = output.proportional + output.integral + output.derivative
        if self.has_lost(t, q, qd, desired.q - q, fed_back, total):
            return self.stage.given_up(lambda: self.stage.zero, now)
        if by_drive is not None:
            total = total - by_drive
        return self.stage.live(Terms(self._zero, self._zero, self._zero, self._zero, total, by_drive), now)

    def refer(self, given: GivenMotion, t: float, now: float) -> None:
        """Take a reference; Rejection if it cannot be used."""
        self.refuse_after_fault()
        desired = self.desired
        before = None if desired.follows(now) else self._desired(t, now).q
        motion = desired.refer(given, t, now, self._measured(now))
        if before is not None and desired.apart(before, motion.q):
            self.stage.recover(now)

    def follow(
        self,
        points: TrajectoryPoints | None,
        t: float,
        stamp: float | None,
        now: float,
        checked: PlannedPoints | None = None,
    ) -> None:
        """Follow a trajectory from the present desired position; points None to stand still from now on.

        `t` is the present on the clock of stamps, `stamp` the start of the trajectory (s), None for now;
        `checked` are the points after `DesiredMotion.checked`, which is done otherwise.

        Raises:
            DynError, Rejection: all points are in the past, or the position of the robot is unknown.
        """
        self.refuse_after_fault()
        if self._measured(now) is None:
            raise Rejection("joint-state-missing")
        # Keep the desired position wherever the robot is, so that torques have no step.
        desired = self.desired
        start = Motion.at_rest(self._place) if desired.kind is Kind.NOTHING else None
        if points is None:
            trajectory = desired.standing(t, now, start)
        else:
            trajectory = desired.planned(points, t, stamp, now, start, checked)
        desired.follow(trajectory, t)

    def feed(self, torques: Array, now: float) -> None:
        """Take torques of a feedforward (N m or N), (n,); they have to be finite."""
        self._feedforward, self._feedforward_at = torques, now

    def forget_time(self, t: float, now: float) -> None:
        """Hold the robot where it is after the clock of the stamps was set to another time t (s)."""
        self._believed.forget()
        self.stage.recover(now)

    def can_follow(self, motion: Motion) -> bool:
        """Return whether the motors can make N motions, (N, n), by the model of the robot."""
        return bool((np.abs(self._model.inverse_dynamics(*motion)) <= self.stage.limits.limits).all())

    @property
    def needs(self) -> str:
        """Name of the data that the torques depend on, for messages."""
        return "joint states"

    def idle(self, now: float) -> Output | None:
        """Return what to send where no good data has come, or None; Rejection if it cannot be sent."""
        return (self.stage.idle if self.fault is None else self.stage.given_up)(lambda: self.stage.zero, now)

    def last(self) -> Output:
        """Return the last torques to send: zero."""
        return self.stage.last(self.stage.zero)

    @property
    def feedforward_status(self) -> Status:
        """State of the torques of the feedforward."""
        return self._feedforward_watch.status

    def _hold(self, q: Array) -> None:
        """Hold the robot at a position, and drop the desired motion."""
        self._divergence.restart()
        self._place = q
        self.desired = DesiredMotion(
            self.robot, self.settings.references, self.settings.watch.timeout, self._desired_guard
        )
        self._pid.reset()

    def _desired(self, t: float, now: float) -> Motion:
        motion = self.desired.at(t)
        if motion is None:
            return Motion.at_rest(self._place)
        # When references stop, hold the last position without its velocity.
        return motion if self.desired.fresh(now) else Motion.at_rest(motion.q)

    def _forget_feedforward(self, now: float) -> None:
        """Begin the next fade-in of the feedforward at zero, because nothing was sent since it was seen."""
        self._feedforward_fade.reset()
        if self._feedforward_watch.status is not Status.NO_DATA:
            self._feedforward_watch = Watch(Status.STOPPED, now, Target.ZERO, 1.0)

    def _fed(self, now: float) -> Array:
        """Return the torques of the feedforward, faded in and out."""
        settings = self.settings.feedforward
        watch = watched(settings, self._feedforward_watch, now, self._feedforward_at)
        self._feedforward_watch = watch
        if not watch.publishes:
            return self._zero
        wanted = self._feedforward if watch.target is Target.LIVE else self._zero
        return self._feedforward_fade.toward(watch.change, watch.factor, wanted)

    def _measured(self, now: float) -> Array | None:
        """Return the measured position (rad or m), None where it is unknown at time `now`."""
        at = self.stage.last_good
        fresh = at is not None and now - at <= self.settings.watch.timeout
        return self.position if fresh else None


def made_controller(settings: ControllerSettings, described: DescribedRobot) -> MadeTorques[JointController]:
    """Make the controller of a robot; DynError where the parameters do not fit it."""
    robot = without_springs(described.robot)  # its motors are taken as ideal
    return MadeTorques(JointController(robot, settings), PassiveAgreement(robot))
