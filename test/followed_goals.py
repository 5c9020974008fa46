# SPDX-License-Identifier: Apache-2.0
"""Goals of ~/follow_joint_trajectory at a node in simulated time, and a robot that follows exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration
from loose_node import LooseNode
from message_makers import NAMES, duration, to_rest_at
from numpy.typing import NDArray
from stepped_session import FakeGoal
from trajectory_msgs.msg import JointTrajectory

from dyn_core.control.trajectories.piecewise_polynomials import Motion
from dyn_msgs.action import FollowJointTrajectory
from dyn_msgs.msg import JointTolerance
from dyn_nodes.common.torques.trajectory_goals import follow_joint_trajectory

Codes = FollowJointTrajectory.Result
START, GOAL = (0.1, 0.2, 0.05), (0.5, -0.2, 0.25)
STEP_S = 0.01


def tolerance(name: str, **values: float) -> JointTolerance:
    return JointTolerance(name=name, **values)


def request(
    trajectory: JointTrajectory,
    path: Sequence[Any] = (),
    goal: Sequence[Any] = (),
    time: Duration | None = None,
) -> Any:
    """Return a goal of the type that nodes use, whichever package has it."""
    kind = follow_joint_trajectory()
    made = kind.Goal(trajectory=trajectory, goal_time_tolerance=time or duration(0.0))
    for given, taken in ((path, made.path_tolerance), (goal, made.goal_tolerance)):
        for one in given:
            own = _tolerance_type(made)()
            for field in own.get_fields_and_field_types():
                setattr(own, field, getattr(one, field))
            taken.append(own)
    return made


def _tolerance_type(goal: Any) -> type:
    module = type(goal).__module__.split(".")[0]
    imported: Any = __import__(f"{module}.msg", fromlist=["JointTolerance"])
    return imported.JointTolerance  # type: ignore[no-any-return]


class Bench:
    """A node, and a robot that follows it `away` (rad or m) from its desired motion."""

    def __init__(self, loose: LooseNode, at: Sequence[float] = START) -> None:
        self.loose = loose
        self.away: NDArray[np.float64] = np.zeros(len(at))
        self.names = list(loose.node._running.robot.coordinate_names)  # type: ignore[attr-defined]
        self._at = np.array(at)
        self.wanted: list[Motion] = []
        self.silent = False
        self.measure()

    @property
    def maker(self) -> Any:
        return self.loose.node._running.maker  # type: ignore[attr-defined]

    @property
    def goals(self) -> Any:
        return self.loose.node.trajectories.goals  # type: ignore[attr-defined]

    @property
    def desired(self) -> Motion:
        found = self.maker.desired.at(self.loose.node.node_time)  # type: ignore[attr-defined]
        return Motion.at_rest(self._at) if found is None else found

    def measure(self) -> None:
        desired = self.desired
        self.wanted.append(desired)
        self.loose.measure((desired.q + self.away).tolist(), desired.qd.tolist(), self.names)

    def follow(self, trajectory: JointTrajectory, **tolerances: Any) -> FakeGoal:
        """Send a goal."""
        goal = FakeGoal(request(trajectory, **tolerances))
        self.loose.node.trajectories.on_goal(goal)  # type: ignore[attr-defined]
        return goal

    def go(self, seconds: float = 1.0, place: Sequence[float] = GOAL, **tolerances: Any) -> FakeGoal:
        """Send a goal to a place."""
        return self.follow(to_rest_at(place, seconds, self.names), **tolerances)

    def run(self, seconds: float) -> None:
        """Let time pass; the robot reports unless it is `silent`."""
        for _ in range(round(seconds / STEP_S)):
            self.loose.pass_time(STEP_S)
            if self.silent:
                self.wanted.append(self.desired)
            else:
                self.measure()

    def run_until_over(self, goal: FakeGoal, longest: float = 10.0) -> tuple[str, int]:
        """Let time pass until a goal has its result; return outcome and code."""
        for _ in range(round(longest / STEP_S)):
            if goal.ends:
                break
            self.run(STEP_S)
        ((outcome, result),) = goal.ends
        return outcome, result.error_code

    def cancel(self, goal: FakeGoal) -> None:
        self.goals.cancel(goal)


def end_of(goal: FakeGoal) -> tuple[str, int]:
    """Return outcome and code of a goal that has ended."""
    ((outcome, result),) = goal.ends
    return outcome, result.error_code


__all__ = ["NAMES", "Bench", "Codes", "end_of", "request", "tolerance"]
