# SPDX-License-Identifier: Apache-2.0
"""Vectors of any length over abstract scalars; entries that are 0 by structure cost nothing."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.symbolic.scalar import Scalar, is_zero


def dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    """Sum of the products."""
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        if not (is_zero(x) or is_zero(y)):
            total = total + x * y
    return total


def less(a: Sequence[Scalar], k: Scalar, b: Sequence[Scalar]) -> list[Scalar]:
    """Answer a - k b."""
    if is_zero(k):
        return list(a)
    return [x if is_zero(y) else x - k * y for x, y in zip(a, b, strict=True)]
