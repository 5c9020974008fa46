# SPDX-License-Identifier: Apache-2.0
"""Node `identification`: excites a robot, records its motion, and estimates its dynamic parameters.

Subscribes:
    joint_states (sensor_msgs/JointState): measured positions, velocities and efforts, matched by name.
    robot_description (std_msgs/String, transient_local): URDF, unless a parameter gives it; a new one is
        loaded while running.
Publishes:
    ~/joint_trajectory (trajectory_msgs/JointTrajectory): motions, for a controller; or else
    ~/reference (dyn_msgs/JointReference): the same point by point.
    ~/result (dyn_msgs/IdentificationResult, transient_local): the outcome of the last identification.
    ~/parameters (dyn_msgs/DynamicParameters): parameters that are estimated online, with deviations.
    /diagnostics (diagnostic_msgs/DiagnosticArray): the present goal, and problems.
Actions:
    ~/run_trajectory (dyn_msgs/RunTrajectory), ~/identify (dyn_msgs/Identify).
Services:
    ~/apply (dyn_msgs/ApplyParameters): sends the last result, the online estimate, or a file to
        `feedforward/set_dynamic_parameters`.
    ~/online (std_srvs/SetBool): estimates parameters online, during any motion.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.timer import Timer
from sensor_msgs.msg import JointState

from dyn_core import DynError, Robot
from dyn_msgs.action import Identify, RunTrajectory
from dyn_msgs.msg import IdentificationResult
from dyn_msgs.srv import ApplyParameters
from dyn_nodes.common import qos
from dyn_nodes.common.data_checks import Notice, Problem, Rejection, one_line
from dyn_nodes.common.lifecycle.computation_job import Job
from dyn_nodes.common.lifecycle.deferred_response import DeferredAction, Goal
from dyn_nodes.common.lifecycle.managed_node import sleeping_timer
from dyn_nodes.common.lifecycle.process import run, spin_once
from dyn_nodes.common.lifecycle.robot_node import RobotNode
from dyn_nodes.common.lifecycle.robot_source import DescribedRobot
from dyn_nodes.common.messages.joint_state_bytes import JointStateBytes, JointStates, Stamp
from dyn_nodes.common.messages.message_stamps import StampClock
from dyn_nodes.identification.goal_sessions import IdentifySession, RunSession
from dyn_nodes.identification.motion_output import MotionOutput
from dyn_nodes.identification.motion_run import DelayedSample
from dyn_nodes.identification.online_estimation import Online
from dyn_nodes.identification.parameters import declared_identification
from dyn_nodes.identification.result_handover import Handover, Make, source_of
from dyn_nodes.identification.session import JointSample, KnownRobot, Session, SessionContext, known_robot

_LOOK_S = 0.02
_LAST_S = 1.0
"""Longest time for the robot to come to rest when the process ends (s)."""
_LAST_STOP_S = 0.7
"""Longest stop at the end of the process (s), so that followers of references get it completely."""
_ENDED_MOVING = Notice("node-ended-moving")
_SPEED_S = 0.1
"""Shortest time between two positions that give a speed (s)."""
_ARRIVAL_S = 0.2
"""Time for messages to arrive at the end (s): rclpy does not report when a response has been sent."""
_TAKE_S, _TAKE_MOVING_S = 0.02, 0.005
"""Period in which joint states are taken (s), and the same while the robot moves. Taking several at once is
faster."""
_RECORDED = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Recorded joint states: none may be lost while another callback runs."""


