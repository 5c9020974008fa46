# SPDX-License-Identifier: Apache-2.0
"""The sum of products of two rows of scalars."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.symbolic.scalar import Scalar


def dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    """Answer the sum of the products; 0.0 of rows without entries."""
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total
