# SPDX-License-Identifier: Apache-2.0
"""A goal of the node `identification`, clocks that the test moves, and a robot that does what it is told."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from numpy.typing import NDArray
from robot_files import ROBOTS
from trajectory_msgs.msg import JointTrajectory

from dyn_core import DynError, load_robot
from dyn_core.control.motion import Motion
from dyn_core.control.plan import replaced
from dyn_core.control.trajectories.trajectory import Trajectory
from dyn_core.control.trajectories.trajectory_planning import TrajectoryPoints
from dyn_core.excitation.settings import ExcitationSettings
from dyn_msgs.action import Identify, RunTrajectory
from dyn_nodes.apply_settings import ApplySettings
from dyn_nodes.common.messages.joint_state_bytes import Stamp
from dyn_nodes.identification.computation_requests import EstimationSettings
from dyn_nodes.identification.goal_sessions import IdentifySession
from dyn_nodes.identification.motion_run import RunSettings
from dyn_nodes.identification.parameters import IdentificationNodeSettings
from dyn_nodes.identification.session import JointSample, Session, Surroundings
from dyn_nodes.known_robot import KnownRobot, known_robot
from dyn_nodes.online_settings import OnlineSettings
from dyn_nodes.robot_source import DescribedRobot
from dyn_nodes.run_session import RunSession

STEP_S = 0.002
LOOK_EVERY, REFER_EVERY = 10, 2
_ORIGIN_S = 1e8


@cache
def arm() -> KnownRobot:
    """The robot rrp, as the node knows it."""
    described = DescribedRobot(load_robot(ROBOTS["rrp"]), None, ())
    return known_robot(described, str(ROBOTS["rrp"]), "", settings(Path()))


def settings(directory: Path, run: RunSettings | None = None) -> IdentificationNodeSettings:
    """The parameters of the node, most of them with their defaults."""
    return IdentificationNodeSettings(
        output="trajectory",
        rate=250.0,
        directory=directory,
        max_age=0.1,
        run=run or RunSettings(),
        approach=0.2,
        effort_part=0.9,
        start_delay=0.1,
        point_period=0.02,
        boxes=(),
        excitation=ExcitationSettings(),
        estimation=EstimationSettings(),
        apply=ApplySettings(),
        online=OnlineSettings(),
    )


class FakeGoal:
    """A goal, and what came of it."""

    def __init__(self, request: Any) -> None:
        self.request = request
        self.feedback: list[Any] = []
        self.ends: list[tuple[str, Any]] = []

    def tell(self, feedback: Any) -> None:
        assert not self.ends, "feedback after the result"
        self.feedback.append(feedback)

    def finish(self, outcome: str, result: Any) -> None:
        self.ends.append((outcome, result))

    @property
    def result(self) -> Any:
        """The result, of which there is one."""
        ((_, result),) = self.ends
        return result


@dataclass
class FakeJob:
    """Work in another process, which ends when the test says so."""

    request: Any
    progress: Callable[[Any], None]
    done: Callable[[Any, str], None]
    ended: bool = False

    def end(self) -> None:
        self.ended = True


def stamp_at(t: float) -> Time:
    """The stamp of a time (s)."""
    whole, part = divmod(round(1e9 * (t + _ORIGIN_S)), 10**9)
    return Time(sec=whole, nanosec=part)


class FakeStamps:
    """The clock of the node."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.stamp_at = stamp_at

    @property
    def now(self) -> float:
        return self._bench.t


