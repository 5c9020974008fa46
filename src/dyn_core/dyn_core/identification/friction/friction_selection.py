# SPDX-License-Identifier: Apache-2.0
"""The equations of a motion with friction, and the choice of a friction model by cross-validation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, product

import numpy as np

from dyn_core.core.arrays import Array, BoolArray
from dyn_core.identification.friction.friction_model import (
    NONNEGATIVE,
    SIGNED,
    STANDARD,
    VELOCITIES,
    FrictionModel,
    Term,
    friction_torques,
    own_velocity,
    velocities,
)
from dyn_core.identification.regressor.motion_equations import KEPT, Equations, Piece, rigid_torques


@dataclass(frozen=True, eq=False)
class Rows:
    """The equations of a motion with friction: for each joint, rows ``[shared columns | friction | torque]``.

    Both sides are filtered alike.
    """

    equations: Equations  # the part without friction
    frictions: tuple[tuple[FrictionModel, ...], ...]  # by joint, the models whose columns its rows have
    # torques of bodies and rotors (N m or N), (N, n), for friction that depends on them
    load: Array | None = None
    # whether rows at standing joints are kept; otherwise they are zeros, which are not informative
    complete: bool = False
    _known: dict[int, list[Array]] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        """Return the number of equations of each joint."""
        return len(self.equations)

    @property
    def shared(self) -> int:
        """Number of columns that the joints share."""
        return self.equations.shared

    @property
    def used(self) -> BoolArray:
        """Which equations of each joint are informative, (N, n)."""
        used = self.equations.used
        return np.ones_like(used) if self.complete else used

    @property
    def dof(self) -> int:
        """Number of joints."""
        return len(self.frictions)

    @property
    def columns(self) -> list[list[int]]:
        """By joint, the positions of the parameters of its rows among all: shared ones, then its own."""
        sizes = [sum(len(model.terms) for model in models) for models in self.frictions]
        ends = np.cumsum([self.shared, *sizes]).tolist()
        return [[*range(self.shared), *range(first, last)] for first, last in pairwise(ends)]

    def pieces(self) -> Iterator[tuple[slice, list[Array]]]:
        """Yield the equations piece by piece: their positions, and the rows of each joint."""
        for piece in self.equations.pieces():
            shared, tau = self.equations.filtered(piece)
            rows = [
                np.concatenate([shared[:, i], columns, tau[:, i, None]], axis=1)
                for i, columns in enumerate(self._own(piece))
            ]
            used = self.used[piece.which]
            for i in np.flatnonzero(~used.all(axis=0)):
                rows[i][~used[:, i]] = 0.0
            yield piece.which, rows

    def _own(self, piece: Piece) -> list[Array]:
        """Return the filtered columns of friction, by joint."""
        if piece.which.start in self._known:
            return self._known[piece.which.start]
        part = slice(piece.first, piece.last)
        qd = self.equations.signals.qd[part]
        load = np.zeros_like(qd) if self.load is None else self.load[part]
        own = []
        for i, models in enumerate(self.frictions):
            columns = [np.zeros((len(qd), 0)), *(model.columns(qd[:, i], load[:, i]) for model in models)]
            known = 1.0 if self.equations.measured[i] else 0.0
            own.append(self.equations.decimation.of(known * np.concatenate(columns, axis=1)))
        if len(self) * sum(columns.shape[1] for columns in own) * 8 <= KEPT:
            self._known[piece.which.start] = own
        return own


def rows_of(equations: Equations, models: Sequence[FrictionModel], load: Array | None = None) -> Rows:
    """Return the equations with one friction model for each joint; `load` is that of `Rows`."""
    return Rows(equations, tuple((model,) for model in models), load)


def model_torques(equations: Equations, models: Sequence[FrictionModel], x: Array) -> Array:
    """Return the torques of bodies, rotors and friction at all samples of a motion, (N, n)."""
    load = rigid_torques(equations, x)
    return load + friction_torques(models, x[equations.shared :])(equations.signals.qd, load)


# Choice of the friction model of each joint by cross-validation
#
# Each of several parts of the time in turn is left out of a fit and predicted; the error of a model is the
# sum of its squared residuals. Starting from the standard model, the change that lowers the error most (one
# term more or less, or another transition velocity) is made while it lowers it by `GAIN`, and by more than
# chance according to the scatter over the parts. One joint is changed at a time. The products of all
# candidate columns are computed once, so trying a model costs the solution of small equations only.

GAIN = 0.02  # least relative reduction of the squared error by a change
DOUBT = 1.0  # least reduction, in standard deviations of its sum over the parts of the time
NEGLIGIBLE = 0.01  # part of the torque by which a braking term may drive the joint in an accepted model
FINER = (0.7, 0.85, 1.0, 1.2, 1.4)  # velocities that are tried around the chosen ones, relative to them
ROUNDS = 12

# Velocities that are tried, relative to the greatest speed of the joint
V0 = (0.0, 0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.2)
OWN: dict[Term, tuple[float, ...]] = {
    "stribeck": (0.02, 0.05, 0.1, 0.2, 0.4),
    "saturating": (0.1, 0.2, 0.3, 0.5, 0.8),
}


@dataclass(frozen=True)
class Choice:
    """The friction model of a joint, and how it was chosen."""

    model: FrictionModel
    error: float  # relative torque error on data that the fit has not seen
    # description and error of the models on the way, from the standard model
    tried: tuple[tuple[str, float], ...]


def candidates(speed: float, loaded: bool = True) -> tuple[FrictionModel, ...]:
    """Return all candidate terms for a joint with a greatest speed (rad/s or m/s), each as a model."""
    if speed <= 0.0:
        return FrictionModel().elements
    plain = [FrictionModel((term,)) for term in ("viscous", "offset", "asymmetry", "quadratic", "cubic")]
    shapes = [FrictionModel(("coulomb",), v0=speed * v) for v in V0]
    for term, own in OWN.items():
        smooth = V0 if term in SIGNED else (0.0,)
        shapes += [FrictionModel((), speed * v).having(term, speed * w) for v in smooth for w in own if v < w]
    if loaded:
        plain.append(FrictionModel(("load_viscous",)))
        shapes += [FrictionModel(("load",), v0=speed * v) for v in V0]
    return (*plain, *shapes)


def finer(model: FrictionModel) -> tuple[FrictionModel, ...]:
    """Return the terms of a model with velocities around its own."""
    near = {
        FrictionModel(("offset",)),
        *(
            element
            for values in product(*([v * factor for factor in FINER] for v in velocities(model).values()))
            for element in FrictionModel(model.terms, **dict(zip(VELOCITIES, values, strict=True))).elements
        ),
    }
    return tuple(sorted(near, key=lambda element: (element.terms, *velocities(element).values())))


def selected(grams: Grams, start: Sequence[FrictionModel], gain: float = GAIN) -> list[Choice]:
    """Return the friction of each joint, starting from the models `start`.

    `grams` has two parts of the time or more, and all candidates as columns.
    """
    models = list(start)
    choices = []
    for i in range(len(start)):
        if np.any(grams.parts[i][:, -1, -1]):
            choices.append(_of_joint(grams, _others(grams, models, i), i, models[i], gain))
        else:  # its torque was not measured
            choices.append(Choice(models[i], 0.0, ()))
        models[i] = choices[-1].model
    return choices


@dataclass(frozen=True, eq=False)
class Grams:
    """Products ``[W tau]^T [W tau] / sigma^2`` of the equations, from which every model can be tried."""

    shared: int  # number of columns that the joints share
    places: tuple[dict[FrictionModel, int], ...]  # by joint, the column of each term
    parts: tuple[Array, ...]  # by joint, the products of the parts of the time, (B, p + 1, p + 1)

    def columns(self, joint: int, model: FrictionModel) -> list[int]:
        """Return the columns of a model of a joint."""
        return [self.places[joint][element] for element in model.elements]


def grams(rows: Rows, parts: int, sigma: Array) -> Grams:
    """Return the products of rows with all candidates as frictions, weighted by 1 / sigma^2 of each joint."""
    borders = [len(rows) * b // parts for b in range(parts + 1)]
    sizes = [rows.shared + len(models) + 1 for models in rows.frictions]
    products = tuple(np.zeros((parts, size, size)) for size in sizes)
    for which, pieces in rows.pieces():
        for b, (first, last) in enumerate(pairwise(borders)):
            inside = slice(max(first - which.start, 0), max(last - which.start, 0))
            for held, piece, s in zip(products, pieces, sigma, strict=True):
                held[b] += piece[inside].T @ piece[inside] / s**2
    places = ({model: rows.shared + k for k, model in enumerate(models)} for models in rows.frictions)
    return Grams(rows.shared, tuple(places), products)


def cross_validated(
    equations: Equations, models: Sequence[FrictionModel], load: Array, sigma: Array, parts: int
) -> float:
    """Return the relative torque error of least squares on parts of the time that a fit has not seen.

    `load` is that of `Rows`, `sigma` the deviation of the residuals of each joint (N m or N).
    """
    rows = Rows(equations, tuple(model.elements for model in models), load)
    held = grams(rows, parts, np.where(sigma > 0.0, sigma, 1.0))
    places = [[*own, -1] for own in rows.columns]
    size = 1 + max(max(own) for own in rows.columns)
    whole = np.zeros((parts, size + 1, size + 1))
    for own, products in zip(places, held.parts, strict=True):
        whole[np.ix_(range(parts), own, own)] += products
    left = power = 0.0
    for b in range(parts):
        fitted = whole.sum(axis=0) - whole[b]
        x = np.append(_solved(fitted[:-1, :-1], fitted[:-1, -1:])[:, 0], -1.0)
        for own, products, s in zip(places, held.parts, sigma.tolist(), strict=True):
            left += s**2 * float(x[own] @ products[b] @ x[own])
            power += s**2 * float(products[b, -1, -1])
    return float(np.sqrt(max(left, 0.0) / power)) if power > 0.0 else 0.0


def _others(grams: Grams, models: Sequence[FrictionModel], joint: int) -> Array:
    """Return, by part of the time that is left out, the equations of the other joints."""
    shared = grams.shared
    total = np.zeros((len(grams.parts[0]), shared + 1, shared + 1))
    for i, (parts, model) in enumerate(zip(grams.parts, models, strict=True)):
        if i == joint:
            continue
        own = grams.columns(i, model)
        keep = [*range(shared), parts.shape[1] - 1]
        for b, fitted in enumerate(parts.sum(axis=0) - parts):
            cross = fitted[np.ix_(own, keep)]
            total[b] += fitted[np.ix_(keep, keep)] - cross.T @ _solved(fitted[np.ix_(own, own)], cross)
    return total


def _of_joint(grams: Grams, others: Array, joint: int, start: FrictionModel, least: float) -> Choice:
    shared, parts, places = grams.shared, grams.parts[joint], grams.places[joint]
    everything = parts.sum(axis=0)
    power = float(parts[:, -1, -1].sum())

    def errors(model: FrictionModel) -> Array:
        """Return the error by part of the time that is left out; inf for a model that drives the joint."""
        keep = [*range(shared), *grams.columns(joint, model), len(everything) - 1]
        left_out = parts[np.ix_(range(len(parts)), keep, keep)]
        fitted = everything[np.ix_(keep, keep)] - left_out
        fitted[:, :shared, :shared] += others[:, :-1, :-1]
        fitted[:, :shared, -1] += others[:, :-1, -1]
        x = _solved(fitted[:, :-1, :-1], fitted[:, :-1, -1:])
        x = np.concatenate([x, np.full((len(parts), 1, 1), -1.0)], axis=1)[..., 0]
        if model != start and _drives(model, x[:, shared:-1], fitted[:, shared:, shared:]):
            return np.full(len(parts), np.inf)
        found: Array = np.einsum("bi,bij,bj->b", x, left_out, x)
        return found

    def relative(found: Array) -> float:
        return float(np.sqrt(max(found.sum(), 0.0) / power))

    model, best = start, errors(start)
    tried = [(model.description, relative(best))]
    for _ in range(ROUNDS):
        found = [(new, errors(new)) for new in _changes(model, places)]
        if not found:
            break
        new, lowest = min(found, key=lambda pair: float(pair[1].sum()))
        gain = best - lowest
        if not np.isfinite(gain).all():
            break
        doubt = np.std(gain, ddof=1) * np.sqrt(len(gain))
        if gain.sum() < max(least * best.sum(), DOUBT * doubt):
            break
        model, best = new, lowest
        tried.append((model.description, relative(best)))
    return Choice(model, relative(best), tuple(tried))


def _changes(model: FrictionModel, places: Mapping[FrictionModel, int]) -> Iterator[FrictionModel]:
    """Yield the models that differ by a term or a velocity, as far as there are columns for them."""
    changed = [
        replace(model, v0=element.v0)
        if element.terms == ("coulomb",)
        else model.having(element.terms[0], own_velocity(element, element.terms[0]))
        for element in places
    ]
    changed += [model.without(term) for term in model.terms if term not in STANDARD]
    for new in changed:
        if new != model and all(element in places for element in new.elements):
            yield new


def _drives(model: FrictionModel, x: Array, fitted: Array) -> bool:
    """Return whether a term that can only brake drives the joint by more than `NEGLIGIBLE`.

    x (B, terms) has the parameters by part of the time that is left out; `fitted` (B, terms + 1, terms + 1)
    the products of columns and torque.
    """
    sizes = np.sqrt(np.diagonal(fitted, axis1=1, axis2=2))
    shares = (x * sizes[:, :-1] / sizes[:, -1:]).mean(axis=0)
    braking = np.array([term in NONNEGATIVE for term in model.terms])
    return bool(np.any(shares[braking] < -NEGLIGIBLE))


def _solved(A: Array, b: Array) -> Array:
    """Solve equations with symmetric matrices that may be singular, (..., k, k) and (..., k, m)."""
    scales = 1.0 / np.sqrt(np.maximum(np.diagonal(A, axis1=-2, axis2=-1), np.finfo(float).tiny))[..., None]
    scaled = A * scales * np.swapaxes(scales, -1, -2) + 1e-10 * np.eye(A.shape[-1])
    found: Array = scales * np.linalg.solve(scaled, scales * b)
    return found
