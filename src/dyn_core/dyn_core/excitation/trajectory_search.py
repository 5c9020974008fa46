# SPDX-License-Identifier: Apache-2.0
"""The search for the motion with the least condition number: random beginnings, and slopes from there."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.blas_threads import one_thread
from dyn_core.excitation.condition_number import gram
from dyn_core.excitation.feasible import Keeper
from dyn_core.excitation.optimisation_problem import Problem
from dyn_core.excitation.spectrum import scaled_condition

STAGES = ((2.0, 1e2), (4.0, 1e3), (12.0, 1e4))
"""Powers and weights of penalties, see `Problem.value`: the first for each beginning, then for the best."""
SHARE = 0.25
"""Iterations of each beginning, as a part of those of the improvement."""
MEMORY = 20
"""Steps that the quasi-Newton method remembers."""
DRAWS = 5
"""Random motions that are looked at for each beginning."""


class Progress(NamedTuple):
    """How far a search is.

    Attributes:
        part: part of the iterations that is done, 0 to 1.
        condition: condition number at present.
        best: least condition number of a motion that keeps all limits; infinite where there is none yet.
    """

    part: float
    condition: float
    best: float


Report = Callable[[Progress], bool | None]
"""Told of the progress; it answers True to end the search with the best motion so far."""


class Found(NamedTuple):
    """What a search has found.

    Attributes:
        coefficients: those of the best motion; None where none keeps the limits.
        condition: its condition number.
        before: condition number of the first motion that kept the limits, before any search.
        complete: whether the search came to its end.
    """

    coefficients: Array | None
    condition: float
    before: float
    complete: bool


class _EndedError(Exception):
    """Whoever is told of the progress wants an end."""


class Search:
    """A search that remembers the best motion that keeps all limits."""

    def __init__(self, problem: Problem, keeper: Keeper, report: Report) -> None:
        """Take what to search, and whom to tell."""
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
        """Search."""
        complete = True
        try:
            self._search()
        except _EndedError:
            complete = False
        return Found(self._best, self._condition, self._before, complete)

    def _search(self) -> None:
        tries = []
        for k in range(self._settings.tries):
            x = self._beginning(np.random.default_rng([self._settings.seed, k]))
            self._done = k * self._early
            x = self._improved(x, *STAGES[0], self._early)
            tries.append((self._take(x), k, x))
        _, _, x = min(tries, key=lambda found: found[:2])
        stages = STAGES[1:]
        for k, (power, weight) in enumerate(stages):
            self._done = self._settings.tries * self._early + k * self._settings.iterations // len(stages)
            x = self._improved(x, power, weight, -(-self._settings.iterations // len(stages)))
            self._take(x)

    def _beginning(self, random: np.random.Generator) -> Array:
        """Answer the best of some random motions."""
        found = []
        for k in range(DRAWS):
            x = random.normal(size=self._problem.scales.shape)
            x[0] = random.uniform(-0.5, 0.5, x.shape[1]) + self._to_middle
            x = x.ravel()
            condition = self._take(x)
            found.append((condition, k, x))
            if self._before == float("inf"):
                self._before = condition
        _, _, x = min(found, key=lambda one: one[:2])
        kept = self._keeper.kept(x.reshape(self._problem.scales.shape) * self._problem.scales)
        return x if kept is None else (kept / self._problem.scales).ravel()

    @property
    def _to_middle(self) -> Array:
        limits = self._problem.limits
        middle = 0.5 * (limits.lower + limits.upper) - self._problem.series.start
        way: Array = middle / self._problem.scales[0]
        return way

    def _take(self, x: Array) -> float:
        """Remember a motion, made to keep the limits, if it is the best; answer its condition number."""
        kept = self._keeper.kept(x.reshape(self._problem.scales.shape) * self._problem.scales)
        if kept is None:
            return float("inf")
        motion = self._problem.series.at(self._sampled, kept)
        condition = scaled_condition(gram(self._problem.columns, motion))
        if condition < self._condition or self._best is None:
            self._best, self._condition = kept, condition
        return condition

    def _improved(self, x: Array, power: float, weight: float, iterations: int) -> Array:
        """Answer what some steps of a quasi-Newton method make of x."""
        # SciPy brings threads of its own, of which nobody knows who began before it was imported.
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

        with one_thread():
            result = minimize(
                function,
                x,
                jac=True,
                method="L-BFGS-B",
                callback=step,
                options={
                    "maxiter": iterations,
                    "maxfun": 2 * iterations,
                    "maxcor": MEMORY,
                    "ftol": 1e-9,
                    "gtol": 1e-7,
                },
            )
        self._done = done
        return np.asarray(result.x, dtype=np.float64)


def condition_times(duration: float) -> Array:
    """Answer the times (s) at which condition numbers are taken: 100 in a second, 200 to 3000 of them."""
    count = min(3000, max(200, round(100.0 * duration)))
    return np.asarray((np.arange(count) + 0.5) * (duration / count), dtype=np.float64)
