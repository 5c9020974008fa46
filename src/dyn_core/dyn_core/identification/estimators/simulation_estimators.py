# SPDX-License-Identifier: Apache-2.0
"""Estimators that simulate the robot: IDIM-IV, and output-error polishing (DIDIM).

Both begin with parameters of least squares, simulate the robot with them under the control that it was
under, and estimate anew, until the parameters have settled:

* IDIM-IV takes the columns by the simulated motion for instruments (Janot, Vandanjon, Gautier 2014);
* DIDIM fits the measured torques with the columns by the simulated motion, which needs no measured positions
  at all: these are the Gauss-Newton steps of the output error of the torque (Gautier, Janot, Vandanjon 2013).

What is simulated is one robot that can be: possible bodies with the friction that goes with them. Of robots
with loops much of the friction of actuated and of passive joints can hardly be told apart; taken from two
estimates, their sum would be wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.blas_threads import one_thread
from dyn_core.core.errors import DynError
from dyn_core.facade.compile import compile_model
from dyn_core.identification.estimators.described_parameters import consistent_parameters
from dyn_core.identification.estimators.least_squares import Solution, system, weighted
from dyn_core.identification.estimators.standard_deviations import residual_rows
from dyn_core.identification.factors import factors
from dyn_core.identification.fit import Fit, information_root, information_rows
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.instrumental import instrumental
from dyn_core.identification.passive_torques import PassiveTorques
from dyn_core.identification.regressor.motion_equations import Equations
from dyn_core.identification.rigid_torques import rigid_torques
from dyn_core.identification.rows import Rows, rows_of
from dyn_core.identification.simulated import simulated
from dyn_core.identification.stages import Progress
from dyn_core.logs.conditioning.signals import Signals

Method = Literal["iv", "oe"]
ROUNDS = 10
SETTLED = 0.05
"""Greatest change in a round, in standard deviations, that is none."""


@dataclass(frozen=True, eq=False)
class SimulatedFit:
    """Parameters that a simulation was needed for.

    Attributes:
        fit: the parameters.
        rounds: how many simulations it took.
        signals: the last motion that was simulated.
    """

    fit: Fit
    rounds: int
    signals: Signals


@one_thread()
def by_simulation(
    equations: Equations,
    models: Sequence[FrictionModel],
    method: Method,
    progress: Progress = lambda stage: None,
) -> SimulatedFit:
    """Answer parameters by IDIM-IV or by output-error polishing.

    Args:
        equations: the measured equations, of signals that have the control.
        models: friction of each joint.
        method: ``"iv"`` or ``"oe"``.
        progress: is told the rounds.

    Raises:
        DynError: the control is not known, the simulation diverges, or the parameters do not settle.
    """
    measured, robot, base = equations.signals, equations.base.robot, equations.base
    if measured.control is None:
        raise DynError("the motion has no control: say what moved the robot")
    data = factors(rows_of(equations, models))
    solution = weighted(data)
    says = system(data.merged(), solution.sigma)
    model = compile_model(robot, parameters="runtime", friction=False)
    of_passive = PassiveTorques(base)
    for round_ in range(1, ROUNDS + 1):
        progress(f"simulating the robot, round {round_}")
        possible = consistent_parameters(robot, base, models, says, len(equations))
        model.set_parameters(_standard(possible.standard, possible.Ia))
        friction = possible.x[equations.shared :]
        passive = of_passive.of(possible.passive, model, measured.q[0], measured.period)
        columns, torques = (base, None) if passive is None else (passive.base, passive.torques)
        moved = simulated(model, models, friction, measured.control, measured, torques)
        motion = replace(moved, tau=measured.tau)
        along = _rows(Equations(motion, columns, stood=equations.stands), models, solution.x)
        if method == "iv":
            there = Equations(measured, columns, stood=equations.stands)
            fit = _instrumental(_rows(there, models, solution.x), along, solution)
        else:
            fit = _output_error(along)
        before, solution = solution.x, fit.solution
        says = fit.says
        kept = solution.identifiable
        change = np.abs(solution.x - before)[kept] / solution.deviations[kept]
        if change.max(initial=0.0) < SETTLED:
            return SimulatedFit(fit, round_, moved)
    raise DynError(
        f"the parameters have not settled after {ROUNDS} simulations: the control that was given is not "
        "that of the robot"
    )


def _rows(equations: Equations, models: Sequence[FrictionModel], x: Array) -> Rows:
    loaded = any(model.loaded for model in models)
    return rows_of(equations, models, rigid_torques(equations, x) if loaded else None)


def _instrumental(rows: Rows, along: Rows, before: Solution) -> Fit:
    first = instrumental(rows, along, before.sigma, before.identifiable)
    counts = np.maximum(rows.used.sum(axis=0), 1)
    rms = np.sqrt(np.sum(residual_rows(rows, first.x) ** 2, axis=0) / counts)
    sigma = np.where(rms > 0.0, rms, before.sigma)
    found = instrumental(rows, along, sigma, before.identifiable)
    R = information_root(found.covariance, before.identifiable)
    solution = Solution(found.x, sigma, R, before.identifiable, before.condition)
    data = factors(rows)
    information = information_rows(solution, system(data.merged(), sigma))
    return Fit(rows, solution, data, instruments=along, bread=found.bread, information=information)


def _output_error(along: Rows) -> Fit:
    data = factors(along)
    return Fit(along, weighted(data), data)


def _standard(bodies: Array, Ia: Array) -> Array:
    table = np.zeros((len(bodies), 14))
    table[:, :10], table[:, 10] = bodies, Ia
    flat: Array = table.ravel()
    return flat
