# SPDX-License-Identifier: Apache-2.0
"""Which model of friction each joint has, chosen by the error on data that the fit has not seen.

The time is divided into parts. Each in turn is left out of a fit and predicted: the sum of the squares of
its residuals is the error of a model. From the standard model, the change that lowers the error most is made
(a term more or less, another velocity of a transition), as long as it lowers it by `GAIN` of what it is, and
by more than it could by chance, as the parts say. Joint by joint, the models of the others stay meanwhile.

All the columns that any model would need are multiplied with each other once: that a model is tried costs no
more than the solution of small equations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.identification.friction.friction_model import NONNEGATIVE, FrictionModel
from dyn_core.identification.rows import Rows

GAIN = 0.02
"""Least part of the error (of the squares) that a change has to take away."""
DOUBT = 1.0
"""Least gain, in standard deviations of what it is as a sum over the parts of the time."""
NEGLIGIBLE = 0.01
"""Part of the torque by which a term that can only brake may drive the joint."""
FINER = (0.7, 0.85, 1.0, 1.2, 1.4)
"""Velocities that are tried around those of the model that was chosen, as parts of them."""
ROUNDS = 12

V0 = (0.0, 0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.2)
VT = (0.02, 0.05, 0.1, 0.2, 0.4)
VX = (0.1, 0.2, 0.3, 0.5, 0.8)
"""Velocities that are tried, as parts of the greatest speed of the joint."""


@dataclass(frozen=True)
class Choice:
    """The friction of a joint, and how it was chosen.

    Attributes:
        model: the model.
        error: its error on data that the fit has not seen: of the torque, as a part of the torque.
        tried: the errors of the models on the way, from the standard model, with what they are.
    """

    model: FrictionModel
    error: float
    tried: tuple[tuple[str, float], ...]


def candidates(speed: float, loaded: bool = True) -> tuple[FrictionModel, ...]:
    """Answer all terms that models are made of, each as a model, for a joint.

    Args:
        speed: its greatest speed (rad/s or m/s).
        loaded: whether friction may depend on the load.
    """
    if speed <= 0.0:
        return FrictionModel().elements
    plain = [FrictionModel((term,)) for term in ("viscous", "offset", "asymmetry", "quadratic", "cubic")]
    shapes = [FrictionModel(("coulomb",), v0=speed * v) for v in V0]
    shapes += [FrictionModel(("stribeck",), v0=speed * v, vt=speed * w) for v in V0 for w in VT if v < w]
    shapes += [FrictionModel(("saturating",), vx=speed * w) for w in VX]
    if loaded:
        plain.append(FrictionModel(("load_viscous",)))
        shapes += [FrictionModel(("load",), v0=speed * v) for v in V0]
    return (*plain, *shapes)


def finer(model: FrictionModel) -> tuple[FrictionModel, ...]:
    """Answer the terms of a model with velocities around its own."""
    near = {
        FrictionModel(("offset",)),
        *(
            element
            for v0, vt, vx in product(
                *([v * factor for factor in FINER] for v in (model.v0, model.vt, model.vx))
            )
            for element in replace(model, v0=v0, vt=vt, vx=vx).elements
        ),
    }
    return tuple(sorted(near, key=lambda element: (element.terms, element.v0, element.vt, element.vx)))


def selected(grams: Grams, start: Sequence[FrictionModel], gain: float = GAIN) -> list[Choice]:
    """Answer the friction of each joint.

    Args:
        grams: of the equations in two parts of the time or more, with all candidates as columns.
        start: the models to begin with.
        gain: least part of the error (of the squares) that a change has to take away.
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
    """Products ``[W tau]^T [W tau] / sigma^2`` of the equations, all that trying models needs.

    Attributes:
        shared: number of columns that the joints share.
        places: by joint, the column of each term.
        parts: by joint and part of the time, the product, (B, p + 1, p + 1).
    """

    shared: int
    places: tuple[dict[FrictionModel, int], ...]
    parts: tuple[Array, ...]

    def columns(self, joint: int, model: FrictionModel) -> list[int]:
        """Places of the columns of a model of a joint."""
        return [self.places[joint][element] for element in model.elements]


def grams(rows: Rows, parts: int, sigma: Array) -> Grams:
    """Answer the products of equations.

    Args:
        rows: equations whose frictions are the candidates.
        parts: number of parts of the time.
        sigma: deviation of the residuals of each joint (N m or N), which weights it.
    """
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


def _others(grams: Grams, models: Sequence[FrictionModel], joint: int) -> Array:
    """By part of the time that is left out, what the other joints say of the shared parameters."""
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
        """By part of the time, the error where it is left out; inf for a model that drives the joint."""
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
    """Models that differ from one by a term or a velocity, of those that there are columns for."""
    for new in _all_changes(model, places):
        if new != model and all(element in places for element in new.elements):
            yield new


def _all_changes(model: FrictionModel, places: Mapping[FrictionModel, int]) -> Iterator[FrictionModel]:
    for element in places:
        (term,) = element.terms
        if term == "coulomb":
            yield replace(model, v0=element.v0)
        elif term == "stribeck":
            yield model.having(term, element.vt)
        elif term == "saturating":
            yield model.having(term, element.vx)
        elif term not in model.terms:
            yield model.having(term)
    for term in model.terms:
        if term not in ("viscous", "coulomb", "offset"):
            yield model.without(term)


def _drives(model: FrictionModel, x: Array, fitted: Array) -> bool:
    """Whether a term that can only brake drives the joint, by more than next to nothing.

    Args:
        model: the model.
        x: its parameters by part of the time that is left out, (B, terms).
        fitted: products of its columns and the torque, (B, terms + 1, terms + 1).
    """
    sizes = np.sqrt(np.diagonal(fitted, axis1=1, axis2=2))
    shares = (x * sizes[:, :-1] / sizes[:, -1:]).mean(axis=0)
    braking = np.array([term in NONNEGATIVE for term in model.terms])
    return bool(np.any(shares[braking] < -NEGLIGIBLE))


def _solved(A: Array, b: Array) -> Array:
    """Solution of equations with symmetric matrices that may be singular, (..., k, k) and (..., k, m)."""
    scales = 1.0 / np.sqrt(np.maximum(np.diagonal(A, axis1=-2, axis2=-1), np.finfo(float).tiny))[..., None]
    scaled = A * scales * np.swapaxes(scales, -1, -2) + 1e-10 * np.eye(A.shape[-1])
    found: Array = scales * np.linalg.solve(scaled, scales * b)
    return found
