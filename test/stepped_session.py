# SPDX-License-Identifier: Apache-2.0
"""A goal of the node `identification` with clocks set by the test and a robot that follows exactly."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import message_makers
import numpy as np
from builtin_interfaces.msg import Time
from identification_client import START
from numpy.typing import NDArray
from robot_files import ROBOTS
from trajectory_msgs.msg import JointTrajectory

from dyn_core import DynError, load_robot
from dyn_core.control.trajectories.piecewise_polynomials import Motion
from dyn_core.control.trajectories.trajectory import Trajectory
from dyn_core.control.trajectories.trajectory_planning import TrajectoryPoints, replaced
from dyn_core.excitation.excitation_settings import ExcitationSettings
from dyn_msgs.action import Identify, RunTrajectory
from dyn_nodes.common.data_checks import Rejection
from dyn_nodes.common.lifecycle.robot_source import DescribedRobot
from dyn_nodes.common.messages.joint_state_bytes import Stamp
from dyn_nodes.identification.computation_requests import EstimationSettings
from dyn_nodes.identification.goal_sessions import IdentifySession, RunSession
from dyn_nodes.identification.motion_run import RunSettings
from dyn_nodes.identification.parameters import ApplySettings, IdentificationNodeSettings, OnlineSettings
from dyn_nodes.identification.session import JointSample, KnownRobot, Session, SessionContext, known_robot

STEP_S = 0.002
LOOK_EVERY, REFER_EVERY = 10, 2
_ORIGIN_S = 1e8


@cache
def arm() -> KnownRobot:
    described = DescribedRobot(load_robot(ROBOTS["rrp"]), None, ())
    return known_robot(described, str(ROBOTS["rrp"]), "", settings(Path()))


def settings(directory: Path, run: RunSettings | None = None) -> IdentificationNodeSettings:
    parts = (run or RunSettings(), (), ExcitationSettings(), EstimationSettings())
    return IdentificationNodeSettings(directory, 0.1, *parts, ApplySettings(), OnlineSettings(), rate=250.0)


@dataclass
class FakeGoal:
    """A goal, its feedback and its end."""

    request: Any
    feedback: list[Any] = field(default_factory=list)
    ends: list[tuple[str, Any]] = field(default_factory=list)
    is_cancelled: bool = False

    def tell(self, feedback: Any) -> None:
        assert not self.ends, "feedback after the result"
        self.feedback.append(feedback)

    def finish(self, outcome: str, result: Any) -> None:
        self.ends.append((outcome, result))

    @property
    def result(self) -> Any:
        ((_, result),) = self.ends
        return result


@dataclass
class FakeJob:
    """Work in another process, which the test completes."""

    request: Any
    progress: Callable[[Any], None]
    done: Callable[[Any, str], None]
    ended: bool = False

    def end(self) -> None:
        self.ended = True


def stamp_at(t: float) -> Time:
    return message_makers.stamp_at(round(1e9 * (t + _ORIGIN_S)))


@dataclass
class FakeStampClock:
    """The clock of the node."""

    bench: Bench
    stamp_at = staticmethod(stamp_at)

    @property
    def now(self) -> float:
        return self.bench.t


class Bench:
    """A session, two clocks, and a robot whose controller follows trajectories or references."""

    def __init__(
        self, directory: Path, *, output: str = "trajectory", at: Sequence[float] = START, **run: Any
    ) -> None:
        self.t, self.now = 0.0, 50.0  # time of the node's clock, and steady time (s)
        self.faults: set[str] = set()  # "silence", "nan", "no effort", "saturated", "stuck"
        self.jobs: list[FakeJob] = []
        self.overs: list[Any] = []
        self.sent = 0
        self.directory = directory
        self._whole = output == "trajectory"
        self._q = np.array(at)
        self._plan = Trajectory.standing(self._q, 0.0)
        self._reference: Motion | None = None
        self._count = 0
        self.measured: list[NDArray[np.float64]] = []
        self.wanted: list[Motion] = []
        self._around = SessionContext(
            settings(directory, RunSettings(**run)),
            FakeStampClock(self),  # type: ignore[arg-type]
            self,  # type: ignore[arg-type]
            lambda: self.now,
            self.present,
            lambda: None,
            self._begin_job,  # type: ignore[arg-type]
            self.overs.append,
        )
        self.goal = FakeGoal(None)
        self.session: Session | None = None

    def check(self, _: TrajectoryPoints | None = None) -> None:
        pass

    def send_trajectory(self, points: TrajectoryPoints, begin: float) -> None:
        self.sent += 1
        if self._whole:
            self._plan = replaced(self._plan, points, self.t, begin)

    def send_reference(self, _: tuple[str, ...], motion: Motion, t: float) -> None:
        assert t == self.t
        if not self._whole:
            self._reference = motion

    def present(self) -> JointSample:
        if "silence" in self.faults:
            raise DynError("joint-states-missing")
        return self._sample()

    def _begin_job(self, *job: Any) -> FakeJob:
        self.jobs.append(FakeJob(*job))
        return self.jobs[-1]

    def run(self, motion: JointTrajectory, repetitions: int = 1) -> Bench:
        self.goal = FakeGoal(RunTrajectory.Goal(trajectory=motion, repetitions=repetitions))
        return self._start(RunSession(arm(), self.goal, self._around))  # type: ignore[arg-type]

    def identify(self, motion: JointTrajectory | None = None, log_file: str = "") -> Bench:
        self.goal = FakeGoal(Identify.Goal(trajectory=motion or JointTrajectory(), log_file=log_file))
        publish: Callable[[Any], None] = lambda _: None  # noqa: E731
        return self._start(IdentifySession(arm(), self.goal, self._around, publish))  # type: ignore[arg-type]

    def _start(self, session: Session) -> Bench:
        self.session = session
        session.start()
        return self

    def go(self, seconds: float = math.inf) -> Bench:
        """Let time pass, at most until the goal has its result."""
        end = self.now + min(seconds, 60.0)
        while self.now < end and not self.goal.ends:
            self._step()
        return self

    def rest(self) -> None:
        """Let the controller finish its motion; the robot must then be at rest."""
        for _ in range(round(0.5 / STEP_S)):
            self._follow()
        assert np.abs(self.wanted[-1].qd).max() < 1e-9, "the robot was left moving"

    def set_clock(self, gained: float) -> None:
        """Set the clock of the node; the controller stops at its present position."""
        self.t += gained
        self._plan = Trajectory.standing(self.wanted[-1].q, self.t)
        if self.session is not None:
            self.session.clock_was_set(gained)

    def problems(self) -> Iterator[Any]:
        """The problem at the end, and its causes."""
        (problem,) = self.overs
        while problem is not None:
            yield problem
            problem = problem.values.get("cause")

    def causes(self) -> list[str]:
        return [problem.code for problem in self.problems()]

    def cause(self) -> Any:
        return [*self.problems()][-1]

    def _follow(self) -> None:
        self._count += 1
        self.t += STEP_S
        self.now += STEP_S
        wanted = self._plan.motion(self.t) if self._whole else self._reference or Motion.at_rest(self._q)
        self.wanted.append(wanted)
        if "stuck" not in self.faults:
            self._q = wanted.q
        self.measured.append(self._q)

    def _step(self) -> None:
        self._follow()
        if (session := self.session) is None:
            return
        if "nan" in self.faults:
            values = {"message": "joint state", "joint": "lift", "quantity": "position", "given": math.nan}
            session.refuse(Rejection("message-value-implausible", **values))
        elif "silence" not in self.faults and session.is_moving:
            session.measure(self._sample())
        if not self._count % REFER_EVERY and not self.goal.ends:
            session.send_reference()
        if not self._count % LOOK_EVERY and not self.goal.ends:
            session.look()

    def _sample(self) -> JointSample:
        stamp = stamp_at(self.t)
        qd = self.wanted[-1].qd if self.wanted and "stuck" not in self.faults else np.zeros(3)
        effort = np.array([0.0, 80.0 if "saturated" in self.faults else 30.0, 0.0])
        tau = None if "no effort" in self.faults else effort
        return JointSample(Stamp(stamp.sec, stamp.nanosec), self.t, self._q, qd, tau)

    @property
    def steps(self) -> tuple[float, float]:
        """Greatest steps of the desired positions and velocities."""
        q, qd = (np.array([motion[k] for motion in self.wanted]) for k in (0, 1))
        return float(np.abs(np.diff(q, axis=0)).max()), float(np.abs(np.diff(qd, axis=0)).max())
