# SPDX-License-Identifier: Apache-2.0
"""The base class of nodes that publish torques: stale data, limits, the last message."""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from builtin_interfaces.msg import Time
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from std_msgs.msg import Bool, Float64MultiArray

from dyn_core import Robot
from dyn_core.control.command_limits import EffortLimits
from dyn_core.control.trajectories.trajectory import Trajectory
from dyn_core.control.watchdog import Status
from dyn_core.core.arrays import Array
from dyn_msgs.msg import JointTorques
from dyn_nodes.common import qos
from dyn_nodes.common.clocks import ClockWatch, NodeTime
from dyn_nodes.common.data_checks import Notice, Rejection, cause_key
from dyn_nodes.common.lifecycle.diagnostics import Failure
from dyn_nodes.common.lifecycle.robot_node import Change, RobotNode
from dyn_nodes.common.messages.joint_reader import JointReader
from dyn_nodes.common.messages.joint_state_bytes import JointStateBytes, Stamp
from dyn_nodes.common.messages.message_stamps import CLOCK_SET, check_stamp, nanoseconds_of
from dyn_nodes.common.messages.motion_message import measured_motion
from dyn_nodes.common.messages.split_joint_states import SplitJointStates
from dyn_nodes.common.parameters import ChangedParameters
from dyn_nodes.common.torques.effort_messages import Outputs
from dyn_nodes.common.torques.goal_tolerances import Tolerances, declared_constraints
from dyn_nodes.common.torques.output_stage import Output, OutputStage
from dyn_nodes.common.torques.position_checks import condition_words, loop_warning, outside
from dyn_nodes.common.torques.torque_maker import CheckedTrajectory, MadeTorques, Maker, Running
from dyn_nodes.common.torques.trajectory_following import TrajectoryFollowing
from dyn_nodes.common.torques.unreported_joints import UnreportedJoints

_SILENCE_S = 1.0
_LOOKS_PER_TIMEOUT = 4
"""Checks for stale data within one timeout: silence is noticed at most 1.25 timeouts after the last data."""
_LAST_MESSAGE_S = 0.4
"""Longest time that the last messages may take to arrive (s)."""
_REACTIONS = {
    Status.HOLDING: "data-stale-held",
    Status.RAMPING_DOWN: "data-stale-ramping-down",
    Status.STOPPED: "data-stale-stopped",
}
"""Codes of the reactions to stale data."""


@dataclass(frozen=True)
class Publishing:
    """When torques are published."""

    timeout: float  # age at which data is stale (s)
    rate: float  # rate of torques that are published without a message (Hz)
    max_age: float  # greatest difference between a stamp and the clock of the node (s)
    command_joints: Sequence[str]  # order of the commands; empty for that of the robot
    running_topic: str = ""  # says whether torques act; empty: they always do


