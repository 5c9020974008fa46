# SPDX-License-Identifier: Apache-2.0
"""Joints that no inertia resists, for which there is no direct dynamics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dyn_core.dynamics.factorisation import factorised

NOTHING = 1e-10
"""Part of what a joint moves, below which what is left when the later joints are free is rounding."""


def unresisted(A: Sequence[Sequence[float]], nonzero: Sequence[Iterable[int]]) -> tuple[int, ...]:
    """Joints, counted from 0, that a torque accelerates without limit.

    A joint is resisted by what the articulated links beyond it oppose to it, H of Khalil 2010,
    eq. (36), which is also its place in D of the factorised inertia matrix. It is 0 for a joint
    that carries no mass, or whose motion a carried joint can undo without moving any mass.

    Args:
        A: inertia matrix, at a position of no symmetry if the answer shall hold for almost all.
        nonzero: by row, the columns before the diagonal whose entries can be other than 0.
    """
    regular = [list(row) for row in A]
    for k, row in enumerate(regular):  # a little is added, for the others to be found too
        row[k] = row[k] * (1.0 + 0.01 * NOTHING) or 1.0
    D_inverse = factorised(regular, nonzero).D_inverse
    own = [A[k][k] for k in range(len(A))]
    return tuple(k for k, x in enumerate(own) if x == 0.0 or not D_inverse[k] * x * NOTHING < 1.0)
