# SPDX-License-Identifier: Apache-2.0
"""One goal of an action, from its acceptance to its result: motion, recording, estimation."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyn_core import DynError
from dyn_core.control.trajectories.trajectory_planning import TrajectoryPoints
from dyn_core.excitation.recorded_motion import RecordedMotion, RunLimits, feasible, recorded_motion
from dyn_nodes.common.lifecycle.deferred_response import Goal, Outcome
from dyn_nodes.common.messages.joint_state_bytes import Stamp
from dyn_nodes.identification.computation_job import Job, Said
from dyn_nodes.identification.motion_output import MotionOutput
from dyn_nodes.identification.motion_run import MotionRun, Phase
from dyn_nodes.identification.parameters import IdentificationNodeSettings
from dyn_nodes.identification.recording import Recording
from dyn_nodes.known_robot import KnownRobot
from dyn_nodes.run_directory import LOG, new_directory, remove_empty
from dyn_nodes.stage import Stage
from dyn_nodes.stamps import Stamps

_TELL_EVERY_S = 0.2


@dataclass(frozen=True)
class JointSample:
    """Good joint states.

    Attributes:
        stamp: when they were measured.
        t: the same on the clock of the node (s).
        q: positions (rad or m), (n,).
        qd: velocities (rad/s or m/s), (n,), or None.
        tau: efforts (N m or N), (n,), or None.
    """

    stamp: Stamp
    t: float
    q: NDArray[np.float64]
    qd: NDArray[np.float64] | None
    tau: NDArray[np.float64] | None


@dataclass(frozen=True)
class Surroundings:
    """What all sessions of a node use.

    Attributes:
        settings: parameters of the node.
        stamps: its clock.
        output: sends motions.
        steady: a clock that never goes back (s).
        present: answers the newest joint states; DynError where there are none that can be used.
        earlier: answers joint states of some tenths of a second before them; None where there are none.
        begin_job: has a request done in another process.
        over: is called when a session has ended, with its last sentence, empty where all went well.
    """

    settings: IdentificationNodeSettings
    stamps: Stamps
    output: MotionOutput
    steady: Callable[[], float]
    present: Callable[[], JointSample]
    earlier: Callable[[], JointSample | None]
    begin_job: Callable[[object, Callable[[Said], None], Callable[[Said | None, str], None]], Job]
    over: Callable[[str], None]


class Session:
    """A goal that is pursued.

    Attributes:
        what: what it is called in sentences.
        stage: what is being done.
        fraction: how much of it is done, 0 to 1.
    """

    what = "a run"

    def __init__(self, known: KnownRobot, goal: Goal, around: Surroundings) -> None:
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
        """Go on after the motion was recorded whole."""

    @abstractmethod
    def feedback(self) -> Any:
        """Answer how far it is, as a message."""

    @abstractmethod
    def result(self, problem: str) -> Any:
        """Answer the result as a message; `problem` says why it is none, and is empty where it is."""

    @property
    def known(self) -> KnownRobot:
        """The robot that it is about, also where another one came meanwhile."""
        return self._known

    @property
    def samples(self) -> int:
        """Samples recorded so far."""
        return 0 if self._recording is None else self._recording.samples

    @property
    def is_moving(self) -> bool:
        """Whether the robot moves, or is being brought to rest."""
        return self._run is not None and self._run.phase is not Phase.OVER

    @property
    def stands(self) -> bool:
        """Whether the robot was seen to stand at the end of a motion."""
        return self._run is not None and self._run.stands

    def pursues(self, goal: Goal) -> bool:
        """Whether it is for that goal."""
        return goal is self._goal

    # The motion.

    def move(self, points: TrajectoryPoints, repetitions: int) -> None:
        """Have the robot go along a motion; DynError where it cannot."""
        around, known, settings = self._around, self._known, self._around.settings
        around.output.check()
        sample = around.present()
        self.check_sample(sample)
        limits = RunLimits(settings.effort_part * known.effort_limit, settings.approach, settings.boxes)
        motion = recorded_motion(known.model, sample.q, points, limits, repetitions, settings.point_period)
        around.output.check(motion.points)
        self._directory = new_directory(settings.directory, known.robot.name)
        self._kinds = velocity, effort = (sample.qd is not None, sample.tau is not None)
        file = self._directory / LOG
        self._recording = Recording(
            file, known.robot.coordinate_names, velocity=velocity, effort=effort, steady=around.steady
        )
        self.stage, self.fraction = Stage.MOTION, 0.0
        self._run = self._started(motion)
        self.tell()

    def _started(self, motion: RecordedMotion) -> MotionRun:
        around, known = self._around, self._known
        return MotionRun(
            known.robot,
            motion,
            around.stamps.now + around.settings.start_delay,
            around.steady(),
            around.settings.run,
            feasible(known.model, motion, known.effort_limit),
            around.output.send,
        )

    def check_sample(self, sample: JointSample) -> None:
        """Raise a DynError where a robot that is found like this cannot be moved."""
        speeds = [] if sample.qd is None else [sample.qd]
        earlier = self._around.earlier()
        if sample.qd is None and earlier is None:
            raise DynError(
                "joint states have not come for long enough to see whether the robot stands: "
                "they have no velocities; try again"
            )
        if earlier is not None and sample.t > earlier.t:
            # Not all drivers measure velocities, and all joints turn round at the same time now and then.
            speeds.append((sample.q - earlier.q) / (sample.t - earlier.t))
        for speed in speeds:
            j = int(np.abs(speed).argmax())
            if abs(speed[j]) > self._around.settings.run.rest:
                joint = self._known.robot.independent_joints[j]
                raise DynError(
                    f"joint '{joint.name}' moves with {speed[j]:.3g} {joint.position_unit}/s: "
                    "the robot has to stand still before a run"
                )

    def measure(self, sample: JointSample) -> None:
        """Take good joint states while the robot moves."""
        run, recording = self._run, self._recording
        if run is None or recording is None or run.phase is Phase.OVER:
            return
        lacking = _lacking(self._kinds, sample)
        if lacking:
            run.refuse(f"the joint states have no {lacking} any more")
            return
        if sample.t >= run.recording_from and not self._clock_was_set:
            recording.add(sample.stamp, sample.q, sample.qd, sample.tau)
            if recording.problem is not None:
                run.stop(recording.problem, self._around.stamps.now, self._around.steady())
        run.measure(sample.t, sample.q, sample.qd, sample.tau, self._around.steady())
        self._see()

    def refuse(self, sentence: str) -> None:
        """Take note of joint states that cannot be used."""
        if self._run is not None:
            self._run.refuse(sentence)

    def clock_was_set(self, gained: float) -> None:
        """Go on after the clock of the node was set, and has gained that much (s)."""
        if self._run is not None and self.is_moving:
            # Stamps that go back are no log.
            self._clock_was_set = True
            self._run.clock_was_set(gained, self._around.stamps.now, self._around.steady())
            self._see()

    def look(self) -> None:
        """See how it goes, some 50 times a second."""
        if self._run is not None and self._run.phase is not Phase.OVER:
            self._run.look(self._around.stamps.now, self._around.steady())
            self._see()
        now = self._around.steady()
        if not self._is_over and now - self._told_at > _TELL_EVERY_S:
            self.tell()

    def refer(self) -> None:
        """Send the point of the motion that is due."""
        if self._run is not None and self._run.phase is not Phase.OVER:
            self._send_point(self._run)

    def _send_point(self, run: MotionRun) -> None:
        t = self._around.stamps.now
        self._around.output.refer(self._known.robot.coordinate_names, run.desired(t), t)

    def _see(self) -> None:
        run, recording = self._run, self._recording
        if run is None or recording is None:
            return
        self.fraction = run.fraction
        if run.phase is not Phase.OVER or self._is_over:
            return
        recording.close()
        self._send_point(run)
        if run.problem is None and recording.problem is None:
            self._guarded(self.moved)
        else:
            rest = "the robot was brought to rest" if run.stands else "the robot was told to stop"
            self.end(f"{run.problem or recording.problem}; {rest}")

    # The end.

    def cancel(self, problem: str, *, by_client: bool = False, longest: float = math.inf) -> None:
        """Bring the robot to rest, or end the computation, and then end.

        Args:
            problem: why, in a sentence.
            by_client: whether a client wants it.
            longest: time in which the robot has to be at rest (s).
        """
        if self._is_over:
            return
        self._cancelled = self._cancelled or by_client
        if self._run is not None and self.is_moving:
            self._run.stop(problem, self._around.stamps.now, self._around.steady(), longest)
            self._see()
        else:
            self.end(problem)

    def end(self, problem: str = "") -> None:
        """Send the result; `problem` says why it is none."""
        if self._is_over:
            return
        self._is_over = True
        if self._job is not None:
            self._job.end()
        if self._recording is not None:
            self._recording.close()
            if problem and self.samples:
                problem += f"; the {self.samples} samples until then are kept in {self._recording.file}"
            elif not self.samples:
                self._recording.file.unlink(missing_ok=True)
        if self._directory is not None:
            remove_empty(self._directory)
        outcome: Outcome = "canceled" if self._cancelled else "abort" if problem else "succeed"
        self._goal.finish(outcome, self.result(problem))
        self._around.over(problem)

    def start(self) -> None:
        """Begin, or end at once with the reason."""
        self._guarded(self.begin)

    def tell(self) -> None:
        """Send how far it is."""
        self._told_at = self._around.steady()
        self._goal.tell(self.feedback())

    # Work in another process.

    def have_done(self, request: object, answered: Callable[[Said], None]) -> None:
        """Have a request done; `answered` takes the answer."""

        def done(answer: Said | None, problem: str) -> None:
            self._job = None
            if answer is None:
                self.end(problem)
            else:
                self._guarded(lambda: answered(answer))

        self._job = self._around.begin_job(request, self._on_progress, done)

    def _on_progress(self, said: Said) -> None:
        self.stage, self.fraction = Stage(said["stage"]), float(said["fraction"])
        self.tell()

    def _guarded(self, step: Callable[[], None]) -> None:
        try:
            step()
        except DynError as problem:
            self.end(str(problem))


def _lacking(kinds: tuple[bool, bool], sample: JointSample) -> str:
    """Answer what a sample does not have of what there was at first; empty where it has all."""
    there = (sample.qd is not None, sample.tau is not None)
    wanted = zip(("velocities", "efforts"), kinds, there, strict=True)
    return next((what for what, before, now in wanted if before and not now), "")
