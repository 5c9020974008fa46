# SPDX-License-Identifier: Apache-2.0
"""Linear equations of a few unknowns, by elimination with pivots that are chosen at run time.

Entries that are the number 0 are 0 by structure. An unknown that is alone in an equation, or in one
equation alone, costs nothing to eliminate and is taken first. Of several rows, the one with the largest
entry becomes the pivot by comparing and exchanging, which is straight-line code.
"""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.symbolic.scalar import Scalar, is_zero, larger, reciprocal

Rows = list[list[Scalar]]


def solved(A: Sequence[Sequence[Scalar]], B: Sequence[Sequence[Scalar]]) -> Rows:
    """Solution X of ``A X = B``.

    Args:
        A: n rows of n.
        B: n rows of as many as there are right-hand sides.

    Returns:
        n rows; not finite where A is singular.
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


def inverse(A: Sequence[Sequence[Scalar]]) -> Rows:
    """Inverse of a matrix of n rows of n."""
    return solved(A, [[float(i == k) for k in range(len(A))] for i in range(len(A))])


def _next_pivot(rows: Rows, left: Sequence[int], columns: Sequence[int]) -> tuple[int, int]:
    """Answer the row and the column to go on with; rows may have been exchanged."""
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
    """Exchange two rows where the entry of the second in a column is the larger one."""
    a, b = rows[row], rows[pivot]
    sizes = abs(a[column]), abs(b[column])
    pairs = [
        (larger(*sizes, x, y), larger(*sizes, y, x)) if x is not y else (x, y)
        for x, y in zip(a, b, strict=True)
    ]
    rows[pivot], rows[row] = [larger_one for larger_one, _ in pairs], [other for _, other in pairs]


def _substituted(rows: Rows, order: Sequence[tuple[int, int]]) -> Rows:
    """Answer the unknowns, of rows that have been divided by their pivots."""
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
