# SPDX-License-Identifier: Apache-2.0
"""Control of the joints of one robot, each by itself, with a feedforward.

Here is no node, no clock and no message. Times t are those of stamps, on the clock of the node; times `now`
are those of a steady clock (both s).
"""

from __future__ import annotations

from dyn_core.control.command_limits import EffortLimits
from dyn_core.control.fade import Fade
from dyn_core.control.laws.pid import Pid
from dyn_core.control.motion import Motion
from dyn_core.control.terms import Terms
from dyn_core.control.trajectories.loop_positions import LoopGuard
from dyn_core.control.trajectories.trajectory_planning import TrajectoryPoints
from dyn_core.control.watchdog import NO_DATA, Status, Target, Watch, watched
from dyn_core.core.arrays import Array
from dyn_core.robot.robot import Robot
from dyn_nodes.common.torques.desired_motion import DesiredMotion, Kind
from dyn_nodes.common.torques.output_stage import Output, OutputStage
from dyn_nodes.common.torques.position_checks import BelievedPositions
from dyn_nodes.controller_parameters import ControllerSettings
from dyn_nodes.loop_condition import check_loops
from dyn_nodes.motion_message import GivenMotion
from dyn_nodes.rejection import Rejection

_WITHOUT_CONTROL = (Status.NO_DATA, Status.HOLDING, Status.RAMPING_DOWN, Status.STOPPED)


