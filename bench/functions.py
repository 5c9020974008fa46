# SPDX-License-Identifier: Apache-2.0
"""Dynamics functions, one sample and batches, called from Python with NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pinocchio as pin
from alternate import Comparison, compare
from peer import SAMPLES, Peers

LOOP = 200
"""Samples of the loop over Pinocchio with which a batch is compared, per sample."""


def comparisons(p: Peers) -> Iterator[tuple[str, Comparison]]:
    """Compare each function that both have."""
    q, v, x = p.sample()
    Q, V, X = p.their_sample()
    m, model, data = p.model, p.pin_model, p.pin_data
    np.testing.assert_allclose(
        np.sort(m.inverse_dynamics(q, v, x)), np.sort(pin.rnea(model, data, Q, V, X)), rtol=1e-9, atol=1e-9
    )
    yield (
        "inverse dynamics",
        compare(lambda: m.inverse_dynamics(q, v, x), lambda: pin.rnea(model, data, Q, V, X)),
    )
    yield (
        "direct dynamics",
        compare(lambda: m.forward_dynamics(q, v, x), lambda: pin.aba(model, data, Q, V, X)),
    )
    yield "inertia matrix", compare(lambda: m.inertia_matrix(q), lambda: pin.crba(model, data, Q))
    yield (
        "regressor",
        compare(lambda: m.regressor(q, v, x), lambda: pin.computeJointTorqueRegressor(model, data, Q, V, X)),
    )
    yield f"inverse dynamics, {SAMPLES}", _batch(p, m.inverse_dynamics, pin.rnea)
    yield f"direct dynamics, {SAMPLES}", _batch(p, m.forward_dynamics, pin.aba)


def _batch(p: Peers, ours: Callable[..., object], theirs: Callable[..., object]) -> Comparison:
    """Time per sample of a batch, and of a loop over Pinocchio."""
    model, data = p.pin_model, p.pin_data
    states = [p.their_sample(k) for k in range(LOOP)]
    whole = compare(lambda: ours(*p.ours), lambda: [theirs(model, data, *state) for state in states])
    scale = LOOP / SAMPLES
    return Comparison(whole.ours_s / SAMPLES, whole.theirs_s / LOOP, whole.ratio * scale)
