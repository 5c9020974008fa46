# SPDX-License-Identifier: Apache-2.0
"""Poses of a base over time, integrated on SO(3).

The rotation during a step is ``R exp(u)`` with a vector u that begins at 0 and changes at the rate
``w + u x w / 2 + u x (u x w) / 12`` (Munthe-Kaas), which the Runge-Kutta method of order 4 integrates as it
does all else; w is the angular velocity on the axes of the base. What remains a rotation in exact arithmetic
is kept one by dividing the quaternion by its length.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.linalg.quaternion import Quaternion, product, turned
from dyn_core.symbolic import vec3
from dyn_core.symbolic.vec3 import Vec3

SMALL = 1e-2
"""Angle (rad) below which the sine is taken from its series, whose next term is below the rounding."""


def exponential(u: Vec3) -> Quaternion:
    """Rotation by the angle |u| (rad) about u; NaN where that is not finite."""
    half = 0.5 * math.sqrt(vec3.dot(u, u))
    if not half < math.inf:
        return (math.nan,) * 4
    square = half * half
    ratio = (
        0.5 * (1.0 - square / 6.0 * (1.0 - square / 20.0 * (1.0 - square / 42.0)))
        if half < SMALL
        else 0.5 * math.sin(half) / half
    )
    return (ratio * u[0], ratio * u[1], ratio * u[2], math.cos(half))


def chart_rate(u: Vec3, w: Vec3) -> Vec3:
    """Rate of u at the angular velocity w (rad/s) on the axes of the turned body."""
    uw = vec3.cross(u, w)
    return vec3.add(w, vec3.add(vec3.scale(0.5, uw), vec3.scale(1.0 / 12.0, vec3.cross(u, uw))))


def moved_pose(pose: Array, shift: Sequence[float]) -> Array:
    """Answer a pose after a displacement in the world (m), and a turn u (rad), (6,); or (3,) in a plane."""
    if len(pose) == 3:
        return pose + shift
    x, y, z, w = pose[3:].tolist()
    turn = product((x, y, z, w), exponential((shift[3], shift[4], shift[5])))
    length = math.sqrt(sum(a * a for a in turn))
    return np.array([*(pose[:3] + shift[:3]).tolist(), *(a / length for a in turn)])


def pose_rate(pose: Array, shift: Sequence[float], V: Sequence[float]) -> list[float]:
    """Rate of a displacement and a turn from an earlier pose, at the velocity V of the base on its axes.

    Args:
        pose: present pose.
        shift: what led there from the earlier pose; None of it counts in a plane.
        V: velocity of the base, (6,), or (3,) in a plane (m/s, rad/s).
    """
    if len(pose) == 3:
        angle = pose[2] if math.isfinite(pose[2]) else math.nan
        c, s = math.cos(angle), math.sin(angle)
        return [c * V[0] - s * V[1], s * V[0] + c * V[1], V[2]]
    x, y, z, w = pose[3:].tolist()
    linear = turned((x, y, z, w), (V[0], V[1], V[2]))
    return [*linear, *chart_rate((shift[3], shift[4], shift[5]), (V[3], V[4], V[5]))]
