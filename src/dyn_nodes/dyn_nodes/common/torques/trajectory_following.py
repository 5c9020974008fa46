# SPDX-License-Identifier: Apache-2.0
"""Trajectories of ~/joint_trajectory and goals of ~/follow_joint_trajectory: checked, and then followed.

Both go the same way: long ones are checked in a thread while torques go on, and all are followed in the order
in which they came.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from trajectory_msgs.msg import JointTrajectory

from dyn_core import DynError
from dyn_nodes.common.data_checks import Notice, Rejection
from dyn_nodes.common.decoding import decoded, is_stop
from dyn_nodes.common.lifecycle.deferred_response import DeferredAction, Goal
from dyn_nodes.common.lifecycle.managed_node import sleeping_timer
from dyn_nodes.common.lifecycle.worker import Beside
from dyn_nodes.common.messages.message_stamps import nanoseconds_of
from dyn_nodes.common.messages.motion_message import points_of
from dyn_nodes.common.torques.goal_sizes import goal_size_problem
from dyn_nodes.common.torques.torque_maker import CheckedTrajectory, Running
from dyn_nodes.common.torques.trajectory_goals import FEEDBACK_S, TrajectoryGoals, follow_joint_trajectory

if TYPE_CHECKING:
    from dyn_nodes.common.torques.torque_node import TorqueNode

_TOPIC, _ACTION = "~/joint_trajectory", "~/follow_joint_trajectory"
SHORT_BYTES = 4000
"""Size of a trajectory that is checked at once (bytes): some thirty points of six joints, 2 ms."""
_SHORT_POINTS = 30
"""Points of a goal that is checked at once."""
_RESULT_KEPT_S = 10
"""How long a client can ask for a result (s): clients ask as soon as their goal is accepted."""


@dataclass(frozen=True, eq=False)
class _Request:
    """A trajectory for the robot in use: the bytes of a message, or a goal."""

    running: Running[Any]
    raw: bytes = b""
    goal: Goal | None = None

    @property
    def is_short(self) -> bool:
        """Whether it is checked at once."""
        if self.goal is None:
            return len(self.raw) <= SHORT_BYTES
        return len(self.goal.request.trajectory.points) <= _SHORT_POINTS


class TrajectoryFollowing:
    """Takes the trajectories of one node until `close`. State: requests that are being checked, and goals."""

    def __init__(self, node: TorqueNode[Any]) -> None:
        """Offer the action; the node passes on the messages of the topic."""
        self._node = node
        self._checks: Beside[_Request, CheckedTrajectory] = Beside(node, self.checked, self._on_checked)
        kind = follow_joint_trajectory()
        timer = sleeping_timer(node, FEEDBACK_S, lambda: self.goals.look())
        self.goals = TrajectoryGoals(node, kind, timer)
        takes = self.on_goal, self.goals.cancel
        action = DeferredAction(node, kind, _ACTION, *takes, _RESULT_KEPT_S, goal_size_problem)
        node.on_close(lambda: node.destroy_timer(timer))
        node.on_close(action.close)

    def on_message(self, raw: bytes) -> None:
        """Take a message of the topic."""
        running = self._node.active
        if running is None:
            return
        if is_stop(raw):
            self.forget()
        self._ask(_Request(running, raw))

    def on_goal(self, goal: Goal) -> None:
        """Take a goal of the action."""
        running, given = self._node.active, goal.request
        if running is None:
            self._refuse(goal, DynError("node-inactive"))
            return
        if isinstance(given, Rejection | DynError):
            self._refuse(goal, given)
            return
        self.goals.wait(goal)
        self._ask(_Request(running, goal=goal))

    def forget(self) -> None:
        """Forget trajectories that are still being checked, because of what came after them."""
        self._checks.forget()

    def supersede(self, topic: str) -> None:
        """Forget them, and end the goal that is followed, because of a reference on a topic."""
        self.forget()
        self.goals.end(Notice("goal-superseded", topic=topic))

    def checked(self, request: _Request) -> CheckedTrajectory:
        """Read and check a trajectory as far as this needs no present state, perhaps in a thread."""
        running, goal = request.running, request.goal
        if goal is None:
            message, tolerances = decoded(JointTrajectory, request.raw, _TOPIC), None
            if not message.points:
                return CheckedTrajectory(message)
        else:
            message = goal.request.trajectory
            _refuse_others(goal.request)
            tolerances = running.tolerances.of_goal(goal.request)
        points = points_of(message, running.robot, running.agreement)
        planned = running.maker.desired.checked(points)
        return self._node.check(running, CheckedTrajectory(message, points, planned, tolerances))

    def _ask(self, request: _Request) -> None:
        self._checks.ask(request, is_short=request.is_short)

    def _on_checked(self, request: _Request, checked: CheckedTrajectory | Exception) -> None:
        """Follow a trajectory that was checked, perhaps while torques went on."""
        node, goal = self._node, request.goal
        running = node.active
        if running is None or (goal is not None and not self.goals.is_waiting(goal)):
            return  # goals end when the node is deactivated
        if running is not request.running:
            self._ask(replace(request, running=running))
            return
        try:
            if isinstance(checked, Exception):
                raise checked
            node.check_clock()
            stamp_ns = nanoseconds_of(checked.message.header.stamp)
            stamp = node.time_from(stamp_ns) if stamp_ns else None
            t = node.node_time
            if goal is not None and running.maker.position is None:
                raise Rejection("joint-state-missing")
            result = node.follow(running, checked, t, stamp)
        except (DynError, Rejection) as problem:
            if goal is None:
                node.refuse("trajectories refused", _TOPIC, problem)
            else:
                self._refuse(goal, problem)
            return
        if goal is None:
            node.count("trajectories used")
            self.goals.end(Notice("goal-superseded", topic=_TOPIC))
        else:
            assert checked.points is not None
            assert checked.tolerances is not None
            zero = t if stamp is None else stamp
            self.goals.begin(goal, running, checked.points, zero, checked.tolerances)
        node.on_followed(result)

    def _refuse(self, goal: Goal, problem: DynError | Rejection) -> None:
        self._node.refuse("goals refused", _ACTION, problem)
        self.goals.refuse(goal, problem)


def _refuse_others(goal: Any) -> None:
    """Raise DynError for a goal for joints with several degrees of freedom, or without joints."""
    several = goal.multi_dof_trajectory
    for field, given in (
        ("multi_dof_trajectory", [*several.joint_names, *several.points]),
        ("component_path_tolerance", goal.component_path_tolerance),
        ("component_goal_tolerance", goal.component_goal_tolerance),
    ):
        if given:
            raise DynError("goal-multi-dof", field=field)
    if not goal.trajectory.points:
        raise DynError("trajectory-empty")
