# SPDX-License-Identifier: Apache-2.0
"""Node `feedforward`: publishes the torques that the model of a robot asks of its joints.

Subscribes:
    joint_states (sensor_msgs/JointState): measured positions and velocities, matched by name.
    ~/reference (dyn_msgs/JointReference): desired motion at one instant, as a stream.
    ~/joint_trajectory (trajectory_msgs/JointTrajectory): desired motion; an empty one stops.
    ~/controller_state (control_msgs/JointTrajectoryControllerState): desired motion, on request.
    ~/base_imu (sensor_msgs/Imu) or ~/base_odometry (nav_msgs/Odometry): motion of the base, on request.
    ~/payload (dyn_msgs/Payload), ~/dynamic_parameters (dyn_msgs/DynamicParameters): as the services.
    robot_description (std_msgs/String, transient_local): URDF, unless a parameter gives it; a new one is
        loaded while running.
Publishes:
    ~/torques (dyn_msgs/JointTorques): torques with what they are made of.
    ~/commands (std_msgs/Float64MultiArray): the same torques in the order of a controller.
    ~/joint_trajectory_effort (trajectory_msgs/JointTrajectory): each trajectory with its efforts.
    ~/motor_reference (sensor_msgs/JointState): where motors behind springs have to be, and their torques.
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
from dataclasses import replace
from typing import Any

from builtin_interfaces.msg import Time
from nav_msgs.msg import Odometry
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from sensor_msgs.msg import Imu, JointState
from trajectory_msgs.msg import JointTrajectory

from dyn_core import DynError
from dyn_core.control.watchdog import Status
from dyn_core.robot.moving_base import moving_base
from dyn_msgs.msg import JointReference, ModelInfo
from dyn_nodes import messages
from dyn_nodes.base_message import imu_sample, odometry_sample
from dyn_nodes.common import qos
from dyn_nodes.common.clocks import Beat
from dyn_nodes.common.lifecycle.diagnostics import Failure
from dyn_nodes.common.lifecycle.process import run
from dyn_nodes.common.messages.joint_reader import JointReader
from dyn_nodes.common.messages.joint_state_bytes import Stamp
from dyn_nodes.common.torques.desired_motion import Kind
from dyn_nodes.common.torques.output_stage import Output
from dyn_nodes.common.torques.torque_node import Publishing, TorqueNode, nanoseconds_of
from dyn_nodes.controller_state import controller_state_type
from dyn_nodes.feedforward.base_motion import TOPICS, BaseMotion, BaseUnknown
from dyn_nodes.feedforward.parameters import declared_settings
from dyn_nodes.feedforward.services import ParameterInterface
from dyn_nodes.feedforward.torque_source import TorqueSource
from dyn_nodes.model_service import ModelService
from dyn_nodes.model_source import LoadedModel, compiled
from dyn_nodes.motion_message import GivenMotion, controller_motion, measured_motion, reference_motion
from dyn_nodes.motor_message import motor_reference
from dyn_nodes.passive_reference import check_passive
from dyn_nodes.rejection import Rejection
from dyn_nodes.robot_source import DescribedRobot
from dyn_nodes.standing_base import refuse_moving_base
from dyn_nodes.torque_maker import Running
from dyn_nodes.trajectory_input import follow


class Feedforward(TorqueNode[TorqueSource]):
    """Torques of the model, by the mode that the parameters choose."""

    def __init__(self, *, steady: Callable[[], float] = time.monotonic, **node_options: Any) -> None:
        """Declare the parameters, and start; DynError when they, or the robot that they name, are bad.

        Args:
            steady: a clock that never goes back, for what is stale and for transitions (s).
            node_options: of the node.
        """
        super().__init__("feedforward", steady=steady, **node_options)
        given = self._settings = declared_settings(self)
        self._beat = Beat(given.rate)
        self._unmeasured_told = False
        self.publishing = Publishing(given.watch.timeout, given.rate, given.max_age, given.command_joints)
        self.start()

    def open(self) -> None:
        """Load the robot if the parameters give it, and open the topics."""
        self.open_outputs()
        self._model_info = self.publisher(ModelInfo, "~/model_info", qos.LATCHED)
        self._trajectories = self.lifecycle_publisher(
            JointTrajectory, "~/joint_trajectory_effort", qos.EACH_MESSAGE
        )
        self._motors = self.lifecycle_publisher(JointState, "~/motor_reference", qos.COMMAND)
        self.open_diagnostics()
        self._opened.append(ModelService(self, self.load, self._present).close)
        self.open_robot()
        self.subscribe(JointState, "joint_states", self._on_joint_state, qos.EACH_SAMPLE, raw=True)
        self.subscribe(JointReference, "~/reference", self._on_reference, qos.EACH_SAMPLE)
        if self._settings.references.controller_state:
            kind = controller_state_type()
            self.subscribe(kind, "~/controller_state", self._on_controller_state, qos.EACH_SAMPLE)
        if self._settings.base.source == "imu":
            self.subscribe(Imu, "~/base_imu", self._on_imu, qos.EACH_SAMPLE)
        elif self._settings.base.source == "odometry":
            self.subscribe(Odometry, "~/base_odometry", self._on_odometry, qos.EACH_SAMPLE)
        self.subscribe(JointTrajectory, "~/joint_trajectory", self._on_trajectory, qos.EACH_MESSAGE)
        interface = ParameterInterface(
            self,
            lambda: self._running.maker.live if self._running else None,
            self.steady,
            self._settings.blend_time,
        )
        self._opened.append(interface.close)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin to listen."""
        self._cycle_timer = self.create_timer(1.0 / self._settings.rate, self._on_cycle)
        self._cycle_timer.cancel()
        return super().on_activate(state)

    def finish(self) -> None:
        """Follow no trajectory any more, and send the last torques."""
        if self._watch_timer is not None:
            self.destroy_timer(self._cycle_timer)
        super().finish()

    # The robot.

    def prepare(self, described: DescribedRobot) -> Running[TorqueSource]:
        """Compile the dynamics of a robot; DynError where the parameters do not fit it."""
        if self._settings.base.source != "none":
            # What a planar or floating joint at the root would say of the base, messages do.
            robot = moving_base(described.robot, "given").robot
            described = replace(described, robot=robot)
        refuse_moving_base(
            described.robot,
            "base.source 'none'",
            "set base.source to imu or odometry to be told of its motion",
        )
        source = TorqueSource(compiled(described, "runtime"), self._settings)
        return self.running(source.loaded.robot, source)

    def use(self, prepared: Running[TorqueSource]) -> None:
        """Go on with another robot, and tell which it is."""
        super().use(prepared)
        self._model_info.publish(messages.model_info(prepared.maker.loaded, self.get_clock().now().to_msg()))

    def _present(self) -> LoadedModel | None:
        return None if self._running is None else self._running.maker.loaded

    # Motions and torques.

    def _on_joint_state(self, raw: bytes) -> None:
        running = self.active
        if running is None:
            return
        try:
            message = self.joint_states.read(raw)
            if not running.states.concerns(message.name):
                return
            stamp = message.stamp
            t = self.time_of("joint state", stamp)
            velocities = self._settings.mode == "computed_torque"
            q, qd = measured_motion(message, running.states, velocities=velocities)
            output = running.maker.measure(q, qd, t, self.steady())
            if output is not None:
                self.answer(running, output, stamp)
        except Rejection as problem:
            self.withhold("joint states refused", "joint_states", problem)
            return
        self.count("joint states used")

    def _on_imu(self, message: Imu) -> None:
        self._take_base(message, lambda base, t: base.imu(imu_sample(message), t, self.steady()))

    def _on_odometry(self, message: Odometry) -> None:
        self._take_base(message, lambda base, t: base.odometry(odometry_sample(message), t, self.steady()))

    def _take_base(self, message: Imu | Odometry, take: Callable[[BaseMotion, float], None]) -> None:
        running = self.active
        if running is None or running.maker.base is None:
            return
        try:
            take(running.maker.base, self.time_of("motion of the base", message.header.stamp))
        except Rejection as problem:
            self.refuse("motions of the base refused", TOPICS[self._settings.base.source], problem)
            return
        self.count("motions of the base used")

    def withhold(self, what: str, topic: str, problem: Rejection) -> None:
        """Answer nothing, and say whether it is because of what came, or of what is not known of the base."""
        if isinstance(problem, BaseUnknown):
            what, topic = "torques withheld", "~/torques"
        super().withhold(what, topic, problem)

    def _on_reference(self, message: JointReference) -> None:
        self._take_reference("~/reference", message, reference_motion)

    def _on_controller_state(self, message: Any) -> None:
        self._take_reference("~/controller_state", message, controller_motion)

    def _take_reference(
        self, topic: str, message: Any, read: Callable[[Any, JointReader], GivenMotion]
    ) -> None:
        running = self.active
        if running is None:
            return
        try:
            stamp = message.header.stamp
            t = self.time_of("reference", stamp)
            given = read(message, running.references)
            check_passive(running.agreement, given)
            output = running.maker.refer(given, t, self.steady())
            if output is not None:
                self.answer(running, output, stamp)
                self._lead_motors(running, t, output, stamp)
        except Rejection as problem:
            self.withhold("references refused", topic, problem)
            return
        self.count("references used")

    def _on_trajectory(self, message: JointTrajectory) -> None:
        running = self.active
        if running is None:
            return
        self.heed_clock()
        stamp_ns = nanoseconds_of(message.header.stamp)
        stamp = self.time_from(stamp_ns) if stamp_ns else None
        period = self._settings.effort_period
        try:
            t, now = self.node_time, self.steady()
            answer, excess = follow(running.maker, running.agreement, message, t, stamp, now, period)
        except (DynError, Rejection) as problem:
            self.refuse("trajectories refused", "~/joint_trajectory", problem)
            return
        self.count("trajectories used")
        if answer is not None:
            self._trajectories.publish(answer)
        if excess is not None:
            self.say_limited(excess)
        self._cycle_timer.reset()
        self._beat.begin_again(self.node_time)
        self._on_cycle()

    def _on_cycle(self) -> None:
        """Go on along a trajectory."""
        running = self.active
        if running is None:
            return
        if running.maker.desired.kind is not Kind.TRAJECTORY:
            self._cycle_timer.cancel()
            return
        self.heed_clock()
        t, now = self.node_time, self.steady()
        try:
            for due in self._beat.due(t):
                output = running.maker.advance(due, now)
                if output is not None:
                    self.answer(running, output, self.stamp_at(due))
                    self._lead_motors(running, due, output, self.stamp_at(due))
        except Rejection as problem:
            self.withhold("torques withheld", "~/torques", problem)

    def _lead_motors(
        self, running: Running[TorqueSource], t: float, output: Output, stamp: Time | Stamp
    ) -> None:
        """Publish where motors behind springs have to be at time t (s), with torques that are sent."""
        led = running.maker.motors(t, output)
        if led is not None:
            names = list(running.maker.loaded.model.motor_joint_names)
            self._motors.publish(motor_reference(names, *led, stamp.sec, stamp.nanosec))

    # Diagnostics.

    def problem(self) -> str | Failure | None:
        """What is wrong at the moment, for /diagnostics."""
        problem, running = super().problem(), self.active
        if running is None or isinstance(problem, Failure):
            return problem
        return self._unmeasured(running) or problem

    def look_further(self, running: Running[TorqueSource]) -> None:
        """See whether torques go on without joint states."""
        sentence = self._unmeasured(running)
        if sentence is None:
            self._unmeasured_told = False
        elif not self._unmeasured_told:
            self._unmeasured_told = self._complaints.say(sentence, "no joint states")
            self._diagnostics.look_again()

    def _unmeasured(self, running: Running[TorqueSource]) -> str | None:
        silence = running.maker.unmeasured(self.steady())
        if silence is None or running.maker.stage.watch.status not in (Status.RECOVERING, Status.GOOD):
            return None
        return f"no good joint states for {silence:.1f} s: the torques of the desired motion go on"

    def values(self) -> dict[str, str]:
        """Values for /diagnostics."""
        running = self._running
        if running is None:
            return {"mode": self._settings.mode}
        source = running.maker
        payloads = source.live.fitting.payloads.values()
        return {
            "mode": self._settings.mode,
            "robot": running.robot.name,
            "data": source.stage.watch.status.value,
            "desired motion": source.desired.kind.value,
            **({} if source.base is None else {"base": source.base.words(self.steady())}),
            "payloads": ", ".join(f"{p.mass:g} kg at {p.link}" for p in payloads) or "none",
            **super().values(),
        }


def main(arguments: list[str] | None = None) -> int:
    """Run the node."""
    return run(Feedforward, "feedforward", arguments)


if __name__ == "__main__":
    sys.exit(main())