class TorqueNode(RobotNode[Running[Maker]]):
    """A node that publishes torques for messages, and by itself where no messages come.

    Subclasses declare their parameters, set `publishing`, and then `start`. `steady` is a clock that never
    goes back (s).
    """

    publishing: Publishing
    takes_velocities = True
    _settings: Any

    def __init__(
        self, name: str, *, steady: Callable[[], float] = time.monotonic, **node_options: Any
    ) -> None:
        """Begin without a robot; `steady` is a clock that never goes back (s)."""
        super().__init__(name, **node_options)
        self.steady = steady
        self.joint_states = JointStateBytes()
        self._constraints = declared_constraints(self)
        self._unreported = UnreportedJoints(self, self._source, steady)
        self._closed: OutputStage | None = None
        self._last_refusal: Rejection | None = None
        self._stale_told = False
        self._epoch = 0
        self._last_answer = steady()
        self._torques_act = True

    @property
    def robot(self) -> Robot | None:
        """The robot in use."""
        return None if self._running is None else self._running.robot

    def open_outputs(self) -> None:
        """Create the publishers of torques."""
        self._time = NodeTime(self.get_clock())
        self._opened.append(self._time.close)
        self._epoch = self._time.nanoseconds()
        self._clock_watch = ClockWatch(self.publishing.max_age)
        self._torques = self.lifecycle_publisher(JointTorques, "~/torques", qos.COMMAND)
        self._commands = self.lifecycle_publisher(Float64MultiArray, "~/commands", qos.COMMAND)
        self.trajectories = TrajectoryFollowing(self)
        self._torques_act = True
        if self.publishing.running_topic:
            self.subscribe(Bool, self.publishing.running_topic, self._on_running, qos.EACH_MESSAGE)

    def running(self, robot: Robot, made: MadeTorques[Maker]) -> Running[Maker]:
        """Return all parts that belong to a robot; DynError where the parameters do not fit it."""
        maker, agreement = made
        return Running(
            robot,
            maker,
            Outputs(robot, self.publishing.command_joints, self._torques, self._commands),
            SplitJointStates(robot.coordinate_names, self.publishing.max_age),
            JointReader(robot.coordinate_names, "reference", others=False, passive=agreement.names),
            agreement,
            Tolerances.of_robot(self._constraints, robot),
        )

    @abstractmethod
    def settings_of(self, parameters: Any) -> Any:
        """Return the settings of parameters; DynError where one is invalid."""

    def change_of(self, parameters: ChangedParameters) -> Change:
        """Return what changed live parameters do, without doing it; DynError where they cannot be used."""
        settings, before, running = self.settings_of(parameters), self._settings, self._running
        t = 0.0 if self._timer is None else self.node_time
        tune = None if running is None else running.maker.tuning(settings, t)

        def apply() -> None:
            self._settings = settings
            if tune is not None:
                tune(self.steady())
            self.on_tuned()

        return Change(lambda: self._settings is before and self._running is running, apply)

    def on_tuned(self) -> None:
        """Hook after a change of live parameters."""

    def use(self, prepared: Running[Maker]) -> None:
        """Switch to another robot, starting from the last sent torques."""
        if prepared.maker.settings is not self._settings:
            # Live parameters have changed while it was loaded.
            prepared.maker.tuning(self._settings, 0.0)(self.steady())
        left: list[Notice] = []
        if self._running is not None:
            self.trajectories.goals.stop(Notice("robot-replaced"))
            self.trajectories.goals.end_all(Notice("robot-replaced"))
            left = prepared.maker.take_over(self._running.maker, self.steady())
        elif self._closed is not None:
            prepared.maker.stage.begin_from(self._closed)
        prepared.maker.stage.suspended = not self._torques_act
        self._running = prepared
        for notice in (*left, *_unlimited(prepared.maker.stage.limits)):
            self.get_logger().warning(str(notice))
        self.get_logger().info(f"using robot '{prepared.robot.name}' with {prepared.robot.dof} joints")

    def close(self) -> None:
        """Send the last torques, close the topics, and forget the robot."""
        self.finish()
        if self._running is not None:
            # The receiver of the last torques holds them until new ones come.
            self._closed = self._running.maker.stage
        super().close()

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin to use messages."""
        if self._running is not None:
            self._running.states.forget()
            self._running.maker.restart()
        self._last_answer = self.steady()
        self._stale_told = False
        self._clock_watch.restart()
        given = self.publishing
        self._live_period = given.timeout / _LOOKS_PER_TIMEOUT
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = self.create_timer(self._live_period, self._on_watch, clock=steady)
        forget = self.contained(lambda _: self.forget_time())
        self._jumps = self.get_clock().create_jump_callback(CLOCK_SET, post_callback=forget)
        return super().on_activate(state)

    @property
    def _simulated_time(self) -> bool:
        return not self._time.is_of_system

    def check_clock(self) -> None:
        """Detect that the system clock was set; ROS only reports jumps of simulated time."""
        if self._simulated_time:
            return
        begin, t, end = self.steady(), self.node_time, self.steady()
        if self._clock_watch.was_set(t, begin, end):
            self.forget_time()

    def forget_time(self) -> None:
        """Go on after the clock was set: forget everything that was planned for a time of the clock."""
        running = self._running
        if running is None:
            return
        self.trajectories.goals.end(Notice("clock-set"))
        if running.maker.stage.last_good is not None:
            self.get_logger().warning(str(Notice("clock-set")))
        running.states.forget()
        running.maker.forget_time(self.node_time, self.steady())

    def finish(self) -> None:
        """Send the last torques, if any were sent before; then stop."""
        if self._timer is None:
            return
        super().finish()
        self.trajectories.goals.end_all(Notice("node-deactivated"))
        self._jumps.unregister()
        running = self._running
        if running is None or running.maker.stage.last_good is None:
            return
        try:
            output = running.maker.last()
        except Exception as problem:
            # Without a message, a controller would apply the torques of a motion for ever.
            self.get_logger().error(str(Notice("last-torques-zero", reason=problem)))
            output = running.maker.stage.last(running.maker.stage.zero)
        running.outputs.publish(output, self.get_clock().now().to_msg())
        by = time.monotonic() + _LAST_MESSAGE_S
        for publisher in (self._torques, self._commands):
            publisher.wait_for_all_acked(Duration(seconds=max(by - time.monotonic(), 0.0)))

    def _on_running(self, message: Bool) -> None:
        """Send zero while the drive takes no torques, and begin again when it does."""
        if message.data == self._torques_act:
            return
        self._torques_act = bool(message.data)
        self.trajectories.goals.end(Notice("drive-interrupted"))
        running = self._running
        if running is not None:
            running.maker.stage.suspended = not message.data
            if message.data:
                running.maker.restart()
        self.get_logger().warning(str(Notice("drive-runs" if message.data else "drive-interrupted")))

    def _on_joint_state(self, raw: bytes) -> None:
        running = self.active
        if running is None:
            return
        try:
            message = self.joint_states.read(raw)
            if self._unreported.held:
                self._unreported.look_at(message.name)
            if not running.states.reader.concerns(message.name):
                return
            t = self.time_of("joint state", message.stamp)
            whole = running.states.whole(message, t)
            if whole is None:
                return
            q, qd = measured_motion(whole, running.states.reader, velocities=self.takes_velocities)
            fault = running.maker.fault
            output = self.measure(running.maker, q, qd, t)
            if running.maker.fault is not fault:
                self._tell_fault(running.maker.fault)
            if output is not None:
                self.answer(running, output, message.stamp)
            self.trajectories.goals.measure(running, whole, q, t)
        except Rejection as problem:
            self.withhold("joint states refused", "joint_states", problem)
            if problem.code == "joints-never-reported":
                self._unreported.hold(running.robot, problem.values["missing"])
            return
        self.count("joint states used")

    def _tell_fault(self, fault: Notice | None) -> None:
        """Say at once that the feedback has lost a joint."""
        self.get_logger().error(str(fault))
        self._stale_told = True
        self._diagnostics.look_again()

    def measure(self, maker: Maker, q: Array, qd: Array | None, t: float) -> Output | None:
        """Return the torques to send for a measurement with a stamp (s), or None."""
        return maker.measure(q, qd, t, self.steady())

    def bring_to_rest(self, running: Running[Maker]) -> Trajectory:
        """Bring the desired motion to rest on the path of its trajectory; return the stop."""
        desired, t = running.maker.desired, self.node_time
        stop = desired.stop(t, running.maker.can_follow)
        desired.follow(stop, t)
        self.on_stop(running, stop, t)
        return stop

    def on_stop(self, running: Running[Maker], stop: Trajectory, t: float) -> None:
        """Hook for a stop that begins at time t (s)."""

    def silence_of_joint_states(self, since: float) -> Notice | None:
        """Return why joint states are stale of which the last came at a steady time (s), or None."""
        silence, refusal = self.steady() - since, self._last_refusal
        if silence <= self.publishing.timeout:
            return None
        if refusal is None:
            return Notice("joint-states-stopped", silence=silence)
        return Notice("joint-states-refused", silence=silence, cause=refusal)

    def check(self, running: Running[Maker], given: CheckedTrajectory) -> CheckedTrajectory:
        """Hook for further checks of a trajectory with points, perhaps in a thread."""
        return given

    @abstractmethod
    def follow(self, running: Running[Maker], given: CheckedTrajectory, t: float, stamp: float | None) -> Any:
        """Follow a trajectory from time t, which starts at `stamp`, None for now (both s); return a result.

        DynError or Rejection where it cannot be followed.
        """

    def on_followed(self, result: Any) -> None:
        """Hook for the result of `follow`."""

    def answer(self, running: Running[Maker], output: Output, stamp: Time | Stamp) -> None:
        """Publish torques for good data."""
        running.outputs.publish(output, stamp)
        now = self.steady()
        if self._stale_told and running.maker.fault is None:
            self._stale_told = False
            silence = now - self._last_answer
            self.get_logger().info(f"good {running.maker.needs} again after {silence:.1f} s")
        self._last_answer = now
        self._last_refusal = None
        if output.excess is not None:
            self.report_limited(output.excess)

    def withhold(self, what: str, topic: str, problem: Rejection) -> None:
        """Send nothing and report the refusal, as `refuse` does; it is the cause if data becomes stale."""
        self._last_refusal = problem
        self.refuse(what, topic, problem)

    def report_limited(self, excess: Notice) -> None:
        """Report that a joint exceeds its limit."""
        self._complaints.say(Notice("torques-limited", cause=excess), ("limited", cause_key(excess)))
        self._diagnostics.count("torques limited", excess)

    def time_from(self, nanoseconds: int) -> float:
        """Return a time of the clock of the node (s), relative to an epoch that keeps it exact as a float."""
        return 1e-9 * (nanoseconds - self._epoch)

    def stamp_at(self, t: float) -> Stamp:
        """Return the stamp of a time (s) that comes from `time_from`."""
        return Stamp(*divmod(round(1e9 * t) + self._epoch, 1_000_000_000))

    @property
    def node_time(self) -> float:
        """The present on the clock of the node (s), relative to the epoch of `time_from`."""
        return self.time_from(self._time.nanoseconds())

    def time_of(self, what: str, stamp: Time | Stamp) -> float:
        """Return the time of a stamp (s); Rejection where it is too far from the present."""
        self.check_clock()
        stamp_ns, now_ns = nanoseconds_of(stamp), self._time.nanoseconds()
        check_stamp(what, stamp_ns, now_ns, self.publishing.max_age)
        return self.time_from(stamp_ns)

    def problem(self) -> Notice | None:
        """Return the present problem with the data, for /diagnostics."""
        running = self.active
        if running is None:
            return None
        if (stale := self._stale(running)) is not None:
            return stale
        silence = self.steady() - self._last_answer
        if silence > _SILENCE_S:
            return Notice("torques-missing", silence=silence, cause=self._cause)
        maker = running.maker
        if maker.position is not None and (beyond := outside(running.robot, maker.position)) is not None:
            return beyond
        for guard, whose in ((maker.guard, "measured"), (maker.desired.guard, "desired")):
            if guard.warning is not None:
                return loop_warning(guard, whose)
        for topic in (self._torques.topic_name, self._commands.topic_name):
            count = self.count_publishers(topic)
            if count > 1:
                return Notice("torque-publishers-several", count=count, topic=topic)
        return None

    def values(self) -> dict[str, str]:
        """Return the condition numbers of loops, for /diagnostics."""
        running = self._running
        if running is None or not running.robot.loops:
            return {}
        return {
            "loop condition": condition_words(running.maker.guard),
            "loop condition, desired": condition_words(running.maker.desired.guard),
        }

    def _stale(self, running: Running[Maker]) -> Failure | None:
        """Return that feedback has given up, or that data is stale, with the reaction to it, or None."""
        fault = running.maker.fault
        if fault is not None:
            return Failure(fault.code, **fault.values)
        reaction = _REACTIONS.get(running.maker.stage.watch.status)
        if reaction is None:
            return None
        silence = self.steady() - self._last_answer
        return Failure(reaction, data=running.maker.needs, silence=silence, cause=self._cause)

    @property
    def _cause(self) -> Notice:
        """Return why there is no good data: nothing came, or the last message was refused."""
        refusal = self._last_refusal
        return Notice("no-data") if refusal is None else Notice("last-data-refused", cause=refusal)

    def look_further(self, running: Running[Maker]) -> None:
        """Hook for more checks, called as often as the check for stale data."""

    def _on_watch(self) -> None:
        """Check whether data is stale, and send the reaction to it."""
        running, timer = self.active, self._timer
        if running is None or timer is None:
            return
        stage = running.maker.stage
        before = stage.watch.status
        try:
            output = running.maker.idle(self.steady())
            if output is not None:
                running.outputs.publish(output, self.get_clock().now().to_msg())
        except Rejection as problem:
            self.withhold("torques withheld", "~/torques", problem)
        idle = stage.watch.status in _REACTIONS
        timer.timer_period_ns = round(1e9 * (1.0 / self.publishing.rate if idle else self._live_period))
        if not self._stale_told and (stale := self._stale(running)) is not None:
            # A warning that is suppressed now is repeated later, if the data stays stale.
            self._stale_told = self._complaints.say(stale, "stale data")
        self.look_further(running)
        if stage.watch.status is not before:
            self._diagnostics.look_again()


def _unlimited(limits: EffortLimits) -> list[Notice]:
    """Return a notice about the joints whose torques have no limit, if there are any."""
    given = zip(limits.joint_names, limits.limits.tolist(), strict=True)
    names = [name for name, limit in given if math.isinf(limit)]
    return [Notice("effort-limits-unknown", joints=names)] if names else []
