# SPDX-License-Identifier: Apache-2.0
"""Between which values polynomials are on a piece of a trajectory, and where they turn.

Polynomials are given by what powers of u from 0 to 1 are multiplied with, (..., p + 1), from the constant on.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dyn_core.core.arrays import Array

_NEGLIGIBLE = 1e-14
"""Part of the greatest coefficient that a leading one has to have: below, it changes nothing at u <= 1."""


def hull(rows: Array) -> Array:
    """Answer values between which polynomials are, (..., p + 1): their coefficients of Bernstein.

    The first and the last are those at 0 and at 1.
    """
    values: Array = rows @ _bernstein(rows.shape[-1])
    return values


def turning_points(derivatives: Array) -> Array:
    """Answer the u from 0 to 1 at which polynomials with these derivatives turn, (k, p).

    All of them are on the piece: one that is no root, such as the real part of a complex one, does no harm
    where the greatest of the values there is looked for.

    Args:
        derivatives: (k, p + 1).
    """
    count, columns = derivatives.shape
    found = np.zeros((count, max(1, columns - 1)))
    size = np.abs(derivatives).max(axis=1, initial=0.0)
    leading = np.abs(derivatives) > _NEGLIGIBLE * size[:, None]
    degrees = np.where(size > 0.0, columns - 1 - np.argmax(leading[:, ::-1], axis=1), 0)
    for degree in range(1, columns):
        rows = np.flatnonzero(degrees == degree)
        if not len(rows):
            continue
        c = derivatives[rows]
        companions = np.zeros((len(rows), degree, degree))
        companions[:, 0] = -c[:, degree - 1 :: -1][:, :degree] / c[:, degree, None]
        companions[:, range(1, degree), range(degree - 1)] = 1.0
        found[rows, :degree] = np.clip(np.linalg.eigvals(companions).real, 0.0, 1.0)
    return found


@lru_cache(maxsize=4)
def _bernstein(count: int) -> Array:
    """From coefficients of powers of u to those of Bernstein."""
    powers = range(count)
    return np.array([[math.comb(j, i) / math.comb(count - 1, i) for j in powers] for i in powers])
