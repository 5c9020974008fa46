# SPDX-License-Identifier: Apache-2.0
"""How far the torques by parameters are from those that were measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.identification.estimators.standard_deviations import residual_rows
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.output.identified_parameters import TorqueError
from dyn_core.identification.regressor.motion_equations import Equations
from dyn_core.identification.rigid_torques import rigid_torques
from dyn_core.identification.rows import Rows

_TINY = float(np.finfo(float).tiny)


def torque_error(equations: Equations, models: Sequence[FrictionModel], x: Array) -> TorqueError:
    """How far the torques by parameters are from those of a motion, be the joints moving or not."""
    load = rigid_torques(equations, x) if any(model.loaded for model in models) else None
    rows = Rows(equations, tuple((model,) for model in models), load, complete=True)
    squares = np.sum(residual_rows(rows, x) ** 2, axis=0)
    torques = np.maximum(np.sum(residual_rows(rows, np.zeros_like(x)) ** 2, axis=0), _TINY)
    return TorqueError(
        float(np.sqrt(squares.sum() / torques.sum())),
        tuple(np.sqrt(squares / torques).tolist()),
        tuple(np.sqrt(squares / len(rows)).tolist()),
    )
