# SPDX-License-Identifier: Apache-2.0
"""Make a motion smaller until it keeps all limits, at all times and not at samples alone."""

from __future__ import annotations

import numpy as np

from dyn_core.control.motion import Motion
from dyn_core.core.arrays import Array
from dyn_core.excitation.optimisation_problem import Problem

STEPS_IN_CYCLE = 800
"""Samples in a cycle of the highest harmonic; what can be between them is bounded."""
STEPS_IN_BLEND = 200
"""Samples in a blend."""
ROOM = 1e-6
"""Part of a limit that rounding may take."""
EFFORT_ROOM = 1e-3
"""Part of an effort limit that is left for what is between samples."""
HALVINGS = 12
SMALLEST = 1e-3
"""Part of a motion that is none any more."""


class Keeper:
    """Makes motions keep the limits of a problem."""

    def __init__(self, problem: Problem) -> None:
        """Take the samples that limits are looked at."""
        self._problem = problem
        settings = problem.series.settings
        step = min(settings.period / settings.harmonics / STEPS_IN_CYCLE, settings.blend / STEPS_IN_BLEND)
        self.times = problem.series.grid(step)
        self._step = step
        self._basis = problem.series.basis(self.times)

    def kept(self, coefficients: Array) -> Array | None:
        """Answer coefficients (2 K + 1, n) that keep all limits; None where the robot would hardly move."""
        coefficients = self._slower(self._within_range(coefficients))
        if self._allowed(coefficients):
            return coefficients
        good, bad = 0.0, 1.0
        for _ in range(HALVINGS):
            part = 0.5 * (good + bad)
            if self._allowed(part * coefficients):
                good = part
            else:
                bad = part
        return good * coefficients if good > SMALLEST else None

    def slack(self, coefficients: Array, order: int) -> Array:
        """Answer how far a derivative of the positions can be from straight lines between samples, (n,)."""
        slack: Array = self._step**2 / 8.0 * self._problem.series.greatest(coefficients, order + 2)
        return slack

    def _within_range(self, coefficients: Array) -> Array:
        """Answer the series made smaller about a centre that is within the ranges.

        Then the motion is, too, as it is always between the start and the series.
        """
        limits, start = self._problem.limits, self._problem.series.start
        lower, upper = limits.lower, limits.upper
        coefficients = coefficients.copy()
        coefficients[0] = np.clip(coefficients[0], lower - start, upper - start)
        settings = self._problem.series.settings
        whole = (self.times >= settings.blend) & (self.times <= settings.blend + settings.period)
        q = self._basis.q[whole] @ coefficients - coefficients[0]
        slack = self.slack(coefficients, 0)
        centre = start + coefficients[0]
        up, down = np.maximum(q.max(axis=0) + slack, 0.0), np.maximum(slack - q.min(axis=0), 0.0)
        coefficients[1:] *= np.minimum(_part(upper - centre, up), _part(centre - lower, down))
        return coefficients

    def _slower(self, coefficients: Array) -> Array:
        """Answer the motion of each joint made smaller about the start until it is slow enough."""
        limits = self._problem.limits
        parts = np.ones(coefficients.shape[1])
        for order, limit in ((1, limits.velocity), (2, limits.acceleration)):
            greatest = np.abs(self._basis[order] @ coefficients).max(axis=0) + self.slack(coefficients, order)
            parts = np.minimum(parts, _part(limit, greatest))
        return coefficients * parts

    def _allowed(self, coefficients: Array) -> bool:
        """Whether torques are within their limits, no box is entered, and loops allow it."""
        problem = self._problem
        motion: Motion = problem.series.at(self._basis, coefficients)
        slack = self.slack(coefficients, 0)
        if any(box.first_entered(motion.q, slack) is not None for box in problem.boxes):
            return False
        if problem.loops is not None and not problem.loops.keep(motion.q, motion.qd):
            return False
        if not np.isfinite(problem.limits.effort).any():
            return True
        return bool((problem.torques.needed(*motion) <= problem.limits.effort * (1.0 - EFFORT_ROOM)).all())


def _part(limit: Array, greatest: Array) -> Array:
    """Answer by which part something has to be multiplied to keep a limit; 1 where it does."""
    parts: Array = np.minimum(1.0, limit * (1.0 - ROOM) / np.maximum(greatest, np.finfo(float).tiny))
    return parts
