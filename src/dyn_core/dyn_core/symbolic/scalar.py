# SPDX-License-Identifier: Apache-2.0
"""Functions of one scalar, whatever the scalar is.

A *scalar* is a Python number, a NumPy array that holds one value per sample of a batch, or any
object that has the operators ``+ - * /``, negation, ``abs()``, and the methods ``sin()``, ``cos()``,
``sqrt()``, ``sign()`` and ``larger()``. Every algorithm of dyn_core is written over scalars, so that one
text serves for a number, a batch and a symbol.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

Scalar: TypeAlias = Any


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
    """Answer -1, 0 or 1, which is 0 for 0, and NaN for NaN."""
    if isinstance(x, (float, int)):
        return math.nan if math.isnan(x) else float((x > 0) - (x < 0))
    return np.sign(x) if isinstance(x, np.ndarray) else x.sign()


def larger(a: Scalar, b: Scalar, then: Scalar, otherwise: Scalar) -> Scalar:
    """Answer `then` where a > b, `otherwise` elsewhere, and where a or b is NaN."""
    for x in (a, b):
        if not isinstance(x, (float, int, np.ndarray)):
            return x.larger(a, b, then, otherwise)
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.where(a > b, then, otherwise)
    return then if a > b else otherwise


def atan2(y: Scalar, x: Scalar) -> Scalar:
    """Angle (rad) of the point (x, y), in [-pi, pi], of numbers and arrays."""
    if isinstance(y, (float, int)) and isinstance(x, (float, int)):
        return math.atan2(y, x)
    return np.arctan2(y, x)


def is_zero(x: Scalar) -> bool:
    """Whether a scalar is 0 by structure: a number, where others are symbols."""
    return isinstance(x, (float, int)) and x == 0.0


def reciprocal(x: Scalar) -> Scalar:
    """Answer 1 / x; infinite for 0, so that it is not finite where there is no answer."""
    if isinstance(x, (float, int)):
        return 1.0 / x if x else math.copysign(math.inf, x)
    if isinstance(x, np.ndarray):
        with np.errstate(divide="ignore"):
            return 1.0 / x
    return 1.0 / x
