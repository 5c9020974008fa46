# SPDX-License-Identifier: Apache-2.0
"""Rotations as quaternions ``(x, y, z, w)``, in the order of ROS and of Pinocchio, of any length but 0."""

from __future__ import annotations

from typing import TypeAlias

from dyn_core.symbolic import vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.vec3 import Vec3

Quaternion: TypeAlias = tuple[Scalar, Scalar, Scalar, Scalar]


def squared_length(quaternion: Quaternion) -> Scalar:
    """Answer ``x^2 + y^2 + z^2 + w^2``, which is 1 for a rotation."""
    x, y, z, w = quaternion
    return x * x + y * y + z * z + w * w


def rotation_matrix(quaternion: Quaternion) -> Mat3:
    """Matrix of the rotation; a length that is not quite 1 leaves it a rotation."""
    x, y, z, w = quaternion
    s = 2.0 / squared_length(quaternion)
    sx, sy, sz = s * x, s * y, s * z
    xx, yy, zz = sx * x, sy * y, sz * z
    xy, xz, yz = sx * y, sx * z, sy * z
    wx, wy, wz = sx * w, sy * w, sz * w
    return (
        (1.0 - (yy + zz), xy - wz, xz + wy),
        (xy + wz, 1.0 - (xx + zz), yz - wx),
        (xz - wy, yz + wx, 1.0 - (xx + yy)),
    )


def product(a: Quaternion, b: Quaternion) -> Quaternion:
    """Product ``a b``: the rotation b, and a after it, in fixed axes."""
    u, v = (a[0], a[1], a[2]), (b[0], b[1], b[2])
    x, y, z = vec3.add(vec3.add(vec3.scale(a[3], v), vec3.scale(b[3], u)), vec3.cross(u, v))
    return (x, y, z, a[3] * b[3] - vec3.dot(u, v))


def conjugate(quaternion: Quaternion) -> Quaternion:
    """The rotation back, of a quaternion of length 1."""
    x, y, z, w = quaternion
    return (-x, -y, -z, w)


def turned(quaternion: Quaternion, v: Vec3) -> Vec3:
    """Product R v with the matrix of a rotation, of a quaternion of length 1."""
    u: Vec3 = (quaternion[0], quaternion[1], quaternion[2])
    t = vec3.scale(2.0, vec3.cross(u, v))
    return vec3.add(v, vec3.add(vec3.scale(quaternion[3], t), vec3.cross(u, t)))
