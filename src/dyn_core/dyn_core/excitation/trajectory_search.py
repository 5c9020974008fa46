# SPDX-License-Identifier: Apache-2.0
"""Search for the trajectory with the least condition number, scaled to keep all limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dyn_core.control.trajectories.piecewise_polynomials import Motion
from dyn_core.core.arrays import Array
from dyn_core.core.blas_threads import one_thread
from dyn_core.excitation.condition_number import gram, scaled_condition
from dyn_core.excitation.optimisation_problem import Problem

STEPS_IN_CYCLE = 800
"""Samples in a cycle of the highest harmonic; the motion between them is bounded."""
STEPS_IN_BLEND = 200
"""Samples in a blend."""
ROOM = 1e-6
"""Part of a limit that rounding may take."""
EFFORT_ROOM = 1e-3
"""Part of an effort limit that is reserved for the motion between samples."""
HALVINGS = 12
SMALLEST = 1e-3
"""Factor below which a scaled motion counts as standstill."""
STAGES = ((2.0, 1e2), (4.0, 1e3), (12.0, 1e4))
"""Powers and weights of penalties, see `Problem.value`: the first for each start value, the others for the
best one."""
SHARE = 0.25
"""Iterations of each start value, as a part of those of the improvement."""
MEMORY = 20
"""Steps that the quasi-Newton method remembers."""
DRAWS = 5
"""Number of random motions; the best one is a start value."""


class Keeper:
    """Scales motions until they keep the limits of a problem at all times, also between samples."""

    def __init__(self, problem: Problem) -> None:
        """Compute the samples at which limits are checked."""
        self._problem = problem
        settings = problem.series.settings
        step = min(settings.period / settings.harmonics / STEPS_IN_CYCLE, settings.blend / STEPS_IN_BLEND)
        self.times = problem.series.grid(step)
        self._step = step
        self._basis = problem.series.basis(self.times)

    def kept(self, coefficients: Array) -> Array | None:
        """Return scaled coefficients (2 K + 1, n) that keep all limits; None if the robot hardly moves."""
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
        """Return the greatest deviation (n,) of a derivative of the positions from lines between samples."""
        slack: Array = self._step**2 / 8.0 * self._problem.series.greatest(coefficients, order + 2)
        return slack

    def _within_range(self, coefficients: Array) -> Array:
        """Return the series, scaled about a centre within the ranges.

        The motion is then within the ranges too, since it is always between the start and the series.
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
        """Return the motion of each joint, scaled about the start until it is slow enough."""
        limits = self._problem.limits
        parts = np.ones(coefficients.shape[1])
        for order, limit in ((1, limits.velocity), (2, limits.acceleration)):
            greatest = np.abs(self._basis[order] @ coefficients).max(axis=0) + self.slack(coefficients, order)
            parts = np.minimum(parts, _part(limit, greatest))
        return coefficients * parts

    def _allowed(self, coefficients: Array) -> bool:
        """Whether torques are within their limits, no box is entered, and loops are within theirs."""
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
    """Return the factor with which a value keeps its limit, at most 1."""
    parts: Array = np.minimum(1.0, limit * (1.0 - ROOM) / np.maximum(greatest, np.finfo(float).tiny))
    return parts


class Progress(NamedTuple):
    """Progress of a search.

    Attributes:
        part: completed part of the iterations, 0 to 1.
        condition: present condition number.
        best: least condition number of a motion that keeps all limits; infinite if there is none yet.
    """

    part: float
    condition: float
    best: float


Report = Callable[[Progress], bool | None]
"""Called with the progress; it returns True to end the search with the best motion so far."""


class Found(NamedTuple):
    """Result of a search.

    Attributes:
        coefficients: coefficients of the best motion; None if no motion keeps the limits.
        condition: its condition number.
        before: condition number of the first motion that kept the limits, before any search.
        complete: whether the search was not ended early.
    """

    coefficients: Array | None
    condition: float
    before: float
    complete: bool


class _EndedError(Exception):
    """The report function has ended the search."""


