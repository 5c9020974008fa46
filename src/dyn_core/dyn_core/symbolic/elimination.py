# SPDX-License-Identifier: Apache-2.0
"""Linear equations of a few unknowns over scalars: elimination and determinant.

An entry that is the number 0 is 0 by structure and costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.symbolic.scalar import Scalar, Scalars, is_zero, larger, reciprocal


def dot(a: Scalars, b: Scalars) -> Scalar:
    """Sum of the products, without those that are 0 by structure."""
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        if not (is_zero(x) or is_zero(y)):
            total = total + x * y
    return total


def minus_multiple(a: Scalars, k: Scalar, b: Scalars) -> list[Scalar]:
    """Return a - k b, without products that are 0 by structure."""
    if is_zero(k):
        return list(a)
    return [x if is_zero(y) else x - k * y for x, y in zip(a, b, strict=True)]


def determinant(A: Sequence[Scalars]) -> Scalar:
    """Determinant of a small matrix, by its first column."""
    if not A:
        return 1.0
    total: Scalar = 0.0
    for k, row in enumerate(A):
        if not is_zero(row[0]):
            minor = determinant([other[1:] for i, other in enumerate(A) if i != k])
            total = total + row[0] * minor if k % 2 == 0 else total - row[0] * minor
    return total


Rows = list[list[Scalar]]


def solved(A: Sequence[Scalars], B: Sequence[Scalars]) -> Rows:
    """Return the solution X of ``A X = B``, by elimination with pivots chosen at run time.

    An unknown that is alone in an equation, or appears in only one equation, costs nothing to eliminate
    and is taken first. Of several rows, the one with the largest entry becomes the pivot by comparing
    and exchanging, which is straight-line code.

    `B`: n rows with one entry per right-hand side. Returns n rows; not finite where A is singular.
    """
    n = len(A)
    rows = [[*a, *b] for a, b in zip(A, B, strict=True)]
    left, columns = list(range(n)), list(range(n))
    order: list[tuple[int, int]] = []
    while columns:
        pivot, column = _next_pivot(rows, left, columns)
        left.remove(pivot)
        columns.remove(column)
        others = [*columns, *range(n, len(rows[pivot]))]
        scale = reciprocal(rows[pivot][column])
        for k in others:
            rows[pivot][k] = rows[pivot][k] * scale
        for row in left:
            if not is_zero(rows[row][column]):
                for k in others:
                    rows[row][k] = rows[row][k] - rows[row][column] * rows[pivot][k]
        order.append((pivot, column))
    return _substituted(rows, order)


def inverse(A: Sequence[Scalars]) -> Rows:
    """Inverse of a matrix of n rows of n."""
    return solved(A, [[float(i == k) for k in range(len(A))] for i in range(len(A))])


def _next_pivot(rows: Rows, left: Sequence[int], columns: Sequence[int]) -> tuple[int, int]:
    """Return the row and the column of the next pivot; may exchange rows."""
    in_column = {c: [r for r in left if not is_zero(rows[r][c])] for c in columns}
    in_row = {r: [c for c in columns if not is_zero(rows[r][c])] for r in left}
    for column, of_rows in in_column.items():
        if len(of_rows) == 1:
            return of_rows[0], column
    for row, of_columns in in_row.items():
        if len(of_columns) == 1:
            return row, of_columns[0]
    column = min(columns, key=lambda c: len(in_column[c]))
    pivot, *candidates = in_column[column] or left
    for row in candidates:
        _exchange(rows, pivot, row, column)
    return pivot, column


def _exchange(rows: Rows, pivot: int, row: int, column: int) -> None:
    """Exchange two rows if the second has the larger entry in a column."""
    a, b = rows[row], rows[pivot]
    sizes = abs(a[column]), abs(b[column])
    pairs = [
        (larger(*sizes, x, y), larger(*sizes, y, x)) if x is not y else (x, y)
        for x, y in zip(a, b, strict=True)
    ]
    rows[pivot], rows[row] = [larger_one for larger_one, _ in pairs], [other for _, other in pairs]


def _substituted(rows: Rows, order: Sequence[tuple[int, int]]) -> Rows:
    """Return the unknowns by back substitution; the rows have been divided by their pivots."""
    n = len(rows)
    X: Rows = [[] for _ in rows]
    known: list[int] = []
    for row, column in reversed(order):
        X[column] = rows[row][n:]
        for c in known:
            if not is_zero(rows[row][c]):
                X[column] = [x - rows[row][c] * y for x, y in zip(X[column], X[c], strict=True)]
        known.append(column)
    return X
