# SPDX-License-Identifier: Apache-2.0
"""Columns of numbers as combinations of the first independent ones (SYMORO+ 2003, appendix 4.3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dyn_core.grouping.chosen import CLEAR, Choice
from dyn_core.grouping.inertial_maps import Matrix

ROUNDING = 1e-12
"""What is taken for rounding of a column, relative to its length, or to an ordinary one if that is longer."""

ZERO = 1e-11
"""The most that is taken for 0 of a coefficient between columns of length 1."""

_NOISE = 1e-14
"""Error of a column of length 1."""


def dependent_columns(W: Matrix, independent: int = 0) -> Choice:
    """Choose the first independent columns of a matrix that has not fewer rows than columns, or none.

    A column is taken where it is clear of those that were taken before; then so is one that differs from
    them by more than rounding.

    Args:
        W: the matrix.
        independent: how many of its columns, from the left, are taken whatever their numbers say.
    """
    R = np.linalg.qr(W)[1]  # the same dependencies in fewer rows (A3-4)
    lengths = np.linalg.norm(R, axis=0)
    long = lengths[lengths > CLEAR * lengths.max(initial=0.0)]
    ordinary = float(np.median(long)) if long.size else 0.0
    present = np.flatnonzero((lengths > ROUNDING * ordinary) | (np.arange(len(lengths)) < independent))
    units = R[:, present] / lengths[present]
    part = np.maximum(1.0, ordinary / lengths[present])
    # A length is never less than none.
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
    """Answer which columns are independent of those that were taken before (A3-5).

    Args:
        W: the columns.
        passes: for each pass over the columns, by column, the least length that is left of one that is taken.
    """
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
