# SPDX-License-Identifier: Apache-2.0
"""A robot on its way along a motion, and to rest where something is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from dyn_core import Robot
from dyn_core.control.motion import Motion
from dyn_core.control.plan import replaced
from dyn_core.control.stopping import stopping
from dyn_core.control.trajectories.trajectory_planning import TrajectoryPoints
from dyn_core.core.arrays import Array
from dyn_core.excitation.recorded_motion import RecordedMotion
from dyn_nodes.lately import Lately

_GRACE_S = 1.0
"""How long after the end of its motion the robot may take to stand (s)."""
_SPEED_S = 0.1
"""Time from which on positions show a speed (s)."""


@dataclass(frozen=True)
class RunSettings:
    """When a run is stopped, and how.

    Attributes:
        timeout: without good joint states for longer than this, on a steady clock (s).
        tracking_error: greatest difference between robot and motion, for joints without their own (rad or m).
        tracking_errors: the same by joint.
        effort_part: part of the effort limit that counts as near to it.
        effort_time: longest time that an effort may be near to its limit (s).
        lead: time from the decision to stop to its beginning: messages take their time (s).
        stop_shortest: time of a stop, where the robot can do that (s).
        stop_longest: time of a stop where it cannot (s).
        rest: greatest speed of a joint that stands (rad/s or m/s).
    """

    timeout: float = 0.2
    tracking_error: float = 0.2
    tracking_errors: dict[str, float] = field(default_factory=dict)
    effort_part: float = 0.98
    effort_time: float = 0.5
    lead: float = 0.03
    stop_shortest: float = 0.2
    stop_longest: float = 2.0
    rest: float = 0.02


class Phase(Enum):
    """How far a run is."""

    MOVING = "moving"
    STOPPING = "stopping"
    OVER = "over"


class MotionRun:
    """One run. It has a state: the phase, and what was measured last.

    Times t are on the clock of the node, `now` on a steady clock (both s).

    Attributes:
        phase: how far it is.
        problem: why it was stopped, in a sentence; None where it was not.
        stands: whether the robot was seen standing at the end.
        worst_joint: joint that is furthest from the motion; empty before any was measured.
        worst_error: by how much (rad or m).
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
        """Send the motion.

        Args:
            robot: the robot.
            motion: what it is to do.
            begin: when (s).
            now: the present (s).
            settings: when it is stopped, and how.
            feasible: whether the robot can do a stop.
            send: sends points and their beginning (s) to a controller.
        """
        self.phase = Phase.MOVING
        self.problem: str | None = None
        self.stands = False
        self.worst_joint, self.worst_error = "", 0.0
        self._names = robot.coordinate_names
        self._units = [joint.position_unit for joint in robot.independent_joints]
        self._effort_units = [joint.effort_unit for joint in robot.independent_joints]
        efforts = [joint.limits.effort for joint in robot.independent_joints]
        limits = np.array([np.inf if effort is None else effort for effort in efforts])
        self._near = settings.effort_part * np.where(limits > 0.0, limits, np.inf)
        self._near_since: dict[int, float] = {}
        self._tolerance = _by_joint(self._names, settings)
        self._motion, self._begin, self._settings = motion, begin, settings
        self._trajectory = motion.trajectory
        self._feasible, self._send = feasible, send
        self._good_at = now
        self._refusal = ""
        self._end = motion.end
        self._over_by = np.inf
        self._measured_t = -np.inf
        self._lately: Lately[tuple[float, Array]] = Lately(_SPEED_S)
        send(motion.points, begin)

    @property
    def recording_from(self) -> float:
        """When the part begins that is to be recorded (s)."""
        return self._begin + self._motion.begin

    @property
    def fraction(self) -> float:
        """Part of the motion that is done."""
        if self.phase is Phase.OVER and self.problem is None:
            return 1.0
        return float(np.clip((self._measured_t - self._begin) / self._motion.end, 0.0, 1.0))

    def desired(self, t: float) -> Motion:
        """Answer the motion that is wanted at time t (s)."""
        return self._trajectory.motion(t - self._begin)

    def measure(self, t: float, q: Array, qd: Array | None, tau: Array | None, now: float) -> None:
        """Take good joint states of time t (s): positions, velocities and efforts, (n,)."""
        self._good_at, self._refusal = now, ""
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
                self.stop(
                    f"joint '{self._names[j]}' is {errors[j]:.3g} {self._units[j]} from the motion, and "
                    f"{self._tolerance[j]:g} {self._units[j]} are allowed (max_tracking_error)",
                    t,
                    now,
                )
            elif tau is not None:
                self._watch_efforts(t, tau, now)

    def _stands(self, t: float, q: Array, qd: Array | None) -> bool:
        """Whether no joint moves, by its velocity or else by its last positions."""
        self._lately.add(t, (t, q))
        if qd is not None:
            return bool((np.abs(qd) <= self._settings.rest).all())
        earlier = self._lately.earlier
        return earlier is not None and bool(
            (np.abs(q - earlier[1]) <= self._settings.rest * (t - earlier[0])).all()
        )

    def refuse(self, sentence: str) -> None:
        """Take note of joint states that cannot be used."""
        self._refusal = sentence

    def look(self, t: float, now: float) -> None:
        """See at the present whether joint states are stale, and whether the end has come."""
        silence = now - self._good_at
        if self.phase is Phase.MOVING and silence > self._settings.timeout:
            cause = f"the last was refused: {self._refusal}" if self._refusal else "nothing came"
            self.stop(f"no good joint states for {silence:.2f} s ({cause})", t, now)
        elif self.phase is Phase.STOPPING and now > self._over_by:
            self.phase = Phase.OVER

    def clock_was_set(self, gained: float, t: float, now: float) -> None:
        """Stop on the way where the robot is, although the clock has gained (s), and says t (s) now."""
        self._begin += gained
        self._measured_t += gained
        self._near_since.clear()
        self._lately.forget()
        # At once: whoever follows trajectories stands by now.
        self.stop(f"the clock was set, by {gained:+.3g} s", t, now, lead=0.0)

    def stop(
        self, problem: str, t: float, now: float, longest: float = math.inf, lead: float | None = None
    ) -> None:
        """Bring the robot to rest at the present, smoothly, on the way that it is on.

        Args:
            problem: why, in a sentence.
            t: the present on the clock of the node (s).
            now: the present on a steady clock (s).
            longest: time that it may take (s), even if the efforts allow no stop that is so short.
            lead: time to its beginning (s); None for that of the settings.
        """
        if self.phase is not Phase.MOVING:
            return
        self.problem, self.phase = problem, Phase.STOPPING
        settings = self._settings
        # Whatever happens now, this ends.
        self._over_by = now + settings.stop_longest + _GRACE_S
        lead = settings.lead if lead is None else lead
        at = t - self._begin + lead
        points = stopping(
            self._trajectory,
            at,
            self._names,
            self._feasible,
            min(settings.stop_shortest, longest),
            min(settings.stop_longest, longest),
        )
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
                self.stop(
                    f"the effort of joint '{self._names[j]}' has been near its limit for {t - since:.2f} s, "
                    f"it is {tau[j]:.4g} {self._effort_units[j]}",
                    t,
                    now,
                )
                return


def _by_joint(names: Sequence[str], settings: RunSettings) -> Array:
    return np.array([settings.tracking_errors.get(name, settings.tracking_error) for name in names])
