# SPDX-License-Identifier: Apache-2.0
"""Node `identification`: excites a robot, records what it does, and estimates its dynamic parameters.

Subscribes:
    joint_states (sensor_msgs/JointState): measured positions, velocities and efforts, matched by name.
    robot_description (std_msgs/String, transient_local): URDF, unless a parameter gives it; a new one is
        loaded while running.
Publishes:
    ~/joint_trajectory (trajectory_msgs/JointTrajectory): motions, for a controller; or else
    ~/reference (dyn_msgs/JointReference): the same point by point.
    ~/result (dyn_msgs/IdentificationResult, transient_local): the outcome of the last identification.
    ~/parameters (dyn_msgs/DynamicParameters): parameters that are estimated online, with deviations.
    /diagnostics (diagnostic_msgs/DiagnosticArray): what is being done, and what is wrong.
Actions:
    ~/run_trajectory (dyn_msgs/RunTrajectory), ~/identify (dyn_msgs/Identify).
Services:
    ~/apply (dyn_msgs/ApplyParameters): hands the last result, what was estimated online, or a file to
        `feedforward/set_dynamic_parameters`.
    ~/online (std_srvs/SetBool): estimates parameters while the robot does what it does.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
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
from dyn_nodes.applied import source_of
from dyn_nodes.common import qos
from dyn_nodes.common.lifecycle.deferred_response import DeferredAction, Goal
from dyn_nodes.common.lifecycle.diagnostics import Failure
from dyn_nodes.common.lifecycle.process import run
from dyn_nodes.common.lifecycle.robot_node import RobotNode
from dyn_nodes.common.messages.joint_state_bytes import JointStateBytes, JointStates
from dyn_nodes.identification.computation_job import Job
from dyn_nodes.identification.goal_sessions import IdentifySession
from dyn_nodes.identification.motion_output import MotionOutput
from dyn_nodes.identification.online_estimation import Online
from dyn_nodes.identification.parameters import declared_identification
from dyn_nodes.identification.result_handover import Handover, Make
from dyn_nodes.identification.session import JointSample, Session, Surroundings
from dyn_nodes.known_robot import KnownRobot, known_robot
from dyn_nodes.lately import Lately
from dyn_nodes.rejection import Rejection
from dyn_nodes.robot_source import DescribedRobot
from dyn_nodes.run_session import RunSession
from dyn_nodes.sleeping_timer import sleeping_timer
from dyn_nodes.stamps import Stamps

_LOOK_S = 0.02
_LAST_S = 1.0
"""Longest time that the robot is given to come to rest when the process ends (s)."""
_LAST_STOP_S = 0.7
"""Longest time of a stop then (s): who follows references would be left in the middle of a longer one."""
_NOBODY_LOOKS = "the node has ended; the robot was told to stop"
_SPEED_S = 0.1
"""Time from which on positions show a speed (s)."""
_ARRIVAL_S = 0.2
"""Time that messages are given to arrive then (s): nobody tells when the answer of a service has."""
_TAKE_S, _TAKE_MOVING_S = 0.02, 0.005
"""Time between two looks at the joint states that have come (s), and that while the robot is moved: what is
done for many of them at once takes half of the time."""
_RECORDED = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Joint states that are recorded: none is to be lost while the node does something else for a moment."""


