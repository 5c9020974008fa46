# SPDX-License-Identifier: Apache-2.0
"""Estimators that simulate the robot: IDIM-IV, and output-error polishing (DIDIM).

Both begin with parameters of least squares, simulate the robot with them under the control that it was
under, and estimate anew, until the parameters have settled:

* IDIM-IV takes the columns by the simulated motion for instruments (Janot, Vandanjon, Gautier 2014);
* DIDIM fits the measured torques with the columns by the simulated motion, which needs no measured positions
  at all: these are the Gauss-Newton steps of the output error of the torque (Gautier, Janot, Vandanjon 2013).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dyn_core.errors import DynError
from dyn_core.facade.arrays import Array
from dyn_core.facade.compile import compile_model
from dyn_core.facade.one_thread import one_thread
from dyn_core.identification.equations import Equations
from dyn_core.identification.expected import consistent_parameters
from dyn_core.identification.factors import factors
from dyn_core.identification.friction import FrictionModel
from dyn_core.identification.instrumental import instrumental
from dyn_core.identification.least_squares import weighted
from dyn_core.identification.rows import Rows
from dyn_core.identification.simulated import Control, simulated
from dyn_core.signals.signals import Signals

Method = Literal["instrumental", "output_error"]
ROUNDS = 10
SETTLED = 0.05
"""Greatest change in a round, in standard deviations, that is none."""


@dataclass(frozen=True, eq=False)
class SimulatedSolution:
    """Parameters that a simulation was needed for.

    Attributes:
        x: values: base parameters, then friction, joint by joint.
        deviations: their standard deviations, of independent residuals.
        rounds: how many simulations it took.
        signals: the last motion that was simulated.
    """

    x: Array
    deviations: Array
    rounds: int
    signals: Signals


@one_thread()
def by_simulation(
    equations: Equations, models: Sequence[FrictionModel], control: Control, method: Method
) -> SimulatedSolution:
    """Answer parameters by IDIM-IV or by output-error polishing.

    Args:
        equations: the measured equations.
        models: friction of each joint.
        control: what the robot was moved by, at the times of the motion.
        method: ``"instrumental"`` or ``"output_error"``.

    Raises:
        DynError: the motion has gaps, the simulation diverges, or the parameters do not settle.
    """
    measured, robot = equations.signals, equations.base.robot
    if len(measured.segments) != 1 or measured.segments[0] != (0, len(measured)):
        raise DynError("a motion with gaps cannot be simulated as one: give one of its segments")
    frictions = tuple((model,) for model in models)
    rows = Rows(equations, frictions)
    data = factors(rows)
    solution = weighted(data)
    x, deviations, sigma = solution.x, solution.deviations, solution.sigma
    model = compile_model(robot, parameters="runtime", friction=False)
    for round_ in range(1, ROUNDS + 1):
        possible = consistent_parameters(robot, equations.base, models, data, sigma, x)
        model.set_parameters(_standard(possible.standard, possible.Ia))
        moved = simulated(model, models, x[equations.shared :], control, measured)
        along = Rows(Equations(replace(moved, tau=measured.tau), equations.base), frictions)
        if method == "instrumental":
            found = instrumental(rows, along, sigma)
            new, deviations = found.x, found.deviations
        else:
            data = factors(along)
            fit = weighted(data)
            new, deviations, sigma = fit.x, fit.deviations, fit.sigma
        change = np.max(np.abs(new - x) / np.maximum(deviations, np.finfo(float).tiny))
        x = new
        if change < SETTLED:
            return SimulatedSolution(x, deviations, round_, moved)
    raise DynError(
        f"the parameters have not settled after {ROUNDS} simulations: the control that was given is not "
        "that of the robot"
    )


def _standard(bodies: Array, Ia: Array) -> Array:
    table = np.zeros((len(bodies), 14))
    table[:, :10], table[:, 10] = bodies, Ia
    flat: Array = table.ravel()
    return flat
