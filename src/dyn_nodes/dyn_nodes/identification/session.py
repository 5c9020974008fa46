# SPDX-License-Identifier: Apache-2.0
"""One goal of an action: the robot, its motion, the recording, the estimation."""

from __future__ import annotations

import contextlib
import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyn_core import DynError, Model, Robot
from dyn_core.control.trajectories.loop_positions import PassiveAgreement
from dyn_core.control.trajectories.trajectory_planning import TrajectoryPoints
from dyn_core.core.arrays import Array
from dyn_core.excitation.excitation_settings import coordinate_boxes
from dyn_core.excitation.recorded_motion import RunLimits, feasible, recorded_motion
from dyn_core.robot.robot import refuse_springs
from dyn_nodes.common.data_checks import Notice, Problem
from dyn_nodes.common.lifecycle.computation_job import Done, Job
from dyn_nodes.common.lifecycle.deferred_response import Goal, Outcome
from dyn_nodes.common.lifecycle.robot_source import DescribedRobot, compiled, refuse_moving_base
from dyn_nodes.common.messages.joint_state_bytes import Stamp
from dyn_nodes.common.messages.message_stamps import StampClock
from dyn_nodes.common.messages.split_joint_states import SplitJointStates
from dyn_nodes.identification.computation_requests import Stage
from dyn_nodes.identification.motion_output import MotionOutput
from dyn_nodes.identification.motion_run import MotionRun, Phase
from dyn_nodes.identification.parameters import IdentificationNodeSettings
from dyn_nodes.identification.recording import LOG, Recording, new_directory


@dataclass(frozen=True)
class KnownRobot:
    """The robot in use and its parts. Another robot has another `KnownRobot`."""

    robot: Robot  # the robot, with its expected parameters
    model: Model  # its compiled dynamics
    effort_limit: Array  # greatest effort of each joint (N m or N), infinite where it is unknown, (n,)
    states: SplitJointStates
    agreement: PassiveAgreement  # compares positions of passive joints in trajectories with the loops
    source: str  # its description, or the path of it
    side_file: str  # path of its side file; empty for none


def known_robot(
    described: DescribedRobot, description_file: str, side_file: str, settings: IdentificationNodeSettings
) -> KnownRobot:
    """Compile a robot; `description_file` is the path of a description that is not a URDF.

    Raises:
        DynError: it has no moving joint, or the parameters name an unknown joint.
    """
    for joint, error in settings.run.tracking_errors.items():
        if joint not in described.robot.coordinate_names:
            known = described.robot.coordinate_names
            raise DynError(
                "tracking-error-joint-unknown", joint=joint, robot=described.robot.name, known=known
            )
        if error == 0.0:
            raise DynError("tracking-error-zero", joint=joint)
    refuse_springs(described.robot, "identification")
    refuse_moving_base(described.robot, "identification")
    coordinate_boxes(described.robot, settings.boxes)
    loaded = compiled(described, ("inverse_dynamics",))
    robot = loaded.robot
    # A limit of 0 means that none is given.
    limits = np.where(loaded.effort_limit > 0.0, loaded.effort_limit, np.inf)
    return KnownRobot(
        robot,
        loaded.model,
        limits,
        SplitJointStates(robot.coordinate_names, settings.max_age),
        PassiveAgreement(robot),
        described.text or description_file,
        side_file,
    )


_TELL_EVERY_S = 0.2


@dataclass(frozen=True)
class JointSample:
    """Checked joint states at time t on the clock of the node (s), measured at `stamp`.

    Positions q (rad or m), velocities qd (rad/s or m/s) and efforts tau (N m or N), (n,) each; None: unknown.
    """

    stamp: Stamp
    t: float
    q: NDArray[np.float64]
    qd: NDArray[np.float64] | None
    tau: NDArray[np.float64] | None


@dataclass(frozen=True)
class SessionContext:
    """The parts that all sessions of a node use."""

    settings: IdentificationNodeSettings  # parameters of the node
    stamps: StampClock  # its clock
    output: MotionOutput  # sends motions
    steady: Callable[[], float]  # a clock that never goes back (s)
    present: Callable[[], JointSample]  # returns the newest joint states; DynError where none can be used
    # returns joint states some tenths of a second before; None where there are none
    earlier: Callable[[], JointSample | None]
    # starts a request in another process
    begin_job: Callable[[object, Callable[[int, float], None], Done], Job]
    # is called at the end of a session with its problem, None after a success
    over: Callable[[Problem | None], None]


