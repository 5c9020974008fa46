# SPDX-License-Identifier: Apache-2.0
"""Node `governor`: changes references from a planner or teleoperation to motions that the actuators can make.

Feasible motions pass unchanged; others are slowed down on their path. The node reports each change: which
joint would have exceeded its limit, when, and by how much.

Subscribes:
    ~/joint_trajectory (trajectory_msgs/JointTrajectory): desired motion; an empty one stops.
    ~/reference (dyn_msgs/JointReference): desired motion at one instant, as a stream.
    joint_states (sensor_msgs/JointState): measured positions, from which trajectories begin.
    robot_description (std_msgs/String, transient_local): URDF, unless a parameter gives it; a new one is
        loaded while running.
Publishes:
    ~/feasible_trajectory (trajectory_msgs/JointTrajectory), ~/feasible_reference (dyn_msgs/JointReference):
        the same, feasible, for a controller.
    ~/interventions (dyn_msgs/Intervention): what was changed, and the joint that is the reason.
    /diagnostics (diagnostic_msgs/DiagnosticArray): the same in words and counts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from builtin_interfaces.msg import Time
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory

from dyn_core import DynError, Robot
from dyn_core.control.trajectories.piecewise_polynomials import Motion
from dyn_core.control.trajectories.trajectory import Trajectory
from dyn_core.feasibility.limit_violations import Excess
from dyn_core.feasibility.reference_governor import GovernedReference, InfeasibleReference
from dyn_core.feasibility.trajectory_governor import Governed
from dyn_msgs.msg import Intervention, JointReference
from dyn_nodes.common import qos
from dyn_nodes.common.clocks import NodeTime
from dyn_nodes.common.data_checks import Notice, Problem, Rejection, one_line
from dyn_nodes.common.decoding import decoded, is_stop, stamp_of
from dyn_nodes.common.lifecycle.process import run
from dyn_nodes.common.lifecycle.robot_node import RobotNode
from dyn_nodes.common.lifecycle.robot_source import DescribedRobot, Recipe
from dyn_nodes.common.lifecycle.worker import Beside
from dyn_nodes.common.messages.joint_state_bytes import JointStateBytes
from dyn_nodes.common.messages.message_stamps import check_stamp, nanoseconds_of, time_message
from dyn_nodes.common.messages.motion_message import check_passive, measured_motion, points_of, read_motion
from dyn_nodes.governor.governed_robot import GovernedRobot, governed_robot, with_points
from dyn_nodes.governor.parameters import declared_governor

_QUIET_PERIODS = 2.0
"""Periods of `rate` without a reference after which the node sends the rest of the path by itself."""


@dataclass(frozen=True, eq=False)
class _TrajectoryCheck:
    """A trajectory to make feasible, with the motion from which it begins."""

    using: GovernedRobot
    raw: bytes
    now_ns: int
    t: float  # the present (s)
    start: Motion | None
    running: Trajectory | None


class Governor(RobotNode[GovernedRobot]):
    """Makes motions feasible."""

    def __init__(self, *, steady: Callable[[], float] = time.monotonic, **node_options: Any) -> None:
        """Declare the parameters, and start; `steady` is a clock that never goes back (s)."""
        super().__init__("governor", **node_options)
        self._steady = steady
        self._settings = declared_governor(self)
        self._joint_states = JointStateBytes()
        # References have the fields of joint states under other names, and so the same bytes.
        self._reference_bytes = JointStateBytes("reference")
        self._epoch = 0
        self._stamp_ns = 0
        self._came_at = self._heard_at = self._told_at = steady()
        self._scaling = 1.0
        self._late: Notice | None = None
        self.start()

    def open(self) -> None:
        """Load the robot if the parameters give it, and open the topics."""
        self._time = NodeTime(self.get_clock())
        self._opened.append(self._time.close)
        publisher = self.lifecycle_publisher
        self._trajectories = publisher(JointTrajectory, "~/feasible_trajectory", qos.EACH_MESSAGE)
        self._references = publisher(JointReference, "~/feasible_reference", qos.COMMAND)
        self._interventions = publisher(Intervention, "~/interventions", qos.EACH_MESSAGE)
        self.open_diagnostics()
        self._trajectory_checks: Beside[_TrajectoryCheck, tuple[Governed, bytes | None]] = Beside(
            self, self._check_trajectory, self._on_checked
        )
        self.open_robot()
        self.subscribe(JointState, "joint_states", self._on_joint_state, qos.EACH_SAMPLE, raw=True)
        self.subscribe(JointReference, "~/reference", self._on_reference, qos.EACH_SAMPLE, raw=True)
        self.subscribe(JointTrajectory, "~/joint_trajectory", self._on_trajectory, qos.EACH_MESSAGE, raw=True)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin to listen."""
        self._timer = self.create_timer(1.0 / self._settings.rate, self._on_quiet)
        self._timer.cancel()
        return super().on_activate(state)

    def finish(self) -> None:
        """Stop passing motions, and forget the state."""
        super().finish()
        if self._running is not None:
            self._running.references.reset()
            self._running.running = self._running.measured = None

    # The robot.

    @property
    def robot(self) -> Robot | None:
        """The robot in use."""
        return None if self._running is None else self._running.robot

    @property
    def recipe(self) -> Recipe:
        """Function that makes the parts for a robot."""
        return partial(governed_robot, self._settings)

    def prepare(self, described: DescribedRobot) -> GovernedRobot:
        """Compile the dynamics of a robot; DynError where the parameters do not fit it."""
        return governed_robot(self._settings, described)

    def use(self, prepared: GovernedRobot) -> None:
        """Govern another robot from now on, from its next measured position."""
        self._running = prepared
        names = ", ".join(prepared.limits.joint_names)
        self.get_logger().info(f"governing robot '{prepared.robot.name}', joints {names}")

    # Motions.

    def _on_joint_state(self, raw: bytes) -> None:
        using = self.active
        if using is None:
            return
        try:
            message = self._joint_states.read(raw)
            if using.states.reader.concerns(message.name):
                stamp_ns = nanoseconds_of(message.stamp)
                self._check_stamp("joint state", stamp_ns)
                whole = using.states.whole(message, self._seconds(stamp_ns))
                if whole is not None:
                    using.measured = measured_motion(whole, using.states.reader, velocities=False).q
        except Rejection as problem:
            self.refuse("joint states refused", "joint_states", problem)

    def _on_trajectory(self, raw: bytes) -> None:
        using = self.active
        if using is None:
            return
        if is_stop(raw):
            self._stop(using, raw)
            return
        now_ns = self._time.nanoseconds()
        t = self._seconds(now_ns)
        referred = self._steady() - self._came_at <= self._settings.timeout
        begin = using.beginning(t, referred=referred)
        # A check takes seconds for the longest trajectory, also if that has few points.
        self._trajectory_checks.ask(_TrajectoryCheck(using, raw, now_ns, t, *begin), is_short=False)

    def _stop(self, using: GovernedRobot, raw: bytes) -> None:
        """Pass on a trajectory without points, which stops the motion."""
        try:
            decoded(JointTrajectory, raw, "~/joint_trajectory")
        except Rejection as problem:
            self._refuse_trajectory(problem, Time())
            return
        self._trajectory_checks.forget()
        using.running = None
        using.references.reset()
        self._pass("trajectories", self._trajectories, raw)

    def _refuse_trajectory(self, problem: DynError | Rejection, stamp: Time) -> None:
        self._interventions.publish(_refusal_message(problem, stamp))
        self.refuse("trajectories refused", "~/joint_trajectory", problem)

    def _check_trajectory(self, check: _TrajectoryCheck) -> tuple[Governed, bytes | None]:
        """Return a feasible trajectory, in a thread, and its message, None where it is unchanged."""
        using = check.using
        message = decoded(JointTrajectory, check.raw, "~/joint_trajectory")
        points = points_of(message, using.robot, using.agreement, using.ranges)
        stamp_ns = nanoseconds_of(message.header.stamp)
        stamp = self._seconds(stamp_ns) if stamp_ns else None
        governed = using.trajectories.governed(points, check.t, stamp, check.start, check.running)
        if governed.failures and self._settings.on_infeasible == "refuse":
            first = governed.failures[0]
            raise DynError("trajectory-infeasible", joint=first.excess.joint, violation=first)
        if governed.unchanged:
            return governed, None
        return governed, serialize_message(with_points(message, using.robot.coordinate_names, governed))

    def _on_checked(
        self, check: _TrajectoryCheck, checked: tuple[Governed, bytes | None] | Exception
    ) -> None:
        using = self.active
        if using is None:
            return
        if using is not check.using:
            self._on_trajectory(check.raw)
            return
        stamp = stamp_of(check.raw)
        try:
            if isinstance(checked, Exception):
                raise checked
        except (DynError, Rejection) as problem:
            self._refuse_trajectory(problem, stamp)
            return
        governed, changed = checked
        using.running = governed.trajectory
        using.references.reset()
        self._scaling = governed.factor
        if changed is None:
            self._pass("trajectories", self._trajectories, check.raw)
            return
        self._trajectories.publish(changed)
        change = _trajectory_change(governed)
        told = _trajectory_message(governed, change, time_message(nanoseconds_of(stamp) or check.now_ns))
        self._intervene("trajectories changed", change, told)

    def _on_reference(self, raw: bytes) -> None:
        using = self.active
        if using is None:
            return
        stamp_ns, in_order = 0, False
        try:
            message = self._reference_bytes.read(raw)
            stamp_ns = nanoseconds_of(message.stamp)
            self._check_stamp("reference", stamp_ns)
            self._check_order(using, stamp_ns)
            in_order = True
            given = read_motion(message, using.reference_reader)
            check_passive(using.agreement, given)
            governed = using.references.take(self._seconds(stamp_ns), given.q, given.qd, using.measured)
        except (DynError, Rejection, InfeasibleReference) as problem:
            if in_order and not using.references.behind:
                self._stamp_ns = stamp_ns
            self._refuse_reference(problem, stamp_ns)
            return
        self._trajectory_checks.forget()
        using.running = None
        self._stamp_ns, self._came_at = stamp_ns, self._steady()
        if governed.unchanged:
            self._late = None
            self._pass("references", self._references, raw)
            return
        self._send(using, governed, stamp_ns)
        if self._timer is not None and self._timer.is_canceled():
            self._timer.reset()

    def _check_order(self, using: GovernedRobot, stamp_ns: int) -> None:
        """Refuse a reference that does not follow the last one; after a pause it begins a new stream."""
        now = self._steady()
        paused = now - self._heard_at > self._settings.timeout
        self._heard_at = now
        if using.references.motion is None:
            return
        if paused and not using.references.behind:
            using.references.reset()
            return
        if stamp_ns <= self._stamp_ns:
            raise Rejection("reference-not-after-last")
        if not paused and 1e-9 * (stamp_ns - self._stamp_ns) > self._settings.timeout:
            raise Rejection("reference-stamp-leaps")

    def _on_quiet(self) -> None:
        """Send references up to the end of the path when no more come in."""
        using, timer = self.active, self._timer
        if using is None or timer is None:
            return
        if not using.references.behind:
            timer.cancel()
            self._late = None
            return
        period = 1.0 / self._settings.rate
        if self._steady() - self._came_at < _QUIET_PERIODS * period:
            return
        self._stamp_ns += round(1e9 * period)
        governed = using.references.advance(self._seconds(self._stamp_ns))
        self._send(using, governed, self._stamp_ns)

    def _refuse_reference(self, problem: Rejection | DynError | InfeasibleReference, stamp_ns: int) -> None:
        if isinstance(problem, InfeasibleReference):
            of = problem.excess
            problem = Rejection("reference-infeasible", joint=of.joint, quantity=of.quantity, excess=of)
        self.refuse("references refused", "~/reference", problem)
        now = self._steady()
        if now - self._told_at >= self._settings.tell_period:
            self._told_at = now
            self._interventions.publish(_refusal_message(problem, time_message(stamp_ns)))

    def _send(self, using: GovernedRobot, governed: GovernedReference, stamp_ns: int) -> None:
        stamp = time_message(stamp_ns)
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
        self._late = change = _reference_change(governed)
        if governed.asked and now - self._told_at >= self._settings.tell_period:
            self._told_at = now
            told = _reference_message(governed, change, stamp)
            self._intervene("references changed", change, told)
        else:
            self.count("references changed")

    def _pass(self, what: str, publisher: Any, raw: bytes) -> None:
        publisher.publish(raw)
        self.count(f"{what} passed")

    def _intervene(self, what: str, change: Notice, told: Intervention) -> None:
        """Report a change: as a message, on /diagnostics, and in the log with a limited rate."""
        self._interventions.publish(told)
        self._complaints.say(change, what)
        self.count(what, change)

    def _check_stamp(self, what: str, stamp_ns: int) -> None:
        check_stamp(what, stamp_ns, self._time.nanoseconds(), self._settings.max_age)

    def _seconds(self, nanoseconds: int) -> float:
        """Return a time (s) since the first one: a float since 1970 would have a resolution of 0.2 us."""
        if not self._epoch:
            self._epoch = nanoseconds
        return 1e-9 * (nanoseconds - self._epoch)

    # Diagnostics.

    def problem(self) -> Notice | None:
        """Return the present problem, for /diagnostics."""
        using = self.active
        if using is None or not using.references.behind:
            return None
        return self._late

    def values(self) -> dict[str, str]:
        """Return values for /diagnostics."""
        using = self._running
        if using is None:
            return {}
        return {
            "robot": using.robot.name,
            "last time scaling": f"{self._scaling:.4g}",
            "lag": f"{using.references.lag:.4g} s",
        }


