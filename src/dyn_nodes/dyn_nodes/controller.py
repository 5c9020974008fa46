# SPDX-License-Identifier: Apache-2.0
"""Node `controller`: PID control of the joints with a feedforward, for robots without ros2_control.

Subscribes:
    joint_states (sensor_msgs/JointState): measured positions and velocities, matched by name.
    ~/reference (dyn_msgs/JointReference): desired motion at one instant, as a stream.
    ~/feedforward (dyn_msgs/JointTorques): torques to add, by name (`total`).
    robot_description (std_msgs/String, transient_local): URDF, unless a parameter gives it; a new one is
        loaded while running.
Publishes:
    ~/torques (dyn_msgs/JointTorques): the torques; their terms are zero.
    ~/commands (std_msgs/Float64MultiArray): the same torques in a configured order of joints.
    /diagnostics (diagnostic_msgs/DiagnosticArray): messages used and refused, and what is wrong.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from builtin_interfaces.msg import Time
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from rclpy.timer import Timer
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from dyn_core import Robot
from dyn_core.control.watchdog import Status
from dyn_msgs.msg import JointReference, JointTorques
from dyn_nodes import qos
from dyn_nodes.controller_parameters import declare_controller_parameters
from dyn_nodes.diagnostics import Failure
from dyn_nodes.joint_controller import JointController
from dyn_nodes.joint_efforts import named_efforts
from dyn_nodes.joint_reader import JointReader, check_age
from dyn_nodes.motion_message import measured_motion, reference_motion
from dyn_nodes.output_stage import Output
from dyn_nodes.outputs import Outputs
from dyn_nodes.process import run
from dyn_nodes.rejection import Rejection
from dyn_nodes.robot_node import RobotNode
from dyn_nodes.robot_source import DescribedRobot

_SILENCE_S = 1.0
_LOOKS_PER_TIMEOUT = 4
"""How often the watch looks at live data: late data is noticed after at most 1 + 1/4 of the timeout."""
_LAST_MESSAGE = Duration(seconds=0.2)
"""How long the last message may take to arrive."""
_FADING = (Status.RAMPING_DOWN, Status.STOPPED)


@dataclass(frozen=True)
class _Running:
    """The robot in use and all that belongs to it alone. Another robot is another one of these."""

    described: DescribedRobot
    controller: JointController
    outputs: Outputs
    states: JointReader
    references: JointReader


class Controller(RobotNode):
    """Torques that hold joints at their references."""

    def __init__(self, *, steady: Callable[[], float] = time.monotonic, **node_options: Any) -> None:
        """Declare the parameters, and start; DynError when they, or the robot that they name, are bad.

        Args:
            steady: a clock that never goes back, for what is stale and for transitions (s).
            node_options: of the node.
        """
        super().__init__("controller", **node_options)
        self._steady = steady
        self._given = declare_controller_parameters(self)
        self._running: _Running | None = None
        self._watch_timer: Timer | None = None
        self._epoch = 0
        self._last_answer = steady()
        self._last_refusal: str | None = None
        self.start()

    def open(self) -> None:
        """Load the robot if the parameters give it, and open the topics."""
        self._epoch = self.get_clock().now().nanoseconds
        self._torques = self.create_lifecycle_publisher(JointTorques, "~/torques", qos.COMMAND)
        self._commands = self.create_lifecycle_publisher(Float64MultiArray, "~/commands", qos.COMMAND)
        for publisher in (self._torques, self._commands):
            self._opened.append(partial(self.destroy_lifecycle_publisher, publisher))
        self.open_diagnostics()
        if self._given.settings.gains.none:
            self.get_logger().warning("all gains are 0: nothing but the feedforward is sent")
        self.open_robot()
        self.subscribe(JointState, "joint_states", self._on_joint_state, qos.LATEST_SAMPLE)
        self.subscribe(JointReference, "~/reference", self._on_reference, qos.LATEST_SAMPLE)
        self.subscribe(JointTorques, "~/feedforward", self._on_feedforward, qos.LATEST_SAMPLE)

    def close(self) -> None:
        """Send zero, close the topics, and forget the robot."""
        self._finish()
        self.close_all()
        self._running = None

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin to listen."""
        if self._running is not None:
            self._running.controller.restart()
        self._last_answer = self._steady()
        self._watch_timer = self.create_timer(
            self._live_period, self._on_watch, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Send zero."""
        self._finish()
        return super().on_deactivate(state)

    def _finish(self) -> None:
        """Send zero, if anything was sent before, and nothing more."""
        if self._watch_timer is None:
            return
        self.destroy_timer(self._watch_timer)
        self._watch_timer = None
        running = self._running
        if running is None or running.controller.stage.last_good is None:
            return
        stage = running.controller.stage
        running.outputs.publish(stage.last(stage.zero), self.get_clock().now().to_msg())
        for publisher in (self._torques, self._commands):
            publisher.wait_for_all_acked(_LAST_MESSAGE)

    @property
    def _live_period(self) -> float:
        """Time between two looks at live data (s)."""
        return max(self._given.settings.watch.timeout / _LOOKS_PER_TIMEOUT, 1.0 / self._given.rate)

    # The robot.

    @property
    def robot(self) -> Robot | None:
        """The robot in use."""
        return None if self._running is None else self._running.described.robot

    def use(self, described: DescribedRobot) -> None:
        """Control another robot from now on; DynError if that is not possible, and nothing has changed."""
        robot = described.robot
        running = _Running(
            described,
            JointController(robot, self._given.settings),
            Outputs(robot, self._given.command_joints, self._torques, self._commands),
            JointReader(robot.joint_names, "joint state", others=True),
            JointReader(robot.joint_names, "reference", others=False),
        )
        if self._running is not None:
            running.controller.stage.take_over(self._running.controller.stage, self._steady())
        self._running = running
        self.get_logger().info(f"controlling robot '{robot.name}' with {robot.dof} joints")

    # Motions and torques.

    def _on_joint_state(self, message: JointState) -> None:
        running = self._active
        if running is None or not running.states.concerns(message.name):
            return
        try:
            t = self._time_of("joint state", message.header.stamp)
            q, qd = measured_motion(message, running.states, velocities=True)
            output = running.controller.measure(q, qd, t, self._steady())
        except Rejection as problem:
            self._last_refusal = str(problem)
            self.refuse("joint states refused", "joint_states", problem)
            return
        self._publish(running, output, message.header.stamp)
        self._diagnostics.count("joint states used")
        self._last_answer, self._last_refusal = self._steady(), None

    def _on_reference(self, message: JointReference) -> None:
        running = self._active
        if running is None:
            return
        try:
            t = self._time_of("reference", message.header.stamp)
            running.controller.refer(reference_motion(message, running.references), t, self._steady())
        except Rejection as problem:
            self.refuse("references refused", "~/reference", problem)
            return
        self._diagnostics.count("references used")

    def _on_feedforward(self, message: JointTorques) -> None:
        running = self._active
        if running is None:
            return
        try:
            names = running.described.robot.joint_names
            self._time_of("feedforward", message.header.stamp)
            torques = named_efforts("torques", names, message.name, message.total)
        except Rejection as problem:
            self.refuse("feedforward refused", "~/feedforward", problem)
            return
        running.controller.feed(torques, self._steady())
        self._diagnostics.count("feedforward used")

    def _on_watch(self) -> None:
        """See whether joint states are stale, and what is to be sent then."""
        running, timer = self._active, self._watch_timer
        if running is None or timer is None:
            return
        stage = running.controller.stage
        before = stage.watch.status
        output = running.controller.idle(self._steady())
        if output is not None:
            self._publish(running, output, self.get_clock().now().to_msg())
        timer.timer_period_ns = round(1e9 * (1.0 / self._given.rate if output else self._live_period))
        if stage.watch.status is not before:
            self._diagnostics.look_again()

    def _publish(self, running: _Running, output: Output, stamp: Time) -> None:
        running.outputs.publish(output, stamp)
        if output.excess is not None:
            self._complaints.say(f"limited: {output.excess}", f"limited {output.excess.split(' asks ')[0]}")
            self._diagnostics.count("torques limited", output.excess)

    @property
    def _active(self) -> _Running | None:
        """The robot in use while the node is active."""
        return None if self._watch_timer is None else self._running

    def _time_of(self, what: str, stamp: Time) -> float:
        """Answer the time of a stamp (s); a Rejection where it is too far from the present."""
        stamp_ns = int(stamp.sec * 1_000_000_000 + stamp.nanosec)
        age: int = self.get_clock().now().nanoseconds - stamp_ns
        check_age(what, 1e-9 * age, self._given.max_age)
        return 1e-9 * (stamp_ns - self._epoch)

    # Diagnostics.

    def problem(self) -> str | Failure | None:
        """What is wrong at the moment, for /diagnostics."""
        running = self._active
        if running is None:
            return None
        silence = self._steady() - self._last_answer
        cause = "no data" if self._last_refusal is None else f"the last was refused, {self._last_refusal}"
        if running.controller.stage.watch.status in _FADING:
            return Failure(
                f"no good joint state for {silence:.1f} s ({cause}): torques go to zero or are not sent"
            )
        if silence > _SILENCE_S:
            return f"no torques for {silence:.1f} s ({cause})"
        if running.controller.feedforward_status in _FADING:
            return "no torques on ~/feedforward any more: they have faded out"
        return None


def main(arguments: list[str] | None = None) -> int:
    """Run the node."""
    return run(Controller, "controller", arguments)


if __name__ == "__main__":
    sys.exit(main())
