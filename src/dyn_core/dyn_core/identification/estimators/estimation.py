# SPDX-License-Identifier: Apache-2.0
"""From equations to the friction that they need and the parameters that fit them best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.identification.estimators.described_parameters import Consistent, consistent_parameters
from dyn_core.identification.estimators.least_squares import residual_squares, system, weighted
from dyn_core.identification.estimators.simulation_estimators import by_simulation
from dyn_core.identification.factors import factors
from dyn_core.identification.fit import Fit
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.friction.friction_selection import candidates, finer, grams, selected
from dyn_core.identification.regressor.base_columns import BaseColumns
from dyn_core.identification.regressor.motion_equations import Equations
from dyn_core.identification.rigid_torques import rigid_torques
from dyn_core.identification.robust import reweighted
from dyn_core.identification.rows import Rows, rows_of
from dyn_core.identification.settings import IdentificationSettings
from dyn_core.identification.stages import Progress
from dyn_core.identification.total import total
from dyn_core.identification.unweighted import unweighted
from dyn_core.robot.robot import Robot

FINE_GAIN = 0.002
"""Part of the error (of the squares) that another velocity nearby has to take away."""
EXACT = 1e-5
"""Part of the torques of a joint that residuals are at least taken for."""
EASE, EASED = 10.0, 7
"""Factor by which residuals are taken for greater where no possible bodies are found, and how often."""
ROUNDS = 3
"""Fits that take from the fit before the load on which friction depends, or what joints count."""


@dataclass(frozen=True, eq=False)
class Estimation:
    """Friction that is chosen, and parameters that fit best.

    Attributes:
        robot: the robot.
        base: the columns of its base parameters.
        settings: how.
    """

    robot: Robot
    base: BaseColumns
    settings: IdentificationSettings

    def friction(
        self, equations: Equations
    ) -> tuple[tuple[FrictionModel, ...], list[tuple[tuple[str, float], ...]]]:
        """The friction of each joint, and what was tried on the way to it."""
        n = self.robot.dof
        if self.settings.friction is not None:
            return self.settings.friction, [()] * n
        start = (FrictionModel(),) * n
        solution = weighted(factors(rows_of(equations, start)))
        load = rigid_torques(equations, solution.x) if self.settings.loaded else None
        speeds = np.abs(equations.signals.qd).max(axis=0).tolist()
        terms = tuple(candidates(speed, self.settings.loaded) for speed in speeds)
        rows = Rows(equations, terms, load)
        chosen = selected(grams(rows, self.settings.parts, solution.sigma), start)
        # Once more, for velocities between those that were tried.
        models = tuple(choice.model for choice in chosen)
        rows = Rows(equations, tuple(finer(model) for model in models), load)
        refined = selected(grams(rows, self.settings.parts, solution.sigma), models, FINE_GAIN)
        tried = [one.tried + other.tried[1:] for one, other in zip(chosen, refined, strict=True)]
        return tuple(choice.model for choice in refined), tried

    def fit(
        self,
        equations: Equations,
        models: Sequence[FrictionModel],
        progress: Progress = lambda stage: None,
    ) -> Fit:
        """The parameters that fit best; `progress` is told the rounds of simulations."""
        estimator = self.settings.estimator
        if estimator == "iv" or estimator == "oe":
            return by_simulation(equations, models, estimator, progress).fit
        if not any(model.loaded for model in models):
            return self._fitted(rows_of(equations, models))
        start = (FrictionModel(),) * self.robot.dof
        x = weighted(factors(rows_of(equations, start))).x
        for _ in range(ROUNDS):
            found = self._fitted(rows_of(equations, models, rigid_torques(equations, x)))
            x = found.solution.x
        return found

    def possible(self, models: Sequence[FrictionModel], fit: Fit) -> Consistent:
        """The parameters that fit best of those that bodies, rotors and friction can have.

        Joints count by the residuals that they have with them, not by those of least squares alone.
        """
        whole = fit.data.merged()
        count, counts = int(whole.count.max()), np.maximum(whole.count, 1)
        if fit.information is not None:
            eased = (fit.information / EASE**k for k in range(EASED))
            return self._first_possible(models, eased, count)
        size = np.array([np.linalg.norm(R[:, -1]) for R in whole.parts[0]]) / np.sqrt(counts)
        least = np.maximum(fit.solution.sigma, EXACT * size)
        sigma = least
        for _ in range(ROUNDS):
            eased = (
                system(whole, np.maximum(sigma, np.minimum(EASE**k * sigma, size))) for k in range(EASED)
            )
            found = self._first_possible(models, eased, count)
            sigma = np.maximum(least, np.sqrt(residual_squares(whole, found.x) / counts))
        return found

    def _first_possible(
        self, models: Sequence[FrictionModel], attempts: Iterator[Array], count: int
    ) -> Consistent:
        """Possible bodies by the first of some systems of rows for which a minimum is found.

        Residuals of least squares that are next to nothing, as without noise, or much smaller than possible
        bodies leave, as with a wrong sign, pull bodies so far from what is expected that steps get too short.
        """
        rows = next(attempts)
        for eased in attempts:
            try:
                return consistent_parameters(
                    self.robot, self.base, models, rows, count, self.settings.prior_weight
                )
            except DynError:
                rows = eased
        return consistent_parameters(self.robot, self.base, models, rows, count, self.settings.prior_weight)

    def _fitted(self, rows: Rows) -> Fit:
        match self.settings.estimator:
            case "ols":
                return unweighted(rows)
            case "tls":
                return total(rows)
        data = factors(rows)
        solution = weighted(data)
        if self.settings.estimator != "irls":
            return Fit(rows, solution, data)
        solution, weights = reweighted(rows, solution.x)
        return Fit(rows, solution, factors(rows, weights=weights), weights)
