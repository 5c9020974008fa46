# SPDX-License-Identifier: Apache-2.0
"""What the joints are to do: a stream of references, or a trajectory, whichever came last."""

from __future__ import annotations

import math
from enum import Enum

import numpy as np

from dyn_core import DynError, Robot
from dyn_core.control.jump import JumpLimit
from dyn_core.control.laws.base_measurement import DerivativeFilter
from dyn_core.control.motion import Motion
from dyn_core.control.plan import planned, replaced
from dyn_core.control.smooth_motion import SmoothMotion
from dyn_core.control.trajectories.loop_positions import ConditionLimits, LoopGuard
from dyn_core.control.trajectories.trajectory import Trajectory
from dyn_core.control.trajectories.trajectory_planning import TrajectoryPoints
from dyn_core.control.trajectory_ranges import MARGIN, check_ranges
from dyn_core.core.arrays import Array
from dyn_nodes.feedforward.parameters import ReferenceSettings
from dyn_nodes.loop_condition import check_loops
from dyn_nodes.motion_message import GivenMotion
from dyn_nodes.rejection import Rejection

_TURNING_S = 1e-3
"""Least time in which a joint goes from its greatest speed to the same backwards (s). Robots need 10 to 100
times as long, and references are hardly sent more often: what is faster is no motion of a robot."""
_LATEST_S = 3600.0
"""Longest that a trajectory is waited for (s). What is stamped later is stamped by another clock."""


class Kind(Enum):
    """Where the desired motion comes from."""

    NOTHING = "nothing"
    REFERENCE = "reference"
    TRAJECTORY = "trajectory"


