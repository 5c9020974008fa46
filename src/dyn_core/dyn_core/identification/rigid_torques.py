# SPDX-License-Identifier: Apache-2.0
"""Torques that bodies and rotors exert, without friction."""

from __future__ import annotations

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.identification.regressor.motion_equations import PIECE, Equations


def rigid_torques(equations: Equations, x: Array) -> Array:
    """Torques that bodies and rotors exert by the base parameters, at all samples of a motion, (N, n)."""
    signals, shared = equations.signals, x[: equations.shared]
    load = np.empty_like(signals.tau)
    for first in range(0, len(signals), PIECE):
        part = slice(first, first + PIECE)
        load[part] = equations.base.columns(signals.q[part], signals.qd[part], signals.qdd[part]) @ shared
    return load
