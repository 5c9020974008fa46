# SPDX-License-Identifier: Apache-2.0
"""Screws: linear and angular part of a motion, and their change of frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dyn_core.symbolic import vec3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.step import Rotation, Step, others, turned
from dyn_core.symbolic.vec3 import Vec3


class Screw(NamedTuple):
    """Velocity of a body, or a part of its acceleration (Khalil 2010, eq. (5))."""

    linear: Vec3  # part of the point of the body at the origin of the frame (m/s or m/s^2)
    angular: Vec3  # part of the body (rad/s or rad/s^2)

    @property
    def values(self) -> tuple[Scalar, ...]:
        """The six components, linear first."""
        return (*self.linear, *self.angular)


ZERO = Screw(vec3.ZERO, vec3.ZERO)


def over(steps: Sequence[Step], screw: Screw) -> Screw:
    """Transform a motion from the first frame to the last frame and its origin (Khalil 2010, eq. (17)).

    A translation by a along z adds ``angular x (a z)`` to the linear part.
    """
    linear, angular = screw
    for step in steps:
        if isinstance(step, Rotation):
            back = step._replace(s=-step.s)
            linear, angular = turned(back, linear), turned(back, angular)
        else:
            i, j = others(step.axis)
            moved = list(linear)
            moved[i], moved[j] = (linear[i] + step.length * angular[j], linear[j] - step.length * angular[i])
            linear = (moved[0], moved[1], moved[2])
    return Screw(linear, angular)
