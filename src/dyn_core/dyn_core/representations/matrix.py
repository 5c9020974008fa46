# SPDX-License-Identifier: Apache-2.0
"""Matrices of any size, as tuples of rows: all products are formed, none is left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from dyn_core.symbolic.scalar import Scalar

Row: TypeAlias = tuple[Scalar, ...]
Matrix: TypeAlias = tuple[Row, ...]


def dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    """Scalar product of two rows of one length, which is at least 1."""
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total


def mul(a: Matrix, b: Matrix) -> Matrix:
    """Product a b."""
    columns = transpose(b)
    return tuple(tuple(dot(row, column) for column in columns) for row in a)


def mul_row(a: Matrix, v: Sequence[Scalar]) -> Row:
    """Product a v with a column, as a row."""
    return tuple(dot(row, v) for row in a)


def transpose(a: Matrix) -> Matrix:
    """Transpose of a."""
    return tuple(zip(*a, strict=True))


def add(a: Matrix, b: Matrix) -> Matrix:
    """Sum a + b."""
    return tuple(tuple(x + y for x, y in zip(r, s, strict=True)) for r, s in zip(a, b, strict=True))


def sub(a: Matrix, b: Matrix) -> Matrix:
    """Difference a - b."""
    return tuple(tuple(x - y for x, y in zip(r, s, strict=True)) for r, s in zip(a, b, strict=True))


def scale(k: Scalar, a: Matrix) -> Matrix:
    """Product k a of a scalar and a matrix."""
    return tuple(tuple(k * x for x in row) for row in a)


def outer(a: Sequence[Scalar], b: Sequence[Scalar]) -> Matrix:
    """Product a b^T of a column and a row."""
    return tuple(tuple(x * y for y in b) for x in a)


def trace(a: Matrix) -> Scalar:
    """Sum of the diagonal."""
    total = a[0][0]
    for k in range(1, len(a)):
        total = total + a[k][k]
    return total


def add_rows(a: Sequence[Scalar], b: Sequence[Scalar]) -> Row:
    """Sum of two rows."""
    return tuple(x + y for x, y in zip(a, b, strict=True))
