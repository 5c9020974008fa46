# SPDX-License-Identifier: Apache-2.0
"""The determinant of a small matrix over abstract scalars."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.symbolic.scalar import Scalar, is_zero


def determinant(A: Sequence[Sequence[Scalar]]) -> Scalar:
    """Determinant of a small matrix, by its first column."""
    if not A:
        return 1.0
    total: Scalar = 0.0
    for k, row in enumerate(A):
        if not is_zero(row[0]):
            minor = determinant([other[1:] for i, other in enumerate(A) if i != k])
            total = total + row[0] * minor if k % 2 == 0 else total - row[0] * minor
    return total
