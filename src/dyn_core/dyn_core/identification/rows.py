# SPDX-License-Identifier: Apache-2.0
"""The equations of a motion: for each joint, rows ``[columns | torque]``, in pieces that fit into memory.

The columns of a joint are those of the base parameters, which all joints share, and those of its own
friction. Both sides are filtered alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dyn_core.facade.arrays import Array
from dyn_core.identification.base_columns import BaseColumns
from dyn_core.identification.decimation import Decimation
from dyn_core.identification.friction import FrictionModel
from dyn_core.identification.motion import Motion

NO_DECIMATION = Decimation()
PIECE = 4096
"""Equations of each joint in one piece, about."""


@dataclass(frozen=True, eq=False)
class Rows:
    """The equations of a motion.

    Attributes:
        motion: the motion.
        base: the columns that the joints share.
        frictions: what else the rows of each joint have: the columns of these models, one after the other.
        decimation: the filter of both sides.
        load: torques that the bodies exert (N m or N), (N, n), for friction that depends on them; None
            where none does.
    """

    motion: Motion
    base: BaseColumns
    frictions: tuple[tuple[FrictionModel, ...], ...]
    decimation: Decimation = NO_DECIMATION
    load: Array | None = None

    def __len__(self) -> int:
        """Answer the number of equations of each joint."""
        return sum(self._counts)

    @property
    def shared(self) -> int:
        """Number of columns that the joints share."""
        return len(self.base.kept)

    @property
    def times(self) -> Array:
        """Times of the equations (s)."""
        reach, factor = self.decimation.reach, self.decimation.factor
        stretches = zip(self.motion.segments, self._counts, strict=True)
        return np.concatenate([self.motion.t[a + reach : b : factor][:count] for (a, b), count in stretches])

    @property
    def _counts(self) -> list[int]:
        return [self.decimation.count(b - a) for a, b in self.motion.segments]

    def pieces(self, borders: Sequence[int] = ()) -> Iterator[tuple[slice, list[Array]]]:
        """Answer the equations piece by piece: which they are, and the rows of each joint.

        Args:
            borders: equations at which a piece has to begin.
        """
        length = max(PIECE // self.decimation.factor, 64)
        start = 0  # of the segment, among the equations
        for (begin, _), count in zip(self.motion.segments, self._counts, strict=True):
            within = {b - start for b in borders if start <= b < start + count}
            starts = sorted({*range(0, count, length), *within})
            for first, last in zip(starts, [*starts[1:], count], strict=True):
                inputs = self.decimation.inputs(first, last)
                yield (
                    slice(start + first, start + last),
                    self._rows(begin + inputs.start, begin + inputs.stop),
                )
            start += count

    def _rows(self, first: int, last: int) -> list[Array]:
        part = self.motion.part(first, last)
        shared = self.base.columns(part.q, part.qd, part.qdd)
        load = np.zeros_like(part.tau) if self.load is None else self.load[first:last]
        rows = []
        for i, models in enumerate(self.frictions):
            own = [model.columns(part.qd[:, i], load[:, i]) for model in models]
            full = np.concatenate([shared[:, i], *own, part.tau[:, i, None]], axis=1)
            rows.append(self.decimation.of(full))
        return rows