# Messages about what was changed


def _trajectory_change(governed: Governed) -> Notice:
    """Return what was changed of a trajectory, and why."""
    if not governed.failures:
        return Notice("trajectory-completed")
    worst = max(governed.failures, key=lambda failure: failure.excess.part)
    joint, factor = worst.excess.joint, governed.factor
    others = len({failure.excess.joint for failure in governed.failures}) - 1
    if not others:
        return Notice("trajectory-slowed", joint=joint, violation=worst, factor=factor)
    return Notice("trajectory-slowed-by-joints", joint=joint, violation=worst, factor=factor, others=others)


def _trajectory_message(governed: Governed, change: Notice, stamp: Time) -> Intervention:
    """Return the message about the change of a trajectory that begins at `stamp`."""
    action = Intervention.SLOWED if governed.failures else Intervention.COMPLETED
    excesses = [failure.excess for failure in governed.failures]
    times = [failure.time for failure in governed.failures]
    return _message(action, stamp, excesses, times, governed.factor, 0.0, change)


def _reference_change(governed: GovernedReference) -> Notice:
    """Return what was changed of references, and why."""
    if _is_off(governed):
        change = Notice("reference-off-path", distance=governed.distance)
    else:
        change = Notice("references-slowed", rate=100.0 * governed.rate, lag=governed.lag)
    if not governed.asked:
        return change
    excess = governed.asked[0]
    return Notice("reference-beyond-limit", joint=excess.joint, excess=excess, change=change)


