# SPDX-License-Identifier: Apache-2.0
"""Node `feedforward`: publishes the joint torques that the model of a robot computes.

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
Acts:
    ~/follow_joint_trajectory (control_msgs/FollowJointTrajectory, or that of dyn_msgs where it is missing):
        as ~/joint_trajectory, with feedback, tolerances and a result.
Services:
    ~/set_payload (dyn_msgs/SetPayload), ~/set_dynamic_parameters (dyn_msgs/SetDynamicParameters),
    ~/load_model (dyn_msgs/LoadModel).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from nav_msgs.msg import Odometry
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory

from dyn_core import DynError
from dyn_core.control.trajectories.trajectory import Trajectory
from dyn_core.control.trajectories.trajectory_planning import TrajectoryPoints, planned
from dyn_core.control.watchdog import Status
from dyn_core.core.arrays import Array
from dyn_msgs.msg import JointReference, ModelInfo
from dyn_nodes.common import qos
from dyn_nodes.common.clocks import RateSchedule
from dyn_nodes.common.data_checks import Notice, Rejection
from dyn_nodes.common.lifecycle.diagnostics import Failure
from dyn_nodes.common.lifecycle.process import run
from dyn_nodes.common.lifecycle.robot_source import DescribedRobot, LoadedModel, Recipe
from dyn_nodes.common.messages.joint_reader import JointReader
from dyn_nodes.common.messages.joint_state_bytes import Stamp
from dyn_nodes.common.messages.motion_message import (
    GivenMotion,
    check_passive,
    controller_motion,
    doubles,
    reference_motion,
    sampled_trajectory,
    sampling_times,
    with_efforts,
)
from dyn_nodes.common.torques.desired_motion import Kind
from dyn_nodes.common.torques.output_stage import Output
from dyn_nodes.common.torques.torque_maker import CheckedTrajectory, Running
from dyn_nodes.common.torques.torque_node import Publishing, TorqueNode
from dyn_nodes.feedforward import services as messages
from dyn_nodes.feedforward.base_motion import TOPICS, BaseUnknown
from dyn_nodes.feedforward.compiled_source import made_source
from dyn_nodes.feedforward.parameters import FeedforwardSettings, declared_settings
from dyn_nodes.feedforward.services import ModelService, ParameterInterface
from dyn_nodes.feedforward.torque_source import TorqueSource

_LOOK_S = 0.02
"""Time between looks at torques and motion (s)."""
_CONTRADICTIONS = {
    (True, False): "gravity-added-twice",
    (True, True): "gravity-added-twice-braked",
    (False, False): "gravity-not-added",
    (False, True): "gravity-not-added-braked",
}
"""Codes by whether the drive adds gravity, and whether the arm is braked."""


def controller_state_type() -> type:
    """Return control_msgs/JointTrajectoryControllerState; DynError where it is not installed."""
    try:
        message: type = import_module("control_msgs.msg").JointTrajectoryControllerState
    except (ImportError, AttributeError) as problem:
        raise DynError("control-msgs-missing") from problem
    return message


class Feedforward(TorqueNode[TorqueSource]):
    """Publishes the torques of the model, in the mode that a parameter selects."""

    def __init__(self, *, steady: Callable[[], float] = time.monotonic, **node_options: Any) -> None:
        """Declare the parameters, and start; DynError when they, or their robot, cannot be used."""
        super().__init__("feedforward", steady=steady, **node_options)
        given = self._settings = declared_settings(self)
        self.takes_velocities = given.mode == "computed_torque"
        self._schedule = RateSchedule(given.rate)
        self._unmeasured_told = False
        self.publishing = Publishing(
            given.watch.timeout, given.rate, given.max_age, given.command_joints, given.drive.running_topic
        )
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
        reference = partial(self._take_reference, "~/reference", reference_motion)
        self.subscribe(JointReference, "~/reference", reference, qos.EACH_SAMPLE)
        if self._settings.references.controller_state:
            kind = controller_state_type()
            state = partial(self._take_reference, "~/controller_state", controller_motion)
            self.subscribe(kind, "~/controller_state", state, qos.EACH_SAMPLE)
        source = self._settings.base.source
        if source != "none":
            kind = Imu if source == "imu" else Odometry
            self.subscribe(kind, TOPICS[source], self._on_base, qos.EACH_SAMPLE)
        self.subscribe(
            JointTrajectory,
            "~/joint_trajectory",
            self.trajectories.on_message,
            qos.EACH_MESSAGE,
            raw=True,
        )
        ParameterInterface(
            self,
            lambda: self._running.maker.live if self._running else None,
            self.steady,
            lambda: self._settings.blend_time,
            lambda: self._settings.drive.adds_gravity and self._settings.drive.knows_payload,
        )

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin to listen."""
        self._cycle_timer = self.create_timer(1.0 / self._settings.rate, self._on_cycle)
        self._cycle_timer.cancel()
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._gravity_timer = self.create_timer(_LOOK_S, self._on_gravity, clock=steady)
        return super().on_activate(state)

    def finish(self) -> None:
        """Stop following a trajectory, and send the last torques."""
        if self._timer is not None:
            self.destroy_timer(self._cycle_timer)
            self.destroy_timer(self._gravity_timer)
        super().finish()

    # The robot.

    def settings_of(self, parameters: Any) -> FeedforwardSettings:
        """Return the settings of parameters; DynError where one is invalid."""
        return declared_settings(parameters)

    def on_tuned(self) -> None:
        """Read velocities where the mode needs them."""
        self.takes_velocities = self._settings.mode == "computed_torque"

    @property
    def recipe(self) -> Recipe:
        """Function that compiles the torques of a robot."""
        return partial(made_source, self._settings)

    def prepare(self, described: DescribedRobot) -> Running[TorqueSource]:
        """Compile the dynamics of a robot; DynError where the parameters do not fit it."""
        made = made_source(self._settings, described)
        return self.running(made.maker.loaded.robot, made)

    def use(self, prepared: Running[TorqueSource]) -> None:
        """Switch to another robot, and publish its model_info."""
        super().use(prepared)
        self._model_info.publish(messages.model_info(prepared.maker.loaded, self.get_clock().now().to_msg()))

    def _present(self) -> LoadedModel | None:
        return None if self._running is None else self._running.maker.loaded

    # Motions and torques.

    def _on_base(self, message: Imu | Odometry) -> None:
        running = self.active
        if running is None or running.maker.base is None:
            return
        try:
            t = self.time_of("motion of the base", message.header.stamp)
            running.maker.base.take(message, t, self.steady())
        except Rejection as problem:
            self.refuse("motions of the base refused", TOPICS[self._settings.base.source], problem)
            return
        self.count("motions of the base used")

    def withhold(self, what: str, topic: str, problem: Rejection) -> None:
        """Send nothing; report whether a message was refused, or the motion of the base is unknown."""
        if isinstance(problem, BaseUnknown):
            what, topic = "torques withheld", "~/torques"
        super().withhold(what, topic, problem)

    def _take_reference(
        self, topic: str, read: Callable[[Any, JointReader], GivenMotion], message: Any
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
            self.trajectories.supersede(topic)
            if output is not None:
                self.answer(running, output, stamp)
                self._lead_motors(running, t, output, stamp)
        except Rejection as problem:
            self.withhold("references refused", topic, problem)
            return
        self.count("references used")

    def check(self, running: Running[TorqueSource], given: CheckedTrajectory) -> CheckedTrajectory:
        """Compute the efforts at the points, if they are those that are published."""
        assert given.points is not None
        if self._settings.effort_period > 0.0:
            return given
        return replace(given, efforts=_with_own_points(running.maker, given.message, given.points))

    def follow(
        self, running: Running[TorqueSource], given: CheckedTrajectory, t: float, stamp: float | None
    ) -> tuple[JointTrajectory | bytes | None, Notice | None]:
        """Follow a trajectory; return it with its efforts, if there are any, and the largest excess."""
        return _follow(running.maker, given, t, stamp, self.steady(), self._settings.effort_period)

    def on_followed(self, result: tuple[JointTrajectory | bytes | None, Notice | None]) -> None:
        """Publish the trajectory with its efforts, and begin to send torques."""
        followed, excess = result
        if followed is not None:
            self._trajectories.publish(followed)
        if excess is not None:
            self.report_limited(excess)
        self._cycle_timer.reset()
        self._schedule.begin_again(self.node_time)
        self._on_cycle()

    def on_stop(self, running: Running[TorqueSource], stop: Trajectory, t: float) -> None:
        """Publish a stop with its efforts, and send torques along it."""
        times = np.array([*stop.knots[1:], stop.end + _HELD_S])
        stopping = _with_samples(running.maker, stop, times, times - t, always=True)
        assert stopping is not None
        stamp = self.stamp_at(t)
        stopping.header.stamp = Time(sec=stamp.sec, nanosec=stamp.nanosec)
        self.on_followed((stopping, None))

    def _on_cycle(self) -> None:
        """Send the torques of the trajectory that are due."""
        running = self.active
        if running is None:
            return
        if running.maker.desired.kind is not Kind.TRAJECTORY:
            self._cycle_timer.cancel()
            return
        self.check_clock()
        t, now = self.node_time, self.steady()
        try:
            for due in self._schedule.due(t):
                output = running.maker.advance(due, now)
                if output is not None:
                    self.answer(running, output, self.stamp_at(due))
                    self._lead_motors(running, due, output, self.stamp_at(due))
        except Rejection as problem:
            self.withhold("torques withheld", "~/torques", problem)

    def _on_gravity(self) -> None:
        """Say that the drive does not do with gravity what it is said to do."""
        running = self.active
        if running is not None and running.maker.look() is not None:
            notice = self._contradicted(running)
            assert notice is not None
            self.get_logger().error(str(notice))
            self._diagnostics.look_again()

    def _contradicted(self, running: Running[TorqueSource]) -> Failure | None:
        found = running.maker.contradiction
        if found is None:
            return None
        if running.maker.is_corrected:
            return Failure("gravity-doubtful-braked")
        profile = self._settings.drive.profile
        setting = f"profile '{profile}'" if profile else "drive_compensates"
        return Failure(_CONTRADICTIONS[found.is_added, running.maker.is_rescued], setting=setting)

    def _lead_motors(
        self, running: Running[TorqueSource], t: float, output: Output, stamp: Time | Stamp
    ) -> None:
        """Publish the motion of motors behind springs at time t (s), and their sent torques."""
        led = running.maker.motors(t, output)
        if led is not None:
            motors, efforts = led
            message = JointState(
                header=Header(stamp=Time(sec=stamp.sec, nanosec=stamp.nanosec)),
                name=list(running.maker.loaded.model.motor_joint_names),
                position=motors.q.tolist(),
                velocity=motors.qd.tolist(),
                effort=efforts.tolist(),
            )
            self._motors.publish(message)

    # Diagnostics.

    def problem(self) -> Notice | None:
        """Return the present problem, for /diagnostics."""
        problem, running = super().problem(), self.active
        if running is None or isinstance(problem, Failure):
            return problem
        return self._contradicted(running) or self._unmeasured(running) or problem

    def look_further(self, running: Running[TorqueSource]) -> None:
        """Warn when torques go on without joint states."""
        notice = self._unmeasured(running)
        if notice is None:
            self._unmeasured_told = False
        elif not self._unmeasured_told:
            self._unmeasured_told = self._complaints.say(notice, notice.code)
            self._diagnostics.look_again()

    def _unmeasured(self, running: Running[TorqueSource]) -> Notice | None:
        silence = running.maker.unmeasured(self.steady())
        if silence is None or running.maker.stage.watch.status not in (Status.RECOVERING, Status.GOOD):
            return None
        return Notice("joint-states-stale", silence=silence)

    def values(self) -> dict[str, str]:
        """Return values for /diagnostics."""
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


# Trajectories with their efforts

_HELD_S = 2.0
"""Time from the end of a stop to its last point (s): a controller that gets it late does not refuse it."""
_STOP_S = 0.01
"""Time that a controller gets for a stop (s): a point that is due at once would be in the past."""


def _with_own_points(
    source: TorqueSource, message: JointTrajectory, points: TrajectoryPoints
) -> tuple[bytes, Notice | None]:
    """Return a trajectory with the efforts at its points, serialized, and the largest excess over a limit."""
    alone = planned(points, 0.0, 0.0, for_springs=source.has_springs)
    efforts, excess = source.efforts(source.samples(alone, points.times))
    return serialize_message(with_efforts(message, source.loaded.robot.coordinate_names, efforts)), excess


def _follow(
    source: TorqueSource,
    given: CheckedTrajectory,
    t: float,
    stamp: float | None,
    now: float,
    effort_period: float,
) -> tuple[JointTrajectory | bytes | None, Notice | None]:
    """Follow a trajectory from now on; return it with its efforts, and the largest excess over a limit.

    An empty one means to stand still: the trajectory returned for it stops as well, and is None where the
    efforts that hold the robot cannot be computed.

    `t` is the present on the clock of stamps, `now` on the steady clock, `stamp` the start, None for now, and
    `effort_period` the time between the points with efforts, 0 for the points of the message (all s).

    Raises:
        DynError, Rejection: it cannot be followed; the present motion goes on.
    """
    if given.points is None:
        source.stand(t, now)
        return _stop_trajectory(source, t), None
    trajectory = source.planned(given.points, t, stamp, now, given.planned)
    result, excess = given.efforts or (None, None)
    if effort_period > 0.0:
        times = sampling_times(trajectory, t if stamp is None else max(t, stamp), effort_period)
        samples = source.samples(trajectory, times)
        efforts, excess = source.efforts(samples)
        from_start = times - (t if stamp is None else stamp)
        names = source.loaded.robot.coordinate_names
        result = sampled_trajectory(given.message, names, from_start, samples, efforts)
    source.follow(trajectory, t, now)
    return result, excess


def _stop_trajectory(source: TorqueSource, t: float) -> JointTrajectory | None:
    """Return a trajectory to the present desired position, because controllers refuse empty trajectories."""
    standing = source.desired.at(t)
    if standing is None:
        return None
    times = np.array([t])
    return _with_samples(source, Trajectory.standing(standing.q, t), times, np.array([_STOP_S]))


def _with_samples(
    source: TorqueSource, trajectory: Trajectory, times: Array, from_start: Array, *, always: bool = False
) -> JointTrajectory | None:
    """Return samples of a trajectory at N times (s) with efforts.

    Where these cannot be computed, return None, or with `always` the samples without efforts.
    """
    samples = source.samples(trajectory, times)
    names = source.loaded.robot.coordinate_names
    message = JointTrajectory(joint_names=names)
    try:
        efforts, _ = source.efforts(samples)
    except (DynError, Rejection):
        if not always:
            return None
        message = sampled_trajectory(message, names, from_start, samples, np.zeros_like(samples.q))
        for point in message.points:
            point.effort = doubles(np.empty(0))
        return message
    return sampled_trajectory(message, names, from_start, samples, efforts)


def main(arguments: list[str] | None = None) -> int:
    """Run the node."""
    return run(Feedforward, "feedforward", arguments)
