# SPDX-License-Identifier: Apache-2.0
"""A force and a moment about the origin of a frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dyn_core.linalg.transform import Transform
from dyn_core.robot.joints import Sigma
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.screw import Screw
from dyn_core.symbolic.step import Rotation, Step, shift_moment, turned
from dyn_core.symbolic.vec3 import Vec3


@dataclass(frozen=True)
class Wrench:
    """Force (N) and moment (N m) about the origin of the frame they are projected in."""

    force: Vec3
    moment: Vec3

    def __add__(self, other: Wrench) -> Wrench:
        """Sum of two wrenches in the same frame."""
        return Wrench(vec3.add(self.force, other.force), vec3.add(self.moment, other.moment))

    @property
    def values(self) -> tuple[Scalar, ...]:
        """The six components, force first."""
        return (*self.force, *self.moment)

    def along(self, sigma: Sigma) -> Scalar:
        """Part of the wrench that a joint at the origin must provide, along z (N m or N)."""
        return self.moment[2] if sigma is Sigma.REVOLUTE else self.force[2]

    def power(self, motion: Screw) -> Scalar:
        """Power in a motion of the body about the same origin (W)."""
        return vec3.dot(motion.linear, self.force) + vec3.dot(motion.angular, self.moment)


def wrench_on_antecedent(iTj: Transform, wrench: Wrench) -> Wrench:
    """Answer in frame i a wrench that is given in frame j: Khalil 2010, eqs. (28) to (30)."""
    force = mat3.mul_vec(iTj.R, wrench.force)  # (28)
    moment = vec3.add(mat3.mul_vec(iTj.R, wrench.moment), vec3.cross(iTj.p, force))  # (30)
    return Wrench(force, moment)


def wrench_before(steps: Sequence[Step], wrench: Wrench) -> Wrench:
    """Answer in the first frame a wrench given in the last: Khalil 2010, eqs. (28) to (30)."""
    force, moment = wrench.force, wrench.moment
    for step in reversed(steps):
        if isinstance(step, Rotation):
            force, moment = turned(step, force), turned(step, moment)
        else:
            moment = shift_moment(step, moment, force)
    return Wrench(force, moment)
