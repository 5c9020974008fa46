# SPDX-License-Identifier: Apache-2.0
"""Node `governor`: between what wishes motions and what controls them, lets through what actuators can do.

What is feasible goes on untouched; the rest is slowed down on its path. Each time it says which joint asked
for too much, when, and by how much.

Subscribes:
    ~/joint_trajectory (trajectory_msgs/JointTrajectory): wished motion; an empty one stops.
    ~/reference (dyn_msgs/JointReference): wished motion at one instant, as a stream.
    joint_states (sensor_msgs/JointState): measured positions, from which trajectories begin.
    robot_description (std_msgs/String, transient_local): URDF, unless a parameter gives it; a new one is
        loaded while running.
Publishes:
    ~/feasible_trajectory (trajectory_msgs/JointTrajectory), ~/feasible_reference (dyn_msgs/JointReference):
        the same, feasible, for a controller.
    ~/interventions (dyn_msgs/Intervention): what was changed, and because of which joint.
    /diagnostics (diagnostic_msgs/DiagnosticArray): the same in words and counts.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from builtin_interfaces.msg import Time
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from rclpy.serialization import deserialize_message
from rclpy.timer import Timer
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory

from dyn_core import DynError, Robot
from dyn_core.feasibility.reference_governor import GovernedReference, InfeasibleReference
from dyn_msgs.msg import Intervention, JointReference
from dyn_nodes import intervention
from dyn_nodes.common import qos
from dyn_nodes.common.data_checks import one_line
from dyn_nodes.common.lifecycle.diagnostics import Failure
from dyn_nodes.common.lifecycle.process import run
from dyn_nodes.common.lifecycle.robot_node import RobotNode
from dyn_nodes.common.messages.joint_reader import check_age
from dyn_nodes.common.messages.joint_state_bytes import JointStateBytes
from dyn_nodes.common.messages.motion_message import points_of
from dyn_nodes.common.torques.torque_node import nanoseconds_of
from dyn_nodes.governor.governed_robot import Governing, governing, with_points
from dyn_nodes.governor.parameters import declared_governor
from dyn_nodes.motion_message import measured_motion, read_motion
from dyn_nodes.node_time import NodeTime
from dyn_nodes.passive_reference import check_passive
from dyn_nodes.rejection import Rejection
from dyn_nodes.robot_source import DescribedRobot
from dyn_nodes.standing_base import refuse_moving_base

_QUIET_PERIODS = 2.0
"""Periods of `rate` without a reference after which the rest of the path goes out by itself."""


class Governor(RobotNode[Governing]):
    """Feasible motions from wished ones."""

    def __init__(self, *, steady: Callable[[], float] = time.monotonic, **node_options: Any) -> None:
        """Declare the parameters, and start; DynError when they, or the robot that they name, are bad.

        Args:
            steady: a clock that never goes back (s).
            node_options: of the node.
        """
        super().__init__("governor", **node_options)
        self._steady = steady
        self._settings = declared_governor(self)
        self._using: Governing | None = None
        self._timer: Timer | None = None
        self._joint_states = JointStateBytes()
        # References have the same fields as joint states under other names, and so the same bytes.
        self._wishes = JointStateBytes("reference")
        self._epoch = 0
        self._stamp_ns = 0
        self._came_at = self._heard_at = self._told_at = steady()
        self._scaling = 1.0
        self._late: str | None = None
        self.start()

    def open(self) -> None:
        """Load the robot if the parameters give it, and open the topics."""
        self._time = NodeTime(self.get_clock())
        self._opened.append(self._time.close)
        self._trajectories = self.lifecycle_publisher(
            JointTrajectory, "~/feasible_trajectory", qos.EACH_MESSAGE
        )
        self._references = self.lifecycle_publisher(JointReference, "~/feasible_reference", qos.COMMAND)
        self._interventions = self.lifecycle_publisher(Intervention, "~/interventions", qos.EACH_MESSAGE)
        self.open_diagnostics()
        self.open_robot()
        self.subscribe(JointState, "joint_states", self._on_joint_state, qos.EACH_SAMPLE, raw=True)
        self.subscribe(JointReference, "~/reference", self._on_reference, qos.EACH_SAMPLE, raw=True)
        self.subscribe(JointTrajectory, "~/joint_trajectory", self._on_trajectory, qos.EACH_MESSAGE, raw=True)

    def close(self) -> None:
        """Close the topics, and forget the robot."""
        self._stop()
        self.close_all()
        self._using = None

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin to listen."""
        self._timer = self.create_timer(1.0 / self._settings.rate, self._on_quiet)
        self._timer.cancel()
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Let nothing through any more, and forget what was."""
        self._stop()
        return super().on_deactivate(state)

    def _stop(self) -> None:
        if self._timer is not None:
            self.destroy_timer(self._timer)
            self._timer = None
        if self._using is not None:
            self._using.references.reset()
            self._using.running = self._using.measured = None

    # The robot.

    @property
    def robot(self) -> Robot | None:
        """The robot in use."""
        return None if self._using is None else self._using.robot

    @property
    def _active(self) -> Governing | None:
        """The robot in use while the node is active."""
        return None if self._timer is None else self._using

    def prepare(self, described: DescribedRobot) -> Governing:
        """Compile the dynamics of a robot; DynError where the parameters do not fit it."""
        refuse_moving_base(described.robot, "the governor")
        return governing(described.robot, self._settings)

    def use(self, prepared: Governing) -> None:
        """Govern another robot from now on, from where it is measured next."""
        self._using = prepared
        names = ", ".join(prepared.limits.joint_names)
        self.get_logger().info(f"governing robot '{prepared.robot.name}', joints {names}")

    # Motions.

    def _on_joint_state(self, raw: bytes) -> None:
        using = self._active
        if using is None:
            return
        try:
            message = self._joint_states.read(raw)
            if using.states.concerns(message.name):
                self._check_age("joint state", nanoseconds_of(message.stamp))
                using.measured = measured_motion(message, using.states, velocities=False).q
        except Rejection as problem:
            self.refuse("joint states refused", "joint_states", problem)

    def _on_trajectory(self, raw: bytes) -> None:
        using = self._active
        if using is None:
            return
        message = deserialize_message(raw, JointTrajectory)
        now_ns, stamp_ns = self._time.nanoseconds(), nanoseconds_of(message.header.stamp)
        t = self._seconds(now_ns)
        if not message.points:
            using.running = None
            using.references.reset()
            self._pass("trajectories", self._trajectories, raw)
            return
        try:
            points = points_of(message, using.robot, using.agreement, using.ranges)
            referred = self._steady() - self._came_at <= self._settings.timeout
            stamp = self._seconds(stamp_ns) if stamp_ns else None
            governed = using.governed(points, t, stamp, referred=referred)
            if governed.failures and self._settings.on_infeasible == "refuse":
                raise DynError(governed.failures[0].sentence)
        except (DynError, Rejection) as problem:
            self._interventions.publish(intervention.refused(str(problem), message.header.stamp))
            self.refuse("trajectories refused", "~/joint_trajectory", problem)
            return
        using.running = governed.trajectory
        using.references.reset()
        self._scaling = governed.factor
        if governed.unchanged:
            self._pass("trajectories", self._trajectories, raw)
            return
        self._trajectories.publish(with_points(message, using.robot.coordinate_names, governed))
        begin = _time(stamp_ns or now_ns)
        self._intervene("trajectories changed", intervention.of_trajectory(governed, begin))

    def _on_reference(self, raw: bytes) -> None:
        using = self._active
        if using is None:
            return
        stamp_ns, in_order = 0, False
        try:
            message = self._wishes.read(raw)
            stamp_ns = nanoseconds_of(message.stamp)
            self._check_age("reference", stamp_ns)
            self._check_order(using, stamp_ns)
            in_order = True
            given = read_motion(message, using.wishes)
            check_passive(using.agreement, given)
            governed = using.references.take(self._seconds(stamp_ns), given.q, given.qd, using.measured)
        except (DynError, Rejection, InfeasibleReference) as problem:
            if in_order and not using.references.behind:
                self._stamp_ns = stamp_ns
            self._refuse_reference(problem, stamp_ns)
            return
        using.running = None
        self._stamp_ns, self._came_at = stamp_ns, self._steady()
        if governed.unchanged:
            self._late = None
            self._pass("references", self._references, raw)
            return
        self._send(using, governed, stamp_ns)
        if self._timer is not None and self._timer.is_canceled():
            self._timer.reset()

    def _check_order(self, using: Governing, stamp_ns: int) -> None:
        """Refuse a reference that does not follow the last one; after a pause it begins a stream."""
        now = self._steady()
        paused = now - self._heard_at > self._settings.timeout
        self._heard_at = now
        if using.references.motion is None:
            return
        if paused and not using.references.behind:
            using.references.reset()
            return
        if stamp_ns <= self._stamp_ns:
            raise Rejection("reference is not stamped after the last one", "reference is not in order")
        if not paused and 1e-9 * (stamp_ns - self._stamp_ns) > self._settings.timeout:
            raise Rejection(
                "reference is stamped long after the last one, which came just before it",
                "reference is not in order",
            )

    def _on_quiet(self) -> None:
        """Let references out that are still to be reached, when no more come in."""
        using, timer = self._active, self._timer
        if using is None or timer is None:
            return
        if not using.references.behind:
            timer.cancel()
            self._late = None
            return
        period = 1.0 / self._settings.rate
        now = self._steady()
        if now - self._came_at < _QUIET_PERIODS * period:
            return
        self._stamp_ns += round(1e9 * period)
        governed = using.references.advance(self._seconds(self._stamp_ns))
        self._send(using, governed, self._stamp_ns)

    def _refuse_reference(self, problem: Rejection | DynError | InfeasibleReference, stamp_ns: int) -> None:
        if isinstance(problem, InfeasibleReference):
            of = problem.excess
            problem = Rejection(of.sentence, f"{of.joint} {of.quantity}")
        self.refuse("references refused", "~/reference", problem)
        now = self._steady()
        if now - self._told_at >= self._settings.tell_period:
            self._told_at = now
            self._interventions.publish(intervention.refused(str(problem), _time(stamp_ns)))

    def _send(self, using: Governing, governed: GovernedReference, stamp_ns: int) -> None:
        stamp = _time(stamp_ns)
        self._references.publish(
            JointReference(
                header=Header(stamp=stamp),
                name=list(using.robot.coordinate_names),
                position=governed.q.tolist(),
                velocity=governed.qd.tolist(),
                acceleration=governed.qdd.tolist(),
            )
        )
        self._scaling = 1.0 / governed.rate if governed.rate else float("inf")
        now = self._steady()
        told = intervention.of_reference(governed, governed.asked, stamp)
        self._late = told.message
        if governed.asked and now - self._told_at >= self._settings.tell_period:
            self._told_at = now
            self._intervene("references changed", told)
        else:
            self.count("references changed")

    def _pass(self, what: str, publisher: Any, raw: bytes) -> None:
        publisher.publish(raw)
        self.count(f"{what} passed")

    def _intervene(self, what: str, told: Intervention) -> None:
        """Tell of a change: as a message, on /diagnostics, and in the log not too often."""
        self._interventions.publish(told)
        sentence = one_line(told.message)
        self._complaints.say(sentence, what)
        self.count(what, sentence)

    def _check_age(self, what: str, stamp_ns: int) -> None:
        check_age(what, stamp_ns, self._time.nanoseconds(), self._settings.max_age)

    def _seconds(self, nanoseconds: int) -> float:
        """Answer a time (s) from an epoch near to it: from 1970 it would be resolved to 0.2 us only."""
        if not self._epoch:
            self._epoch = nanoseconds
        return 1e-9 * (nanoseconds - self._epoch)

    # Diagnostics.

    def problem(self) -> str | Failure | None:
        """What is wrong at the moment, for /diagnostics."""
        using = self._active
        if using is None or not using.references.behind:
            return None
        return self._late

    def values(self) -> dict[str, str]:
        """Values for /diagnostics."""
        using = self._using
        if using is None:
            return {}
        return {
            "robot": using.robot.name,
            "last time scaling": f"{self._scaling:.4g}",
            "lag": f"{using.references.lag:.4g} s",
        }


def _time(nanoseconds: int) -> Time:
    seconds, rest = divmod(nanoseconds, 10**9)
    return Time(sec=seconds, nanosec=rest)


def main(arguments: list[str] | None = None) -> int:
    """Run the node."""
    return run(Governor, "governor", arguments)


if __name__ == "__main__":
    sys.exit(main())
