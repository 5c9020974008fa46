# SPDX-License-Identifier: Apache-2.0
"""Three by three matrices of scalars, as tuples of rows."""

from __future__ import annotations

from typing import TypeAlias

from dyn_core.symbolic import vec3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.vec3 import Vec3

Mat3: TypeAlias = tuple[Vec3, Vec3, Vec3]

ZERO: Mat3 = (vec3.ZERO, vec3.ZERO, vec3.ZERO)
IDENTITY: Mat3 = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def from_columns(x: Vec3, y: Vec3, z: Vec3) -> Mat3:
    """Matrix whose columns are x, y and z."""
    return ((x[0], y[0], z[0]), (x[1], y[1], z[1]), (x[2], y[2], z[2]))


def column(a: Mat3, k: int) -> Vec3:
    """Column k of a."""
    return (a[0][k], a[1][k], a[2][k])


def transpose(a: Mat3) -> Mat3:
    """Transpose of a."""
    return from_columns(*a)


def add(a: Mat3, b: Mat3) -> Mat3:
    """Sum a + b."""
    return (vec3.add(a[0], b[0]), vec3.add(a[1], b[1]), vec3.add(a[2], b[2]))


def scale(k: Scalar, a: Mat3) -> Mat3:
    """Product k a of a scalar and a matrix."""
    return (vec3.scale(k, a[0]), vec3.scale(k, a[1]), vec3.scale(k, a[2]))


def mul_vec(a: Mat3, v: Vec3) -> Vec3:
    """Product a v of a matrix and a vector."""
    return (vec3.dot(a[0], v), vec3.dot(a[1], v), vec3.dot(a[2], v))


def mul(a: Mat3, b: Mat3) -> Mat3:
    """Product a b of two matrices."""
    b_columns = transpose(b)
    return (mul_vec(b_columns, a[0]), mul_vec(b_columns, a[1]), mul_vec(b_columns, a[2]))


def outer(a: Vec3, b: Vec3) -> Mat3:
    """Product a b^T of a column and a row."""
    return (vec3.scale(a[0], b), vec3.scale(a[1], b), vec3.scale(a[2], b))


def skew(w: Vec3) -> Mat3:
    """Matrix of the vector product, ``skew(w) v = w x v`` (Khalil 2010, eq. (24))."""
    return ((0.0, -w[2], w[1]), (w[2], 0.0, -w[0]), (-w[1], w[0], 0.0))


def skew_squared(w: Vec3) -> Mat3:
    """Square ``skew(w) skew(w) = w w^T - (w . w) 1``, which is symmetric."""
    xx, yy, zz = w[0] * w[0], w[1] * w[1], w[2] * w[2]
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    return ((-yy - zz, xy, xz), (xy, -xx - zz, yz), (xz, yz, -xx - yy))