def _reference_message(governed: GovernedReference, change: Notice, stamp: Time) -> Intervention:
    """Return the message about the change of references."""
    asked = governed.asked
    action = Intervention.OFF_PATH if _is_off(governed) else Intervention.SLOWED
    factor = 1.0 / governed.rate if governed.rate > 0.0 else math.inf
    return _message(action, stamp, asked, [0.0] * len(asked), factor, governed.lag, change)


def _is_off(governed: GovernedReference) -> bool:
    """Return whether a joint has left the path."""
    return governed.distance > 1e-6


def _refusal_message(problem: Problem, stamp: Time) -> Intervention:
    """Return the message that a motion was refused, and why."""
    return _message(Intervention.REFUSED, stamp, (), (), 0.0, 0.0, problem)


def _message(
    action: int,
    stamp: Time,
    asked: Sequence[Excess],
    times: Sequence[float],
    time_scaling: float,
    lag: float,
    problem: Problem,
) -> Intervention:
    return Intervention(
        header=Header(stamp=stamp),
        action=action,
        joint=[excess.joint for excess in asked],
        quantity=[excess.quantity for excess in asked],
        time=[float(time) for time in times],
        value=[excess.value for excess in asked],
        limit=[excess.limit for excess in asked],
        time_scaling=float(time_scaling),
        lag=float(lag),
        message=one_line(str(problem)),
    )


def main(arguments: list[str] | None = None) -> int:
    """Run the node."""
    return run(Governor, "governor", arguments)
