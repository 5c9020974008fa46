# SPDX-License-Identifier: Apache-2.0
"""Block triangular form: which equations give which unknowns, and in which order.

Of a square system that is not singular by its pattern of zeros, each unknown is matched with an
equation that contains it; equations that need one another's unknowns form a block. Blocks in order
need no unknown of a later one (Dulmage and Mendelsohn; the blocks are Tarjan's strong components).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Block(NamedTuple):
    """Equations that together give as many unknowns, or more equations than unknowns that agree.

    Attributes:
        rows: numbers of the equations.
        columns: numbers of the unknowns.
    """

    rows: tuple[int, ...]
    columns: tuple[int, ...]


def block_triangular(pattern: Sequence[Sequence[bool]], columns: int) -> tuple[Block, ...] | None:
    """Answer the blocks of a system in an order in which they can be solved.

    Args:
        pattern: by equation and unknown, whether the unknown is in the equation.
        columns: number of unknowns.

    Returns:
        the blocks; one block of all where there are more equations than unknowns; None where the
        pattern alone makes the system singular.
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
    """Answer an equation for each unknown, by augmenting paths; None where there is none."""
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
    """Answer the strong components of a graph, each after those that it needs."""
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
            place = stack.index(c)
            found.append(stack[place:])
            del stack[place:]

    for c in range(len(needs)):
        if c not in index:
            visit(c)
    return found
