# SPDX-License-Identifier: Apache-2.0
"""Choice of the first independent columns of a matrix (SYMORO+ 2003, appendix 4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dyn_core.algorithms.base_parameters.torque_effects import Matrix

CLEAR = 5e-3
"""Sine of the least angle between a clearly independent column and the columns before it.

A column at a smaller angle is chosen only after all clearly independent ones: the coefficients of the columns
grouped in it would be multiplied by the reciprocal.
"""

_ROUNDING = 1e-13


class Choice(NamedTuple):
    """A choice of columns of rows."""

    columns: tuple[int, ...]  # indices of the chosen columns, ascending
    relations: Matrix  # rows that span the same space and are the unit matrix in these columns


def first_independent(directions: Matrix) -> Choice:
    """Choose as many columns of orthonormal rows as rows: each the first clearly independent one."""
    rank, width = directions.shape
    left = directions.copy()
    columns: list[int] = []
    for least in (CLEAR, 0.0):
        while len(columns) < rank:
            sizes = np.linalg.norm(left, axis=0)
            sizes[columns] = 0.0
            free = np.flatnonzero(sizes > least)
            if free.size == 0 or (least == 0.0 and sizes.max() == 0.0):
                break
            column = int(free[0] if least else np.argmax(sizes))
            columns.append(column)
            unit = left[:, column] / sizes[column]
            left = left - np.outer(unit, unit @ left)
    columns.sort()
    assert len(columns) == rank <= width
    relations = np.linalg.solve(directions[:, columns], directions)
    return Choice(tuple(columns), without_rounding(relations.astype(np.float64, copy=False)))


def without_rounding(values: Matrix) -> Matrix:
    """Return the values; multiples of 1/2 up to 2 become exact if they differ by rounding only."""
    halves = np.round(2.0 * values) / 2.0
    near = (np.abs(halves) <= 2.0) & (np.abs(values - halves) <= _ROUNDING)
    return np.where(near, halves, values) + 0.0


# Columns of a regressor (SYMORO+ 2003, appendix 4.3)

ROUNDING = 1e-12
"""Rounding error of a column relative to its length, or to the median length if that is greater."""

ZERO = 1e-11  # Largest coefficient between columns of length 1 that is taken as 0
_NOISE = 1e-14  # Error of a column of length 1


def dependent_columns(W: Matrix, independent: int = 0) -> Choice:
    """Choose the first independent columns of a matrix.

    A first pass takes the clearly independent columns, a second pass those that differ from the columns taken
    by more than rounding.

    `W`: the matrix, with at least as many rows as columns, or without rows; `independent`: number of columns,
    from the left, that are always taken.
    """
    R = np.linalg.qr(W)[1]  # the same dependencies in fewer rows (A3-4)
    lengths = np.linalg.norm(R, axis=0)
    long = lengths[lengths > CLEAR * lengths.max(initial=0.0)]
    ordinary = float(np.median(long)) if long.size else 0.0
    present = np.flatnonzero((lengths > ROUNDING * ordinary) | (np.arange(len(lengths)) < independent))
    units = R[:, present] / lengths[present]
    part = np.maximum(1.0, ordinary / lengths[present])
    # A length is always greater than -1.
    always = np.where(np.arange(len(present)) < independent, -1.0, np.inf)
    taken = _first_independent(units, (always, CLEAR * part, ROUNDING * part))
    Q1, R1 = np.linalg.qr(units[:, taken])  # (A3-7)
    coefficients = np.linalg.solve(R1, Q1.T @ units)  # (A3-8)
    errors = _NOISE * np.linalg.norm(np.linalg.inv(R1), axis=1)
    coefficients[np.abs(coefficients) <= np.minimum(errors, ZERO)[:, None]] = 0.0
    coefficients[:, taken] = np.eye(len(taken))
    relations = np.zeros((len(taken), len(lengths)))
    relations[:, present] = coefficients * lengths[present] / lengths[present[taken], None]
    return Choice(tuple(present[taken].tolist()), relations)


def _first_independent(W: Matrix, passes: Sequence[Matrix]) -> list[int]:
    """Return the indices of the independent columns (A3-5), by the least remaining lengths of each pass."""
    left = W.copy()
    taken: list[int] = []
    for limits in passes:
        for k in range(W.shape[1]):
            length = np.linalg.norm(left[:, k])
            if length > limits[k] and k not in taken:
                taken.append(k)
                unit = left[:, k] / length
                left -= np.outer(unit, unit @ left)
    return sorted(taken)
