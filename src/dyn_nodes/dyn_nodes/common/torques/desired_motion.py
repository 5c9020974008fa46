# SPDX-License-Identifier: Apache-2.0
"""The desired motion of the joints: a stream of references or a trajectory, whichever came last."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np

from dyn_core import DynError, Robot
from dyn_core.control.command_limits import Jump, JumpLimit
from dyn_core.control.laws.base_measurement import DerivativeFilter
from dyn_core.control.trajectories.loop_positions import ConditionLimits, LoopGuard
from dyn_core.control.trajectories.piecewise_polynomials import Motion, SmoothMotion
from dyn_core.control.trajectories.trajectory import MARGIN, Trajectory, check_ranges
from dyn_core.control.trajectories.trajectory_planning import (
    PlannedPoints,
    TrajectoryPoints,
    following,
    planned,
    replaced,
    stopping,
)
from dyn_core.core.arrays import Array
from dyn_nodes.common.data_checks import Rejection
from dyn_nodes.common.messages.motion_message import GivenMotion
from dyn_nodes.common.torques.position_checks import check_loops
from dyn_nodes.common.torques.reference_parameters import ReferenceSettings

_TURNING_S = 1e-3
"""Shortest time in which a joint reverses its greatest speed (s). Robots need 10 to 100 times as long, and
references are hardly sent more often: a faster reversal is not the motion of a robot."""
_LATEST_S = 3600.0
"""Longest time before the start of a trajectory (s). A later stamp comes from another clock."""
_SAMPLES = 200
"""Samples of a trajectory for its greatest acceleration."""
_SLOW = 1e-3
"""Acceleration that is always allowed (rad/s^2 or m/s^2)."""


class Kind(Enum):
    """Source of the desired motion."""

    NOTHING = "nothing"
    REFERENCE = "reference"
    TRAJECTORY = "trajectory"


class DesiredMotion:
    """The desired motion of one robot. State: the last reference, or the trajectory.

    Times t are stamps, on the clock of the node; times `now` are on a steady clock (both s). `guard` checks
    positions of robots with loops.
    """

    def __init__(
        self,
        robot: Robot,
        settings: ReferenceSettings,
        timeout: float,
        guard: LoopGuard | None = None,
        *,
        for_springs: bool = False,
    ) -> None:
        """Begin without a desired motion; references older than `timeout` (s) are stale.

        With `for_springs`, trajectories have four continuous derivatives, as motors behind springs need.
        """
        self._for_springs = for_springs
        names = robot.coordinate_names
        self.guard = guard or LoopGuard(robot, ConditionLimits())
        self.kind = Kind.NOTHING
        self._limits = robot.limits
        self._timeout = timeout
        # References are not extrapolated for longer than they are valid.
        self._carry = min(settings.carry, timeout)
        self._jumps = JumpLimit(names, _speeds(robot, settings.max_speed), settings.slack)
        cutoff = settings.derivative_cutoff
        self._of_positions = DerivativeFilter(names, cutoff, second=True, max_gap=timeout)
        self._of_velocities = DerivativeFilter(names, cutoff, max_gap=timeout)
        self._reference: Motion | None = None
        self._reference_t = -math.inf
        self._reference_at = -math.inf
        self._trajectory: Trajectory | None = None
        self._sampled: Array | None = None

    def tune(self, robot: Robot, settings: ReferenceSettings) -> None:
        """Use the greatest speed and the slack of other settings from the next reference on."""
        self._jumps = JumpLimit(robot.coordinate_names, _speeds(robot, settings.max_speed), settings.slack)

    def take_over(self, before: DesiredMotion) -> None:
        """Take the motion, and the filters of its derivatives, from another robot with the same joints."""
        self.kind = before.kind
        self._of_positions, self._of_velocities = before._of_positions, before._of_velocities
        self._reference, self._reference_t = before._reference, before._reference_t
        self._reference_at = before._reference_at
        self._trajectory, self._sampled = before._trajectory, before._sampled

    def refer(self, given: GivenMotion, t: float, now: float, measured: Array | None) -> Motion:
        """Take the next reference; return its motion, with the derivatives that it lacks.

        The first reference has to be near to the measured position (None where it is unknown), or to the
        position of the trajectory.

        Raises:
            Rejection: it is older than the last one, jumps, is faster than its joints, or is at a position
                where loops do not close. The last one stays.
        """
        last_t = self._reference_t
        following = self.follows(now)
        if following and t <= last_t:
            raise Rejection("message-out-of-order", message="reference", time=last_t - t)
        before = self.at(t) if self.kind is Kind.TRAJECTORY else self._reference if following else None
        near = [] if before is None else [before.q]
        if not following and measured is not None:
            near.append(measured)
        jumps = [self._jumps.jump(q, given.q, t - last_t if following else 0.0) for q in near]
        jump = jumps[-1] if jumps and None not in jumps else None
        if jump is not None:
            raise Rejection("reference-jumps", **_values(jump))
        self._check_derivatives(given)
        check_loops(self.guard, given.q, "the reference")
        if not following:
            # The derivatives of this motion do not depend on the motion before.
            self._of_positions.reset()
            self._of_velocities.reset()
        motion = self._completed(given, t)
        self.kind = Kind.REFERENCE
        self._reference, self._reference_t, self._reference_at = motion, t, now
        self._trajectory = None
        return motion

    def checked(self, points: TrajectoryPoints) -> PlannedPoints | None:
        """Check the motion between points, in any thread; DynError if it cannot be made.

        Return what is known of it then; None for springs, where all depends on the motion before.
        """
        if self._for_springs:
            return None
        checked = PlannedPoints.of(points)
        names, speed = self._jumps.joint_names, self._jumps.speed
        self._check_speed(checked.alone, 1)
        check_ranges(checked.alone, names, self._limits, speed)
        self.guard.check_trajectory(checked.alone, 0.0)
        return checked

    def planned(
        self,
        points: TrajectoryPoints,
        t: float,
        stamp: float | None,
        now: float,
        start: Motion | None,
        checked: PlannedPoints | None = None,
    ) -> Trajectory:
        """Return the trajectory through points that continues the desired motion; DynError if there is none.

        It begins at `stamp` (s), None for now. `start`, the present motion of the joints, is used where
        nothing is desired yet, or where the desired motion is over and the joints are elsewhere; None to
        continue the desired motion in any case. The trajectory through the points alone is checked as well,
        because controllers follow that one; `checked` is the result where that was done before.
        """
        if stamp is not None and stamp - t > _LATEST_S:
            raise DynError("trajectory-stamp-too-late", ahead=stamp - t, limit=_LATEST_S)
        place, running = self._place(t, now), self._trajectory
        if self.left(start, t, now):
            running, present = None, start
        elif running is not None:
            begin = t if stamp is None else max(t, stamp)
            present = running.motion(begin)
        else:
            present = self.at(t) if place is None else Motion.at_rest(place)
            if present is not None and stamp is not None and stamp > t:
                # The joints stand there until the trajectory begins.
                present = Motion.at_rest(present.q)
            present = start if present is None else present
        names, speed = self._jumps.joint_names, self._jumps.speed
        if self._for_springs:
            return self._planned_for_springs(points, t, stamp, present, running)
        checked = checked or self.checked(points)
        assert checked is not None
        trajectory, way = checked.entered(t, stamp, present)
        self._check_speed(way, 0)
        check_ranges(way, names, self._limits, speed, self._jumps.slack)
        self.guard.check_trajectory(way)
        return trajectory if running is None else following(running, trajectory, t)

    def _planned_for_springs(
        self,
        points: TrajectoryPoints,
        t: float,
        stamp: float | None,
        present: Motion | None,
        running: Trajectory | None,
    ) -> Trajectory:
        """Return the trajectory with four continuous derivatives, which depend on the motion before."""
        if running is not None:
            trajectory = replaced(running, points, t, stamp, for_springs=True)
        else:
            trajectory = planned(points, t, stamp, present, for_springs=True)
        names, speed = self._jumps.joint_names, self._jumps.speed
        self._check_speed(trajectory, 0)
        check_ranges(planned(points, 0.0, 0.0, for_springs=True), names, self._limits, speed)
        check_ranges(trajectory, names, self._limits, speed, self._jumps.slack)
        self.guard.check_trajectory(trajectory)
        return trajectory

    def follow(self, trajectory: Trajectory, t: float) -> None:
        """Follow a trajectory from time t (s) on."""
        self.kind = Kind.TRAJECTORY
        self._trajectory = trajectory
        self._sampled = trajectory.motion(t).q
        self._reference = None

    def standing(self, t: float, now: float, start: Motion | None) -> Trajectory:
        """Return a trajectory that stands still at the desired position.

        `start`, the present motion of the joints, is used where nothing is desired yet, or where references
        have stopped and the joints are elsewhere; None to stand at the last reference in any case.

        Raises:
            DynError: neither the position of the joints nor a desired position is known.
        """
        present = self.at(t)
        if present is None or (self._trajectory is None and self.left(start, t, now)):
            present = start
        if present is None:
            raise DynError("stop-position-unknown")
        return Trajectory.standing(present.q, t)

    def stop(self, t: float, can_follow: Callable[[Motion], bool]) -> Trajectory:
        """Return the trajectory from the motion at time t (s) to rest, on the path of the present trajectory.

        `can_follow` returns whether the robot can follow N motions, (N, n). Joints without an effort limit
        have at most twice the greatest acceleration of the trajectory.
        """
        running, names = self._trajectory, self._jumps.joint_names
        assert running is not None
        usual = running.sample_many(np.linspace(running.start, running.end, _SAMPLES))
        limited = np.array([bool(self._limits[name].effort) for name in names])
        fastest = np.where(limited, np.inf, 2.0 * np.abs(usual.qdd).max(axis=0) + _SLOW)

        def allowed(motion: Motion) -> bool:
            return bool((np.abs(motion.qdd) <= fastest).all()) and can_follow(motion)

        points = stopping(running, t, names, allowed)
        return replaced(running, points, t, t, for_springs=self._for_springs)

    @property
    def trajectory(self) -> Trajectory | None:
        """The trajectory that is followed, also after its end; None where there is none."""
        return self._trajectory

    def forget_time(self, t: float) -> None:
        """Go on after the clock went back to t (s): hold a trajectory where it is, wait for references."""
        if self._trajectory is not None and self._sampled is not None:
            self.follow(Trajectory.standing(self._sampled, t), t)
        elif self._trajectory is None:
            self.kind, self._reference = Kind.NOTHING, None

    def at(self, t: float) -> Motion | None:
        """Return the desired motion at a time (s), from the trajectory or the last reference of any age.

        A reference is valid at its stamp. From there it is extrapolated to t, for a limited time.
        """
        if self._trajectory is None:
            if self._reference is None:
                return None
            return self._reference.carried(min(max(t - self._reference_t, -self._carry), self._carry))
        motion = self._trajectory.motion(t)
        self._sampled = motion.q
        return motion

    def smooth_at(self, t: float) -> SmoothMotion | None:
        """Return the motion of the trajectory at a time (s) with all derivatives; None if there is none."""
        return None if self._trajectory is None else self._trajectory.smooth_motion(t)

    @property
    def speed(self) -> Array:
        """Greatest speeds of the joints (rad/s or m/s), (n,); infinite where they are not known."""
        return self._jumps.speed

    def since(self, now: float) -> float:
        """Return the time of the newest reference (s), or `now` where the motion does not need references."""
        return self._reference_at if self.kind is Kind.REFERENCE else now

    def fresh(self, now: float) -> bool:
        """Return whether the desired motion may still be used at a time of the steady clock (s)."""
        return now - self.since(now) <= self._timeout

    def follows(self, now: float) -> bool:
        """Return whether a reference continues a stream, at a time of the steady clock (s)."""
        return self.kind is Kind.REFERENCE and self.fresh(now)

    def apart(self, a: Array, b: Array) -> bool:
        """Return whether two positions (rad or m) are further apart than a reference may begin."""
        return self._jumps.jump(a, b, 0.0) is not None

    def left(self, motion: Motion | None, t: float, now: float) -> bool:
        """Return whether the desired motion is over and the joints are far from its last position."""
        place = self._place(t, now)
        return motion is not None and place is not None and self.apart(place, motion.q)

    def _place(self, t: float, now: float) -> Array | None:
        """Return the position (rad or m) to hold after a trajectory or references have ended, or None."""
        if self._trajectory is not None:
            return self._trajectory.last if t >= self._trajectory.end else None
        present = None if self.fresh(now) else self.at(t)
        return None if present is None else present.q

    def _check_derivatives(self, given: GivenMotion) -> None:
        """Refuse a velocity above the speed of its joint, now or within `_TURNING_S`."""
        fastest = MARGIN * self._jumps.speed
        for what, values, greatest in (
            ("velocity", given.qd, fastest),
            ("acceleration", given.qdd, 2.0 * fastest / _TURNING_S),
        ):
            if values is None:
                continue
            beyond = np.abs(values) > greatest
            if beyond.any():
                j = int(beyond.argmax())
                joint, given_value = self._jumps.joint_names[j], values[j]
                raise Rejection(
                    "reference-too-fast", joint=joint, quantity=what, given=given_value, limit=greatest[j]
                )

    def _check_speed(self, trajectory: Trajectory, first: int) -> None:
        """Refuse a trajectory that moves faster between two points than a reference may, with a DynError.

        `first` is the number of its first piece.
        """
        positions = trajectory.sample_many(np.array(trajectory.knots)).q
        durations = np.array(trajectory.durations)
        allowed = durations[:, None] * self._jumps.speed + self._jumps.slack
        too_fast = np.flatnonzero((np.abs(np.diff(positions, axis=0)) > allowed).any(axis=1))
        for k in too_fast.tolist():
            jump = self._jumps.jump(positions[k], positions[k + 1], trajectory.durations[k])
            if jump is not None:
                element = f"joint '{jump.joint}'"
                raise DynError("trajectory-piece-too-fast", piece=first + k, **_values(jump), element=element)

    def _completed(self, given: GivenMotion, t: float) -> Motion:
        q, qd, qdd, _ = given
        if qd is None:
            derived = self._of_positions.update(t, q)
            return Motion(q, derived[0], derived[1] if qdd is None else qdd)
        if qdd is None:
            (qdd,) = self._of_velocities.update(t, qd)
        return Motion(q, qd, qdd)


def _values(jump: Jump) -> dict[str, Any]:
    return {"joint": jump.joint, "distance": jump.step, "duration": jump.dt, "limit": jump.allowed}


def _speeds(robot: Robot, greatest: float) -> list[float]:
    """Return the greatest speed of the reference of each joint (rad/s or m/s)."""
    if greatest > 0.0:
        return [greatest] * robot.dof
    limits = (joint.limits.velocity for joint in robot.independent_joints)
    # Descriptions give 0 where the limit is unknown.
    return [limit or math.inf for limit in limits]
