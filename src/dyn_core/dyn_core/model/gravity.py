# SPDX-License-Identifier: Apache-2.0
"""The acceleration of gravity."""

from __future__ import annotations

import math
from collections.abc import Iterable

from dyn_core.core.errors import DynError
from dyn_core.symbolic.vec3 import Vec3

DOWN: Vec3 = (0.0, 0.0, -9.81)
"""Gravity where nothing is said about it (m/s^2)."""


def checked_gravity(gravity: Iterable[float]) -> Vec3:
    """Answer an acceleration of gravity (m/s^2) as three finite numbers; DynError where it is none."""
    try:
        x, y, z = (float(component) for component in gravity)
    except (TypeError, ValueError):
        raise DynError(f"gravity is {gravity!r}: give three numbers in m/s^2") from None
    if not all(map(math.isfinite, (x, y, z))):
        raise DynError(f"gravity is {(x, y, z)}: give three finite numbers in m/s^2")
    return (x, y, z)
