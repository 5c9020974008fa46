# SPDX-License-Identifier: Apache-2.0
"""A goal of ~/run_trajectory: the robot moves and is recorded."""

from __future__ import annotations

from dyn_core import DynError
from dyn_msgs.action import RunTrajectory
from dyn_nodes.common.messages.motion_message import points_of
from dyn_nodes.identification.session import Session


class RunSession(Session):
    """Motion and recording."""

    what = "a run of a trajectory"

    def begin(self) -> None:
        """Begin the motion of the goal."""
        request = self._goal.request
        if not request.trajectory.points:
            raise DynError("the trajectory has no points: give the motion that is to be recorded")
        if not request.repetitions:
            raise DynError("repetitions are 0: give at least 1")
        points = points_of(request.trajectory, self._known.robot, self._known.agreement)
        self.move(points, request.repetitions)

    def moved(self) -> None:
        """All is done."""
        self.end()

    def feedback(self) -> RunTrajectory.Feedback:
        """Answer how far the motion is."""
        run = self._run
        return RunTrajectory.Feedback(
            fraction=self.fraction,
            worst_joint="" if run is None else run.worst_joint,
            tracking_error=0.0 if run is None else run.worst_error,
        )

    def result(self, problem: str) -> RunTrajectory.Result:
        """Answer where the recording is."""
        return RunTrajectory.Result(
            success=not problem,
            message=problem,
            log_file=str(self._recording.file) if self._recording is not None and self.samples else "",
            samples=self.samples,
        )
