# SPDX-License-Identifier: Apache-2.0
"""Positions of robots with loops: closure, distance from singularities, passive joints.

`LoopGuard` refuses positions near singularities; `PassiveAgreement` compares positions given for passive
joints.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dyn_core.control.trajectories.trajectory import Trajectory
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError, at_joint
from dyn_core.core.handover import handed_over
from dyn_core.core.messages import Message
from dyn_core.model.fixed_base.closed_loops import (
    condition_numbers,
    constraint_units,
    passive_matrix,
    passive_positions,
)
from dyn_core.model.fixed_base.compiled_model import runnable_by
from dyn_core.robot.joints import Sigma
from dyn_core.robot.robot import Robot

FAR = 0.1  # Distance from the position of a failed search (rad or m) beyond which a new search is made
STEP = 0.02  # Longest displacement (rad or m) of a joint between two samples of a trajectory
MOST_SAMPLES = 20_000  # Largest number of samples of a trajectory


@dataclass(frozen=True)
class ConditionLimits:
    """Limits of the condition number of the constraints of loops.

    Above `greatest` no torque is computed, above `warning` a warning is given.
    """

    greatest: float = 1000.0
    warning: float = 100.0


class LoopGuard:
    """Check that the loops close at positions of the actuated joints, away from singularities.

    At a singularity the actuated joints do not determine the passive ones, and the torques for a motion grow
    without limit. The condition number of the constraints, as `Model.loop_condition`, tells how near it is.
    The checks of a robot without loops always pass and cost nothing.

    `condition` is the condition number at the last checked position; None before the first check, infinite if
    the loops did not close.
    """

    def __init__(self, robot: Robot, limits: ConditionLimits) -> None:
        """Compile the constraints whose condition number is checked."""
        self.condition: float | None = None
        self.limits = limits
        self._robot = robot
        self._has_closed = False
        self._failed: Array | None = None
        if robot.loops:
            self._matrix, self._units = handed_over(
                lambda: (runnable_by(robot, passive_matrix(robot)), constraint_units(robot))
            )
            self._W = np.empty(self._matrix.shape)

    def check(self, q: Array) -> None:
        """Raise DynError if the loops are open or nearly singular at q (rad or m), (n,)."""
        if not self._robot.loops:
            return
        self.condition = math.inf
        W = self._at(q)
        if W is None:
            raise _error(self._open(q))
        self.condition = float(condition_numbers(W, self._units))
        if not self.condition <= self.limits.greatest:
            raise _error(self._singular(q, self.condition))

    def check_trajectory(self, trajectory: Trajectory, zero: float | None = None) -> None:
        """Raise DynError, with time and positions, if loops open or are nearly singular on a trajectory.

        The time counts from `zero` (s), None for the start.
        """
        if not self._robot.loops:
            return
        times = _sample_times(trajectory)
        found = self.first_refused(np.ascontiguousarray(trajectory.sample_many(times).q))
        if found is not None:
            k, why = found
            raise DynError(
                "trajectory-leaves-loops",
                time=times[k] - (trajectory.start if zero is None else zero),
                cause=why,
            )

    def first_refused(self, q: Array) -> tuple[int, Message] | None:
        """Return the number of the first refused position of (N, n), and the reason; None if all are valid.

        The positions are consecutive: the loops are closed at each from the solution at the one before.
        """
        if not self._robot.loops:
            return None
        W = np.empty((len(q), *self._matrix.shape))
        k = self._matrix.function.into(q, W)
        if k is not None:
            return k, self._open(q[k])
        conditions = condition_numbers(W, self._units)
        k = int(np.argmax(~(conditions <= self.limits.greatest)))
        if conditions[k] <= self.limits.greatest:
            return None
        return k, self._singular(q[k], float(conditions[k]))

    @property
    def warning(self) -> str | None:
        """A sentence if the last condition number is above the limit of a warning, else None."""
        if self.condition is None or not self._robot.loops or self.condition <= self.limits.warning:
            return None
        if math.isinf(self.condition):
            return "the loops do not close at the last positions"
        return (
            f"near a singularity of the loops: their condition number is {self.condition:.3g}, "
            f"above {self.limits.warning:g}"
        )

    def _at(self, q: Array) -> Array | None:
        """Return the constraints at positions; None if the loops do not close.

        Later positions continue from those before. Only the first positions are searched for with detours,
        because this takes long.
        """
        if self._matrix.function.into(np.ascontiguousarray(q), self._W) is None:
            self._has_closed = True
            return self._W
        if self._has_closed or (self._failed is not None and np.abs(q - self._failed).max() < FAR):
            return None
        try:
            W = self._matrix.run((), q)
        except DynError:
            self._failed = q.copy()
            return None
        self._has_closed = True
        return W

    def _open(self, q: Array) -> Message:
        where = f"at {self._words(q)}"
        return Message("loops-open-at-positions", robot=self._robot.name, where=where, reason="")

    def _singular(self, q: Array, condition: float) -> Message:
        return Message(
            "loops-singular-at-positions",
            robot=self._robot.name,
            positions=self._words(q),
            condition=condition,
            limit=self.limits.greatest,
        )

    def _words(self, q: Array) -> str:
        joints = zip(self._robot.independent_joints, q.tolist(), strict=True)
        return ", ".join(f"{joint.name} = {value:.4g} {joint.position_unit}" for joint, value in joints)


def _sample_times(trajectory: Trajectory) -> Array:
    """Return sample times between which no joint moves by more than about `STEP`.

    Where this needs more than `MOST_SAMPLES`, the steps are longer in proportion.
    """
    knots = np.array(trajectory.knots)
    if len(knots) < 2:
        return knots
    fine = np.unique(np.linspace(knots[:-1], knots[1:], 9))
    steps = np.abs(np.diff(trajectory.sample_many(fine).q, axis=0)).max(axis=1)
    counts = np.maximum(1.0, np.ceil(steps / STEP))
    if counts.sum() > MOST_SAMPLES:
        counts = np.maximum(1.0, np.floor(counts * (MOST_SAMPLES / counts.sum())))
    ends = np.concatenate(([0.0], np.cumsum(counts)))
    return np.asarray(np.interp(np.arange(ends[-1] + 1.0), ends, fine))


TOLERANCE = 0.01
"""Largest deviation of a passive joint (rad or m). Encoders and tolerances of links give some mrad or mm,
another assembly mode much more."""


class PassiveAgreement:
    """Compare positions of passive joints with those that follow from the actuated joints.

    A message that also has positions of passive joints, such as a replayed recording or a plan of all joints,
    is redundant. A contradiction means another assembly mode, other lengths or another zero: then the message
    cannot be trusted. `names` are the passive joints of the loops; none without loops.
    """

    def __init__(self, robot: Robot) -> None:
        """Compile the solution of the loops, if the robot has loops."""
        self.names = robot.passive_joint_names if robot.loops else ()
        self._joints = {name: robot.joint(name) for name in self.names}
        if self.names:
            self._follow = handed_over(lambda: runnable_by(robot, passive_positions(robot)))

    def followed(self, q: Array) -> Array | None:
        """Return the positions of the passive joints (rad or m), (N, m); None if the loops do not close.

        q are those of the actuated joints (rad or m), (N, n).
        """
        followed = np.empty((len(q), len(self.names)))
        closed = self._follow.function.into(np.ascontiguousarray(q), followed) is None
        return followed if closed else None

    def apart(self, q: Array, names: Sequence[str], passive: Array) -> Array | None:
        """Return the deviations of given passive joint positions from those of the loops (rad or m), (N, k).

        Angles are compared without whole turns, because not all sources count turns. Return None if the loops
        do not close at some position.

        Args:
            q: positions of the actuated joints (rad or m), (N, n).
            names: passive joints, some or all.
            passive: their positions (rad or m), (N, k).
        """
        followed = self.followed(q)
        if followed is None:
            return None
        apart: Array = passive - followed[:, [self.names.index(name) for name in names]]
        for k, name in enumerate(names):
            if self._joints[name].sigma is Sigma.REVOLUTE:
                apart[:, k] = np.remainder(apart[:, k] + math.pi, 2.0 * math.pi) - math.pi
        return apart

    def check(self, q: Array, names: Sequence[str], passive: Array) -> None:
        """Raise DynError, with the worst joint, for positions more than `TOLERANCE` from those of the loops.

        The arguments are those of `apart`. Positions at which the loops do not close pass: `LoopGuard`
        refuses them.
        """
        if not names:
            return
        apart = self.apart(q, names, passive)
        if apart is None:
            return
        sample, k = divmod(int(np.abs(apart).argmax()), len(names))
        if not abs(apart[sample, k]) <= TOLERANCE:
            given, off = float(passive[sample, k]), float(apart[sample, k])
            point = {"point": sample} if len(q) > 1 else {}
            raise at_joint(
                names[k],
                "passive-point-contradicts-loops" if point else "passive-position-contradicts-loops",
                given=given,
                unit=self._joints[names[k]].position_unit,
                expected=given - off,
                difference=abs(off),
                tolerance=TOLERANCE,
                **point,
            )


def _error(message: Message) -> DynError:
    return DynError(message.code, **message.values)