class Search:
    """Search for the motion with the least condition number that keeps all limits.

    It improves random start values by a quasi-Newton method.
    """

    def __init__(self, problem: Problem, keeper: Keeper, report: Report) -> None:
        """Prepare a search that calls `report` with its progress."""
        self._problem = problem
        self._keeper = keeper
        self._report = report
        self._settings = problem.series.settings
        self._sampled = problem.series.basis(condition_times(self._settings.duration))
        self._best: Array | None = None
        self._condition = self._before = float("inf")
        self._early = max(1, round(SHARE * self._settings.iterations))
        self._all = self._settings.tries * self._early + self._settings.iterations
        self._done = 0

    def run(self) -> Found:
        """Search, and return the best motion."""
        complete = True
        try:
            self._search()
        except _EndedError:
            complete = False
        return Found(self._best, self._condition, self._before, complete)

    def _search(self) -> None:
        tries = []
        for k in range(self._settings.tries):
            x = self._start_value(np.random.default_rng([self._settings.seed, k]))
            self._done = k * self._early
            x = self._improved(x, *STAGES[0], self._early)
            tries.append((self._take(x), k, x))
        _, _, x = min(tries, key=lambda found: found[:2])
        stages = STAGES[1:]
        for k, (power, weight) in enumerate(stages):
            self._done = self._settings.tries * self._early + k * self._settings.iterations // len(stages)
            x = self._improved(x, power, weight, -(-self._settings.iterations // len(stages)))
            self._take(x)

    def _start_value(self, random: np.random.Generator) -> Array:
        """Return the best of some random motions about the middle of the ranges."""
        limits, scales = self._problem.limits, self._problem.scales
        middle = (0.5 * (limits.lower + limits.upper) - self._problem.series.start) / scales[0]
        found = []
        for k in range(DRAWS):
            x = random.normal(size=scales.shape)
            x[0] = random.uniform(-0.5, 0.5, x.shape[1]) + middle
            x = x.ravel()
            condition = self._take(x)
            found.append((condition, k, x))
            if self._before == float("inf"):
                self._before = condition
        _, _, x = min(found, key=lambda one: one[:2])
        kept = self._keeper.kept(x.reshape(scales.shape) * scales)
        return x if kept is None else (kept / scales).ravel()

    def _take(self, x: Array) -> float:
        """Scale a motion to its limits, keep it if it is the best, and return its condition number."""
        kept = self._keeper.kept(x.reshape(self._problem.scales.shape) * self._problem.scales)
        if kept is None:
            return float("inf")
        motion = self._problem.series.at(self._sampled, kept)
        condition = scaled_condition(gram(self._problem.columns, motion))
        if condition < self._condition or self._best is None:
            self._best, self._condition = kept, condition
        return condition

    def _improved(self, x: Array, power: float, weight: float, iterations: int) -> Array:
        """Return x after some steps of a quasi-Newton method."""
        # Imported before `one_thread`, so that the threads that SciPy brings are limited too.
        from scipy.optimize import minimize

        conditions: list[float] = []
        done = self._done

        def function(x: Array) -> tuple[float, Array]:
            value, slopes, condition = self._problem.value(x, power, weight)
            conditions.append(condition)
            return value, slopes

        def step(x: Array) -> None:
            self._done += 1
            if self._report(Progress(self._done / self._all, conditions[-1], self._condition)):
                self._take(x)
                raise _EndedError

        limits = {"maxiter": iterations, "maxfun": 2 * iterations, "ftol": 1e-9, "gtol": 1e-7}
        options = {**limits, "maxcor": MEMORY}
        with one_thread():
            result = minimize(function, x, jac=True, method="L-BFGS-B", callback=step, options=options)
        self._done = done
        return np.asarray(result.x, dtype=np.float64)


def condition_times(duration: float) -> Array:
    """Return the times (s) at which condition numbers are computed, at 100 Hz, 200 to 3000 of them."""
    count = min(3000, max(200, round(100.0 * duration)))
    return np.asarray((np.arange(count) + 0.5) * (duration / count), dtype=np.float64)
