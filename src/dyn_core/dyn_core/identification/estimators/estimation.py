# SPDX-License-Identifier: Apache-2.0
"""From equations to the friction models that they need and the parameters that fit them best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

import numpy as np

from dyn_core.core.arrays import Array, BoolArray
from dyn_core.core.errors import ArgumentError, DynError
from dyn_core.identification.estimators.described_parameters import Consistent, consistent_parameters
from dyn_core.identification.estimators.identification_settings import IdentificationSettings, Progress
from dyn_core.identification.estimators.least_squares import (
    Solution,
    deviations_of_residuals,
    factors,
    ordinary,
    own_columns,
    residual_squares,
    system,
    triangular,
    weighted,
)
from dyn_core.identification.estimators.simulation_estimators import by_simulation
from dyn_core.identification.estimators.standard_deviations import (
    Fit,
    information_root,
    information_rows,
    residual_rows,
)
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.friction.friction_selection import (
    Rows,
    candidates,
    finer,
    grams,
    rows_of,
    selected,
)
from dyn_core.identification.regressor.base_columns import BaseColumns
from dyn_core.identification.regressor.motion_equations import Equations, moving, rigid_torques

FINE_GAIN = 0.002  # least relative reduction of the squared error by another velocity nearby
EXACT = 1e-5  # least residuals that are assumed, as a part of the torques of a joint
# factor by which residuals are enlarged where no possible bodies are found, and how often
EASE, EASED = 10.0, 7
ROUNDS = 3  # iterations of fits for load-dependent friction and of joint weights


@dataclass(frozen=True, eq=False)
class Estimation:
    """Choice of friction models and estimation of parameters."""

    base: BaseColumns
    settings: IdentificationSettings

    def friction(
        self, equations: Equations
    ) -> tuple[tuple[FrictionModel, ...], list[tuple[tuple[str, float], ...]]]:
        """Return the friction of each joint, and the models that were tried for it with their errors."""
        n = self.base.robot.dof
        if self.settings.friction is not None:
            return self.settings.friction, [()] * n
        start = (FrictionModel(),) * n
        solution = weighted(factors(rows_of(equations, start)))
        load = rigid_torques(equations, solution.x) if self.settings.loaded else None
        speeds = np.abs(equations.signals.qd).max(axis=0).tolist()
        terms = tuple(candidates(speed, self.settings.loaded) for speed in speeds)
        rows = Rows(equations, terms, load)
        chosen = selected(grams(rows, self.settings.parts, solution.sigma), start)
        # Refine the velocities between those that were tried.
        models = tuple(choice.model for choice in chosen)
        rows = Rows(equations, tuple(finer(model) for model in models), load)
        refined = selected(grams(rows, self.settings.parts, solution.sigma), models, FINE_GAIN)
        tried = [one.tried + other.tried[1:] for one, other in zip(chosen, refined, strict=True)]
        return tuple(choice.model for choice in refined), tried

    def fit(
        self, equations: Equations, models: Sequence[FrictionModel], progress: Progress = lambda stage: None
    ) -> Fit:
        """Return the parameters that fit best; `progress` receives the rounds of simulations."""
        estimator = self.settings.estimator
        if estimator == "iv" or estimator == "oe":
            return by_simulation(equations, models, estimator, progress).fit
        if not any(model.loaded for model in models):
            return self._fitted(rows_of(equations, models))
        start = (FrictionModel(),) * self.base.robot.dof
        x = weighted(factors(rows_of(equations, start))).x
        for _ in range(ROUNDS):
            found = self._fitted(rows_of(equations, models, rigid_torques(equations, x)))
            x = found.solution.x
        return found

    def possible(self, models: Sequence[FrictionModel], fit: Fit) -> Consistent:
        """Return the physically consistent parameters that fit best.

        Their own residuals weight the joints, rather than those of least squares.
        """
        whole = fit.data
        count, counts = int(whole.count.max()), np.maximum(whole.count, 1)
        if fit.information is not None:
            eased = (fit.information / EASE**k for k in range(EASED))
            return self._first_possible(models, eased, count)
        size = np.array([np.linalg.norm(R[:, -1]) for R in whole.parts]) / np.sqrt(counts)
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
        """Return possible bodies by the first of some systems of rows for which a minimum is found.

        Residuals of least squares that are tiny, as without noise, or much smaller than possible bodies
        leave, as with a wrong sign, pull bodies so far from the prior that steps get too short.
        """
        weight = self.settings.prior_weight
        solve = partial(consistent_parameters, self.base, models, count=count, weight=weight)
        for rows in islice(attempts, EASED - 1):
            with suppress(DynError):
                return solve(rows)
        return solve(next(attempts))

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


# Ordinary least squares with deviations of their own for each joint
#
# With ``A = sum W_i^T W_i`` and the deviation sigma_i of the residuals of joint i, the covariance is
# ``A^-1 (sum sigma_i^2 W_i^T W_i) A^-1`` (White 1980).

# Ordinary least squares weight all joints equally; the deviations use the residuals of each joint.
#
# With ``A = sum W_i^T W_i`` the covariance is ``A^-1 (sum sigma_i^2 W_i^T W_i) A^-1`` (White 1980), where
# sigma_i is the deviation of the residuals of joint i.


def unweighted(rows: Rows) -> Fit:
    """Return the parameters by ordinary least squares."""
    data = factors(rows)
    plain = ordinary(data)
    bread = plain.covariance
    # W_i^T W_i sigma_i^2 / c^4 is the product of the rows divided by c^2 / sigma_i.
    W = system(data, plain.sigma**2 / deviations_of_residuals(data, plain))[:, :-1]
    covariance = bread @ (W.T @ W) @ bread
    R = information_root(covariance, plain.identifiable)
    solution = replace(plain, R=R)
    information = information_rows(solution, system(data, np.ones(data.dof)))
    return Fit(rows, solution, data, bread=bread, information=information)


# Iteratively reweighted least squares against outliers (Huber 1981)
#
# A residual e counts as e^2 up to k deviations, and as its magnitude beyond: equations are multiplied by
# sqrt(min(1, k s / |e|)), where s = 1.4826 median |e| is a deviation that outliers do not change.

HUBER = 1.345  # k: 95 % of the efficiency of least squares for normal residuals
REWEIGHTINGS = 10
SETTLED = 0.01  # greatest change in the last round, in deviations

_MEDIAN_TO_DEVIATION = 1.4826


def huber_weights(errors: Array, k: float = HUBER, used: BoolArray | None = None) -> Array:
    """Return the factors of equations, (N, n), for residuals (N, n); `used` marks existing equations."""
    known = np.ones_like(errors, dtype=bool) if used is None else used
    sizes = (np.abs(of_joint[there]) for of_joint, there in zip(errors.T, known.T, strict=True))
    scale = _MEDIAN_TO_DEVIATION * np.array([np.median(size) if len(size) else 0.0 for size in sizes])
    tiny = np.finfo(float).tiny
    return np.sqrt(np.minimum(1.0, k * np.maximum(scale, tiny) / np.maximum(np.abs(errors), tiny)))


def reweighted(rows: Rows, start: Array) -> tuple[Solution, Array]:
    """Return the robust solution of equations, starting from parameters `start`, and the weights (N, n)."""
    x = start
    for _ in range(REWEIGHTINGS):
        weights = huber_weights(residual_rows(rows, x), used=rows.used)
        solution = weighted(factors(rows, weights=weights))
        change = np.abs(solution.x - x) / np.maximum(solution.deviations, np.finfo(float).tiny)
        x = solution.x
        if change.max(initial=0.0) < SETTLED:
            break
    return solution, weights


# Total least squares of a motion with noisy positions
#
# The deviations of the residuals of weighted least squares weight the joints. With the mean noise S of the
# columns and the estimate x, the scores ``w_t e_t + S x`` have the mean 0, and their derivative by x is
# ``W^T W - l S``, where l is the least value of total least squares.

_OF_TORQUE = 0.01  # least part of the squared residuals that is noise of the torque


def total(rows: Rows) -> Fit:
    """Return the parameters by total least squares; DynError if the noise of the positions is not known."""
    data = factors(rows)
    plain = weighted(data)
    noise = _noise(rows, plain, own_columns(data))
    R = system(data, plain.sigma)
    kept = plain.identifiable
    inner = [*np.flatnonzero(kept).tolist(), len(kept)]
    found, least = total_least_squares(triangular(R[:, inner]), noise[np.ix_(inner, inner)])
    x, bread = np.zeros(len(kept)), np.zeros((len(kept), len(kept)))
    x[kept] = found
    W = R[:, :-1]
    bread[np.ix_(kept, kept)] = np.linalg.inv((W.T @ W - least * noise[:-1, :-1])[np.ix_(kept, kept)])
    covariance = bread @ (W.T @ W) @ bread.T
    solution = replace(plain, x=x, R=information_root(covariance, kept))
    return Fit(rows, solution, data, bread=bread, information=information_rows(solution, R))


def _noise(rows: Rows, plain: Solution, own: list[range]) -> Array:
    """Return the covariance of the noise of a row of all joints together, ``[w tau] / sigma``.

    It is the mean over all times; rows of zeros, of joints that stand or were not measured, have no noise.
    """
    p = len(plain.x)
    noise = np.zeros((p + 1, p + 1))
    shares = rows.used.mean(axis=0) * np.array(rows.equations.measured)
    for covariance, columns, sigma, share in zip(column_noise(rows), own, plain.sigma, shares, strict=True):
        places = [*range(rows.shared), *columns]
        noise[np.ix_(places, places)] += covariance / sigma**2
        of_columns = plain.x[places] @ covariance @ plain.x[places]
        noise[p, p] += max(share - of_columns / sigma**2, _OF_TORQUE * share)
    return noise


# ``v = (x, -1)`` minimises ``|[W tau] v|^2 / (v^T S v)`` for the covariance S of the noise of a row ``[w
# tau]`` (Golub, Van Loan 2013, sec. 6.3; Van Huffel, Vandewalle 1989 for any S). This suits columns that are
# measured signals, such as velocities of a coarse encoder. The noise of products of signals depends on the
# motion: S is its mean.


def total_least_squares(R: Array, noise: Array) -> tuple[Array, float]:
    """Return parameters of equations, and their least ``|[W tau] v|^2 / (v^T S v)``.

    R is the factor of the rows ``[W tau]``, or the rows themselves, (m, p + 1). `noise` is S, (p + 1, p + 1);
    0 for exact columns. Raise ValueError if S does not fit the columns, or the right-hand side has no noise.
    """
    columns = R.shape[1]
    if noise.shape != (columns, columns) or not noise[-1, -1] > 0.0 or not np.isfinite(noise).all():
        raise ArgumentError("noise-covariance-invalid", columns=columns, given=noise)
    T = np.linalg.qr(R, mode="r")
    # Columns of unit length, for digits.
    scales = 1.0 / np.maximum(np.linalg.norm(T, axis=0), np.finfo(float).tiny)
    sizes, directions = np.linalg.eigh(noise * scales[:, None] * scales)
    root = np.sqrt(np.maximum(sizes, 0.0))[:, None] * directions.T
    _, greatest, V = np.linalg.svd(np.linalg.solve((T * scales).T, root.T).T)
    v = scales * np.linalg.solve(T * scales, V[0])
    return -v[:-1] / v[-1], float(greatest[0] ** -2)


# Effect of position noise on the columns
#
# Noise of the same size, through the same filters, is added to the motion once more. The columns change by
# the effect of noise, with all products of signals in them.


def column_noise(rows: Rows) -> tuple[Array, ...]:
    """Return the covariance of the noise of the columns of each joint, shared ones first, (p_i, p_i).

    Raise DynError if the noise of the positions is not known.
    """
    signals = rows.equations.signals
    if signals.noise is None:
        raise DynError("position-noise-unknown")
    moves = np.array(moving(signals))
    more = [np.where(moves, noise, 0.0) for noise in signals.noise.passed(len(signals))]
    noisy = replace(signals, q=signals.q + more[0], qd=signals.qd + more[1], qdd=signals.qdd + more[2])
    of_rows = rows.equations
    equations = Equations(noisy, of_rows.base, of_rows.momenta, of_rows.stands)
    sums: list[Array] | None = None
    for (_, before), (_, after) in zip(
        rows.pieces(), Rows(equations, rows.frictions, rows.load).pieces(), strict=True
    ):
        changes = [(b - a)[:, :-1] for a, b in zip(before, after, strict=True)]
        products = [change.T @ change for change in changes]
        sums = products if sums is None else [s + p for s, p in zip(sums, products, strict=True)]
    return tuple(product / len(rows) for product in sums or ())
