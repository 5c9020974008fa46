# SPDX-License-Identifier: Apache-2.0
"""The goals of ~/run_trajectory and ~/identify."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dyn_core import DynError
from dyn_core.control.trajectories.trajectory_planning import TrajectoryPoints
from dyn_msgs.action import Identify, RunTrajectory
from dyn_msgs.msg import IdentificationProgress, IdentificationResult
from dyn_nodes.common.data_checks import Notice, Problem, one_line
from dyn_nodes.common.lifecycle.deferred_response import Goal
from dyn_nodes.common.messages.motion_message import points_of
from dyn_nodes.identification.computation_requests import Estimate, Excite, Stage
from dyn_nodes.identification.recording import new_directory
from dyn_nodes.identification.result_handover import result_message
from dyn_nodes.identification.session import JointSample, KnownRobot, Session, SessionContext


class RunSession(Session):
    """Motion and recording."""

    what = "a run of a trajectory"

    def begin(self) -> None:
        """Begin the motion of the goal; refuse a goal without one."""
        request = self._goal.request
        if not request.trajectory.points:
            raise DynError("goal-without-points")
        if not request.repetitions:
            raise DynError("repetitions-zero")
        points = points_of(request.trajectory, self._known.robot, self._known.agreement)
        self.move(points, request.repetitions)

    def moved(self) -> None:
        """End with success."""
        self.end()

    def feedback(self) -> RunTrajectory.Feedback:
        """Return the progress of the motion."""
        run = self._run
        return RunTrajectory.Feedback(
            fraction=self.fraction,
            worst_joint="" if run is None else run.worst_joint,
            tracking_error=0.0 if run is None else run.worst_error,
        )

    def result(self, problem: Problem | None) -> RunTrajectory.Result:
        """Return the path of the recording."""
        return RunTrajectory.Result(
            success=problem is None,
            message="" if problem is None else one_line(str(problem)),
            log_file=str(self._recording.file) if self._recording is not None and self.samples else "",
            samples=self.samples,
        )


class IdentifySession(Session):
    """Excitation, motion, recording, estimation, validation."""

    what = "an identification"

    def __init__(
        self,
        known: KnownRobot,
        goal: Goal,
        around: SessionContext,
        publish: Callable[[IdentificationResult], None],
    ) -> None:
        """Take a goal for a robot; `publish` takes the result of a success."""
        super().__init__(known, goal, around)
        self._publish = publish
        self._outcome = IdentificationResult()

    def begin(self) -> None:
        """Begin with the first stage of the goal."""
        request, around = self._goal.request, self._around
        if request.log_file and request.trajectory.points:
            raise DynError("goal-input-repeated")
        if request.log_file:
            self._directory = new_directory(around.settings.directory, self._known.robot.name)
            self._estimate(Path(request.log_file))
        elif request.trajectory.points:
            self.move(points_of(request.trajectory, self._known.robot, self._known.agreement), 1)
        else:
            # Refuse the motion before the computation, not after it.
            around.output.check()
            self.check_sample(around.present())
            self.stage = Stage.EXCITATION
            settings = around.settings
            request = Excite(self._known.robot, settings.excitation, settings.point_period)
            self.start_job(request, self._on_excited)

    def moved(self) -> None:
        """Estimate parameters from the recording."""
        if self._recording is not None:
            self._estimate(self._recording.file)

    def feedback(self) -> Identify.Feedback:
        """Return the stage and its progress."""
        progress = IdentificationProgress(stage=int(self.stage), fraction=self.fraction, samples=self.samples)
        return Identify.Feedback(progress=progress)

    def result(self, problem: Problem | None) -> Identify.Result:
        """Return the result."""
        return Identify.Result(
            success=problem is None,
            message="" if problem is None else one_line(str(problem)),
            result=self._outcome,
        )

    def check_sample(self, sample: JointSample) -> None:
        """Refuse joint states without efforts as well."""
        super().check_sample(sample)
        if sample.tau is None:
            raise DynError("joint-states-without-efforts")

    def _on_excited(self, result: Mapping[str, Any]) -> None:
        arrays = (np.array(result[name]) for name in ("times", "q", "qd", "qdd"))
        self.move(TrajectoryPoints(self._known.robot.coordinate_names, *arrays), 1)

    def _estimate(self, log: Path) -> None:
        assert self._directory is not None
        self.stage, self.fraction = Stage.FILTERING, 0.0
        self.tell()
        known, settings = self._known, self._around.settings.estimation
        files = known.source, known.side_file, str(log), str(self._directory)
        self.start_job(Estimate(known.robot, *files, settings), self._on_estimated)

    def _on_estimated(self, result: Mapping[str, Any]) -> None:
        stamp = self._around.stamps.stamp_at(self._around.stamps.now)
        self._outcome = result_message(self._known.robot, result, stamp, str(self._directory))
        self._publish(self._outcome)
        verdict = self._outcome.parameters.verdict
        self.end(Notice("verdict-do-not-use", cause=verdict[0]) if verdict else None)
