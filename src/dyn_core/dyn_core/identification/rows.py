# SPDX-License-Identifier: Apache-2.0
"""The equations of a motion with friction: for each joint, rows ``[columns | torque]``.

The columns of a joint are those of the base parameters, which all joints share, and those of its own
friction. Both sides are filtered alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.identification.bool_array import BoolArray
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.regressor.motion_equations import KEPT, Equations, Piece


@dataclass(frozen=True, eq=False)
class Rows:
    """The equations of a motion with friction.

    Attributes:
        equations: what does not depend on friction.
        frictions: what else the rows of each joint have: the columns of these models, one after the other.
        load: torques that the bodies exert (N m or N), (N, n), for friction that depends on them; None
            where none does.
        complete: whether joints have equations while they stand, too. Otherwise these are zeros, which say
            nothing.
    """

    equations: Equations
    frictions: tuple[tuple[FrictionModel, ...], ...]
    load: Array | None = None
    complete: bool = False
    _known: dict[int, list[Array]] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        """Answer the number of equations of each joint."""
        return len(self.equations)

    @property
    def shared(self) -> int:
        """Number of columns that the joints share."""
        return self.equations.shared

    @property
    def used(self) -> BoolArray:
        """Which equations of each joint say something, (N, n)."""
        used = self.equations.used
        return np.ones_like(used) if self.complete else used

    @property
    def dof(self) -> int:
        """Number of joints."""
        return len(self.frictions)

    def pieces(self) -> Iterator[tuple[slice, list[Array]]]:
        """Answer the equations piece by piece: which they are, and the rows of each joint."""
        for piece in self.equations.pieces():
            shared, tau = self.equations.filtered(piece)
            rows = [
                np.concatenate([shared[:, i], columns, tau[:, i, None]], axis=1)
                for i, columns in enumerate(self._own(piece))
            ]
            used = self.used[piece.which]
            for i in np.flatnonzero(~used.all(axis=0)):
                rows[i][~used[:, i]] = 0.0
            yield piece.which, rows

    def _own(self, piece: Piece) -> list[Array]:
        """The filtered columns of friction, by joint."""
        if piece.which.start in self._known:
            return self._known[piece.which.start]
        part = slice(piece.first, piece.last)
        qd = self.equations.signals.qd[part]
        load = np.zeros_like(qd) if self.load is None else self.load[part]
        own = []
        for i, models in enumerate(self.frictions):
            columns = [np.zeros((len(qd), 0)), *(model.columns(qd[:, i], load[:, i]) for model in models)]
            known = 1.0 if self.equations.measured[i] else 0.0
            own.append(self.equations.decimation.of(known * np.concatenate(columns, axis=1)))
        if len(self) * sum(columns.shape[1] for columns in own) * 8 <= KEPT:
            self._known[piece.which.start] = own
        return own


def rows_of(equations: Equations, models: Sequence[FrictionModel], load: Array | None = None) -> Rows:
    """Answer the equations with one model of friction for each joint.

    Args:
        equations: what does not depend on friction.
        models: friction of each joint.
        load: torques that the bodies exert (N m or N), (N, n), where friction depends on them.
    """
    return Rows(equations, tuple((model,) for model in models), load)
