# SPDX-License-Identifier: Apache-2.0
"""Factorisation of the inertia matrix of a tree as L^T D L, which keeps the zeros between branches.

Eliminated from the leaves to the root, joint k changes only the entries of joints that carry it;
these are on one path to the base, so that an entry between two branches stays 0. (Factors L D L^T
would fill it.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dyn_core.geometry.path import lineage
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.scalar import Scalar, reciprocal


class Factors(NamedTuple):
    """Factors of ``A = L^T D L``.

    Attributes:
        L: by row k and column i, counted from 0, the entries below the diagonal of ones that can
            be other than 0.
        D_inverse: reciprocals of the diagonal of D.
    """

    L: tuple[dict[int, Scalar], ...]
    D_inverse: tuple[Scalar, ...]


def carriers(robot: Robot) -> list[list[int]]:
    """By joint, counted from 0, the joints that carry it: where row k of A is not 0 below the diagonal."""
    return [[i - 1 for i in lineage(robot, k)[1:]] for k in range(1, len(robot.joints) + 1)]


def factorised(A: Sequence[Sequence[Scalar]], nonzero: Sequence[Iterable[int]]) -> Factors:
    """Factors of a symmetric matrix.

    Args:
        A: n rows of n.
        nonzero: by row, the columns before the diagonal whose entries can be other than 0, as
            `carriers` answers for an inertia matrix.
    """
    H = [list(row) for row in A]
    filled = [set(columns) for columns in nonzero]
    L: list[dict[int, Scalar]] = [{} for _ in A]
    D_inverse: list[Scalar] = [0.0] * len(A)
    for k in reversed(range(len(A))):
        D_inverse[k] = reciprocal(H[k][k])
        columns = sorted(filled[k], reverse=True)
        for place, i in enumerate(columns):
            L[k][i] = H[k][i] * D_inverse[k]
            filled[i].update(columns[place + 1 :])
            for j in columns[place:]:
                H[i][j] = H[i][j] - L[k][i] * H[k][j]
    return Factors(tuple(L), tuple(D_inverse))


def solved(factors: Factors, b: Sequence[Scalar]) -> list[Scalar]:
    """Solution x of ``L^T D L x = b``."""
    x = list(b)
    for k in reversed(range(len(x))):
        for i, entry in factors.L[k].items():
            x[i] = x[i] - entry * x[k]
        x[k] = x[k] * factors.D_inverse[k]
    for k, row in enumerate(factors.L):
        for i, entry in row.items():
            x[k] = x[k] - entry * x[i]
    return x
