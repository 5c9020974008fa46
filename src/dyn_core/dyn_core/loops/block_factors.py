# SPDX-License-Identifier: Apache-2.0
"""Factors of the blocks of small linear systems over scalars, made without choices that depend on numbers.

Blocks of one or two unknowns are solved by their determinant; larger ones are made orthogonal, column by
column (modified Gram-Schmidt). That needs no pivots, which `linalg.elimination` chooses by comparing and
exchanging rows at run time, takes more equations than unknowns, solves the transposed system too, and is as
accurate as the system allows. Entries that are 0 by structure are floats, and cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dyn_core.linalg.vector import dot, less
from dyn_core.loops.block_triangular import Block
from dyn_core.symbolic.scalar import Scalar, reciprocal

Rows = Sequence[Mapping[int, Scalar]]


@dataclass(frozen=True)
class Pair:
    """Inverse of a block of one or two unknowns, by rows."""

    inverse: tuple[tuple[Scalar, ...], ...]

    def solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """Answer x of ``A x = b``."""
        return [dot(row, b) for row in self.inverse]

    def solve_transposed(self, f: Sequence[Scalar]) -> list[Scalar]:
        """Answer y of ``A^T y = f``."""
        return [dot(column, f) for column in zip(*self.inverse, strict=True)]


@dataclass(frozen=True)
class Orthogonal:
    """Factors of a block ``A = V R``: orthogonal columns V, and R with ones on its diagonal.

    Attributes:
        V: the columns of V.
        R: by column of V, the entries of R right of the diagonal.
        scale: reciprocals of the squares of the lengths of the columns of V.
    """

    V: tuple[tuple[Scalar, ...], ...]
    R: tuple[tuple[Scalar, ...], ...]
    scale: tuple[Scalar, ...]

    def solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """Answer x of ``A x = b``, where there are more equations than unknowns the nearest (Bjorck 1967)."""
        rest = list(b)
        y = []
        for v, scale in zip(self.V, self.scale, strict=True):
            part = dot(v, rest) * scale
            rest = less(rest, part, v)
            y.append(part)
        x: list[Scalar] = []
        for row, part in zip(reversed(self.R), reversed(y), strict=True):
            x.insert(0, part - dot(row, x))
        return x

    def solve_transposed(self, f: Sequence[Scalar]) -> list[Scalar]:
        """Answer y of ``A^T y = f``, of several the least (Bjorck and Paige 1992)."""
        t: list[Scalar] = []
        for k, value in enumerate(f):
            t.append(value - dot([row[k - i - 1] for i, row in enumerate(self.R[:k])], t))
        y: list[Scalar] = [0.0] * len(self.V[0])
        for k in reversed(range(len(t))):
            part = (t[k] - dot(self.V[k], y)) * self.scale[k]
            y = less(y, -part, self.V[k])
        return y


def factorised(rows: Rows, block: Block, columns: Sequence[int]) -> Pair | Orthogonal:
    """Answer what solves a block of a system.

    Args:
        rows: the equations, as entries by number of the joint.
        block: the block.
        columns: the joints of which it gives the rates.
    """
    A = [[rows[row].get(j, 0.0) for j in columns] for row in block.rows]
    if len(block.rows) == 1:
        return Pair(((reciprocal(A[0][0]),),))
    if len(block.rows) == len(columns) == 2:
        (a, b), (c, d) = A
        scale = reciprocal(a * d - b * c)
        return Pair(((d * scale, -b * scale), (-c * scale, a * scale)))
    return _orthogonal([tuple(column) for column in zip(*A, strict=True)])


def _orthogonal(columns: Sequence[tuple[Scalar, ...]]) -> Orthogonal:
    left = list(columns)
    V, R, scales = [], [], []
    for k in range(len(left)):
        v = left[k]
        scale = reciprocal(dot(v, v))
        row = []
        for j in range(k + 1, len(left)):
            part = dot(v, left[j]) * scale
            left[j] = tuple(less(left[j], part, v))
            row.append(part)
        V.append(v)
        R.append(tuple(row))
        scales.append(scale)
    return Orthogonal(tuple(V), tuple(R), tuple(scales))
