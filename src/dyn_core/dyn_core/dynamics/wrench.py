# SPDX-License-Identifier: Apache-2.0
"""A force and a moment about the origin of a frame."""

from __future__ import annotations

from dataclasses import dataclass

from dyn_core.linalg import mat3, vec3
from dyn_core.linalg.transform import Transform
from dyn_core.linalg.vec3 import Vec3


@dataclass(frozen=True)
class Wrench:
    """Force (N) and moment (N m) about the origin of the frame they are projected in."""

    force: Vec3
    moment: Vec3

    def __add__(self, other: Wrench) -> Wrench:
        """Sum of two wrenches in the same frame."""
        return Wrench(vec3.add(self.force, other.force), vec3.add(self.moment, other.moment))


def wrench_on_antecedent(iTj: Transform, wrench: Wrench) -> Wrench:
    """Answer in frame i a wrench that is given in frame j: Khalil 2010, eqs. (28) to (30)."""
    force = mat3.mul_vec(iTj.R, wrench.force)  # (28)
    moment = vec3.add(mat3.mul_vec(iTj.R, wrench.moment), vec3.cross(iTj.p, force))  # (30)
    return Wrench(force, moment)
