# SPDX-License-Identifier: Apache-2.0
"""Positions at which the loops of a robot close, and far enough from singularities to compute torques.

At a singularity the actuated joints do not determine the passive ones, and the torques that go with a motion
grow without limit. How near it is says the condition number of the constraints, as `Model.loop_condition`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dyn_core.control.trajectories.trajectory import Trajectory
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.facade.compile import compiled_or_none
from dyn_core.facade.loop_programs import passive_matrix
from dyn_core.facade.runnable import runnables
from dyn_core.model.fixed_base.closed_loops import condition_numbers, constraint_units
from dyn_core.robot.robot import Robot

FAR = 0.1
"""How far from where a search failed (rad or m) another one is worth its time."""

STEP = 0.02
"""Longest way (rad or m) of a joint between two looks at a trajectory."""

MOST_LOOKS = 20_000
"""Most looks at one trajectory."""


@dataclass(frozen=True)
class ConditionLimits:
    """Condition numbers of the constraints of loops.

    Attributes:
        greatest: above this no torque is computed.
        warning: above this one is warned.
    """

    greatest: float = 1000.0
    warning: float = 100.0


class LoopGuard:
    """Looks at positions of the actuated joints. It has a state: the last condition number.

    Robots without loops pass, and cost nothing.

    Attributes:
        condition: condition number at the last position that was looked at; None before any, infinite where
            the loops did not close.
    """

    def __init__(self, robot: Robot, limits: ConditionLimits) -> None:
        """Compile what tells the condition number."""
        self.condition: float | None = None
        self.limits = limits
        self._robot = robot
        self._has_closed = False
        self._failed: Array | None = None
        if robot.loops:
            programs = [passive_matrix(robot)]
            (self._matrix,) = compiled_or_none(robot, programs, "auto") or runnables(programs, "python")
            self._W = np.empty(self._matrix.shape)
            self._units = constraint_units(robot)

    def check(self, q: Array) -> None:
        """Refuse positions (rad or m), (n,), that will not do.

        Raises:
            DynError: the loops do not close there, or the condition number is too great.
        """
        if not self._robot.loops:
            return
        self.condition = math.inf
        W = self._at(q)
        if W is None:
            raise DynError(self._open(q))
        self.condition = float(condition_numbers(W, self._units))
        if not self.condition <= self.limits.greatest:
            raise DynError(self._singular(q, self.condition))

    def check_trajectory(self, trajectory: Trajectory) -> None:
        """Refuse a trajectory that goes where the loops do not close, or near a singularity.

        Raises:
            DynError: it does; the message says when, and at which positions.
        """
        if not self._robot.loops:
            return
        times = _looks(trajectory)
        found = self.first_refused(np.ascontiguousarray(trajectory.sample_many(times).q))
        if found is not None:
            k, why = found
            when = f"{times[k] - trajectory.start:.4g} s after its start"
            raise DynError(f"the trajectory cannot be followed, {when} {why}")

    def first_refused(self, q: Array) -> tuple[int, str] | None:
        """Answer the first of positions (N, n) that will not do, by number, and why; None where all do.

        Positions follow one another, so that loops close at each from where they did at the one before.
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
        """A sentence where the last condition number is above that of a warning, or None."""
        if self.condition is None or not self._robot.loops or self.condition <= self.limits.warning:
            return None
        if math.isinf(self.condition):
            return "the loops do not close at the last positions"
        return (
            f"near a singularity of the loops: their condition number is {self.condition:.3g}, "
            f"above {self.limits.warning:g}"
        )

    def _at(self, q: Array) -> Array | None:
        """Answer the constraints at positions; None where the loops do not close.

        The search for a way round what is in between takes long: it is for the first positions alone.
        Later ones follow from those before.
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

    def _open(self, q: Array) -> str:
        return f"the loops of robot '{self._robot.name}' do not close at {self._words(q)}"

    def _singular(self, q: Array, condition: float) -> str:
        return (
            f"the loops of robot '{self._robot.name}' are near a singularity at {self._words(q)}: their "
            f"condition number is {condition:.3g}, at most {self.limits.greatest:g} is allowed"
        )

    def _words(self, q: Array) -> str:
        joints = zip(self._robot.independent_joints, q.tolist(), strict=True)
        return ", ".join(f"{joint.name} = {value:.4g} {joint.position_unit}" for joint, value in joints)


def _looks(trajectory: Trajectory) -> Array:
    """Answer times between which no joint goes far."""
    knots = np.array(trajectory.knots)
    if len(knots) < 2:
        return knots
    fine = np.unique(np.linspace(knots[:-1], knots[1:], 9))
    steps = np.abs(np.diff(trajectory.sample_many(fine).q, axis=0)).max(axis=1)
    counts = np.maximum(1.0, np.ceil(steps / STEP))
    if counts.sum() > MOST_LOOKS:
        counts = np.maximum(1.0, np.floor(counts * (MOST_LOOKS / counts.sum())))
    ends = np.concatenate(([0.0], np.cumsum(counts)))
    return np.asarray(np.interp(np.arange(ends[-1] + 1.0), ends, fine))
