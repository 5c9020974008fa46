# SPDX-License-Identifier: Apache-2.0
"""Motion of a robot along a trajectory, and its stop after a problem."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, TypeVar

import numpy as np

from dyn_core import Robot
from dyn_core.control.trajectories.piecewise_polynomials import Motion
from dyn_core.control.trajectories.trajectory_planning import TrajectoryPoints, replaced, stopping
from dyn_core.core.arrays import Array
from dyn_core.excitation.recorded_motion import RecordedMotion
from dyn_nodes.common.data_checks import Notice, Problem

_Sample = TypeVar("_Sample")


class DelayedSample(Generic[_Sample]):
    """Keeps one sample that came at least `span` before the newest one, and at most about twice as long."""

    def __init__(self, span: float) -> None:
        """Begin without samples; `span` has the unit of the times."""
        self._span = span
        self.forget()

    def forget(self) -> None:
        """Forget all samples."""
        self._kept: list[tuple[float, _Sample]] = []
        self._newest = -math.inf

    def add(self, time: float, sample: _Sample) -> None:
        """Take a sample with its time; where time went back, forget the samples before."""
        if time < self._newest:
            self.forget()
        self._newest = time
        if not self._kept or time - self._kept[-1][0] >= self._span:
            self._kept = [*self._kept[-1:], (time, sample)]

    @property
    def earlier(self) -> _Sample | None:
        """The newest sample that is at least `span` older than the newest one; None where there is none."""
        old = [sample for time, sample in self._kept if self._newest - time >= self._span]
        return old[-1] if old else None


_GRACE_S = 1.0
"""Longest time between the end of the motion and the standstill of the robot (s)."""
_SPEED_S = 0.1
"""Shortest time between two positions that give a speed (s)."""


@dataclass(frozen=True)
class RunSettings:
    """When and how a run is stopped."""

    timeout: float = 0.2  # longest time without good joint states, on a steady clock (s)
    # greatest difference between robot and motion, for joints without their own (rad or m)
    tracking_error: float = 0.2
    # the same by joint, for those with their own
    tracking_errors: dict[str, float] = field(default_factory=dict)
    effort_part: float = 0.98  # fraction of the effort limit above which an effort is near the limit
    effort_time: float = 0.5  # longest time that an effort may be near its limit (s)
    lead: float = 0.03  # time from the decision to stop to the begin of the stop (s): messages take time
    stop_shortest: float = 0.2  # duration of a stop, where the efforts allow it (s)
    stop_longest: float = 2.0  # longest duration of a stop (s)
    rest: float = 0.02  # greatest speed of a joint at rest (rad/s or m/s)


class Phase(Enum):
    """The phase of a run."""

    MOVING = "moving"
    STOPPING = "stopping"
    OVER = "over"


class MotionRun:
    """One run, from the motion to the standstill.

    Times t are on the clock of the node, `now` on a steady clock (both s).

    Attributes:
        problem: why it was stopped; None where it was not.
        stands: whether the robot was measured at rest at the end.
        worst_joint: joint with the largest tracking error; empty before any measurement.
        worst_error: that error (rad or m).
    """

    def __init__(
        self,
        robot: Robot,
        motion: RecordedMotion,
        begin: float,
        now: float,
        settings: RunSettings,
        feasible: Callable[[Motion], bool],
        send: Callable[[TrajectoryPoints, float], None],
    ) -> None:
        """Send a motion with its `begin` (s); `now` is the present (s).

        `feasible` returns whether the robot can make a stop; `send` sends points and their begin (s).
        """
        self.phase = Phase.MOVING
        self.problem: Problem | None = None
        self.stands = False
        self.worst_joint, self.worst_error = "", 0.0
        self._names = robot.coordinate_names
        self._units = [joint.position_unit for joint in robot.independent_joints]
        self._effort_units = [joint.effort_unit for joint in robot.independent_joints]
        efforts = [joint.limits.effort for joint in robot.independent_joints]
        limits = np.array([np.inf if effort is None else effort for effort in efforts])
        self._near = settings.effort_part * np.where(limits > 0.0, limits, np.inf)
        self._near_since: dict[int, float] = {}
        tolerances = (settings.tracking_errors.get(name, settings.tracking_error) for name in self._names)
        self._tolerance = np.array(list(tolerances))
        self._motion, self._begin, self._settings = motion, begin, settings
        self._trajectory = motion.trajectory
        self._feasible, self._send = feasible, send
        self._good_at = now
        self._refusal: Problem | None = None
        self._end = motion.end
        self._over_by = np.inf
        self._measured_t = -np.inf
        self._delayed: DelayedSample[tuple[float, Array]] = DelayedSample(_SPEED_S)
        send(motion.points, begin)

    @property
    def recording_from(self) -> float:
        """Begin of the recorded part (s)."""
        return self._begin + self._motion.begin

    @property
    def fraction(self) -> float:
        """Fraction of the motion that is done."""
        if self.phase is Phase.OVER and self.problem is None:
            return 1.0
        return float(np.clip((self._measured_t - self._begin) / self._motion.end, 0.0, 1.0))

    def desired(self, t: float) -> Motion:
        """Return the desired motion at time t (s)."""
        return self._trajectory.motion(t - self._begin)

    def measure(self, t: float, q: Array, qd: Array | None, tau: Array | None, now: float) -> None:
        """Take good joint states of time t (s): positions, velocities and efforts, (n,)."""
        self._good_at, self._refusal = now, None
        self._measured_t = t
        if self.phase is Phase.OVER:
            return
        errors = np.abs(q - self.desired(t).q)
        j = int(np.argmax(errors / self._tolerance))
        self.worst_joint, self.worst_error = self._names[j], float(errors[j])
        still = self._stands(t, q, qd)
        late = t - self._begin - self._end
        if late >= 0.0 and (still or late > _GRACE_S):
            self.stands = still
            self.phase = Phase.OVER
        elif self.phase is Phase.MOVING and t >= self._begin:
            if errors[j] > self._tolerance[j]:
                code, values = "tracking-error-exceeded", {"distance": errors[j], "limit": self._tolerance[j]}
                self.stop(Notice(code, joint=self._names[j], unit=self._units[j], **values), t, now)
            elif tau is not None:
                self._watch_efforts(t, tau, now)

    def _stands(self, t: float, q: Array, qd: Array | None) -> bool:
        """Return whether no joint moves, by its velocity or else by its last positions."""
        self._delayed.add(t, (t, q))
        if qd is not None:
            return bool((np.abs(qd) <= self._settings.rest).all())
        earlier = self._delayed.earlier
        return earlier is not None and bool(
            (np.abs(q - earlier[1]) <= self._settings.rest * (t - earlier[0])).all()
        )

    def refuse(self, problem: Problem) -> None:
        """Note that joint states were refused, and why."""
        self._refusal = problem

    def look(self, t: float, now: float) -> None:
        """Check whether joint states are stale, and whether the run has ended."""
        silence = now - self._good_at
        if self.phase is Phase.MOVING and silence > self._settings.timeout:
            cause = self._refusal
            stale = (
                Notice("joint-states-stopped", silence=silence)
                if cause is None
                else Notice("joint-states-refused", silence=silence, cause=cause)
            )
            self.stop(stale, t, now)
        elif self.phase is Phase.STOPPING and now > self._over_by:
            self.phase = Phase.OVER

    def clock_was_set(self, gained: float, t: float, now: float) -> None:
        """Stop on the path, after the clock gained a time (s); it is at t (s) now."""
        self._begin += gained
        self._measured_t += gained
        self._near_since.clear()
        self._delayed.forget()
        # At once: a controller that follows the trajectory stands still already.
        self.stop(Notice("clock-set-by", gained=gained), t, now, lead=0.0)

    def stop(
        self, problem: Problem, t: float, now: float, longest: float = math.inf, lead: float | None = None
    ) -> None:
        """Bring the robot to rest smoothly, on its path, from the present on.

        Args:
            problem: the reason.
            t: the present on the clock of the node (s).
            now: the present on a steady clock (s).
            longest: longest duration (s), even if the efforts require a longer stop.
            lead: time to its begin (s); None for that of the settings.
        """
        if self.phase is not Phase.MOVING:
            return
        self.problem, self.phase = problem, Phase.STOPPING
        settings = self._settings
        # The run ends by then in any case.
        self._over_by = now + settings.stop_longest + _GRACE_S
        lead = settings.lead if lead is None else lead
        at = t - self._begin + lead
        shortest, longest = min(settings.stop_shortest, longest), min(settings.stop_longest, longest)
        points = stopping(self._trajectory, at, self._names, self._feasible, shortest, longest)
        self._trajectory = replaced(self._trajectory, points, at - lead, at)
        self._end = self._trajectory.end
        self._over_by = now + (self._end - at) + lead + _GRACE_S
        self._send(points, self._begin + at)

    def _watch_efforts(self, t: float, tau: Array, now: float) -> None:
        near = np.abs(tau) >= self._near
        if not near.any() and not self._near_since:
            return
        self._near_since = {j: self._near_since.get(j, t) for j in np.flatnonzero(near).tolist()}
        for j, since in self._near_since.items():
            if t - since > self._settings.effort_time:
                values = {"duration": t - since, "given": tau[j], "unit": self._effort_units[j]}
                near_limit = Notice("effort-near-limit", joint=self._names[j], **values)
                self.stop(near_limit, t, now)
                return
