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


_MOST_EXPANDED = 4
"""Rows of the largest matrix whose determinant is cheaper by expansion than by elimination."""


def determinant(A: Sequence[Scalars]) -> Scalar:
    """Determinant of a small matrix: by its first column, or of a larger one as the product of pivots."""
    if len(A) > _MOST_EXPANDED:
        return _product_of_pivots(A)
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
    rows = [[*a, *b] for a, b in zip(A, B, strict=True)]
    return _substituted(rows, [(pivot, column) for pivot, column, _ in _eliminated(rows)])


def _eliminated(rows: Rows) -> list[tuple[int, int, Scalar]]:
    """Eliminate in place; return row and column of each pivot, and its factor of the determinant.

    The factor has the sign of the exchanges of rows, not that of the order of rows and columns.
    """
    left, columns = list(range(len(rows))), list(range(len(rows)))
    pivots: list[tuple[int, int, Scalar]] = []
    while columns:
        pivot, column, sign = _next_pivot(rows, left, columns)
        left.remove(pivot)
        columns.remove(column)
        others = [*columns, *range(len(rows), len(rows[pivot]))]
        pivots.append((pivot, column, rows[pivot][column] if sign is None else sign * rows[pivot][column]))
        scale = reciprocal(rows[pivot][column])
        for k in others:
            rows[pivot][k] = rows[pivot][k] * scale
        for row in left:
            if not is_zero(rows[row][column]):
                for k in others:
                    rows[row][k] = rows[row][k] - rows[row][column] * rows[pivot][k]
    return pivots


def _product_of_pivots(A: Sequence[Scalars]) -> Scalar:
    pivots = _eliminated([list(row) for row in A])
    places = [column for _, column, _ in sorted(pivots, key=lambda pivot: pivot[0])]
    inversions = sum(a > b for k, a in enumerate(places) for b in places[k + 1 :])
    product: Scalar = -1.0 if inversions % 2 else 1.0
    for _, _, factor in pivots:
        product = product * factor
    return product


def inverse(A: Sequence[Scalars]) -> Rows:
    """Inverse of a matrix of n rows of n."""
    return solved(A, [[float(i == k) for k in range(len(A))] for i in range(len(A))])


def _next_pivot(rows: Rows, left: Sequence[int], columns: Sequence[int]) -> tuple[int, int, Scalar | None]:
    """Return row and column of the next pivot, and the sign of exchanges of rows; None without any."""
    in_column = {c: [r for r in left if not is_zero(rows[r][c])] for c in columns}
    in_row = {r: [c for c in columns if not is_zero(rows[r][c])] for r in left}
    for column, of_rows in in_column.items():
        if len(of_rows) == 1:
            return of_rows[0], column, None
    for row, of_columns in in_row.items():
        if len(of_columns) == 1:
            return row, of_columns[0], None
    column = min(columns, key=lambda c: len(in_column[c]))
    pivot, *candidates = in_column[column] or left
    sign: Scalar | None = None
    for row in candidates:
        exchanged = _exchange(rows, pivot, row, column)
        sign = exchanged if sign is None else sign * exchanged
    return pivot, column, sign


def _exchange(rows: Rows, pivot: int, row: int, column: int) -> Scalar:
    """Exchange two rows if the second has the larger entry in a column; return -1 then, 1 otherwise."""
    a, b = rows[row], rows[pivot]
    sizes = abs(a[column]), abs(b[column])
    pairs = [
        (larger(*sizes, x, y), larger(*sizes, y, x)) if x is not y else (x, y)
        for x, y in zip(a, b, strict=True)
    ]
    rows[pivot], rows[row] = [larger_one for larger_one, _ in pairs], [other for _, other in pairs]
    return larger(*sizes, -1.0, 1.0)


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
