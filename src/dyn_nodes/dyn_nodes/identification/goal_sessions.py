# SPDX-License-Identifier: Apache-2.0
"""A goal of ~/identify: exciting motion, recording, estimation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from dyn_core import DynError
from dyn_core.control.trajectories.trajectory_planning import TrajectoryPoints
from dyn_msgs.action import Identify
from dyn_msgs.msg import IdentificationProgress, IdentificationResult
from dyn_nodes.common.lifecycle.deferred_response import Goal
from dyn_nodes.common.messages.motion_message import points_of
from dyn_nodes.identification.computation_job import Said
from dyn_nodes.identification.computation_requests import Estimate, Excite
from dyn_nodes.identification.session import JointSample, Session, Surroundings
from dyn_nodes.known_robot import KnownRobot
from dyn_nodes.result_message import result_message
from dyn_nodes.run_directory import new_directory
from dyn_nodes.stage import Stage


class IdentifySession(Session):
    """Excitation, motion, recording, estimation, validation."""

    what = "an identification"

    def __init__(
        self,
        known: KnownRobot,
        goal: Goal,
        around: Surroundings,
        publish: Callable[[IdentificationResult], None],
    ) -> None:
        """Take a goal for a robot; `publish` takes the outcome of a success."""
        super().__init__(known, goal, around)
        self._publish = publish
        self._outcome = IdentificationResult()

    def begin(self) -> None:
        """Begin with the first stage that the goal asks for."""
        request, around = self._goal.request, self._around
        if request.log_file and request.trajectory.points:
            raise DynError("both a trajectory and a log_file are given: leave one of them empty")
        if request.log_file:
            self._directory = new_directory(around.settings.directory, self._known.robot.name)
            self._estimate(Path(request.log_file))
        elif request.trajectory.points:
            self.move(points_of(request.trajectory, self._known.robot, self._known.agreement), 1)
        else:
            # What would refuse the motion does so before it is computed.
            around.output.check()
            sample = around.present()
            self.check_sample(sample)
            self.stage = Stage.EXCITATION
            settings = around.settings
            request = Excite(self._known.robot, settings.excitation, settings.point_period)
            self.have_done(request, self._on_excited)

    def moved(self) -> None:
        """Estimate from what was recorded."""
        if self._recording is not None:
            self._estimate(self._recording.file)

    def feedback(self) -> Identify.Feedback:
        """Answer the stage."""
        progress = IdentificationProgress(stage=int(self.stage), fraction=self.fraction, samples=self.samples)
        return Identify.Feedback(progress=progress)

    def result(self, problem: str) -> Identify.Result:
        """Answer the outcome."""
        return Identify.Result(
            success=not problem, message=problem, result=IdentificationResult() if problem else self._outcome
        )

    def check_sample(self, sample: JointSample) -> None:
        """Refuse joint states without efforts as well."""
        super().check_sample(sample)
        if sample.tau is None:
            raise DynError("the joint states have no efforts: without them nothing can be identified")

    def _on_excited(self, answer: Said) -> None:
        arrays = (np.array(answer[name]) for name in ("times", "q", "qd", "qdd"))
        self.move(TrajectoryPoints(self._known.robot.coordinate_names, *arrays), 1)

    def _estimate(self, log: Path) -> None:
        if self._directory is None:
            raise RuntimeError("there is no directory for the result")
        self.stage, self.fraction = Stage.FILTERING, 0.0
        self.tell()
        settings = self._around.settings.estimation
        known, directory = self._known, str(self._directory)
        request = Estimate(known.robot, known.source, known.side_file, str(log), directory, settings)
        self.have_done(request, self._on_estimated)

    def _on_estimated(self, answer: Said) -> None:
        stamp = self._around.stamps.stamp_at(self._around.stamps.now)
        self._outcome = result_message(self._known.robot, answer, stamp, str(self._directory))
        self._publish(self._outcome)
        self.end()
