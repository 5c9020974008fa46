# SPDX-License-Identifier: Apache-2.0
"""The part of the equations of a motion that no choice changes: columns of the base parameters, and torques.

They are computed in pieces, filtered, and kept where they fit into memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.identification.at_rest import standing
from dyn_core.identification.bool_array import BoolArray
from dyn_core.identification.regressor.base_columns import BaseColumns
from dyn_core.logs.conditioning.signals import Signals
from dyn_core.signals.decimation import Decimation

Momenta: TypeAlias = Callable[[Array, Array], Array]
PIECE = 8192
"""Samples in one piece, about."""
KEPT = 256 * 2**20
"""Bytes of the columns that are kept at most; what needs more is computed again each time."""


STOOD = 0.02
"""Part of an equation, by the weights of its filter, in which a joint may stand."""


class Piece(NamedTuple):
    """Some of the equations.

    Attributes:
        which: places among all equations.
        first: first sample of the motion that they depend on.
        last: the one after the last.
    """

    which: slice
    first: int
    last: int


@dataclass(frozen=True, eq=False)
class Equations:
    """Equations ``columns x = tau`` for each joint, of a motion.

    Attributes:
        signals: the motion, and the filter of both sides.
        base: the columns that the joints share.
        momenta: what answers D1 and D2 at positions and velocities, (N, 2, n, p), for columns without
            accelerations; None for those of the dynamic model.
        stood: when each joint stands, (N, n), where that is not what the motion itself says.
    """

    signals: Signals
    base: BaseColumns
    momenta: Momenta | None = None
    stood: BoolArray | None = None
    _known: dict[int, tuple[Array, Array]] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        """Answer the number of equations of each joint, with those of times at which it stands."""
        return sum(self._counts)

    @cached_property
    def stands(self) -> BoolArray:
        """When each joint stands, (samples, n)."""
        return standing(self.signals) if self.stood is None else self.stood

    @cached_property
    def used(self) -> BoolArray:
        """Which equations of each joint say something, (N, n): not those of times at which it stands."""
        weights = np.abs(self.decimation.weights) / np.abs(self.decimation.weights).sum()
        found = np.ones((len(self), self.signals.dof), dtype=bool)
        start = 0
        for (first, last), count in zip(self.signals.segments, self._counts, strict=True):
            for i in range(self.signals.dof if count else 0):
                part = self.stands[first:last, i]
                if part.any():
                    share = np.convolve(part, weights, mode="valid")[:: self.decimation.factor]
                    found[start : start + count, i] = share <= STOOD
            start += count
        return found

    @cached_property
    def measured(self) -> tuple[bool, ...]:
        """Whether the torque of each joint was measured."""
        return self.signals.has_effort

    @property
    def decimation(self) -> Decimation:
        """The filter of both sides."""
        return self.signals.decimation

    @property
    def shared(self) -> int:
        """Number of columns that the joints share."""
        return len(self.base.kept)

    @property
    def times(self) -> Array:
        """Times of the equations (s)."""
        reach, factor = self.decimation.reach, self.decimation.factor
        stretches = zip(self.signals.segments, self._counts, strict=True)
        times = [self.signals.time[a + reach : b : factor][:count] for (a, b), count in stretches]
        return np.concatenate([np.zeros(0), *times])

    @property
    def _counts(self) -> list[int]:
        return [self.decimation.count(b - a) for a, b in self.signals.segments]

    def pieces(self) -> Iterator[Piece]:
        """Answer the pieces, in the order of time."""
        length = max(PIECE // self.decimation.factor, 64)
        start = 0  # of the segment, among the equations
        for (begin, _), count in zip(self.signals.segments, self._counts, strict=True):
            for first in range(0, count, length):
                last = min(first + length, count)
                inputs = self.decimation.inputs(first, last)
                yield Piece(slice(start + first, start + last), begin + inputs.start, begin + inputs.stop)
            start += count

    def filtered(self, piece: Piece) -> tuple[Array, Array]:
        """Answer the shared columns (N, n, p) of a piece, and its torques (N, n)."""
        if piece.which.start in self._known:
            return self._known[piece.which.start]
        signals = self.signals
        part = slice(piece.first, piece.last)
        if self.momenta is None:
            columns = self.decimation.of(
                self.base.columns(signals.q[part], signals.qd[part], signals.qdd[part])
            )
        else:
            both_terms = self.momenta(signals.q[part], signals.qd[part])
            columns = self.decimation.derivative(both_terms[:, 0]) / signals.period
            columns += self.decimation.of(both_terms[:, 1])
        measured = np.array(self.measured)
        # Zeros say nothing: a joint whose torque is not known has no equations.
        columns[:, ~measured] = 0.0
        both = columns, self.decimation.of(np.where(measured, signals.tau[part], 0.0))
        if len(self) * signals.dof * self.shared * 8 <= KEPT:
            self._known[piece.which.start] = both
        return both
