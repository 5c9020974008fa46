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
    column: Callable[[Array, Array, Array, FloatOrArray], Array]  # of qd, s, load, and v: its own velocity


_FORMS: dict[Term, _Form] = {
    "viscous": _Form("Fv", "qd", "{effort} s/{x}", lambda qd, s, load, v: qd),
    "coulomb": _Form("Fs", "s", "{effort}", lambda qd, s, load, v: s),
    "offset": _Form("Fo", "", "{effort}", lambda qd, s, load, v: np.ones_like(qd)),
    "asymmetry": _Form("Fa", "|qd|", "{effort} s/{x}", lambda qd, s, load, v: np.abs(qd)),
    "quadratic": _Form("Fq", "qd |qd|", "{effort} s^2/{x}^2", lambda qd, s, load, v: qd * np.abs(qd)),
    "cubic": _Form("Fc", "qd^3", "{effort} s^3/{x}^3", lambda qd, s, load, v: qd**3),
    "saturating": _Form("Fx", "tanh(qd / vx)", "{effort}", lambda qd, s, load, v: np.tanh(qd / v)),
    "stribeck": _Form(
        "Ft", "s exp(-(qd / vt)^2)", "{effort}", lambda qd, s, load, v: s * np.exp(-((qd / v) ** 2))
    ),
    "load": _Form("Fl", "|load| s", "1", lambda qd, s, load, v: np.abs(load) * s),
    "load_viscous": _Form("Fw", "|load| qd", "s/{x}", lambda qd, s, load, v: np.abs(load) * qd),
}
SYMBOLS: dict[Term, str] = {term: form.symbol for term, form in _FORMS.items()}
SIGNED: frozenset[Term] = frozenset({"coulomb", "stribeck", "load"})  # terms with s(qd)
# terms that drive the joint if their parameter is negative; the others only shape the curve
NONNEGATIVE: frozenset[Term] = frozenset({"viscous", "coulomb", "saturating", "stribeck", "load"})
OWN_VELOCITY: dict[Term, str] = {"stribeck": "vt", "saturating": "vx"}
"""Field of `FrictionModel` with the velocity of a term that has one of its own."""
VELOCITIES = ("v0", *OWN_VELOCITY.values())
_SHAPES = {"v0": "sign smoothed over", "vt": "Stribeck velocity", "vx": "saturating at"}
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
        for name, value in velocities(self).items():
            if not 0.0 <= value < np.inf:
                raise ArgumentError(
                    "setting-range", setting=f"friction: {name}", given=value, expected="a finite number >= 0"
                )
        for term, name in OWN_VELOCITY.items():
            if (term in self.terms) != (own_velocity(self, term) > 0.0):
                raise ArgumentError("friction-velocity-mismatch", term=term, setting=name)

    @property
    def description(self) -> str:
        """The terms and velocities of the model, in one line."""
        shapes = (f", {_SHAPES[name]} {value:.3g}" for name, value in velocities(self).items() if value)
        return " + ".join(self.terms) + "".join(shapes)

    @property
    def loaded(self) -> bool:
        """Whether the friction depends on the load."""
        return not LOADED.isdisjoint(self.terms)

    def having(self, term: Term, velocity: float = 0.0) -> FrictionModel:
        """Return the model with one more term, and its velocity (rad/s or m/s) where it has one."""
        terms = tuple(t for t in TERMS if t in {*self.terms, term})
        return replace(self, terms=terms, **_own(term, velocity))

    def without(self, term: Term) -> FrictionModel:
        """Return the model without a term."""
        return replace(self, terms=tuple(t for t in self.terms if t != term), **_own(term, 0.0))

    @property
    def elements(self) -> tuple[FrictionModel, ...]:
        """The model of each term alone; velocities that do not matter to a term are 0."""
        return tuple(
            FrictionModel((term,), self.v0 if term in SIGNED else 0.0, **_own(term, own_velocity(self, term)))
            for term in self.terms
        )

    def names(self, joint: int) -> tuple[str, ...]:
        """Return the names of the parameters of a joint, by its number: Fv1, Fs1, ..."""
        return tuple(f"{SYMBOLS[term]}{joint}" for term in self.terms)

    def columns(self, qd: Array, load: Array) -> Array:
        """Return the factors of the parameters, (N, terms), for velocities and loads, (N,) each."""
        s = direction(qd, self.v0)
        columns = [_FORMS[term].column(qd, s, load, own_velocity(self, term)) for term in self.terms]
        return np.stack(columns, axis=-1) if columns else np.zeros((*qd.shape, 0))


def velocities(model: FrictionModel) -> dict[str, float]:
    """Return the velocities of a model by name (rad/s or m/s), 0 where they do not matter."""
    return {name: getattr(model, name) for name in VELOCITIES}


def own_velocity(model: FrictionModel, term: Term) -> float:
    """Return the velocity (rad/s or m/s) that only this term of a model has; 0 if it has none."""
    velocity: float = getattr(model, OWN_VELOCITY[term]) if term in OWN_VELOCITY else 0.0
    return velocity


def _own(term: Term, velocity: float) -> dict[str, float]:
    return {OWN_VELOCITY[term]: velocity} if term in OWN_VELOCITY else {}


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
    present = [
        (value, _FORMS[term].column, np.array([own_velocity(model, term) or 1.0 for model in models]))
        for term, value in values.items()
    ]

    def torques(qd: Array, load: Array) -> Array:
        with np.errstate(over="ignore"):
            s = np.tanh(qd / v0)
        total = np.zeros_like(qd)
        for value, column, own in present:
            total += value * column(qd, s, load, own)
        return total

    return torques


def friction_formula(model: FrictionModel, joint: int) -> str:
    """Return the friction of joint number `joint` as a formula, with the values of its velocities."""
    terms = [f"{SYMBOLS[term]}{joint} {_FORMS[term].formula}".rstrip() for term in model.terms]
    parts = [" + ".join(terms) or "0"]
    if not SIGNED.isdisjoint(model.terms):
        parts.append(f"s = tanh(qd / {model.v0:.4g})" if model.v0 else "s = sign(qd)")
    parts += [
        f"{name} = {velocities(model)[name]:.4g}" for t, name in OWN_VELOCITY.items() if t in model.terms
    ]
    if model.loaded:
        parts.append("load = torque of bodies and rotors")
    return "; ".join(parts)
