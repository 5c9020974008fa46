# SPDX-License-Identifier: Apache-2.0
"""A placement as the numbers that programs take."""

from __future__ import annotations

from dyn_core.linalg.transform import Transform
from dyn_core.symbolic.scalar import Scalar


def placement_entries(T: Transform) -> list[Scalar]:
    """The 16 entries of the 4 x 4 matrix of a placement, by rows."""
    R, p = T
    return [*R[0], p[0], *R[1], p[1], *R[2], p[2], 0.0, 0.0, 0.0, 1.0]
