# SPDX-License-Identifier: Apache-2.0
"""Friction models of a joint, linear in their parameters: terms, torques and formula."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import ArgumentError
from dyn_core.robot.joints import Joint, Sigma

# With s(qd) = sign(qd), or tanh(qd / v0) where it is smoothed, and |load| the torque of bodies and rotors:
# the standard model is viscous + coulomb + offset. With ``asymmetry`` and the offset, each direction has its
# own friction: Fv+- = Fv +- Fa, Fs+- = Fs +- Fo. quadratic, cubic and saturating bend with the speed,
# stribeck adds friction at small speeds, load and load_viscous grow with the load.

Term = Literal[
    "viscous",
    "coulomb",
    "offset",
    "asymmetry",
    "quadratic",
    "cubic",
    "saturating",
    "stribeck",
    "load",
    "load_viscous",
]
FloatOrArray: TypeAlias = float | Array
TERMS: tuple[Term, ...] = get_args(Term)
STANDARD: tuple[Term, ...] = ("viscous", "coulomb", "offset")


class _Form(NamedTuple):
    symbol: str  # of the parameter
    formula: str
    unit: str  # with {effort} and {x}, the units of effort and position
    column: Callable[[Array, Array, Array, FloatOrArray, FloatOrArray], Array]  # of qd, s, load, vt, vx


_FORMS: dict[Term, _Form] = {
    "viscous": _Form("Fv", "qd", "{effort} s/{x}", lambda qd, s, load, vt, vx: qd),
    "coulomb": _Form("Fs", "s", "{effort}", lambda qd, s, load, vt, vx: s),
    "offset": _Form("Fo", "", "{effort}", lambda qd, s, load, vt, vx: np.ones_like(qd)),
    "asymmetry": _Form("Fa", "|qd|", "{effort} s/{x}", lambda qd, s, load, vt, vx: np.abs(qd)),
    "quadratic": _Form("Fq", "qd |qd|", "{effort} s^2/{x}^2", lambda qd, s, load, vt, vx: qd * np.abs(qd)),
    "cubic": _Form("Fc", "qd^3", "{effort} s^3/{x}^3", lambda qd, s, load, vt, vx: qd**3),
    "saturating": _Form("Fx", "tanh(qd / vx)", "{effort}", lambda qd, s, load, vt, vx: np.tanh(qd / vx)),
    "stribeck": _Form(
        "Ft", "s exp(-(qd / vt)^2)", "{effort}", lambda qd, s, load, vt, vx: s * np.exp(-((qd / vt) ** 2))
    ),
    "load": _Form("Fl", "|load| s", "1", lambda qd, s, load, vt, vx: np.abs(load) * s),
    "load_viscous": _Form("Fw", "|load| qd", "s/{x}", lambda qd, s, load, vt, vx: np.abs(load) * qd),
}
SYMBOLS: dict[Term, str] = {term: form.symbol for term, form in _FORMS.items()}
SIGNED: frozenset[Term] = frozenset({"coulomb", "stribeck", "load"})  # terms with s(qd)
# terms that drive the joint if their parameter is negative; the others only shape the curve
NONNEGATIVE: frozenset[Term] = frozenset({"viscous", "coulomb", "saturating", "stribeck", "load"})
_VELOCITY: dict[Term, str] = {"stribeck": "vt", "saturating": "vx"}
LOADED: frozenset[Term] = frozenset({"load", "load_viscous"})


@dataclass(frozen=True)
class FrictionModel:
    """Friction of a joint as a sum of terms, linear in its parameters.

    Attributes:
        terms: the terms, each once.
        v0: transition velocity of s(qd) (rad/s or m/s); 0 for the sign.
        vt: velocity of the term ``stribeck`` (rad/s or m/s); 0 without it.
        vx: velocity of the term ``saturating`` (rad/s or m/s); 0 without it.
    """

    terms: tuple[Term, ...] = STANDARD
    v0: float = 0.0
    vt: float = 0.0
    vx: float = 0.0

    def __post_init__(self) -> None:
        """Reject invalid terms and velocities."""
        unknown = [term for term in self.terms if term not in TERMS]
        if unknown or len(set(self.terms)) != len(self.terms):
            raise ArgumentError("friction-terms-invalid", known=", ".join(TERMS), given=self.terms)
        for name, value in (("v0", self.v0), ("vt", self.vt), ("vx", self.vx)):
            if not 0.0 <= value < np.inf:
                raise ArgumentError(
                    "setting-range", setting=f"friction: {name}", given=value, expected="a finite number >= 0"
                )
        for term, name, value in (("stribeck", "vt", self.vt), ("saturating", "vx", self.vx)):
            if (term in self.terms) != (value > 0.0):
                raise ArgumentError("friction-velocity-mismatch", term=term, setting=name)

    @property
    def description(self) -> str:
        """The terms and velocities of the model, in one line."""
        shape = f", sign smoothed over {self.v0:.3g}" if self.v0 else ""
        stribeck = f", Stribeck velocity {self.vt:.3g}" if self.vt else ""
        saturating = f", saturating at {self.vx:.3g}" if self.vx else ""
        return f"{' + '.join(self.terms)}{shape}{stribeck}{saturating}"

    @property
    def loaded(self) -> bool:
        """Whether the friction depends on the load."""
        return not LOADED.isdisjoint(self.terms)

    def having(self, term: Term, velocity: float = 0.0) -> FrictionModel:
        """Return the model with one more term, and its velocity (rad/s or m/s) where it has one."""
        velocities = {_VELOCITY[term]: velocity} if term in _VELOCITY else {}
        return replace(self, terms=tuple(t for t in TERMS if t in {*self.terms, term}), **velocities)

    def without(self, term: Term) -> FrictionModel:
        """Return the model without a term."""
        velocities = {_VELOCITY[term]: 0.0} if term in _VELOCITY else {}
        return replace(self, terms=tuple(t for t in self.terms if t != term), **velocities)

    @property
    def elements(self) -> tuple[FrictionModel, ...]:
        """The model of each term alone; velocities that do not matter to a term are 0."""
        return tuple(
            FrictionModel(
                (term,),
                self.v0 if term in SIGNED else 0.0,
                self.vt if term == "stribeck" else 0.0,
                self.vx if term == "saturating" else 0.0,
            )
            for term in self.terms
        )

    def names(self, joint: int) -> tuple[str, ...]:
        """Return the names of the parameters of a joint, by its number: Fv1, Fs1, ..."""
        return tuple(f"{SYMBOLS[term]}{joint}" for term in self.terms)

    def columns(self, qd: Array, load: Array) -> Array:
        """Return the factors of the parameters, (N, terms), for velocities and loads, (N,) each."""
        s = direction(qd, self.v0)
        columns = [_FORMS[term].column(qd, s, load, self.vt, self.vx) for term in self.terms]
        return np.stack(columns, axis=-1) if columns else np.zeros((*qd.shape, 0))


def direction(qd: Array, v0: float) -> Array:
    """Return s(qd): the sign of velocities, smoothed over v0 where that is not 0."""
    smooth: Array = np.tanh(qd / v0) if v0 else np.sign(qd)
    return smooth


def unit(term: Term, joint: Joint) -> str:
    """Return the unit of the parameter of a term."""
    effort = "N" if joint.sigma is Sigma.PRISMATIC else "N m"
    return _FORMS[term].unit.format(effort=effort, x=joint.position_unit)


def described_friction(joint: Joint) -> dict[Term, float]:
    """Return the friction of a joint in the description, by term."""
    return {"viscous": joint.friction.Fv, "coulomb": joint.friction.Fs, "offset": joint.friction.Fo}


def friction_torques(
    models: Sequence[FrictionModel], x: Array, least_v0: Array | None = None
) -> Callable[[Array, Array], Array]:
    """Return the friction torques of all joints as a function of velocities and loads, (n,) or (N, n).

    `x` has the parameters joint by joint; `least_v0` (n,) gives least velocities for smoothing signs (rad/s
    or m/s), by default 0.
    """
    values: dict[Term, Array] = {}
    start = 0
    for i, model in enumerate(models):
        for k, term in enumerate(model.terms):
            values.setdefault(term, np.zeros(len(models)))[i] = x[start + k]
        start += len(model.terms)
    v0 = np.array([model.v0 for model in models])
    v0 = v0 if least_v0 is None else np.maximum(v0, least_v0)
    # Smoothing a sign over this tiny velocity does not change its value.
    v0 = np.maximum(v0, np.finfo(float).tiny / np.finfo(float).eps)
    vt = np.array([model.vt or 1.0 for model in models])
    vx = np.array([model.vx or 1.0 for model in models])
    present = [(value, _FORMS[term].column) for term, value in values.items()]

    def torques(qd: Array, load: Array) -> Array:
        with np.errstate(over="ignore"):
            s = np.tanh(qd / v0)
        total = np.zeros_like(qd)
        for value, column in present:
            total += value * column(qd, s, load, vt, vx)
        return total

    return torques


def friction_formula(model: FrictionModel, joint: int) -> str:
    """Return the friction of joint number `joint` as a formula, with the values of its velocities."""
    terms = [f"{SYMBOLS[term]}{joint} {_FORMS[term].formula}".rstrip() for term in model.terms]
    parts = [" + ".join(terms) or "0"]
    if not SIGNED.isdisjoint(model.terms):
        parts.append(f"s = tanh(qd / {model.v0:.4g})" if model.v0 else "s = sign(qd)")
    parts += [f"vt = {model.vt:.4g}"] if model.vt else []
    parts += [f"vx = {model.vx:.4g}"] if model.vx else []
    if model.loaded:
        parts.append("load = torque of bodies and rotors")
    return "; ".join(parts)
