# SPDX-License-Identifier: Apache-2.0
"""Placement of one frame in another: a rotation matrix and a position (Khalil 2010, eq. (1)).

A transform is named after its two frames: ``T_a_b`` is the placement of frame b in frame a, so that
``T_a_c = compose(T_a_b, T_b_c)`` and a point of b is ``apply(T_a_b, point)`` in a.
"""

from __future__ import annotations

from typing import NamedTuple

from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.vec3 import Vec3


class Transform(NamedTuple):
    """Rotation R (no unit) and position p (m) of a frame in another."""

    R: Mat3
    p: Vec3


IDENTITY = Transform(mat3.IDENTITY, vec3.ZERO)


def compose(T_a_b: Transform, T_b_c: Transform) -> Transform:
    """Placement of frame c in frame a."""
    return Transform(mat3.mul(T_a_b.R, T_b_c.R), apply(T_a_b, T_b_c.p))


def inverse(T_a_b: Transform) -> Transform:
    """Placement of frame a in frame b."""
    R_b_a = mat3.transpose(T_a_b.R)
    return Transform(R_b_a, vec3.neg(mat3.mul_vec(R_b_a, T_a_b.p)))


def apply(T_a_b: Transform, point: Vec3) -> Vec3:
    """Coordinates in frame a of a point given in frame b."""
    return vec3.add(mat3.mul_vec(T_a_b.R, point), T_a_b.p)
