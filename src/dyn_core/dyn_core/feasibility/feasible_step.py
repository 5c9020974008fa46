# SPDX-License-Identifier: Apache-2.0
"""A step of a motion, as the actuators can make it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from dyn_core.core.arrays import Array
from dyn_core.feasibility.actuator_limits import ActuatorLimits
from dyn_core.feasibility.excess import Excess, bounds, excesses
from dyn_core.feasibility.step_program import Layout


@dataclass(frozen=True, eq=False, slots=True)
class FeasibleStep:
    """What becomes of a wished step.

    Attributes:
        q: positions after the step (rad or m), (n,).
        qd: velocities after it (rad/s or m/s), (n,).
        qdd: accelerations during it (rad/s^2 or m/s^2), (n,).
        torques: what they need when it begins (N m or N), (n,).
        feasible: whether the wish can be had: then q and qd are the wished ones, bit by bit.
        possible: whether the step keeps all limits; those of torques and power are always kept.
        part: the part of the wished velocities that is left, 0 to 1; 1 for a wish that can be had, NaN for
            a step that has another direction.
    """

    q: Array
    qd: Array
    qdd: Array
    torques: Array
    feasible: bool
    possible: bool
    part: float
    _limits: ActuatorLimits = field(repr=False)
    _values: Array = field(repr=False)

    @property
    def asked(self) -> tuple[Excess, ...]:
        """What of the wish is beyond a limit, by joint.

        Velocities and torques are those that the joint needs to get to the wished position, too.
        """
        names = ("asked_q", "asked_qd", "qd", "asked_torques")
        found = excesses(self._limits, bounds(self._limits, *map(self._vector, names)))
        jumps = self._vector("asked_torques") != self._vector("wished_torques")
        jumping = {name for name, jump in zip(self._limits.joint_names, jumps, strict=True) if jump}
        return tuple(replace(one, jumps=one.joint in jumping and one.quantity != "position") for one in found)

    @property
    def left(self) -> tuple[Excess, ...]:
        """What of the step is beyond a limit all the same, by joint: nothing where it is possible.

        Where a joint was outside of a limit before, this is what is left of it.
        """
        compared = bounds(self._limits, self.q, self.qd, self._vector("qd"), self.torques)
        return excesses(self._limits, compared, slack=1e-9)

    @property
    def outside(self) -> tuple[Excess, ...]:
        """What was beyond a limit before the step: ranges and speeds, by joint."""
        q, qd = self._vector("q"), self._vector("qd")
        return excesses(self._limits, bounds(self._limits, q, qd, qd, 0.0 * qd))

    def _vector(self, name: str) -> Array:
        values: Array = self._values[Layout(len(self.q)).vector(name)]
        return values
