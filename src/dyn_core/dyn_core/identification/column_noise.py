# SPDX-License-Identifier: Apache-2.0
"""What noise of the positions does to the columns of the equations.

Noise of the same size, through the same filters, is added to the motion once more: the columns differ by what
noise does to them, with all that products of signals make of it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.identification.at_rest import moving
from dyn_core.identification.regressor.motion_equations import Equations
from dyn_core.identification.rows import Rows


def column_noise(rows: Rows) -> tuple[Array, ...]:
    """Answer the covariance of the noise of the columns of each joint, shared ones first, (p_i, p_i).

    Raises:
        DynError: nothing is known of the noise of the positions.
    """
    signals = rows.equations.signals
    if signals.noise is None:
        raise DynError(
            "the estimator tls needs the noise of the positions, which `condition` finds in a log; these "
            "signals are arrays of which it is not known: condition a log, or use wls"
        )
    moves = np.array(moving(signals))
    more = [np.where(moves, noise, 0.0) for noise in signals.noise.passed(len(signals))]
    noisy = replace(signals, q=signals.q + more[0], qd=signals.qd + more[1], qdd=signals.qdd + more[2])
    of_rows = rows.equations
    equations = Equations(noisy, of_rows.base, of_rows.momenta, of_rows.stands)
    sums: list[Array] | None = None
    for (_, before), (_, after) in zip(
        rows.pieces(), Rows(equations, rows.frictions, rows.load).pieces(), strict=True
    ):
        changes = [(b - a)[:, :-1] for a, b in zip(before, after, strict=True)]
        products = [change.T @ change for change in changes]
        sums = products if sums is None else [s + p for s, p in zip(sums, products, strict=True)]
    return tuple(product / len(rows) for product in sums or ())