class Session:
    """A goal in progress: motion, recording, estimation.

    Attributes:
        what: its name in messages.
        stage: the present stage.
        fraction: fraction of the stage that is done, 0 to 1.
    """

    what = "a run"

    def __init__(self, known: KnownRobot, goal: Goal, around: SessionContext) -> None:
        """Take a goal for a robot."""
        self.stage = Stage.MOTION
        self.fraction = 0.0
        self._known, self._goal, self._around = known, goal, around
        self._run: MotionRun | None = None
        self._recording: Recording | None = None
        self._directory: Path | None = None
        self._job: Job | None = None
        self._cancelled = False
        self._is_over = False
        self._told_at = -np.inf
        self._kinds = (False, False)
        self._clock_was_set = False

    @abstractmethod
    def begin(self) -> None:
        """Begin; DynError where that is not possible."""

    @abstractmethod
    def moved(self) -> None:
        """Continue after the motion was recorded."""

    @abstractmethod
    def feedback(self) -> Any:
        """Return the feedback message."""

    @abstractmethod
    def result(self, problem: Problem | None) -> Any:
        """Return the result message; `problem` is the reason of a failure, None after a success."""

    @property
    def known(self) -> KnownRobot:
        """The robot of the goal, even where another one is in use now."""
        return self._known

    @property
    def samples(self) -> int:
        """Number of recorded samples."""
        return 0 if self._recording is None else self._recording.samples

    @property
    def is_moving(self) -> bool:
        """Whether the robot moves, or is being brought to rest."""
        return self._run is not None and self._run.phase is not Phase.OVER

    @property
    def stands(self) -> bool:
        """Whether the robot was measured at rest at the end of a motion."""
        return self._run is not None and self._run.stands

    def pursues(self, goal: Goal) -> bool:
        """Return whether the session belongs to that goal."""
        return goal is self._goal

    # The motion

    def move(self, points: TrajectoryPoints, repetitions: int) -> None:
        """Move the robot along a motion; DynError where this is not possible."""
        around, known, settings = self._around, self._known, self._around.settings
        around.output.check()
        sample = around.present()
        self.check_sample(sample)
        limits = RunLimits(settings.effort_part * known.effort_limit, settings.approach, settings.boxes)
        motion = recorded_motion(known.model, sample.q, points, limits, repetitions, settings.point_period)
        around.output.check(motion.points)
        self._directory = new_directory(settings.directory, known.robot.name)
        self._kinds = velocity, effort = (sample.qd is not None, sample.tau is not None)
        names = known.robot.coordinate_names
        file = self._directory / LOG
        self._recording = Recording(file, names, velocity=velocity, effort=effort, steady=around.steady)
        self.stage, self.fraction = Stage.MOTION, 0.0
        self._run = MotionRun(
            known.robot,
            motion,
            around.stamps.now + settings.start_delay,
            around.steady(),
            settings.run,
            feasible(known.model, motion, known.effort_limit),
            around.output.send_trajectory,
        )
        self.tell()

    def check_sample(self, sample: JointSample) -> None:
        """Raise DynError where a robot in this state may not be moved."""
        speeds = [] if sample.qd is None else [sample.qd]
        earlier = self._around.earlier()
        if sample.qd is None and earlier is None:
            raise DynError("rest-unknown")
        if earlier is not None and sample.t > earlier.t:
            # Not all drivers measure velocities, and all joints may reverse at the same time.
            speeds.append((sample.q - earlier.q) / (sample.t - earlier.t))
        for speed in speeds:
            j = int(np.abs(speed).argmax())
            if abs(speed[j]) > self._around.settings.run.rest:
                joint = self._known.robot.independent_joints[j]
                raise DynError("robot-moving", joint=joint.name, speed=speed[j], unit=joint.position_unit)

    def measure(self, sample: JointSample) -> None:
        """Take good joint states while the robot moves."""
        run, recording = self._run, self._recording
        if run is None or recording is None or run.phase is Phase.OVER:
            return
        present = (sample.qd is not None, sample.tau is not None)
        for quantity, before, now in zip(("velocities", "efforts"), self._kinds, present, strict=True):
            if before and not now:
                run.refuse(Notice("joint-state-quantity-lost", quantity=quantity))
                return
        if sample.t >= run.recording_from and not self._clock_was_set:
            recording.add(sample.stamp, sample.q, sample.qd, sample.tau)
            if recording.problem is not None:
                run.stop(recording.problem, self._around.stamps.now, self._around.steady())
        run.measure(sample.t, sample.q, sample.qd, sample.tau, self._around.steady())
        self._see()

    def refuse(self, problem: Problem) -> None:
        """Note that joint states were refused, and why."""
        if self._run is not None:
            self._run.refuse(problem)

    def clock_was_set(self, gained: float) -> None:
        """Continue after the clock of the node was set and gained a time (s)."""
        if self._run is not None and self.is_moving:
            self._clock_was_set = True  # stamps that go back cannot be recorded
            self._run.clock_was_set(gained, self._around.stamps.now, self._around.steady())
            self._see()

    def look(self) -> None:
        """Check the progress, about 50 times a second."""
        if self._run is not None and self._run.phase is not Phase.OVER:
            self._run.look(self._around.stamps.now, self._around.steady())
            self._see()
        now = self._around.steady()
        if not self._is_over and now - self._told_at > _TELL_EVERY_S:
            self.tell()

    def send_reference(self) -> None:
        """Send the point of the motion that is due."""
        if self._run is not None and self._run.phase is not Phase.OVER:
            self._send_point(self._run)

    def _send_point(self, run: MotionRun) -> None:
        t = self._around.stamps.now
        self._around.output.send_reference(self._known.robot.coordinate_names, run.desired(t), t)

    def _see(self) -> None:
        run, recording = self._run, self._recording
        if run is None or recording is None:
            return
        self.fraction = run.fraction
        if run.phase is not Phase.OVER or self._is_over:
            return
        recording.close()
        self._send_point(run)
        problem = run.problem or recording.problem
        if problem is None:
            self._guarded(self.moved)
        else:
            self.end(Notice("motion-stopped-at-rest" if run.stands else "motion-stopped", cause=problem))

    # The end

    def cancel(self, problem: Problem, *, by_client: bool = False, longest: float = math.inf) -> None:
        """Bring the robot to rest in at most `longest` (s), or end the computation; then end."""
        if self._is_over:
            return
        self._cancelled = self._cancelled or by_client
        if self._run is not None and self.is_moving:
            self._run.stop(problem, self._around.stamps.now, self._around.steady(), longest)
            self._see()
        else:
            self.end(problem)

    def end(self, problem: Problem | None = None) -> None:
        """Send the result; `problem` is the reason of a failure."""
        if self._is_over:
            return
        self._is_over = True
        if self._job is not None:
            self._job.end()
        if self._recording is not None:
            self._recording.close()
            if problem is not None and self.samples:
                problem = Notice("samples-kept", cause=problem, count=self.samples, path=self._recording.file)
            elif not self.samples:
                self._recording.file.unlink(missing_ok=True)
        if self._directory is not None:
            with contextlib.suppress(OSError):  # it is not empty
                self._directory.rmdir()
        outcome: Outcome = "canceled" if self._cancelled else "succeed" if problem is None else "abort"
        self._goal.finish(outcome, self.result(problem))
        self._around.over(problem)

    def start(self) -> None:
        """Begin, or end at once with the reason."""
        self._guarded(self.begin)

    def tell(self) -> None:
        """Send feedback."""
        self._told_at = self._around.steady()
        self._goal.tell(self.feedback())

    # Work in another process

    def start_job(self, request: object, take: Callable[[Mapping[str, Any]], None]) -> None:
        """Do a request in another process; `take` takes its result."""

        def done(result: Mapping[str, Any] | None, problem: DynError | None) -> None:
            self._job = None
            if result is None:
                self.end(problem)
            else:
                self._guarded(lambda: take(result))

        self._job = self._around.begin_job(request, self._on_progress, done)

    def _on_progress(self, stage: int, fraction: float) -> None:
        self.stage, self.fraction = Stage(stage), fraction
        self.tell()

    def _guarded(self, step: Callable[[], None]) -> None:
        try:
            step()
        except DynError as problem:
            self.end(problem)
