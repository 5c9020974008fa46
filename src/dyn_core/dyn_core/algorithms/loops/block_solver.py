# SPDX-License-Identifier: Apache-2.0
"""Block triangular form of loop constraints, and the solution of its blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dyn_core.symbolic.elimination import dot, minus_multiple
from dyn_core.symbolic.scalar import Scalar, Scalars, reciprocal

# Block triangular form
#
# In a square system whose pattern of zeros is not singular, each unknown is matched with an equation that
# contains it. Equations that need one another's unknowns form a block. Each block needs only unknowns of
# earlier blocks (Dulmage and Mendelsohn; the blocks are Tarjan's strong components).


class Block(NamedTuple):
    """Equations that are solved together, as many as unknowns or more that are consistent."""

    rows: tuple[int, ...]  # numbers of the equations
    columns: tuple[int, ...]  # numbers of the unknowns


def block_triangular(pattern: Sequence[Sequence[bool]], columns: int) -> tuple[Block, ...] | None:
    """Return the blocks of a system in the order of solution.

    `pattern`: for each equation, whether each unknown is in it. Returns the blocks; a single block if there
    are more equations than unknowns; None if the pattern alone makes the system singular.
    """
    rows = len(pattern)
    if rows < columns:
        return None
    of_column = _matching(pattern, columns)
    if any(row is None for row in of_column):
        return None
    if rows > columns:
        return (Block(tuple(range(rows)), tuple(range(columns))),) if columns else ()
    row_of = [row for row in of_column if row is not None]
    needs = [[k for k in range(columns) if k != c and pattern[row_of[c]][k]] for c in range(columns)]
    return tuple(
        Block(tuple(row_of[c] for c in component), tuple(component))
        for component in (sorted(part) for part in _components(needs))
    )


def _matching(pattern: Sequence[Sequence[bool]], columns: int) -> list[int | None]:
    """Return an equation for each unknown, by augmenting paths; None for an unknown without equation."""
    of_column: list[int | None] = [None] * columns

    def augmented(row: int, seen: set[int]) -> bool:
        for c in range(columns):
            if pattern[row][c] and c not in seen:
                seen.add(c)
                holder = of_column[c]
                if holder is None or augmented(holder, seen):
                    of_column[c] = row
                    return True
        return False

    for row in range(len(pattern)):
        augmented(row, set())
    return of_column


def _components(needs: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the strong components of a graph, each after those that it needs."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    found: list[list[int]] = []

    def visit(c: int) -> None:
        index[c] = low[c] = len(index)
        stack.append(c)
        for k in needs[c]:
            if k not in index:
                visit(k)
                low[c] = min(low[c], low[k])
            elif k in stack:
                low[c] = min(low[c], index[k])
        if low[c] == index[c]:
            first = stack.index(c)
            found.append(stack[first:])
            del stack[first:]

    for c in range(len(needs)):
        if c not in index:
            visit(c)
    return found


# Factors of the blocks
#
# Blocks of one or two unknowns are solved by their determinant, larger blocks by modified Gram-Schmidt. This
# needs no pivots chosen at run time, takes more equations than unknowns, and also solves the transposed
# system. Entries that are 0 by structure are floats and cost nothing.

Rows = Sequence[Mapping[int, Scalar]]


@dataclass(frozen=True)
class BlockInverse:
    """Inverse of a block of one or two unknowns, by rows."""

    inverse: tuple[tuple[Scalar, ...], ...]

    def solve(self, b: Scalars) -> list[Scalar]:
        """Return x of ``A x = b``."""
        return [dot(row, b) for row in self.inverse]

    def solve_transposed(self, f: Scalars) -> list[Scalar]:
        """Return y of ``A^T y = f``."""
        return [dot(column, f) for column in zip(*self.inverse, strict=True)]


@dataclass(frozen=True)
class OrthogonalFactors:
    """Factors of a block ``A = V R``: orthogonal columns V, and R with ones on its diagonal."""

    V: tuple[tuple[Scalar, ...], ...]  # the columns of V
    R: tuple[tuple[Scalar, ...], ...]  # for each column of V, the entries of R right of the diagonal
    scale: tuple[Scalar, ...]  # reciprocals of the squares of the lengths of the columns of V

    def solve(self, b: Scalars) -> list[Scalar]:
        """Return x of ``A x = b``: the least-squares solution if there are more equations (Bjorck 1967)."""
        rest = list(b)
        y = []
        for v, scale in zip(self.V, self.scale, strict=True):
            part = dot(v, rest) * scale
            rest = minus_multiple(rest, part, v)
            y.append(part)
        x: list[Scalar] = []
        for row, part in zip(reversed(self.R), reversed(y), strict=True):
            x.insert(0, part - dot(row, x))
        return x

    def solve_transposed(self, f: Scalars) -> list[Scalar]:
        """Return y of ``A^T y = f``: the solution of least norm (Bjorck and Paige 1992)."""
        t: list[Scalar] = []
        for k, value in enumerate(f):
            t.append(value - dot([row[k - i - 1] for i, row in enumerate(self.R[:k])], t))
        y: list[Scalar] = [0.0] * len(self.V[0])
        for k in reversed(range(len(t))):
            part = (t[k] - dot(self.V[k], y)) * self.scale[k]
            y = minus_multiple(y, -part, self.V[k])
        return y


def factorised(rows: Rows, block: Block, columns: Sequence[int]) -> BlockInverse | OrthogonalFactors:
    """Return the factors of a block of equations, given as entries by joint, for some joints."""
    A = [[rows[row].get(j, 0.0) for j in columns] for row in block.rows]
    if len(block.rows) == 1:
        return BlockInverse(((reciprocal(A[0][0]),),))
    if len(block.rows) == len(columns) == 2:
        (a, b), (c, d) = A
        scale = reciprocal(a * d - b * c)
        return BlockInverse(((d * scale, -b * scale), (-c * scale, a * scale)))
    return _orthogonal([tuple(column) for column in zip(*A, strict=True)])


def _orthogonal(columns: Sequence[tuple[Scalar, ...]]) -> OrthogonalFactors:
    left = list(columns)
    R, scales = [], []
    for k, v in enumerate(left):  # later columns change on the way
        scale = reciprocal(dot(v, v))
        row = []
        for j in range(k + 1, len(left)):
            part = dot(v, left[j]) * scale
            left[j] = tuple(minus_multiple(left[j], part, v))
            row.append(part)
        R.append(tuple(row))
        scales.append(scale)
    return OrthogonalFactors(tuple(left), tuple(R), tuple(scales))
