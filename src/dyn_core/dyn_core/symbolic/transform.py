# SPDX-License-Identifier: Apache-2.0
"""Placement of one frame in another (Khalil 2010, eq. (1)), and quaternions.

A transform is named after its two frames: ``T_a_b`` is the placement of frame b in frame a. So
``T_a_c = compose(T_a_b, T_b_c)``, and a point given in b is ``apply(T_a_b, point)`` in a.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.scalar import Scalar, cos_sin
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


# Quaternions ``(x, y, z, w)``, in the order of ROS and Pinocchio, of any length except 0

Quaternion: TypeAlias = tuple[Scalar, Scalar, Scalar, Scalar]


def squared_length(quaternion: Quaternion) -> Scalar:
    """Return ``x^2 + y^2 + z^2 + w^2``, which is 1 for a rotation."""
    x, y, z, w = quaternion
    return x * x + y * y + z * z + w * w


def rotation_matrix(quaternion: Quaternion) -> Mat3:
    """Matrix of the rotation; the length of the quaternion does not matter."""
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
    """Product ``a b``: the rotation b followed by a, in fixed axes."""
    u, v = (a[0], a[1], a[2]), (b[0], b[1], b[2])
    x, y, z = vec3.add(vec3.add(vec3.scale(a[3], v), vec3.scale(b[3], u)), vec3.cross(u, v))
    return (x, y, z, a[3] * b[3] - vec3.dot(u, v))


def conjugate(quaternion: Quaternion) -> Quaternion:
    """The inverse rotation, for a quaternion of length 1."""
    x, y, z, w = quaternion
    return (-x, -y, -z, w)


def turned(quaternion: Quaternion, v: Vec3) -> Vec3:
    """Product R v with the rotation matrix of a quaternion of length 1."""
    u: Vec3 = (quaternion[0], quaternion[1], quaternion[2])
    t = vec3.scale(2.0, vec3.cross(u, v))
    return vec3.add(v, vec3.add(vec3.scale(quaternion[3], t), vec3.cross(u, t)))


# Constant rotations and placements, from the angles that URDF gives.


def rot_x(angle: float) -> Mat3:
    """Rotation about x (rad)."""
    c, s = cos_sin(angle)
    return ((1.0, 0.0, 0.0), (0.0, c, -s), (0.0, s, c))


def rot_y(angle: float) -> Mat3:
    """Rotation about y (rad)."""
    c, s = cos_sin(angle)
    return ((c, 0.0, s), (0.0, 1.0, 0.0), (-s, 0.0, c))


def rot_z(angle: float) -> Mat3:
    """Rotation about z (rad)."""
    c, s = cos_sin(angle)
    return ((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0))


def rotation_from_rpy(roll: float, pitch: float, yaw: float) -> Mat3:
    """Rotation by the fixed-axis angles of URDF (rad): ``Rz(yaw) Ry(pitch) Rx(roll)``."""
    return mat3.mul(rot_z(yaw), mat3.mul(rot_y(pitch), rot_x(roll)))


def rotation_about(axis: Vec3, angle: float) -> Mat3:
    """Rotation about a unit vector (rad): ``c I + s [axis]x + (1 - c) axis axis^T``."""
    c, s = cos_sin(angle)
    x, y, z = axis
    k = 1.0 - c
    return (
        (c + k * x * x, k * x * y - s * z, k * x * z + s * y),
        (k * x * y + s * z, c + k * y * y, k * y * z - s * x),
        (k * x * z - s * y, k * y * z + s * x, c + k * z * z),
    )


def displacement(axis: Vec3, position: float, along: bool) -> Transform:
    """Displacement along a unit vector (m) or about it (rad)."""
    if along:
        return Transform(mat3.IDENTITY, vec3.scale(position, axis))
    return Transform(rotation_about(axis, position), vec3.ZERO)


def rpy_from_rotation(R: Mat3) -> tuple[float, float, float]:
    """Fixed-axis angles of URDF (rad) of a rotation; where the pitch is +-pi/2, the yaw is 0.

    The roll is taken from ``Rz(-yaw) R``, so that near those pitches it makes up for what is not
    known of the yaw.
    """
    (r00, r01, r02), (r10, r11, r12), (r20, _, _) = R
    level = math.hypot(r00, r10)
    yaw = math.atan2(r10, r00) if level > 0.0 else 0.0
    c, s = cos_sin(yaw)
    roll = math.atan2(s * r02 - c * r12, c * r11 - s * r01)
    return roll, math.atan2(-r20, level), yaw
