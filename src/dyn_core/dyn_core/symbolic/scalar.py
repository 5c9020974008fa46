# SPDX-License-Identifier: Apache-2.0
"""Scalars: functions that accept numbers, arrays, expressions and time derivatives.

A *scalar* is a Python number, a NumPy array that holds one value per sample of a batch, or any
object that has the operators ``+ - * /``, negation, ``abs()``, and the methods ``sin()``, ``cos()``,
``sqrt()``, ``sign()`` and ``larger()``. Every algorithm of dyn_core is written over scalars, so the
same code computes with a number, a batch or a symbol.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

# Functions of one scalar

Scalar: TypeAlias = Any
Scalars: TypeAlias = Sequence[Scalar]  # components of a vector, or a value for each joint


def sin(x: Scalar) -> Scalar:
    """Sine of an angle in rad; NaN for an angle that is not finite."""
    if isinstance(x, (float, int)):
        return math.sin(x) if math.isfinite(x) else math.nan
    return np.sin(x) if isinstance(x, np.ndarray) else x.sin()


def cos(x: Scalar) -> Scalar:
    """Cosine of an angle in rad; NaN for an angle that is not finite."""
    if isinstance(x, (float, int)):
        return math.cos(x) if math.isfinite(x) else math.nan
    return np.cos(x) if isinstance(x, np.ndarray) else x.cos()


def sqrt(x: Scalar) -> Scalar:
    """Square root; NaN for a negative number."""
    if isinstance(x, (float, int)):
        return math.sqrt(x) if x >= 0.0 else math.nan
    return np.sqrt(x) if isinstance(x, np.ndarray) else x.sqrt()


def sign(x: Scalar) -> Scalar:
    """Return the sign: -1, 0 or 1; NaN for NaN."""
    if isinstance(x, (float, int)):
        return math.nan if math.isnan(x) else float((x > 0) - (x < 0))
    return np.sign(x) if isinstance(x, np.ndarray) else x.sign()


def larger(a: Scalar, b: Scalar, then: Scalar, otherwise: Scalar) -> Scalar:
    """Return `then` where a > b, else `otherwise`, also where a or b is NaN."""
    for x in (a, b):
        if not isinstance(x, (float, int, np.ndarray)):
            return x.larger(a, b, then, otherwise)
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.where(a > b, then, otherwise)
    return then if a > b else otherwise


def atan2(y: Scalar, x: Scalar) -> Scalar:
    """Angle (rad) of the point (x, y), in [-pi, pi]; for numbers and arrays."""
    if isinstance(y, (float, int)) and isinstance(x, (float, int)):
        return math.atan2(y, x)
    return np.arctan2(y, x)


def is_zero(x: Scalar) -> bool:
    """True where a scalar is the constant number 0, not an array or a symbol."""
    return isinstance(x, (float, int)) and x == 0.0


def reciprocal(x: Scalar) -> Scalar:
    """Return 1 / x; infinite for 0."""
    if isinstance(x, (float, int)):
        return 1.0 / x if x else math.copysign(math.inf, x)
    if isinstance(x, np.ndarray):
        with np.errstate(divide="ignore"):
            return 1.0 / x
    return 1.0 / x


def dot(a: Scalars, b: Scalars) -> Scalar:
    """Return the sum of the products of two rows; 0.0 for empty rows."""
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


# Time derivatives


class Jet:
    """A scalar with its first and second derivative with respect to time.

    An algorithm over such scalars also returns the derivatives of its results, by the rules of
    differentiation: nothing is approximated.

    Attributes:
        x: value.
        d: first derivative (1/s).
        dd: second derivative (1/s^2).
    """

    __slots__ = ("d", "dd", "x")
    __array_ufunc__ = None  # NumPy leaves products with its numbers to this class

    def __init__(self, x: Scalar, d: Scalar = 0.0, dd: Scalar = 0.0) -> None:
        """Take a scalar and its derivatives, which are 0 for a constant."""
        self.x, self.d, self.dd = x, d, dd

    def __add__(self, other: Scalar) -> Jet:
        o = jet(other)
        return Jet(self.x + o.x, self.d + o.d, self.dd + o.dd)

    __radd__ = __add__

    def __sub__(self, other: Scalar) -> Jet:
        o = jet(other)
        return Jet(self.x - o.x, self.d - o.d, self.dd - o.dd)

    def __rsub__(self, other: Scalar) -> Jet:
        return jet(other) - self

    def __mul__(self, other: Scalar) -> Jet:
        o = jet(other)
        dd = self.dd * o.x + 2.0 * (self.d * o.d) + self.x * o.dd
        return Jet(self.x * o.x, self.d * o.x + self.x * o.d, dd)

    __rmul__ = __mul__

    def __truediv__(self, other: Scalar) -> Jet:
        o = jet(other)
        x = self.x / o.x
        d = (self.d - x * o.d) / o.x
        return Jet(x, d, (self.dd - 2.0 * (d * o.d) - x * o.dd) / o.x)

    def __rtruediv__(self, other: Scalar) -> Jet:
        return jet(other) / self

    def __neg__(self) -> Jet:
        return Jet(-self.x, -self.d, -self.dd)

    def __abs__(self) -> Jet:
        s = sign(self.x)
        return Jet(abs(self.x), s * self.d, s * self.dd)

    def sin(self) -> Jet:
        """Return the sine of an angle in rad."""
        s, c = sin(self.x), cos(self.x)
        return Jet(s, c * self.d, c * self.dd - s * (self.d * self.d))

    def cos(self) -> Jet:
        """Return the cosine of an angle in rad."""
        s, c = sin(self.x), cos(self.x)
        return Jet(c, -(s * self.d), -(s * self.dd + c * (self.d * self.d)))

    def sqrt(self) -> Jet:
        """Return the square root."""
        x = sqrt(self.x)
        d = self.d / (2.0 * x)
        return Jet(x, d, (self.dd - 2.0 * (d * d)) / (2.0 * x))

    def sign(self) -> Jet:
        """Return -1, 0 or 1, with derivatives of 0."""
        return Jet(sign(self.x))

    def larger(self, a: Scalar, b: Scalar, then: Scalar, otherwise: Scalar) -> Jet:
        """Return `then` where a > b, else `otherwise`."""
        p, q = jet(then), jet(otherwise)
        x, y = jet(a).x, jet(b).x
        return Jet(*(larger(x, y, one, two) for one, two in ((p.x, q.x), (p.d, q.d), (p.dd, q.dd))))


def jet(x: Scalar) -> Jet:
    """Return a scalar as a `Jet`; any other scalar is taken as a constant."""
    return x if isinstance(x, Jet) else Jet(x)


# Exact cosine and sine of multiples of pi/2
#
# ``math.cos(math.pi / 2)`` is 6e-17. A zero that is not quite zero costs a multiplication at each
# use and hides the structure of the robot. So quarter turns are counted instead.

QUARTER = math.pi / 2


def quarter_turns(angle: float) -> int | None:
    """Return k if `angle` (rad) is the float nearest to k pi/2, else None."""
    k = round(angle / QUARTER)
    return k if angle == k * QUARTER else None


def wrapped(angle: float) -> float:
    """Return the same angle (rad) in (-pi, pi]."""
    turned = math.remainder(angle, 2 * math.pi)
    return math.pi if turned == -math.pi else turned


def cos_sin(angle: float) -> tuple[float, float]:
    """Cosine and sine of a constant angle (rad)."""
    return _turned(1.0, 0.0, angle) or (math.cos(angle), math.sin(angle))


def cos_sin_of_sum(variable: Scalar, constant: float) -> tuple[Scalar, Scalar]:
    """Cosine and sine of ``variable + constant`` (rad), by a swap if the constant is k pi/2."""
    if quarter_turns(constant) is None:
        return cos(variable + constant), sin(variable + constant)
    turned = _turned(cos(variable), sin(variable), constant)
    assert turned is not None
    return turned


def _turned(c: Scalar, s: Scalar, angle: float) -> tuple[Scalar, Scalar] | None:
    """Turn the point (c, s) of the unit circle by k pi/2; None if `angle` is not k pi/2."""
    k = quarter_turns(angle)
    return None if k is None else ((c, s), (-s, c), (-c, -s), (s, -c))[k % 4]


# Angles given by cosine and sine

ROUNDING = 1e-14  # Rounding error of an angle (rad) after constants have cancelled


class KnownAngle:
    """An angle given by its cosine and sine, to which constants can be added.

    A joint position that follows from lengths needs no inverse trigonometric function and no sine of
    its result: algorithms accept such an angle as the position of a joint.
    """

    __slots__ = ("_c", "_offset", "_s")

    def __init__(self, c: Scalar, s: Scalar, offset: float = 0.0) -> None:
        """Take the angle with a cosine and a sine, and a constant that is added to it (rad)."""
        self._c, self._s = c, s
        near = round(offset / QUARTER) * QUARTER
        self._offset = wrapped(near if abs(offset - near) <= ROUNDING else offset)

    def __add__(self, constant: float) -> KnownAngle:
        return KnownAngle(self._c, self._s, self._offset + constant)

    __radd__ = __add__

    def __neg__(self) -> KnownAngle:
        return KnownAngle(self._c, -self._s, -self._offset)

    def cos(self) -> Scalar:
        """Return its cosine."""
        c, s = cos_sin(self._offset)
        return c * self._c - s * self._s

    def sin(self) -> Scalar:
        """Return its sine."""
        c, s = cos_sin(self._offset)
        return s * self._c + c * self._s
