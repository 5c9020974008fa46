# SPDX-License-Identifier: Apache-2.0
"""An angle that is known by its cosine and sine.

A position that follows from lengths needs no inverse trigonometric function and no sine of its result:
algorithms that take the position of a joint take such an angle in its place.
"""

from __future__ import annotations

from dyn_core.linalg.angle import QUARTER, cos_sin, wrapped
from dyn_core.symbolic.scalar import Scalar

ROUNDING = 1e-14
"""What constants that cancel may leave of an angle (rad)."""


class KnownAngle:
    """A scalar that has a cosine and a sine, and to which constants can be added."""

    __slots__ = ("_c", "_offset", "_s")

    def __init__(self, c: Scalar, s: Scalar, offset: float = 0.0) -> None:
        """Take the angle with a cosine and a sine, and a constant that is added to it (rad)."""
        self._c, self._s = c, s
        near = round(offset / QUARTER) * QUARTER
        self._offset = wrapped(near if abs(offset - near) <= ROUNDING else offset)

    def __add__(self, constant: float) -> KnownAngle:
        """Answer the angle plus a constant (rad)."""
        return KnownAngle(self._c, self._s, self._offset + constant)

    __radd__ = __add__

    def __neg__(self) -> KnownAngle:
        """Answer the opposite angle."""
        return KnownAngle(self._c, -self._s, -self._offset)

    def cos(self) -> Scalar:
        """Answer its cosine."""
        c, s = cos_sin(self._offset)
        return c * self._c - s * self._s

    def sin(self) -> Scalar:
        """Answer its sine."""
        c, s = cos_sin(self._offset)
        return s * self._c + c * self._s
