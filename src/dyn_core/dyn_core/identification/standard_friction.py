# SPDX-License-Identifier: Apache-2.0
"""Any model of friction as viscous, Coulomb friction and an offset, which is what simple models take."""

from __future__ import annotations

import numpy as np

from dyn_core.facade.arrays import Array
from dyn_core.identification.friction import LOADED, FrictionModel


def nearest_standard(model: FrictionModel, x: Array, qd: Array) -> tuple[float, float, float]:
    """Answer Fv, Fs and Fo that come nearest to a model at some velocities; what depends on load is left out.

    Args:
        model: the model.
        x: its parameters.
        qd: velocities (rad/s or m/s), (N,).
    """
    unloaded = np.array(
        [0.0 if term in LOADED else value for term, value in zip(model.terms, x, strict=True)]
    )
    torque = model.columns(qd, np.zeros_like(qd)) @ unloaded
    W = FrictionModel().columns(qd, np.zeros_like(qd))
    Fv, Fs, Fo = np.linalg.lstsq(W, torque, rcond=None)[0].tolist()
    return max(Fv, 0.0), max(Fs, 0.0), Fo