class DesiredMotion:
    """The desired motion of one robot. It has a state: the last reference, or the trajectory.

    Times t are of stamps, on the clock of the node; times `now` on a steady clock (both s).

    Attributes:
        kind: where the motion comes from.
        guard: looks at positions of robots with loops.
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
        """Begin with nothing that is desired.

        Args:
            robot: the robot.
            settings: what is asked of references.
            timeout: age at which references are stale (s).
            guard: looks at positions of robots with loops.
            for_springs: whether trajectories have four continuous derivatives, as motors behind springs need.
        """
        self._for_springs = for_springs
        names = robot.coordinate_names
        self.guard = guard or LoopGuard(robot, ConditionLimits())
        self.kind = Kind.NOTHING
        self._limits = robot.limits
        self._timeout = timeout
        # References that stop are not carried on for longer than they count.
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

    def take_over(self, before: DesiredMotion) -> None:
        """Go on with the motion, and the derivatives, of another robot with the same joints."""
        self.kind = before.kind
        self._of_positions, self._of_velocities = before._of_positions, before._of_velocities
        self._reference, self._reference_t = before._reference, before._reference_t
        self._reference_at = before._reference_at
        self._trajectory, self._sampled = before._trajectory, before._sampled

    def refer(self, given: GivenMotion, t: float, now: float, measured: Array | None) -> Motion:
        """Take the next reference and answer its motion, with derivatives that it lacks.

        Args:
            given: the reference.
            t: its stamp (s).
            now: the present on the steady clock (s).
            measured: the measured position (rad or m); None where it is not known. The first reference has
                to be near to it, or to where the trajectory is.

        Raises:
            Rejection: it is older than the last one, jumps, is faster than its joints, or is where loops
                do not close. The last one stays.
        """
        last_t = self._reference_t
        following = self.follows(now)
        if following and t <= last_t:
            raise Rejection(
                f"reference is stamped {last_t - t:.3f} s before the last one", "reference is not in order"
            )
        before = self.at(t) if self.kind is Kind.TRAJECTORY else self._reference if following else None
        near = [] if before is None else [before.q]
        if not following and measured is not None:
            near.append(measured)
        jumps = [self._jumps.jump(q, given.q, t - last_t if following else 0.0) for q in near]
        jump = jumps[-1] if jumps and None not in jumps else None
        if jump is not None:
            raise Rejection(jump.sentence, f"the reference of joint '{jump.joint}' jumps")
        self._check_derivatives(given)
        check_loops(self.guard, given.q, "the reference")
        if not following:
            # What another motion was before has no part in the derivatives of this one.
            self._of_positions.reset()
            self._of_velocities.reset()
        motion = self._completed(given, t)
        self.kind = Kind.REFERENCE
        self._reference, self._reference_t, self._reference_at = motion, t, now
        self._trajectory = None
        return motion

    def planned(
        self, points: TrajectoryPoints, t: float, stamp: float | None, now: float, start: Motion | None
    ) -> Trajectory:
        """Answer the trajectory through points that goes on from what is desired; DynError if there is none.

        The trajectory through the points alone is checked as well: controllers that get them follow that.

        Args:
            points: the points.
            t: the present on the clock of the node (s).
            stamp: start of the trajectory (s); None for now.
            now: the present on the steady clock (s).
            start: the motion that the joints have, for where nothing is desired yet, or what was is over and
                they are elsewhere; None to go on from what was desired, wherever they are.
        """
        if stamp is not None and stamp - t > _LATEST_S:
            raise DynError(
                f"the trajectory is stamped {stamp - t:.6g} s ahead, at most {_LATEST_S:g} s are waited for: "
                "stamp it by the clock of this node, or with zero for now"
            )
        place, springs = self._place(t, now), self._for_springs
        if self.left(start, t, now):
            trajectory = planned(points, t, stamp, start, for_springs=springs)
        elif self._trajectory is not None:
            trajectory = replaced(self._trajectory, points, t, stamp, for_springs=springs)
        else:
            present = self.at(t) if place is None else Motion.at_rest(place)
            if present is not None and stamp is not None and stamp > t:
                # They stand there until it begins.
                present = Motion.at_rest(present.q)
            present = start if present is None else present
            trajectory = planned(points, t, stamp, present, for_springs=springs)
        self._check_speed(trajectory)
        names, speed = self._jumps.joint_names, self._jumps.speed
        check_ranges(planned(points, 0.0, 0.0, for_springs=springs), names, self._limits, speed)
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
        """Answer the trajectory that stands still where the desired motion is.

        Args:
            t: the present on the clock of the node (s).
            now: the present on the steady clock (s).
            start: the motion that the joints have, for where nothing is desired yet, or references have
                stopped and they are elsewhere; None to stand where the last reference was in any case.

        Raises:
            DynError: it is not known where the joints are, or should be.
        """
        present = self.at(t)
        if present is None or (self._trajectory is None and self.left(start, t, now)):
            present = start
        if present is None:
            raise DynError(
                "the trajectory is empty, which means to stop: there is no motion and no measured position"
            )
        return Trajectory.standing(present.q, t)

    def forget_time(self, t: float) -> None:
        """Go on after the clock went back to t (s): stand where a trajectory was, and wait for references."""
        if self._trajectory is not None and self._sampled is not None:
            self.follow(Trajectory.standing(self._sampled, t), t)
        elif self._trajectory is None:
            self.kind, self._reference = Kind.NOTHING, None

    def at(self, t: float) -> Motion | None:
        """Answer the motion that is desired at a time (s), the last reference whatever its age is.

        A reference is for the time of its stamp; from there it is carried to t, but not far.
        """
        if self._trajectory is None:
            if self._reference is None:
                return None
            return self._reference.carried(min(max(t - self._reference_t, -self._carry), self._carry))
        motion = self._trajectory.motion(t)
        self._sampled = motion.q
        return motion

    def smooth_at(self, t: float) -> SmoothMotion | None:
        """Answer the motion of the trajectory at a time (s) with all derivatives; None without one."""
        return None if self._trajectory is None else self._trajectory.smooth_motion(t)

    @property
    def speed(self) -> Array:
        """Greatest speeds of the joints (rad/s or m/s), (n,); infinite where they are not known."""
        return self._jumps.speed

    def fresh(self, now: float) -> bool:
        """Whether what is desired may still be used at a time of the steady clock (s)."""
        return self.kind is not Kind.REFERENCE or now - self._reference_at <= self._timeout

    def follows(self, now: float) -> bool:
        """Whether references come at a time of the steady clock (s), of which the next one goes on."""
        return self.kind is Kind.REFERENCE and self.fresh(now)

    def apart(self, a: Array, b: Array) -> bool:
        """Whether positions (rad or m) are further from each other than a reference may begin."""
        return self._jumps.jump(a, b, 0.0) is not None

    def left(self, motion: Motion | None, t: float, now: float) -> bool:
        """Whether the joints are elsewhere than where they are to stand, as what was desired is over.

        Args:
            motion: the motion that they have; None where it is not known.
            t: the present on the clock of the node (s).
            now: the present on the steady clock (s).
        """
        place = self._place(t, now)
        return motion is not None and place is not None and self.apart(place, motion.q)

    def _place(self, t: float, now: float) -> Array | None:
        """Answer where the joints are to stand (rad or m), as a trajectory is over or references stopped."""
        if self._trajectory is not None:
            return self._trajectory.last if t >= self._trajectory.end else None
        present = None if self.fresh(now) else self.at(t)
        return None if present is None else present.q

    def _check_derivatives(self, given: GivenMotion) -> None:
        """Refuse a motion that no joint has.

        Raises:
            Rejection: a velocity is above the speed of its joint, or would be there within `_TURNING_S`.
        """
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
                name = self._jumps.joint_names[j]
                raise Rejection(
                    f"the reference of joint '{name}' has the {what} {values[j]:.4g}, "
                    f"at most {greatest[j]:.4g} is allowed",
                    f"the {what} of the reference of joint '{name}' is too great",
                )

    def _check_speed(self, trajectory: Trajectory) -> None:
        """Refuse a trajectory that goes from one point to the next as a reference may not.

        Raises:
            DynError: it does.
        """
        positions = trajectory.sample_many(np.array(trajectory.knots)).q
        durations = np.array(trajectory.durations)
        allowed = durations[:, None] * self._jumps.speed + self._jumps.slack
        too_fast = np.flatnonzero((np.abs(np.diff(positions, axis=0)) > allowed).any(axis=1))
        for k in too_fast.tolist():
            jump = self._jumps.jump(positions[k], positions[k + 1], trajectory.durations[k])
            if jump is not None:
                raise DynError(
                    f"piece {k} of the trajectory moves joint '{jump.joint}' by {jump.step:.4g} "
                    f"in {jump.dt:.4g} s, at most {jump.allowed:.4g} is allowed",
                    element=f"joint '{jump.joint}'",
                )

    def _completed(self, given: GivenMotion, t: float) -> Motion:
        q, qd, qdd = given.q, given.qd, given.qdd
        if qd is None:
            derived = self._of_positions.update(t, q)
            return Motion(q, derived[0], derived[1] if qdd is None else qdd)
        if qdd is None:
            (qdd,) = self._of_velocities.update(t, qd)
        return Motion(q, qd, qdd)


def _speeds(robot: Robot, greatest: float) -> list[float]:
    """Answer the fastest that the reference of each joint may move (rad/s or m/s)."""
    if greatest > 0.0:
        return [greatest] * robot.dof
    limits = (joint.limits.velocity for joint in robot.independent_joints)
    # Descriptions say 0 where the limit is not known.
    return [limit or math.inf for limit in limits]