class JointController:
    """What the node knows about one robot. It has a state: the last measurement, and that of its parts.

    The robot is held where it is found: at first, and after joint states were missing. From there it follows
    references that begin near to it.

    Attributes:
        robot: the robot.
        desired: the desired motion.
        stage: limits, reactions to stale data and transitions.
        guard: looks at measured positions of robots with loops.
    """

    def __init__(self, robot: Robot, settings: ControllerSettings) -> None:
        """Begin without data; DynError where a setting does not fit the robot."""
        names = robot.coordinate_names
        self.robot = robot
        self._settings = settings
        limits = EffortLimits.of_robot(robot)
        gains = settings.gains.of(robot)
        self._pid = Pid(
            names,
            gains["p"],
            gains["i"],
            gains["d"],
            limits=limits.limits,
            derivative=settings.derivative,
            cutoff=settings.damping_cutoff or None,
            anti_windup=settings.anti_windup,
            max_gap=settings.watch.timeout,
        )
        units = tuple(joint.effort_unit for joint in robot.independent_joints)
        self.stage = OutputStage(limits, units, settings.watch, settings.ramp_start)
        self.guard = LoopGuard(robot, settings.loop_condition)
        self._desired_guard = LoopGuard(robot, settings.loop_condition)
        self._believed = BelievedPositions(robot)
        self._zero = self.stage.zero.total
        self._feedforward_fade = Fade(names)
        self.restart()

    def take_over(self, before: JointController, now: float) -> list[str]:
        """Go on, at time `now` (s), from the torques for another robot, which is held where it is found.

        Returns:
            A sentence about each thing that could not be taken over.
        """
        self.stage.take_over(before.stage, now)
        return (
            ["the desired motion was of another robot: it is forgotten"]
            if before.desired.kind is not Kind.NOTHING
            else []
        )

    def restart(self) -> None:
        """Forget the motions and wait for data as at first."""
        self.stage.restart()
        self._believed.forget()
        self._feedforward = self._zero
        self._feedforward_at: float | None = None
        self._feedforward_watch = NO_DATA
        self._feedforward_fade.reset()
        self._hold(self._zero)

    def measure(self, q: Array, qd: Array | None, t: float, now: float) -> Output:
        """Take a measurement, and answer the torques to send for it.

        Args:
            q: positions (rad or m), (n,).
            qd: velocities (rad/s or m/s), (n,); None where they are not measured.
            t: stamp (s).
            now: the present (s).

        Raises:
            Rejection: the measurement is older than the last, or cannot be believed, or is where loops do not
                close.
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
        desired = self._desired(t, now)
        try:
            output = self._pid.update(t, desired.q, q, desired.qd, qd, self._fed(now))
        except ValueError as problem:
            raise Rejection(str(problem), "torques are not finite") from problem
        total = output.torques + output.excess
        return self.stage.live(Terms(self._zero, self._zero, self._zero, self._zero, total), now)

    def refer(self, given: GivenMotion, t: float, now: float) -> None:
        """Take a reference; a Rejection if it cannot be used."""
        desired = self.desired
        before = None if desired.follows(now) else self._desired(t, now).q
        motion = desired.refer(given, t, now, self._measured(now))
        if before is not None and desired.apart(before, motion.q):
            self.stage.recover(now)

    def follow(self, points: TrajectoryPoints | None, t: float, stamp: float | None, now: float) -> None:
        """Follow a trajectory from where the robot is wanted to be now.

        Args:
            points: its points; None to stand still from now on.
            t: the present on the clock of stamps (s).
            stamp: start of the trajectory (s); None for now.
            now: the present (s).

        Raises:
            DynError: no point is still to come.
            Rejection: it is not known where the robot is.
        """
        if self._measured(now) is None:
            raise Rejection("there is no good joint state to begin from", "no joint state")
        # What was desired goes on being held, wherever the robot is: torques have no step.
        desired = self.desired
        start = Motion.at_rest(self._place) if desired.kind is Kind.NOTHING else None
        if points is None:
            trajectory = desired.standing(t, now, start)
        else:
            trajectory = desired.planned(points, t, stamp, now, start)
        desired.follow(trajectory, t)

    def feed(self, torques: Array, now: float) -> None:
        """Take torques of a feedforward (N m or N), (n,), which are finite."""
        self._feedforward, self._feedforward_at = torques, now

    def forget_time(self, t: float, now: float) -> None:
        """Hold the robot where it is after the clock of the stamps was set to another time t (s)."""
        self._believed.forget()
        self.stage.recover(now)

    @property
    def position(self) -> Array | None:
        """The last measured positions (rad or m), (n,); None before any."""
        return None if self._believed.last is None else self._believed.last[1]

    @property
    def needs(self) -> str:
        """What torques follow from, for sentences."""
        return "joint states"

    def idle(self, now: float) -> Output | None:
        """Answer what to send because no good data has come, if anything.

        Raises:
            Rejection: nothing can be sent.
        """
        return self.stage.idle(lambda: self.stage.zero, now)

    def last(self) -> Output:
        """Answer the last torques to send: zero."""
        return self.stage.last(self.stage.zero)

    @property
    def feedforward_status(self) -> Status:
        """How the torques of the feedforward are."""
        return self._feedforward_watch.status

    def _hold(self, q: Array) -> None:
        """Want the robot to stand at a position, whatever was wanted before."""
        self._place = q
        self.desired = DesiredMotion(
            self.robot, self._settings.references, self._settings.watch.timeout, self._desired_guard
        )
        self._pid.reset()

    def _desired(self, t: float, now: float) -> Motion:
        motion = self.desired.at(t)
        if motion is None:
            return Motion.at_rest(self._place)
        # References that stop coming do not mean that the robot shall go on for ever.
        return motion if self.desired.fresh(now) else Motion.at_rest(motion.q)

    def _forget_feedforward(self, now: float) -> None:
        """Fade the feedforward in from nothing, if it still comes: nobody sent any since it was seen last."""
        self._feedforward_fade.reset()
        if self._feedforward_watch.status is not Status.NO_DATA:
            self._feedforward_watch = Watch(Status.STOPPED, now, Target.ZERO, 1.0)

    def _fed(self, now: float) -> Array:
        """Answer the torques of the feedforward, faded in and out."""
        settings = self._settings.feedforward
        watch = watched(settings, self._feedforward_watch, now, self._feedforward_at)
        self._feedforward_watch = watch
        if not watch.publishes:
            return self._zero
        wanted = self._feedforward if watch.target is Target.LIVE else self._zero
        return self._feedforward_fade.toward(watch.change, watch.factor, wanted)

    def _measured(self, now: float) -> Array | None:
        """Answer the measured position (rad or m), None where it is not known at time `now`."""
        at = self.stage.last_good
        fresh = at is not None and now - at <= self._settings.watch.timeout
        return self.position if fresh else None
