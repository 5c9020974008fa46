# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the signals of a motion, before anything is believed that comes from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dyn_core.check.finding import Finding
from dyn_core.facade.arrays import Array
from dyn_core.identification.delays import delay_findings
from dyn_core.identification.equations import PIECE, Equations
from dyn_core.identification.factors import factors
from dyn_core.identification.friction import FrictionModel
from dyn_core.identification.least_squares import weighted
from dyn_core.identification.mixed_up import mixed_up
from dyn_core.identification.robust import reweighted
from dyn_core.identification.rows import Rows
from dyn_core.identification.saturation import saturation_findings


def diagnosis(equations: Equations, friction: Sequence[FrictionModel]) -> tuple[Finding, ...]:
    """Answer what is wrong with the signals: signs, swapped joints, saturation, delays.

    Where signs are wrong or joints swapped, nothing else is asked: all would look wrong.

    Args:
        equations: the equations, of torques that are not filtered.
        friction: friction of each joint.
    """
    found = mixed_up(equations, friction)
    if found:
        return tuple(found)
    rows = Rows(equations, tuple((model,) for model in friction))
    solution, _ = reweighted(rows, weighted(factors(rows)).x)
    expected = _torques(equations, friction, solution.x)
    cut = saturation_findings(equations.base.robot, equations.motion.tau, expected)
    return (*cut, *delay_findings(equations, friction))


def _torques(equations: Equations, friction: Sequence[FrictionModel], x: Array) -> Array:
    motion, shared = equations.motion, equations.shared
    torque = np.empty_like(motion.tau)
    for first in range(0, len(motion), PIECE):
        part = slice(first, first + PIECE)
        torque[part] = equations.base.columns(motion.q[part], motion.qd[part], motion.qdd[part]) @ x[:shared]
    start = shared
    for i, model in enumerate(friction):
        columns = model.columns(motion.qd[:, i], torque[:, i])
        torque[:, i] += columns @ x[start : start + len(model.terms)]
        start += len(model.terms)
    return torque