class Bench:
    """A session, two clocks, and a robot whose controller follows trajectories or references.

    Attributes:
        t: the clock of the node (s).
        now: a steady clock (s).
        faults: what is wrong at the moment: "silence", "nan", "no effort", "saturated", "stuck".
    """

    def __init__(
        self,
        directory: Path,
        *,
        output: str = "trajectory",
        at: tuple[float, ...] = (0.0, 0.2, 0.15),
        **run: Any,
    ) -> None:
        self.t, self.now = 0.0, 50.0
        self.faults: set[str] = set()
        self.jobs: list[FakeJob] = []
        self.overs: list[str] = []
        self.sent = 0
        self.directory = directory
        self._whole = output == "trajectory"
        self._q = np.array(at)
        self._plan = Trajectory.standing(self._q, 0.0)
        self._reference: Motion | None = None
        self._count = 0
        self.measured: list[NDArray[np.float64]] = []
        self.wanted: list[Motion] = []
        self._stuck = self._q
        self._around = Surroundings(
            settings(directory, RunSettings(**run)),
            FakeStamps(self),  # type: ignore[arg-type]
            self,  # type: ignore[arg-type]
            lambda: self.now,
            self.present,
            lambda: None,
            self._begin_job,  # type: ignore[arg-type]
            self.overs.append,
        )
        self.goal = FakeGoal(None)
        self.session: Session | None = None

    # What a session sees.

    def check(self, _: TrajectoryPoints | None = None) -> None:
        pass

    def send(self, points: TrajectoryPoints, begin: float) -> None:
        self.sent += 1
        if self._whole:
            self._plan = replaced(self._plan, points, self.t, begin)

    def refer(self, _: tuple[str, ...], motion: Motion, t: float) -> None:
        assert t == self.t
        if not self._whole:
            self._reference = motion

    def present(self) -> JointSample:
        if "silence" in self.faults:
            raise DynError("no joint states came")
        return self._sample()

    def _begin_job(self, *job: Any) -> FakeJob:
        self.jobs.append(FakeJob(*job))
        return self.jobs[-1]

    # What a test does.

    def run(self, motion: JointTrajectory, repetitions: int = 1) -> Bench:
        """Begin a run of a trajectory."""
        self.goal = FakeGoal(RunTrajectory.Goal(trajectory=motion, repetitions=repetitions))
        self.session = RunSession(arm(), self.goal, self._around)  # type: ignore[arg-type]
        self.session.start()
        return self

    def identify(self, motion: JointTrajectory | None = None, log_file: str = "") -> Bench:
        """Begin an identification."""
        self.goal = FakeGoal(Identify.Goal(trajectory=motion or JointTrajectory(), log_file=log_file))
        publish: Callable[[Any], None] = lambda _: None  # noqa: E731
        self.session = IdentifySession(arm(), self.goal, self._around, publish)  # type: ignore[arg-type]
        self.session.start()
        return self

    def go(self, seconds: float = math.inf) -> Bench:
        """Let time pass, at most until the goal has its result."""
        end = self.now + min(seconds, 60.0)
        while self.now < end and not self.goal.ends:
            self._step()
        return self

    def rest(self) -> None:
        """Let the controller come to the end of what it was told; the robot has to stand then."""
        for _ in range(round(0.5 / STEP_S)):
            self._follow()
        assert np.abs(self.wanted[-1].qd).max() < 1e-9, "the robot was left moving"

    def set_clock(self, gained: float) -> None:
        """Set the clock of the node, on which a controller stands where it is."""
        self.t += gained
        self._plan = Trajectory.standing(self.wanted[-1].q, self.t)
        if self.session is not None:
            self.session.clock_was_set(gained)

    def _follow(self) -> None:
        self._count += 1
        self.t += STEP_S
        self.now += STEP_S
        if self._whole:
            self.wanted.append(self._plan.motion(self.t))
        else:
            self.wanted.append(self._reference or Motion.at_rest(self._q))
        self._q = self._stuck if "stuck" in self.faults else self.wanted[-1].q
        self._stuck = self._q
        self.measured.append(self._q)

    def _step(self) -> None:
        self._follow()
        session = self.session
        if session is None:
            return
        if "nan" in self.faults:
            session.refuse("joint state gives joint 'lift' the position nan")
        elif "silence" not in self.faults and session.is_moving:
            session.measure(self._sample())
        if not self._count % REFER_EVERY and not self.goal.ends:
            session.refer()
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
        """Greatest steps of the positions and velocities that the controller was told."""
        q = np.array([motion.q for motion in self.wanted])
        qd = np.array([motion.qd for motion in self.wanted])
        return float(np.abs(np.diff(q, axis=0)).max()), float(np.abs(np.diff(qd, axis=0)).max())
