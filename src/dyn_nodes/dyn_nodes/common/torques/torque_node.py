# SPDX-License-Identifier: Apache-2.0
"""What nodes that publish torques have in common: the watch on their data, limits, and the last message."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from builtin_interfaces.msg import Time
from rclpy.clock import Clock, JumpThreshold
from rclpy.clock_type import ClockType
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from rclpy.timer import Timer
from std_msgs.msg import Float64MultiArray

from dyn_core import Robot
from dyn_core.control.command_limits import EffortLimits
from dyn_core.control.passive_agreement import PassiveAgreement
from dyn_core.control.watchdog import Status
from dyn_core.core.errors import listed
from dyn_msgs.msg import JointTorques
from dyn_nodes.clock_watch import ClockWatch
from dyn_nodes.common import qos
from dyn_nodes.common.data_checks import one_line
from dyn_nodes.common.lifecycle.diagnostics import Failure
from dyn_nodes.common.lifecycle.robot_node import RobotNode
from dyn_nodes.common.messages.joint_reader import JointReader, check_age
from dyn_nodes.common.messages.joint_state_bytes import JointStateBytes, Stamp
from dyn_nodes.common.torques.effort_messages import Outputs
from dyn_nodes.common.torques.output_stage import Output, OutputStage
from dyn_nodes.loop_condition import condition_words
from dyn_nodes.node_time import NodeTime
from dyn_nodes.position_range import outside
from dyn_nodes.rejection import Rejection
from dyn_nodes.torque_maker import Maker, Running

_SILENCE_S = 1.0
_LOOKS_PER_TIMEOUT = 4
"""How often the watch looks at live data: late data is noticed after at most 1 + 1/4 of the timeout."""
_LEAP = Duration(seconds=1.0)
"""A step of simulated time that is longer than any period: it was set."""
_LAST_MESSAGE = Duration(seconds=0.2)
"""How long the last message may take to arrive."""
_REACTIONS = {
    Status.HOLDING: "holding the robot where it was last",
    Status.RAMPING_DOWN: "torques go to zero",
    Status.STOPPED: "torques are zero, or not sent",
}


@dataclass(frozen=True)
class Publishing:
    """When torques are published.

    Attributes:
        timeout: without good data for longer than this, something else is sent (s).
        rate: at which torques are published that no message asks for (Hz).
        max_age: greatest difference between a stamp and the clock of the node (s).
        command_joints: order of the commands; empty for that of the robot.
    """

    timeout: float
    rate: float
    max_age: float
    command_joints: Sequence[str]


class TorqueNode(RobotNode[Running[Maker]]):
    """A node that answers messages with torques, and goes on by itself where there are none.

    Subclasses declare their parameters, set `publishing`, and then `start`.

    Attributes:
        publishing: when torques are published.
        steady: a clock that never goes back (s).
        joint_states: reads the bytes of joint states.
    """

    publishing: Publishing

    def __init__(
        self, name: str, *, steady: Callable[[], float] = time.monotonic, **node_options: Any
    ) -> None:
        """Begin without a robot; `steady` is a clock that never goes back (s)."""
        super().__init__(name, **node_options)
        self.steady = steady
        self.joint_states = JointStateBytes()
        self._running: Running[Maker] | None = None
        self._closed: OutputStage | None = None
        self._last_refusal: str | None = None
        self._stale_told = False
        self._epoch = 0
        self._last_answer = steady()
        self._watch_timer: Timer | None = None

    @property
    def robot(self) -> Robot | None:
        """The robot in use."""
        return None if self._running is None else self._running.robot

    @property
    def active(self) -> Running[Maker] | None:
        """The robot in use while the node is active."""
        return None if self._watch_timer is None else self._running

    def open_outputs(self) -> None:
        """Make the publishers of torques."""
        self._time = NodeTime(self.get_clock())
        self._opened.append(self._time.close)
        self._epoch = self._time.nanoseconds()
        self._clock_watch = ClockWatch(self.publishing.max_age)
        self._torques = self.lifecycle_publisher(JointTorques, "~/torques", qos.COMMAND)
        self._commands = self.lifecycle_publisher(Float64MultiArray, "~/commands", qos.COMMAND)

    def running(self, robot: Robot, maker: Maker) -> Running[Maker]:
        """Answer all that belongs to a robot; DynError where the parameters do not fit it."""
        agreement = PassiveAgreement(robot)
        return Running(
            robot,
            maker,
            Outputs(robot, self.publishing.command_joints, self._torques, self._commands),
            JointReader(robot.coordinate_names, "joint state", others=True),
            JointReader(robot.coordinate_names, "reference", others=False, passive=agreement.names),
            agreement,
        )

    def use(self, prepared: Running[Maker]) -> None:
        """Go on with another robot, from the torques that were sent last."""
        left: list[str] = []
        if self._running is not None:
            left = prepared.maker.take_over(self._running.maker, self.steady())
        elif self._closed is not None:
            prepared.maker.stage.begin_from(self._closed)
        self._running = prepared
        for sentence in (*left, *_unlimited(prepared.maker.stage.limits)):
            self.get_logger().warning(sentence)
        self.get_logger().info(f"using robot '{prepared.robot.name}' with {prepared.robot.dof} joints")

    def close(self) -> None:
        """Send the last torques, close the topics, and forget the robot."""
        self.finish()
        self.close_all()
        if self._running is not None:
            # Who got the last torques holds them until there are others.
            self._closed = self._running.maker.stage
        self._running = None

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin to listen."""
        if self._running is not None:
            self._running.maker.restart()
        self._last_answer = self.steady()
        self._stale_told = False
        self._clock_watch.restart()
        self._watch_timer = self.create_timer(
            self._live_period, self._on_watch, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )
        was_set = JumpThreshold(
            min_forward=_LEAP, min_backward=Duration(nanoseconds=-1), on_clock_change=True
        )
        self._jumps = self.get_clock().create_jump_callback(
            was_set, post_callback=self.contained(lambda _: self.forget_time())
        )
        return super().on_activate(state)

    @property
    def _simulated_time(self) -> bool:
        return not self._time.is_of_system

    def heed_clock(self) -> None:
        """Notice that the clock of the system was set, of which nobody tells us, before it is gone by.

        Simulated time may go faster or stand still; of its leaps we are told.
        """
        if self._simulated_time:
            return
        begin, t, end = self.steady(), self.node_time, self.steady()
        if self._clock_watch.was_set(t, begin, end):
            self.forget_time()

    def forget_time(self) -> None:
        """Go on after the clock was set: what was to happen at certain times is forgotten."""
        running = self._running
        if running is None:
            return
        if running.maker.stage.last_good is not None:
            self.get_logger().warning("the clock was set: what is desired at certain times is forgotten")
        running.maker.forget_time(self.node_time, self.steady())

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Send the last torques."""
        self.finish()
        return super().on_deactivate(state)

    def finish(self) -> None:
        """Send the last torques, if any were sent before, and nothing more."""
        if self._watch_timer is None:
            return
        self.destroy_timer(self._watch_timer)
        self._watch_timer = None
        self._jumps.unregister()
        running = self._running
        if running is None or running.maker.stage.last_good is None:
            return
        try:
            output = running.maker.last()
        except Exception as problem:
            # A controller that gets nothing would go on with the torques of a motion for ever.
            self.get_logger().error(f"the last torques are zero, as others cannot be computed: {problem}")
            output = running.maker.stage.last(running.maker.stage.zero)
        running.outputs.publish(output, self.get_clock().now().to_msg())
        for publisher in (self._torques, self._commands):
            publisher.wait_for_all_acked(_LAST_MESSAGE)

    def answer(self, running: Running[Maker], output: Output, stamp: Time | Stamp) -> None:
        """Publish torques for good data."""
        running.outputs.publish(output, stamp)
        now = self.steady()
        if self._stale_told:
            self._stale_told = False
            silence = now - self._last_answer
            self.get_logger().info(f"good {running.maker.needs} again after {silence:.1f} s")
        self._last_answer = now
        self._last_refusal = None
        if output.excess is not None:
            self.say_limited(output.excess)

    def withhold(self, what: str, topic: str, problem: Rejection) -> None:
        """Answer nothing, as `refuse` does; it is the cause if nothing good comes any more."""
        self._last_refusal = str(problem)
        self.refuse(what, topic, problem)

    def say_limited(self, excess: str) -> None:
        """Say that a joint asks for more than its limit."""
        self._complaints.say(f"limited: {excess}", f"limited {excess.split(' asks ')[0]}")
        self._diagnostics.count("torques limited", excess)

    def time_from(self, nanoseconds: int) -> float:
        """Answer a time of the clock of the node (s), from an epoch so near that a float is exact."""
        return 1e-9 * (nanoseconds - self._epoch)

    def stamp_at(self, t: float) -> Stamp:
        """Answer the stamp of a time (s) that `time_from` has answered."""
        return Stamp(*divmod(round(1e9 * t) + self._epoch, 1_000_000_000))

    @property
    def node_time(self) -> float:
        """The present on the clock of the node (s), from the epoch of its stamps."""
        return self.time_from(self._time.nanoseconds())

    def time_of(self, what: str, stamp: Time | Stamp) -> float:
        """Answer the time of a stamp (s); a Rejection where it is too far from the present."""
        self.heed_clock()
        stamp_ns, now_ns = nanoseconds_of(stamp), self._time.nanoseconds()
        check_age(what, stamp_ns, now_ns, self.publishing.max_age)
        return self.time_from(stamp_ns)

    def problem(self) -> str | Failure | None:
        """What is wrong with the data at the moment, for /diagnostics."""
        running = self.active
        if running is None:
            return None
        if (stale := self._stale(running)) is not None:
            return Failure(stale)
        silence = self.steady() - self._last_answer
        if silence > _SILENCE_S:
            return f"no torques for {silence:.1f} s ({self._cause})"
        position = running.maker.position
        if position is not None and (sentence := outside(running.robot, position)) is not None:
            return sentence
        for guard, whose in ((running.maker.guard, "measured"), (running.maker.desired.guard, "desired")):
            if guard.warning is not None:
                return f"{whose} positions: {guard.warning}"
        for topic in (self._torques.topic_name, self._commands.topic_name):
            count = self.count_publishers(topic)
            if count > 1:
                return f"{count} publishers send on {topic}: receivers get the torques of all"
        return None

    def values(self) -> dict[str, str]:
        """Condition numbers of loops, for /diagnostics."""
        running = self._running
        if running is None or not running.robot.loops:
            return {}
        return {
            "loop condition": condition_words(running.maker.guard),
            "loop condition, desired": condition_words(running.maker.desired.guard),
        }

    def _stale(self, running: Running[Maker]) -> str | None:
        """Answer a sentence about data that is stale and what is done about it, or None."""
        reaction = _REACTIONS.get(running.maker.stage.watch.status)
        if reaction is None:
            return None
        silence = self.steady() - self._last_answer
        return f"no good {running.maker.needs} for {silence:.1f} s ({self._cause}): {reaction}"

    @property
    def _cause(self) -> str:
        """Why there are no torques for good data."""
        return "no data" if self._last_refusal is None else f"the last was refused, {self._last_refusal}"

    def look_further(self, running: Running[Maker]) -> None:
        """Look at what else may be wrong, as often as at live data."""

    @property
    def _live_period(self) -> float:
        """Time between two looks at live data (s)."""
        return max(self.publishing.timeout / _LOOKS_PER_TIMEOUT, 1.0 / self.publishing.rate)

    def _on_watch(self) -> None:
        """See whether data is stale, and what is to be sent then."""
        running, timer = self.active, self._watch_timer
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
            # What is throttled now is said later, if it lasts.
            self._stale_told = self._complaints.say(one_line(stale), "stale data")
        self.look_further(running)
        if stage.watch.status is not before:
            self._diagnostics.look_again()


def _unlimited(limits: EffortLimits) -> list[str]:
    """Answer a sentence about the joints whose torques have no limit, if there are any."""
    given = zip(limits.joint_names, limits.limits.tolist(), strict=True)
    names = [name for name, limit in given if math.isinf(limit)]
    return [f"no effort limit is known of {listed(names)}: their torques are not limited"] if names else []


def nanoseconds_of(stamp: Time | Stamp) -> int:
    """Answer a stamp in ns."""
    return int(stamp.sec * 1_000_000_000 + stamp.nanosec)
