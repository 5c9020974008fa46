# SPDX-License-Identifier: Apache-2.0
"""The spring of an elastic joint."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Elasticity:
    """A joint with a spring in the place of an actuator: its torque is ``-K (dq - q0) - D d(dq)/dt``.

    dq is the position of the joint where the structure itself is elastic (Khalil 2010, eqs. (69), (70)), and
    that of the joint less that of its motor where a spring lies between both (SYMORO+ 2003, sec. 3.3.2.5);
    the motor feels the opposite.

    Attributes:
        stiffness: K (N m/rad or N/m).
        rest: q0, where the spring is at rest (rad or m).
        damping: D (N m s/rad or N s/m).
        motor: number of the joint that is the motor's; 0 where there is none.
        gear: speed of the motor's shaft over that of the joint (1, or rad/m for a prismatic joint).
    """

    stiffness: float
    rest: float = 0.0
    damping: float = 0.0
    motor: int = 0
    gear: float = 1.0
