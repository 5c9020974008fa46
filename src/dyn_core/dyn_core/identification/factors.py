# SPDX-License-Identifier: Apache-2.0
"""All that least squares need of many equations: a triangular matrix for each joint and part of the time.

The rows ``[W tau]`` of a joint have the QR factor R, with ``R^T R = [W tau]^T [W tau]``: for any weights of
the joints, any columns, and any parts of the time, least squares of the factors are least squares of the
equations. They are computed piece by piece, so that memory does not grow with the measurement.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.blas_threads import one_thread
from dyn_core.identification.rows import Rows

WAITING = 16384
"""Rows of a joint that are gathered before their factor is computed."""


@dataclass(frozen=True, eq=False)
class Factors:
    """Factors of the equations of a robot.

    Attributes:
        shared: number of columns that the joints share; they come first.
        parts: by part of the time and joint, the factor of its rows ``[shared | own | tau]``.
        counts: number of equations of each joint in each part, (n,).
    """

    shared: int
    parts: tuple[tuple[Array, ...], ...]
    counts: tuple[Array, ...]

    @property
    def dof(self) -> int:
        """Number of joints."""
        return len(self.parts[0])

    @property
    def count(self) -> Array:
        """Number of equations of each joint, (n,)."""
        total: Array = np.sum(self.counts, axis=0)
        return total

    def merged(self, parts: Iterable[int] | None = None) -> Factors:
        """Answer the factors of some parts of the time together, by default of all."""
        which = list(range(len(self.parts)) if parts is None else parts)
        if not which:
            raise ValueError("there are no parts of the time to take factors of")
        together = tuple(stacked([self.parts[b][i] for b in which]) for i in range(self.dof))
        return Factors(self.shared, (together,), (np.sum([self.counts[b] for b in which], axis=0),))

    def chosen(self, own: Sequence[Sequence[int]]) -> Factors:
        """Answer the factors with some of the joints' own columns alone.

        Args:
            own: by joint, which columns, counted behind the shared ones.
        """
        columns = [[*range(self.shared), *(self.shared + k for k in ks), -1] for ks in own]
        parts = tuple(
            tuple(triangular(R[:, ks]) for R, ks in zip(part, columns, strict=True)) for part in self.parts
        )
        return Factors(self.shared, parts, self.counts)


def triangular(rows: Array) -> Array:
    """Answer R of the QR factors of rows; the rows themselves where they are fewer than columns."""
    if len(rows) <= rows.shape[1]:
        return rows
    R: Array = np.asarray(np.linalg.qr(rows, mode="r"))
    return R


def stacked(matrices: Sequence[Array]) -> Array:
    """Answer the factor of the rows of several matrices."""
    return triangular(np.concatenate(matrices) if len(matrices) > 1 else matrices[0])


@one_thread()
def factors(rows: Rows, parts: int = 1, weights: Array | None = None) -> Factors:
    """Answer the factors of equations.

    Args:
        rows: the equations.
        parts: parts of equal length into which the time is divided.
        weights: what each equation is multiplied with, (N, n); by default 1.

    Raises:
        ValueError: there are fewer equations than parts.
    """
    if len(rows) < parts:
        raise ValueError(f"{len(rows)} equations cannot be divided into {parts} parts: measure for longer")
    borders = [len(rows) * b // parts for b in range(parts + 1)]
    waiting: list[list[list[Array]]] = [[[] for _ in range(rows.dof)] for _ in range(parts)]
    for which, pieces in rows.pieces():
        for b, (first, last) in enumerate(pairwise(borders)):
            inside = slice(max(first - which.start, 0), max(last - which.start, 0))
            for i, piece in enumerate(pieces):
                part = piece[inside]
                if len(part):
                    weighted = part if weights is None else part * weights[which, i, None][inside]
                    waiting[b][i] = _compressed([*waiting[b][i], weighted])
    done = tuple(tuple(stacked(of_joint) for of_joint in part) for part in waiting)
    used = rows.used
    counts = tuple(used[first:last].sum(axis=0) for first, last in pairwise(borders))
    return Factors(rows.shared, done, counts)


def _compressed(matrices: list[Array]) -> list[Array]:
    """Answer the factor of matrices in their place where they have many rows."""
    return [stacked(matrices)] if sum(map(len, matrices)) > WAITING else matrices