class Identification(RobotNode[KnownRobot]):
    """Motions that are recorded, and parameters from what was recorded."""

    def __init__(self, *, steady: Callable[[], float] = time.monotonic, **node_options: Any) -> None:
        """Declare the parameters, and start; DynError when they, or the robot that they name, are bad.

        Args:
            steady: a clock that never goes back, for what is stale (s).
            node_options: of the node.
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
        self._ended_with = "nothing was done yet"
        self._newest: tuple[bytes, float] | None = None
        self._lately: Lately[bytes] = Lately(_SPEED_S)
        self._is_closing = False
        self._last_t = -float("inf")
        self.start()

    def open(self) -> None:
        """Load the robot if the parameters give it, and open topics, actions and services."""
        if self._is_closing:
            raise DynError("the robot is being brought to rest: configure the node again when it stands")
        settings = self._settings
        self._stamps = Stamps(self.get_clock(), settings.max_age, self._on_clock_set, self._steady)
        self._opened.append(self._stamps.close)
        self._around = Surroundings(
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
        self._waiting = self.polled(JointState, "joint_states", _RECORDED)
        for kind, name, make in (
            (RunTrajectory, "~/run_trajectory", self._run_session),
            (Identify, "~/identify", self._identify_session),
        ):
            action = DeferredAction(self, kind, name, partial(self._on_goal, kind, make), self._on_cancel)
            self._opened.append(action.close)
        self._opened.append(Handover(self, settings.apply, self._source_of).close)

    def close(self) -> None:
        """End what is being done, close topics, actions and services, and forget the robot.

        All this is done when the robot stands: what brings it to rest may need references to the end.
        """
        self._is_active = False
        self._interrupt("the node was closed")
        if self._session is not None and self.executor is not None:
            self._is_closing = True
            return
        if self._session is not None:
            self._session.end(_NOBODY_LOOKS)
        self._close_now()

    def _close_now(self) -> None:
        self._is_closing = False
        self.close_all()
        self._known = None

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin to take goals."""
        self._is_active = True
        self._online.activate()
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Take no goals any more; a robot that moves is brought to rest."""
        self._is_active = False
        self._online.end()
        self._interrupt("the node was deactivated")
        return super().on_deactivate(state)

    def end(self) -> None:
        """Give the robot a moment to come to rest, and the result to arrive, and end."""
        if self._session is not None:
            self._is_active = False
            self._session.cancel("the node is ending", longest=_LAST_STOP_S)
            self._spin(_LAST_S, lambda: self._session is None)
            if self._session is not None:
                self._session.end(_NOBODY_LOOKS)
            self._spin(_ARRIVAL_S, lambda: False)
        super().end()

    def _spin(self, longest: float, over: Callable[[], bool]) -> None:
        by = self._steady() + longest
        while self.executor is not None and self._steady() < by and not over():
            self.executor.spin_once(timeout_sec=_LOOK_S)

    # The robot.

    @property
    def robot(self) -> Robot | None:
        """The robot in use."""
        return None if self._known is None else self._known.robot

    def prepare(self, described: DescribedRobot) -> KnownRobot:
        """Compile the dynamics of a robot."""
        file, side_file = (str(self.get_parameter(name).value) for name in ("description_file", "side_file"))
        return known_robot(described, file, side_file, self._settings)

    def use(self, prepared: KnownRobot) -> None:
        """Go on with another robot; what is being done with the last one ends."""
        self._interrupt("another robot description came")
        self._known = prepared
        self._newest = None
        self._lately.forget()
        self._online.use_robot()
        self.get_logger().info(f"using robot '{prepared.robot.name}' with {prepared.robot.dof} joints")

    # Goals.

    def _on_goal(self, kind: Any, make: Callable[[KnownRobot, Goal], Session], goal: Goal) -> None:
        problem = self._unready()
        if problem is not None or self._known is None:
            self.refuse("goals refused", "goal", DynError(problem or "there is no robot"))
            goal.finish("abort", kind.Result(success=False, message=problem))
            return
        self._session = session = make(self._known, goal)
        for timer in self._of_sessions:
            timer.reset()
        self.get_logger().info(f"{session.what} begins")
        session.start()

    def _unready(self) -> str | None:
        if not self._is_active:
            return "the node is not active"
        if self._session is not None:
            return f"{self._session.what} is going on: cancel it, or wait until it has ended"
        if self._known is None:
            return "there is no robot yet: nothing came on the topic robot_description"
        return None

    def _run_session(self, known: KnownRobot, goal: Goal) -> Session:
        return RunSession(known, goal, self._around)

    def _identify_session(self, known: KnownRobot, goal: Goal) -> Session:
        return IdentifySession(known, goal, self._around, self.publish_result)

    def _on_cancel(self, goal: Goal) -> None:
        if self._session is not None and self._session.pursues(goal):
            self._session.cancel("it was cancelled", by_client=True)

    def _on_look(self) -> None:
        self._take_waiting()
        self._stamps.heed()
        if self._session is not None:
            self._session.look()

    def _on_reference(self) -> None:
        if self._session is not None:
            self._session.refer()

    def _on_clock_set(self, gained: float) -> None:
        self._last_t = -float("inf")
        self._newest = None
        self._lately.forget()
        if self._session is not None:
            self._session.clock_was_set(gained)

    def _interrupt(self, problem: str) -> None:
        if self._session is not None:
            self._session.cancel(problem)

    def publish_result(self, result: IdentificationResult) -> None:
        """Publish a result, and keep it for ~/apply."""
        self._result = result
        self._results.publish(result)

    def _on_over(self, problem: str) -> None:
        session, self._session = self._session, None
        if session is not None and session.stands:
            # It was seen to stand: how fast it was a moment before is no matter for the next goal.
            self._lately.forget()
        for timer in self._of_sessions:
            timer.cancel()
        what = "nothing" if session is None else session.what
        if problem:
            self._ended_with = f"{what} has failed: {problem}"
            self.get_logger().warning(self._ended_with)
            self.count("goals that failed", self._ended_with)
        else:
            self._ended_with = f"{what} was done"
            self.get_logger().info(self._ended_with)
            self.count("goals that were reached")
        if self._is_closing and self.executor is not None:
            # Not within a callback of what is closed.
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

    # Joint states.

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
                    self._session.refuse(str(problem))
                self.refuse("joint states refused", "joint_states", problem)

    def _take(self, raw: bytes, came: float, known: KnownRobot) -> None:
        message = self._joint_states.read(raw)
        if not known.reader.concerns(message.name):
            return
        self._newest = (raw, came)
        self._lately.add(came, raw)
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
        """Answer what a message says; a Rejection where that cannot be used."""
        stamps = self._stamps
        t = stamps.past(message.stamp) if of_any_age else stamps.time_of("joint state", message.stamp)
        if t < self._last_t:
            raise Rejection(
                f"joint state is stamped {self._last_t - t:.3f} s before the last one",
                "joint state is not in order",
            )
        q = known.reader.positions(message.name, message.position)
        qd, tau = (
            known.reader.values_or_none(numbers, what) if len(numbers) else None
            for numbers, what in ((message.velocity, "velocity"), (message.effort, "effort"))
        )
        self._last_t = t
        return JointSample(message.stamp, t, q, qd, tau)

    def _present(self) -> JointSample:
        """Answer the newest joint states; DynError where none can be used."""
        self._take_waiting()
        if self._newest is None or self._known is None:
            raise DynError("no joint states of this robot have come on the topic joint_states")
        raw, came = self._newest
        silence = self._steady() - came
        if silence > self._settings.run.timeout:
            raise DynError(f"no joint states came for {silence:.2f} s, more than timeout allows")
        self._last_t = -float("inf")
        try:
            return self._sample(self._joint_states.read(raw), self._known)
        except Rejection as problem:
            raise DynError(f"the joint states cannot be used: {problem}") from problem

    def _earlier(self) -> JointSample | None:
        """Answer joint states of some tenths of a second before the newest, None where none can be used."""
        raw = self._lately.earlier
        if raw is None or self._known is None:
            return None
        try:
            self._last_t = -float("inf")
            return self._sample(self._joint_states.read(raw), self._known, of_any_age=True)
        except Rejection:
            return None

    # Diagnostics.

    def problem(self) -> str | Failure | None:
        """What is wrong at the moment, for /diagnostics."""
        return None

    def values(self) -> dict[str, str]:
        """Values for /diagnostics."""
        session = self._session
        doing = "nothing"
        if session is not None:
            doing = f"{session.what}, {session.stage.name.lower()} {100 * session.fraction:.0f} %"
        return {
            "robot": "none" if self._known is None else self._known.robot.name,
            "doing": doing,
            "samples": "0" if session is None else str(session.samples),
            "last": self._ended_with,
            "online": self._online.state,
        }


def main(arguments: list[str] | None = None) -> int:
    """Run the node."""
    return run(Identification, "identification", arguments)


if __name__ == "__main__":
    sys.exit(main())
