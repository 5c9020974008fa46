# SPDX-License-Identifier: Apache-2.0
"""Vectors of three scalars, as tuples."""

from __future__ import annotations

import math
from typing import TypeAlias

from dyn_core.symbolic.scalar import Scalar

Vec3: TypeAlias = tuple[Scalar, Scalar, Scalar]

ZERO: Vec3 = (0.0, 0.0, 0.0)


def add(a: Vec3, b: Vec3) -> Vec3:
    """Sum a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def sub(a: Vec3, b: Vec3) -> Vec3:
    """Difference a - b."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def neg(a: Vec3) -> Vec3:
    """Opposite -a."""
    return (-a[0], -a[1], -a[2])


def scale(k: Scalar, a: Vec3) -> Vec3:
    """Product k a of a scalar and a vector."""
    return (k * a[0], k * a[1], k * a[2])


def dot(a: Vec3, b: Vec3) -> Scalar:
    """Scalar product of a and b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vec3, b: Vec3) -> Vec3:
    """Vector product a x b (Khalil 2010, eq. (24))."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def norm(a: Vec3) -> float:
    """Length of a vector of numbers."""
    return math.hypot(*a)


def unit(a: Vec3) -> Vec3:
    """Direction of a vector of numbers that is not zero, however large or small it is."""
    largest = max(map(abs, a))
    b = (a[0] / largest, a[1] / largest, a[2] / largest)
    length = math.hypot(*b)
    return (b[0] / length, b[1] / length, b[2] / length)
