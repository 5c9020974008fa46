# SPDX-License-Identifier: Apache-2.0
"""Goals of ~/follow_joint_trajectory that are followed: feedback, tolerances, stop, result.

One goal is followed at a time. Whatever ends its motion ends the goal, with a result that says why.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from rclpy.timer import Timer
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectoryPoint

from dyn_core.control.laws.base_measurement import DerivativeFilter
from dyn_core.control.trajectories.piecewise_polynomials import Motion
from dyn_core.control.trajectories.trajectory import Trajectory
from dyn_core.control.trajectories.trajectory_planning import TrajectoryPoints
from dyn_core.core.arrays import Array
from dyn_msgs.action import FollowJointTrajectory
from dyn_nodes.common.data_checks import Notice, Problem, Rejection, one_line
from dyn_nodes.common.lifecycle.deferred_response import Goal, Outcome
from dyn_nodes.common.messages.joint_state_bytes import JointStates
from dyn_nodes.common.messages.message_stamps import time_message
from dyn_nodes.common.messages.motion_message import doubles, duration_message
from dyn_nodes.common.torques.goal_tolerances import Tolerances
from dyn_nodes.common.torques.torque_maker import Running

if TYPE_CHECKING:
    from dyn_nodes.common.torques.torque_node import TorqueNode

FEEDBACK_S = 0.05
"""Time between two messages of feedback, and two looks for stale data (s)."""
_GRACE_S = 1.0
"""Longest time between the end of a stop and the standstill of the robot (s)."""
_PATIENCE = 10.0
"""The same on a steady clock, in times of stop and standstill: simulated time may be slow, or stand."""
_CUTOFF_HZ = 30.0
"""Cutoff for velocities that joint states do not give."""
Codes = FollowJointTrajectory.Result
"""Constants of results: those of control_msgs are the same."""
_OF_JOINTS = (
    "trajectory-joint-unknown",
    "trajectory-joint-missing",
    "trajectory-joint-repeated",
    "tolerance-joint-unknown",
    "tolerance-joint-repeated",
)
"""Codes of problems with the joints of a goal."""


def follow_joint_trajectory() -> Any:
    """Return the type of the action: that of control_msgs where it is installed, else that of dyn_msgs."""
    try:
        return import_module("control_msgs.action").FollowJointTrajectory
    except (ImportError, AttributeError):
        return FollowJointTrajectory


class _End(NamedTuple):
    """How a goal ends."""

    outcome: Outcome
    code: int
    reason: str


class _Measured(NamedTuple):
    """A measured motion."""

    t: float  # time of its stamp (s)
    q: Array
    qd: Array
    at: float  # when it came, on a steady clock (s)


@dataclass(eq=False)
class _Followed:
    """A goal, and the trajectory that is followed for it."""

    goal: Goal
    running: Running[Any]
    points: TrajectoryPoints
    zero: float  # time from which the points count (s)
    tolerances: Tolerances
    trajectory: Trajectory
    velocities: DerivativeFilter
    since: float  # on a steady clock (s)
    measured: _Measured | None = None
    end: _End | None = None  # while the robot is brought to rest
    over_by: float = math.inf  # on a steady clock, also where that of the node stands (s)


class TrajectoryGoals:
    """The goals of one node: at most one is followed, others are being checked."""

    def __init__(self, node: TorqueNode[Any], kind: Any, timer: Timer) -> None:
        """Begin without goals; `kind` is the type of the action, `timer` calls `look` while it runs."""
        self._node = node
        self._kind = kind
        self._timer = timer
        self._checked: list[Goal] = []
        self._current: _Followed | None = None

    def wait(self, goal: Goal) -> None:
        """Keep a goal that is being checked."""
        self._checked.append(goal)

    def is_waiting(self, goal: Goal) -> bool:
        """Return whether a goal has no result yet and is not followed."""
        return any(one is goal for one in self._checked)

    def refuse(self, goal: Goal, problem: Problem) -> None:
        """End a goal that is not followed."""
        code = Codes.INVALID_GOAL
        if problem.code in _OF_JOINTS:
            code = Codes.INVALID_JOINTS
        elif problem.code == "trajectory-past":
            code = Codes.OLD_HEADER_TIMESTAMP
        self._checked = [one for one in self._checked if one is not goal]
        self._finish(goal, _End("abort", code, _words(problem)))

    def begin(
        self, goal: Goal, running: Running[Any], points: TrajectoryPoints, zero: float, tolerances: Tolerances
    ) -> None:
        """Take a goal whose trajectory is followed from now on; its points count from `zero` (s)."""
        self.end(Notice("goal-preempted"))
        self._checked = [one for one in self._checked if one is not goal]
        trajectory = running.maker.desired.trajectory
        assert trajectory is not None
        velocities = DerivativeFilter(running.robot.coordinate_names, _CUTOFF_HZ)
        now = self._node.steady()
        self._current = _Followed(goal, running, points, zero, tolerances, trajectory, velocities, now)
        self._timer.reset()

    def cancel(self, goal: Goal) -> None:
        """Bring the robot to rest, and end a goal that its client cancels."""
        if self.is_waiting(goal):
            self._checked = [one for one in self._checked if one is not goal]
            self._finish(goal, _cancelled())
        elif self._current is not None and self._current.goal is goal:
            self._stop(self._current, _cancelled())

    def end(self, reason: Problem) -> None:
        """End the goal that is followed at once, where its motion is over or another one took over."""
        current = self._current
        if current is not None:
            end = _cancelled() if current.goal.is_cancelled else _aborted(reason)
            self._over(current, current.end or end)

    def end_all(self, reason: Problem) -> None:
        """End all goals at once."""
        self.end(reason)
        while self._checked:
            self._finish(self._checked.pop(), _aborted(reason))

    def stop(self, reason: Problem) -> None:
        """Bring the robot to rest, and end the goal that is followed."""
        if self._current is not None:
            self._stop(self._current, _aborted(reason))

    def measure(self, running: Running[Any], message: JointStates, q: Array, t: float) -> None:
        """Compare a measured position (rad or m), (n,), of time t (s) with the trajectory."""
        current = self._current
        if current is None or running is not current.running:
            return
        try:
            qd = running.states.reader.values_or_none(message.velocity, "velocity")
        except Rejection:
            qd = None
        if qd is None:
            (qd,) = current.velocities.update(t, q)
        current.measured = _Measured(t, q, qd, self._node.steady())
        trajectory, tolerances = current.trajectory, current.tolerances
        late = t - trajectory.end
        if current.end is not None:
            if late > 0.0 and tolerances.at_rest(qd):
                self._over(current, current.end)
            return
        desired = trajectory.motion(t)
        error, rate = q - desired.q, qd - desired.qd
        if late > 0.0:
            far = tolerances.at_the_end(error, rate, late)
            if far is None:
                self._over(current, _End("succeed", Codes.SUCCESSFUL, ""))
            elif late > tolerances.goal_time:
                self._over(current, _End("abort", Codes.GOAL_TOLERANCE_VIOLATED, _words(far)))
        elif t >= trajectory.start:
            far = tolerances.on_the_way(error, rate, t - current.zero)
            if far is not None:
                self._stop(current, _End("abort", Codes.PATH_TOLERANCE_VIOLATED, _words(far)))

    def look(self) -> None:
        """Send feedback; end the goal where joint states are stale, or its motion was dropped."""
        current = self._current
        if current is None:
            return
        measured = current.measured
        stale = self._node.silence_of_joint_states(current.since if measured is None else measured.at)
        if self._is_dropped(current):
            self.end(Notice("goal-motion-dropped"))
        elif current.end is None and stale is not None:
            self.stop(stale)
        elif current.end is not None and self._is_late(current, stale=stale is not None):
            reason = _words(Notice("goal-not-at-rest", cause=current.end.reason))
            self._over(current, current.end._replace(reason=reason))
        elif measured is not None:
            current.goal.tell(self._feedback(current, measured))

    def _stop(self, current: _Followed, end: _End) -> None:
        if current.end is not None:
            return
        if self._is_dropped(current):
            self.end(Notice("goal-motion-dropped"))
            return
        current.end = end
        begin, now = self._node.node_time, self._node.steady()
        current.trajectory = self._node.bring_to_rest(current.running)
        current.over_by = now + _PATIENCE * (current.trajectory.end - begin + _GRACE_S)

    @staticmethod
    def _is_dropped(current: _Followed) -> bool:
        """Return whether the node follows its trajectory no longer."""
        return current.running.maker.desired.trajectory is not current.trajectory

    def _is_late(self, current: _Followed, *, stale: bool) -> bool:
        """Return whether a robot that was told to stop should be at rest, or cannot be seen."""
        late = self._node.node_time - current.trajectory.end
        return late > (0.0 if stale else _GRACE_S) or self._node.steady() > current.over_by

    def _over(self, current: _Followed, end: _End) -> None:
        self._current = None
        self._timer.cancel()
        self._node.count(f"goals {_COUNTED[end.outcome]}")
        self._finish(current.goal, end)

    def _finish(self, goal: Goal, end: _End) -> None:
        goal.finish(end.outcome, self._kind.Result(error_code=end.code, error_string=end.reason))

    def _feedback(self, current: _Followed, measured: _Measured) -> Any:
        t, q, qd, _ = measured
        desired = current.trajectory.motion(t)
        times = current.points.times
        stamp = self._node.stamp_at(t)
        message = self._kind.Feedback(
            header=Header(stamp=time_message(stamp.sec * 10**9 + stamp.nanosec)),
            joint_names=list(current.points.joint_names),
            desired=_point(desired, t - current.zero),
            actual=_point(Motion(q, qd, np.empty(0)), t - current.zero),
            error=_point(Motion(desired.q - q, desired.qd - qd, np.empty(0)), t - current.zero),
        )
        if hasattr(message, "index"):  # it came with control_msgs 6.3
            coming = int(np.searchsorted(times, t - current.zero, side="right"))
            message.index = min(coming, len(times) - 1)
        return message


_COUNTED = {"succeed": "reached", "abort": "aborted", "canceled": "cancelled"}


def _cancelled() -> _End:
    return _End("canceled", Codes.SUCCESSFUL, _words(Notice("goal-cancelled")))


def _aborted(reason: Problem) -> _End:
    return _End("abort", Codes.INVALID_GOAL, _words(reason))


def _words(problem: Problem) -> str:
    return one_line(str(problem))


def _point(motion: Motion, time: float) -> JointTrajectoryPoint:
    return JointTrajectoryPoint(
        positions=doubles(motion.q),
        velocities=doubles(motion.qd),
        accelerations=doubles(motion.qdd),
        time_from_start=duration_message(time),
    )
