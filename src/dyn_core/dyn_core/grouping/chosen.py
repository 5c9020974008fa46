# SPDX-License-Identifier: Apache-2.0
"""Which parameters stay, and in what the others are grouped: the first that are independent."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyn_core.grouping.inertial_maps import Matrix

CLEAR = 5e-3
"""Sine of the least angle at which a parameter is clear of those before it.

Where it is less, the parameter is not taken while others are clear: what is grouped in it would be
multiplied by the reciprocal.
"""

_ROUNDING = 1e-13


class Choice(NamedTuple):
    """A choice of columns of rows.

    Attributes:
        columns: which, from the left.
        relations: what spans the same as the rows and is the unit matrix in these columns.
    """

    columns: tuple[int, ...]
    relations: Matrix


def first_independent(directions: Matrix) -> Choice:
    """Choose columns of orthonormal rows, as many as rows: each the first that is clear of those before."""
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
    """Answer the values, those that are 0, 1, 2 or a half up to rounding exact."""
    halves = np.round(2.0 * values) / 2.0
    near = (np.abs(halves) <= 2.0) & (np.abs(values - halves) <= _ROUNDING)
    return np.where(near, halves, values) + 0.0
