# SPDX-License-Identifier: Apache-2.0
"""Node `feedforward`: publishes the torques that the model of a robot asks of its joints.

Subscribes:
    joint_states (sensor_msgs/JointState): measured positions and velocities, matched by name.
    ~/reference (dyn_msgs/JointReference): desired motion at one instant, as a stream.
    ~/joint_trajectory (trajectory_msgs/JointTrajectory): desired motion; an empty one stops.
    ~/controller_state (control_msgs/JointTrajectoryControllerState): desired motion, on request.
    ~/payload (dyn_msgs/Payload), ~/dynamic_parameters (dyn_msgs/DynamicParameters): as the services.
    robot_description (std_msgs/String, transient_local): URDF, unless a parameter gives it; a new one is
        loaded while running.
Publishes:
    ~/torques (dyn_msgs/JointTorques): torques with what they are made of.
    ~/commands (std_msgs/Float64MultiArray): the same torques in the order of a controller.
    ~/joint_trajectory_effort (trajectory_msgs/JointTrajectory): each trajectory with its efforts.
    ~/model_info (dyn_msgs/ModelInfo, transient_local): the model in use.
    /diagnostics (diagnostic_msgs/DiagnosticArray): messages used and refused, and what is wrong.
Services:
    ~/set_payload (dyn_msgs/SetPayload), ~/set_dynamic_parameters (dyn_msgs/SetDynamicParameters),
    ~/load_model (dyn_msgs/LoadModel).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from builtin_interfaces.msg import Time
from rclpy.clock import Clock, JumpThreshold
from rclpy.clock_type import ClockType
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from rclpy.timer import Timer
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from dyn_core import DynError
from dyn_core.control.watchdog import Status
from dyn_msgs.msg import JointReference, JointTorques, ModelInfo
from dyn_nodes import messages, qos
from dyn_nodes.complaints import Complaints
from dyn_nodes.controller_state import controller_state_type
from dyn_nodes.desired_motion import Kind
from dyn_nodes.diagnostics import Diagnostics, Failure
from dyn_nodes.feedforward_settings import declared_settings
from dyn_nodes.joint_reader import JointReader, check_age
from dyn_nodes.managed_node import ManagedNode
from dyn_nodes.model_source import LoadedModel, compiled
from dyn_nodes.motion_message import GivenMotion, controller_motion, measured_motion, reference_motion
from dyn_nodes.output_stage import Output
from dyn_nodes.outputs import Outputs
from dyn_nodes.parameter_interface import ParameterInterface
from dyn_nodes.parameters import ignored_parameters
from dyn_nodes.process import run
from dyn_nodes.rejection import Rejection
from dyn_nodes.reload import Reload
from dyn_nodes.robot_source import RobotSource
from dyn_nodes.torque_source import TorqueSource
from dyn_nodes.trajectory_input import follow

_WARN_EVERY_S = 5.0
_SILENCE_S = 1.0
_LOOKS_PER_TIMEOUT = 4
"""How often the watch looks at live data: late data is noticed after at most 1 + 1/4 of the timeout."""
_LAST_MESSAGE = Duration(seconds=0.2)
"""How long the last message may take to arrive."""
_REACTIONS = {
    Status.HOLDING: "holding the robot where it was last",
    Status.RAMPING_DOWN: "torques go to zero",
    Status.STOPPED: "torques are zero, or not sent",
}


@dataclass(frozen=True)
class _Running:
    """The robot in use and all that belongs to it alone. Another robot is another one of these."""

    source: TorqueSource
    outputs: Outputs
    states: JointReader
    references: JointReader

    @property
    def loaded(self) -> LoadedModel:
        """The robot and its model."""
        return self.source.loaded


class Feedforward(ManagedNode):
    """Torques of the model, by the mode that the parameters choose."""

    def __init__(self, *, steady: Callable[[], float] = time.monotonic, **node_options: Any) -> None:
        """Declare the parameters, and start; DynError when they, or the robot that they name, are bad.

        Args:
            steady: a clock that never goes back, for what is stale and for transitions (s).
            node_options: of the node.
        """
        super().__init__("feedforward", automatically_declare_parameters_from_overrides=True, **node_options)
        self._steady = steady
        self._source = RobotSource(self)
        self._settings = declared_settings(self)
        for name in ignored_parameters(self):
            self.get_logger().warning(f"there is no parameter '{name}': what was given is ignored")
        self._complaints = Complaints(lambda sentence: self.get_logger().warning(sentence), _WARN_EVERY_S)
        self._opened: list[Callable[[], object]] = []
        self._running: _Running | None = None
        self._last_refusal: str | None = None
        self._epoch = 0
        self._last_answer = steady()
        self._watch_timer: Timer | None = None
        self.start()

    def open(self) -> None:
        """Load the robot if the parameters give it, and open the topics."""
        described = self._source.from_parameters()
        loaded = None if described is None else compiled(described, "runtime")
        self._epoch = self.get_clock().now().nanoseconds
        self._torques = self.create_lifecycle_publisher(JointTorques, "~/torques", qos.COMMAND)
        self._commands = self.create_lifecycle_publisher(Float64MultiArray, "~/commands", qos.COMMAND)
        self._model_info = self.create_publisher(ModelInfo, "~/model_info", qos.LATCHED)
        self._opened += [
            lambda: self.destroy_lifecycle_publisher(self._torques),
            lambda: self.destroy_lifecycle_publisher(self._commands),
            lambda: self.destroy_publisher(self._model_info),
        ]
        self._trajectories = self.create_lifecycle_publisher(
            JointTrajectory, "~/joint_trajectory_effort", qos.EACH_MESSAGE
        )
        self._opened.append(lambda: self.destroy_lifecycle_publisher(self._trajectories))
        self._diagnostics = Diagnostics(self, self._lasting_problem, self._values)
        self._opened.append(self._diagnostics.close)
        self._subscribe(JointState, "joint_states", self._on_joint_state, qos.EACH_SAMPLE)
        self._subscribe(JointReference, "~/reference", self._on_reference, qos.EACH_SAMPLE)
        if self._settings.references.controller_state:
            kind = controller_state_type()
            self._subscribe(kind, "~/controller_state", self._on_controller_state, qos.EACH_SAMPLE)
        self._subscribe(JointTrajectory, "~/joint_trajectory", self._on_trajectory, qos.EACH_MESSAGE)
        interface = ParameterInterface(
            self,
            lambda: self._running.source.live if self._running else None,
            self._steady,
            self._settings.blend_time,
            self._refuse_change,
        )
        self._opened.append(interface.close)
        self._reload = Reload(
            self,
            self._source,
            lambda: self._running.loaded if self._running else None,
            self._use,
            from_topic=loaded is None,
        )
        self._opened.append(self._reload.close)
        if loaded is not None:
            self._use(loaded)
        else:
            self.get_logger().info("waiting for a robot on the topic robot_description")

    def close(self) -> None:
        """Send the last torques, close the topics, and forget the robot."""
        self._finish()
        while self._opened:
            self._opened.pop()()
        self._running = None

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin to listen."""
        if self._running is not None:
            self._running.source.restart()
        self._last_answer = self._steady()
        self._watch_timer = self.create_timer(
            self._live_period, self._on_watch, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )
        self._cycle_timer = self.create_timer(1.0 / self._settings.rate, self._on_cycle)
        self._cycle_timer.cancel()
        went_back = JumpThreshold(
            min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=True
        )
        self._jumps = self.get_clock().create_jump_callback(
            went_back, post_callback=lambda _: self._on_clock_back()
        )
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Send the last torques."""
        self._finish()
        return super().on_deactivate(state)

    def _finish(self) -> None:
        """Send the last torques, if any were sent before, and nothing more."""
        if self._watch_timer is None:
            return
        self.destroy_timer(self._watch_timer)
        self.destroy_timer(self._cycle_timer)
        self._jumps.unregister()
        self._watch_timer = None
        running = self._running
        if running is None or running.source.stage.last_good is None:
            return
        try:
            output = running.source.last(hold=self._settings.on_shutdown == "hold")
        except Rejection as problem:
            self.get_logger().error(f"no last torques: {problem}")
            return
        running.outputs.publish(output, self.get_clock().now().to_msg())
        for publisher in (self._torques, self._commands):
            publisher.wait_for_all_acked(_LAST_MESSAGE)

    @property
    def _live_period(self) -> float:
        """Time between two looks at live data (s)."""
        return max(self._settings.watch.timeout / _LOOKS_PER_TIMEOUT, 1.0 / self._settings.rate)

    def _subscribe(self, kind: type, topic: str, callback: Callable[[Any], None], profile: Any) -> None:
        subscription = self.create_subscription(kind, topic, callback, profile)
        self._opened.append(lambda: self.destroy_subscription(subscription))

    # The robot.

    def _use(self, loaded: LoadedModel) -> None:
        """Use another robot from now on; DynError if the parameters do not fit it, and nothing changes."""
        names = loaded.robot.joint_names
        running = _Running(
            TorqueSource(loaded, self._settings),
            Outputs(loaded.robot, self._settings.command_joints, self._torques, self._commands),
            JointReader(names, "joint state", others=True),
            JointReader(names, "reference", others=False),
        )
        left: list[str] = []
        if self._running is not None:
            left = running.source.take_over(self._running.source, self._steady())
        self._running = running
        for sentence in (*loaded.warnings, *left):
            self.get_logger().warning(sentence)
        self._model_info.publish(messages.model_info(loaded, self.get_clock().now().to_msg()))
        self.get_logger().info(f"using robot '{loaded.robot.name}' with {loaded.robot.dof} joints")

    # Motions and torques.

    def _on_joint_state(self, message: JointState) -> None:
        running = self._running
        if running is None or self._watch_timer is None or not running.states.concerns(message.name):
            return
        try:
            stamp = message.header.stamp
            t = self._time_of("joint state", stamp)
            velocities = self._settings.mode == "computed_torque"
            q, qd = measured_motion(message, running.states, velocities=velocities)
            output = running.source.measure(q, qd, t, self._steady())
            if output is not None:
                self._publish(running, output, stamp)
        except Rejection as problem:
            self._refuse("joint states refused", problem)
            return
        self._diagnostics.count("joint states used")

    def _on_reference(self, message: JointReference) -> None:
        self._take_reference(message, reference_motion)

    def _on_controller_state(self, message: Any) -> None:
        self._take_reference(message, controller_motion)

    def _take_reference(self, message: Any, read: Callable[[Any, JointReader], GivenMotion]) -> None:
        running = self._running
        if running is None or self._watch_timer is None:
            return
        try:
            stamp = message.header.stamp
            t = self._time_of("reference", stamp)
            given = read(message, running.references)
            output = running.source.refer(given, t, self._steady())
            if output is not None:
                self._publish(running, output, stamp)
        except Rejection as problem:
            self._refuse("references refused", problem)
            return
        self._diagnostics.count("references used")

    def _on_trajectory(self, message: JointTrajectory) -> None:
        running = self._running
        if running is None or self._watch_timer is None:
            return
        stamp_ns = _nanoseconds(message.header.stamp)
        stamp = 1e-9 * (stamp_ns - self._epoch) if stamp_ns else None
        period = self._settings.effort_period
        try:
            t, now = self._node_time(), self._steady()
            answer, excess = follow(running.source, message, t, stamp, now, period)
        except (DynError, Rejection) as problem:
            self._refuse_change("trajectories", str(problem))
            return
        self._diagnostics.count("trajectories used")
        if answer is not None:
            self._trajectories.publish(answer)
        if excess is not None:
            self._say_limited(excess)
        self._cycle_timer.reset()
        self._on_cycle()

    def _on_cycle(self) -> None:
        """Go on along a trajectory."""
        running = self._running
        if running is None or self._watch_timer is None:
            return
        if running.source.desired.kind is not Kind.TRAJECTORY:
            self._cycle_timer.cancel()
            return
        present = self.get_clock().now()
        try:
            output = running.source.advance(1e-9 * (present.nanoseconds - self._epoch), self._steady())
            if output is not None:
                self._publish(running, output, present.to_msg())
        except Rejection as problem:
            self._refuse("torques withheld", problem)

    def _on_clock_back(self) -> None:
        """Forget what was to happen at times that have not come again."""
        if self._running is not None:
            self._running.source.desired.forget_time(self._node_time())

    def _on_watch(self) -> None:
        """See whether data is stale, and what is to be sent then."""
        running, timer = self._running, self._watch_timer
        if running is None or timer is None:
            return
        before = running.source.stage.watch.status
        try:
            output = running.source.idle(self._steady())
            if output is not None:
                running.outputs.publish(output, self.get_clock().now().to_msg())
        except Rejection as problem:
            self._refuse("torques withheld", problem)
            output = None
        idle = running.source.stage.watch.status in _REACTIONS
        timer.timer_period_ns = round(1e9 * (1.0 / self._settings.rate if idle else self._live_period))
        if running.source.stage.watch.status is not before:
            self._diagnostics.look_again()

    def _publish(self, running: _Running, output: Output, stamp: Time) -> None:
        """Publish torques for good data."""
        running.outputs.publish(output, stamp)
        self._last_answer = self._steady()
        self._last_refusal = None
        if output.excess is not None:
            self._say_limited(output.excess)

    def _say_limited(self, excess: str) -> None:
        self._complaints.say(f"limited: {excess}", f"limited {excess.split(' asks ')[0]}")
        self._diagnostics.count("torques limited", excess)

    def _node_time(self) -> float:
        """The present on the clock of the node (s), from the epoch of its stamps."""
        return float(1e-9 * (self.get_clock().now().nanoseconds - self._epoch))

    def _time_of(self, what: str, stamp: Time) -> float:
        """Answer the time of a stamp (s); a Rejection where it is too far from the present."""
        stamp_ns = _nanoseconds(stamp)
        age: int = self.get_clock().now().nanoseconds - stamp_ns
        check_age(what, 1e-9 * age, self._settings.max_age)
        return 1e-9 * (stamp_ns - self._epoch)

    def _refuse_change(self, what: str, problem: str) -> None:
        self._complaints.say(f"{what} refused: {problem}", f"{what} refused")
        self._diagnostics.count(f"{what} refused", f"{what} refused: {problem}")

    def _refuse(self, what: str, problem: Rejection) -> None:
        self._last_refusal = str(problem)
        self._complaints.say(f"{what}: {problem}", problem.cause)
        self._diagnostics.count(what, str(problem))

    # Diagnostics.

    def _lasting_problem(self) -> str | Failure | None:
        """What is wrong at the moment, for /diagnostics."""
        if self._reload.problem is not None:
            return self._reload.problem
        if self._running is None:
            return "no robot: nothing came on the topic robot_description"
        if self._watch_timer is None:
            return None
        silence = self._steady() - self._last_answer
        cause = "no data" if self._last_refusal is None else f"the last was refused, {self._last_refusal}"
        reaction = _REACTIONS.get(self._running.source.stage.watch.status)
        if reaction is not None:
            return Failure(f"no good data for {silence:.1f} s ({cause}): {reaction}")
        if silence > _SILENCE_S:
            return f"no torques for {silence:.1f} s ({cause})"
        return None

    def _values(self) -> dict[str, str]:
        """Values for /diagnostics."""
        running = self._running
        if running is None:
            return {"mode": self._settings.mode}
        source = running.source
        payloads = source.live.fitting.payloads.values()
        return {
            "mode": self._settings.mode,
            "robot": running.loaded.robot.name,
            "data": source.stage.watch.status.value,
            "desired motion": source.desired.kind.value,
            "payloads": ", ".join(f"{p.mass:g} kg at {p.link}" for p in payloads) or "none",
        }


def _nanoseconds(stamp: Time) -> int:
    return int(stamp.sec * 1_000_000_000 + stamp.nanosec)


def main(arguments: list[str] | None = None) -> int:
    """Run the node."""
    return run(Feedforward, "feedforward", arguments)


if __name__ == "__main__":
    sys.exit(main())