class Identification(RobotNode[KnownRobot]):
    """Moves the robot, records joint states, and estimates parameters from the recording."""

    def __init__(self, *, steady: Callable[[], float] = time.monotonic, **node_options: Any) -> None:
        """Declare the parameters, and start; DynError when they, or their robot, cannot be used.

        `steady` is a clock that never goes back, for timeouts (s).
        """
        super().__init__("identification", **node_options)
        self._steady = steady
        self._settings = declared_identification(self)
        self._joint_states = JointStateBytes()
        self._known: KnownRobot | None = None
        self._is_active = False
        self._session: Session | None = None
        self._of_sessions: list[Timer] = []
        self._result: IdentificationResult | None = None
        self._ended_with = Notice("goal-none")
        self._newest: tuple[JointStates, float] | None = None
        self._delayed: DelayedSample[JointStates] = DelayedSample(_SPEED_S)
        self._is_closing = False
        self._last_t = -float("inf")
        self.start()

    def open(self) -> None:
        """Load the robot if the parameters give it, and open topics, actions and services."""
        if self._is_closing:
            raise DynError("robot-stopping")
        settings = self._settings
        self._stamps = StampClock(self.get_clock(), settings.max_age, self._on_clock_set, self._steady)
        self._opened.append(self._stamps.close)
        self._around = SessionContext(
            settings,
            self._stamps,
            MotionOutput(self, settings.output, self._stamps),
            self._steady,
            self._present,
            self._earlier,
            lambda *job: Job(self, *job),
            self._on_over,
        )
        self._results = self.publisher(IdentificationResult, "~/result", qos.LATCHED)
        take = sleeping_timer(self, _TAKE_S, self._take_waiting)
        take.reset()
        self._opened.append(partial(self.destroy_timer, take))
        self._of_sessions = [
            sleeping_timer(self, _TAKE_MOVING_S, self._take_waiting),
            sleeping_timer(self, _LOOK_S, self._on_look),
        ]
        if settings.output == "reference":
            period = 1.0 / settings.rate
            self._of_sessions.append(sleeping_timer(self, period, self._on_reference, steady=False))
        self._opened += [partial(self.destroy_timer, timer) for timer in self._of_sessions]
        self._online = Online(self, settings.online)
        self._opened.append(self._online.end)
        self.open_diagnostics()
        self.open_robot()
        self._waiting = self.polled_subscription(JointState, "joint_states", _RECORDED)
        for kind, name, make in (
            (RunTrajectory, "~/run_trajectory", lambda known, goal: RunSession(known, goal, self._around)),
            (Identify, "~/identify", self._identify_session),
        ):
            action = DeferredAction(self, kind, name, partial(self._on_goal, kind, make), self._on_cancel)
            self._opened.append(action.close)
        self._opened.append(Handover(self, settings.apply, self._source_of).close)

    def close(self) -> None:
        """End the present goal, close topics, actions and services, and forget the robot.

        A moving robot is brought to rest first, which may need references to the end.
        """
        self._is_active = False
        self._interrupt(Notice("node-closing"))
        if self._session is not None and self.executor is not None:
            self._is_closing = True
            return
        if self._session is not None:
            self._session.end(_ENDED_MOVING)
        self._close_now()

    def _close_now(self) -> None:
        self._is_closing = False
        self.close_all()
        self._known = None

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Accept goals from now on."""
        self._is_active = True
        self._online.activate()
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Accept no more goals; bring a moving robot to rest."""
        self._is_active = False
        self._online.end()
        self._interrupt(Notice("node-deactivated"))
        return super().on_deactivate(state)

    def end(self) -> None:
        """Wait a moment for the robot to come to rest and for the result to arrive; then end."""
        if self._session is not None:
            self._is_active = False
            self._session.cancel(Notice("node-ending"), longest=_LAST_STOP_S)
            self._spin(_LAST_S, lambda: self._session is None)
            if self._session is not None:
                self._session.end(_ENDED_MOVING)
            self._spin(_ARRIVAL_S, lambda: False)
        super().end()

    def _spin(self, longest: float, over: Callable[[], bool]) -> None:
        by = self._steady() + longest
        while self.executor is not None and self._steady() < by and not over():
            spin_once(self.executor, _LOOK_S)

    # The robot

    @property
    def robot(self) -> Robot | None:
        """The robot in use."""
        return None if self._known is None else self._known.robot

    @property
    def recipe(self) -> Callable[[DescribedRobot], KnownRobot]:
        """Function that compiles the dynamics of a robot."""
        file, side_file = (str(self.get_parameter(name).value) for name in ("description_file", "side_file"))
        return partial(known_robot, description_file=file, side_file=side_file, settings=self._settings)

    def prepare(self, described: DescribedRobot) -> KnownRobot:
        """Compile the dynamics of a robot."""
        return self.recipe(described)

    def use(self, prepared: KnownRobot) -> None:
        """Switch to another robot; the present goal ends."""
        self._interrupt(Notice("robot-replaced"))
        self._known = prepared
        self._newest = None
        self._delayed.forget()
        self._online.use_robot()
        self.get_logger().info(f"using robot '{prepared.robot.name}' with {prepared.robot.dof} joints")

    # Goals

    def _on_goal(self, kind: Any, make: Callable[[KnownRobot, Goal], Session], goal: Goal) -> None:
        try:
            known = self._ready()
        except DynError as problem:
            self.refuse("goals refused", "goal", problem)
            goal.finish("abort", kind.Result(success=False, message=one_line(str(problem))))
            return
        self._session = session = make(known, goal)
        for timer in self._of_sessions:
            timer.reset()
        self.get_logger().info(f"{session.what} begins")
        session.start()

    def _ready(self) -> KnownRobot:
        """Return the robot in use; DynError where no goal can be accepted."""
        if not self._is_active:
            raise DynError("node-inactive")
        if self._session is not None:
            raise DynError("goal-running", goal=self._session.what)
        if self._known is None:
            raise DynError("robot-not-received")
        return self._known

    def _identify_session(self, known: KnownRobot, goal: Goal) -> Session:
        return IdentifySession(known, goal, self._around, self.publish_result)

    def _on_cancel(self, goal: Goal) -> None:
        if self._session is not None and self._session.pursues(goal):
            self._session.cancel(Notice("goal-cancelled"), by_client=True)

    def _on_look(self) -> None:
        self._take_waiting()
        self._stamps.check_clock()
        if self._session is not None:
            self._session.look()

    def _on_reference(self) -> None:
        if self._session is not None:
            self._session.send_reference()

    def _on_clock_set(self, gained: float) -> None:
        self._last_t = -float("inf")
        self._newest = None
        self._delayed.forget()
        if self._known is not None:
            self._known.states.forget()
        if self._session is not None:
            self._session.clock_was_set(gained)

    def _interrupt(self, problem: Problem) -> None:
        if self._session is not None:
            self._session.cancel(problem)

    def publish_result(self, result: IdentificationResult) -> None:
        """Publish a result, and keep it for ~/apply."""
        self._result = result
        self._results.publish(result)

    def _on_over(self, problem: Problem | None) -> None:
        session, self._session = self._session, None
        if session is not None and session.stands:
            # The robot stands: its speed a moment before must not refuse the next goal.
            self._delayed.forget()
        for timer in self._of_sessions:
            timer.cancel()
        what = "nothing" if session is None else session.what
        if problem is not None:
            self._ended_with = Notice("goal-failed", goal=what, cause=problem)
            self.get_logger().warning(one_line(str(self._ended_with)))
            self.count("goals that failed", self._ended_with)
        else:
            self._ended_with = Notice("goal-reached", goal=what)
            self.get_logger().info(one_line(str(self._ended_with)))
            self.count("goals that were reached")
        if self._is_closing and self.executor is not None:
            # Not within a callback of an entity that is closed.
            self.executor.create_task(self.contained(self._close_now))

    def _source_of(self, request: ApplyParameters.Request) -> Make:
        return source_of(
            request,
            self.robot,
            self._result,
            self._online.knowledge,
            self.get_clock().now().to_msg(),
            impossible=self._settings.apply.impossible,
        )

    # Joint states

    def _take_waiting(self) -> None:
        came = self._steady()
        for raw in self._waiting.take():
            session, known = self._session, self._known
            if session is not None and session.is_moving:
                known = session.known
            if known is None:
                continue
            try:
                self._take(raw, came, known)
            except Rejection as problem:
                if self._session is not None:
                    self._session.refuse(problem)
                self.refuse("joint states refused", "joint_states", problem)

    def _take(self, raw: bytes, came: float, known: KnownRobot) -> None:
        message = self._joint_states.read(raw)
        if not known.states.reader.concerns(message.name):
            return
        whole = known.states.whole(message, self._stamps.past(message.stamp))
        if whole is None:
            return
        # The reader of the bytes uses the stamp again.
        message = replace(whole, stamp=Stamp(whole.stamp.sec, whole.stamp.nanosec))
        self._newest = (message, came)
        self._delayed.add(came, message)
        session = self._session
        moving = session is not None and session.is_moving
        online = self._online.takes_samples and known is self._known
        if not moving and not online:
            return
        sample = self._sample(message, known)
        if session is not None and moving:
            session.measure(sample)
        if online:
            self._online.add(sample)

    def _sample(self, message: JointStates, known: KnownRobot, *, of_any_age: bool = False) -> JointSample:
        """Return the values of a message; Rejection where it cannot be used."""
        stamps = self._stamps
        t = stamps.past(message.stamp) if of_any_age else stamps.time_of("joint state", message.stamp)
        if t < self._last_t:
            raise Rejection("message-out-of-order", message="joint state", time=self._last_t - t)
        q = known.states.reader.positions(message.name, message.position)
        qd = known.states.reader.values_or_none(message.velocity, "velocity")
        tau = known.states.reader.values_or_none(message.effort, "effort")
        self._last_t = t
        return JointSample(message.stamp, t, q, qd, tau)

    def _present(self) -> JointSample:
        """Return the newest joint states; DynError where there are none that can be used."""
        self._take_waiting()
        if self._newest is None or self._known is None:
            raise DynError("joint-states-missing")
        message, came = self._newest
        silence = self._steady() - came
        if silence > self._settings.run.timeout:
            raise DynError("joint-states-late", silence=silence)
        self._last_t = -float("inf")
        try:
            return self._sample(message, self._known)
        except Rejection as problem:
            raise DynError("joint-states-unusable", cause=problem) from problem

    def _earlier(self) -> JointSample | None:
        """Return joint states some tenths of a second before the newest; None where there are none."""
        message = self._delayed.earlier
        if message is None or self._known is None:
            return None
        try:
            self._last_t = -float("inf")
            return self._sample(message, self._known, of_any_age=True)
        except Rejection:
            return None

    # Diagnostics

    def problem(self) -> Notice | None:
        """Return the present problem, for /diagnostics."""
        return None

    def values(self) -> dict[str, str]:
        """Return values for /diagnostics."""
        session = self._session
        stage = "" if session is None else f"{session.stage.name.lower()} {100 * session.fraction:.0f} %"
        return {
            "robot": "none" if self._known is None else self._known.robot.name,
            "doing": "nothing" if session is None else f"{session.what}, {stage}",
            "samples": "0" if session is None else str(session.samples),
            "last": str(self._ended_with),
            "online": str(self._online.state),
        }


def main(arguments: list[str] | None = None) -> int:
    """Run the node."""
    return run(Identification, "identification", arguments)
