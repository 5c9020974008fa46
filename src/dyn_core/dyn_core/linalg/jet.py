# SPDX-License-Identifier: Apache-2.0
"""A scalar together with its first and second derivative with respect to time.

An algorithm over such scalars answers the derivatives of its results, too, by the rules of differentiation:
nothing is approximated.
"""

from __future__ import annotations

from dyn_core.symbolic.scalar import Scalar, cos, larger, sign, sin, sqrt


class Jet:
    """A scalar that changes with time.

    Attributes:
        x: its value.
        d: its derivative (1/s).
        dd: its second derivative (1/s^2).
    """

    __slots__ = ("d", "dd", "x")
    __array_ufunc__ = None  # NumPy leaves products with its numbers to this class

    def __init__(self, x: Scalar, d: Scalar = 0.0, dd: Scalar = 0.0) -> None:
        """Take a scalar and its derivatives; a constant has none."""
        self.x, self.d, self.dd = x, d, dd

    def __add__(self, other: Scalar) -> Jet:
        """Answer self + other."""
        o = jet(other)
        return Jet(self.x + o.x, self.d + o.d, self.dd + o.dd)

    __radd__ = __add__

    def __sub__(self, other: Scalar) -> Jet:
        """Answer self - other."""
        o = jet(other)
        return Jet(self.x - o.x, self.d - o.d, self.dd - o.dd)

    def __rsub__(self, other: Scalar) -> Jet:
        """Answer other - self."""
        return jet(other) - self

    def __mul__(self, other: Scalar) -> Jet:
        """Answer self * other."""
        o = jet(other)
        dd = self.dd * o.x + 2.0 * (self.d * o.d) + self.x * o.dd
        return Jet(self.x * o.x, self.d * o.x + self.x * o.d, dd)

    __rmul__ = __mul__

    def __truediv__(self, other: Scalar) -> Jet:
        """Answer self / other."""
        o = jet(other)
        x = self.x / o.x
        d = (self.d - x * o.d) / o.x
        return Jet(x, d, (self.dd - 2.0 * (d * o.d) - x * o.dd) / o.x)

    def __rtruediv__(self, other: Scalar) -> Jet:
        """Answer other / self."""
        return jet(other) / self

    def __neg__(self) -> Jet:
        """Answer -self."""
        return Jet(-self.x, -self.d, -self.dd)

    def __abs__(self) -> Jet:
        """Answer the absolute value; its derivatives are 0 where it is 0."""
        s = sign(self.x)
        return Jet(abs(self.x), s * self.d, s * self.dd)

    def sin(self) -> Jet:
        """Answer the sine of an angle in rad."""
        s, c = sin(self.x), cos(self.x)
        return Jet(s, c * self.d, c * self.dd - s * (self.d * self.d))

    def cos(self) -> Jet:
        """Answer the cosine of an angle in rad."""
        s, c = sin(self.x), cos(self.x)
        return Jet(c, -(s * self.d), -(s * self.dd + c * (self.d * self.d)))

    def sqrt(self) -> Jet:
        """Answer the square root."""
        x = sqrt(self.x)
        d = self.d / (2.0 * x)
        return Jet(x, d, (self.dd - 2.0 * (d * d)) / (2.0 * x))

    def sign(self) -> Jet:
        """Answer -1, 0 or 1, with derivatives of 0."""
        return Jet(sign(self.x))

    def larger(self, a: Scalar, b: Scalar, then: Scalar, otherwise: Scalar) -> Jet:
        """Answer `then` where a > b, `otherwise` elsewhere."""
        p, q = jet(then), jet(otherwise)
        x, y = jet(a).x, jet(b).x
        return Jet(*(larger(x, y, one, two) for one, two in ((p.x, q.x), (p.d, q.d), (p.dd, q.dd))))


def jet(x: Scalar) -> Jet:
    """Answer a scalar as one that changes with time; others are constants."""
    return x if isinstance(x, Jet) else Jet(x)
