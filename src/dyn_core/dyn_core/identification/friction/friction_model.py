# SPDX-License-Identifier: Apache-2.0
r"""Models of friction that are linear in their parameters: sums of terms, for one joint.

With s(qd) = sign(qd), or tanh(qd / v0) where it is smooth, and |load| the torque that the bodies exert on
the transmission:

* ``viscous`` Fv qd, ``coulomb`` Fs s(qd), ``offset`` Fo: the standard model;
* ``asymmetry`` Fa \\|qd\\|: with Fo, friction of its own in each direction, Fv+- = Fv +- Fa, Fs+- = Fs +- Fo;
* ``quadratic`` Fq qd \\|qd\\|, ``cubic`` Fc qd^3, ``saturating`` Fx tanh(qd / vx): what bends with the speed;
* ``stribeck`` Ft s(qd) exp(-(qd / vt)^2): what is more at small speeds;
* ``load`` Fl \\|load\\| s(qd), ``load_viscous`` Fw \\|load\\| qd: what grows with the load.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.robot.joints import Joint, Sigma

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
TERMS: tuple[Term, ...] = get_args(Term)
STANDARD: tuple[Term, ...] = ("viscous", "coulomb", "offset")

SYMBOLS: dict[Term, str] = {
    "viscous": "Fv",
    "coulomb": "Fs",
    "offset": "Fo",
    "asymmetry": "Fa",
    "quadratic": "Fq",
    "cubic": "Fc",
    "saturating": "Fx",
    "stribeck": "Ft",
    "load": "Fl",
    "load_viscous": "Fw",
}
SIGNED: frozenset[Term] = frozenset({"coulomb", "stribeck", "load"})
"""Terms with s(qd)."""
NONNEGATIVE: frozenset[Term] = frozenset({"viscous", "coulomb", "saturating", "stribeck", "load"})
"""Terms that would drive the joint if their parameter were negative; the others only shape the curve."""
_VELOCITY: dict[Term, str] = {"stribeck": "vt", "saturating": "vx"}
LOADED: frozenset[Term] = frozenset({"load", "load_viscous"})


@dataclass(frozen=True)
class FrictionModel:
    """Friction of a joint as a sum of terms.

    Attributes:
        terms: the terms, each once.
        v0: velocity of the transition of s(qd) (rad/s or m/s); 0 for the sign.
        vt: velocity of the term ``stribeck`` (rad/s or m/s); 0 where there is none.
        vx: velocity of the term ``saturating`` (rad/s or m/s); 0 where there is none.
    """

    terms: tuple[Term, ...] = STANDARD
    v0: float = 0.0
    vt: float = 0.0
    vx: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what is no model."""
        unknown = [term for term in self.terms if term not in TERMS]
        if unknown or len(set(self.terms)) != len(self.terms):
            raise ValueError(f"friction: expected some of {', '.join(TERMS)}, but it is {self.terms!r}")
        for name, value in (("v0", self.v0), ("vt", self.vt), ("vx", self.vx)):
            if not 0.0 <= value < np.inf:
                raise ValueError(f"friction: {name} is {value!r}: give a finite number >= 0")
        for term, name, value in (("stribeck", "vt", self.vt), ("saturating", "vx", self.vx)):
            if (term in self.terms) != (value > 0.0):
                raise ValueError(f"friction: the term {term} and a velocity {name} > 0 go together")

    @property
    def description(self) -> str:
        """What the model is, in one line: its terms, and its velocities."""
        shape = f", sign smoothed over {self.v0:.3g}" if self.v0 else ""
        stribeck = f", Stribeck velocity {self.vt:.3g}" if self.vt else ""
        saturating = f", saturating at {self.vx:.3g}" if self.vx else ""
        return f"{' + '.join(self.terms)}{shape}{stribeck}{saturating}"

    @property
    def loaded(self) -> bool:
        """Whether the friction depends on the load."""
        return not LOADED.isdisjoint(self.terms)

    def having(self, term: Term, velocity: float = 0.0) -> FrictionModel:
        """Answer the model with a term more, and its velocity (rad/s or m/s) where it has one."""
        velocities = {_VELOCITY[term]: velocity} if term in _VELOCITY else {}
        return replace(self, terms=tuple(t for t in TERMS if t in {*self.terms, term}), **velocities)

    def without(self, term: Term) -> FrictionModel:
        """Answer the model with a term less."""
        velocities = {_VELOCITY[term]: 0.0} if term in _VELOCITY else {}
        return replace(self, terms=tuple(t for t in self.terms if t != term), **velocities)

    @property
    def elements(self) -> tuple[FrictionModel, ...]:
        """The model of each term alone: what does not matter to a term is 0 in it."""
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
        """Names of the parameters, of the joint of that number: Fv1, Fs1 ...."""
        return tuple(f"{SYMBOLS[term]}{joint}" for term in self.terms)

    def columns(self, qd: Array, load: Array) -> Array:
        """What each parameter is multiplied with, (N, terms).

        Args:
            qd: velocities (rad/s or m/s), (N,).
            load: torques that the bodies exert (N m or N), (N,); any where the model has no such term.
        """
        s = direction(qd, self.v0)
        columns = [_column(term, qd, s, np.abs(load), self.vt, self.vx) for term in self.terms]
        return np.stack(columns, axis=-1) if columns else np.zeros((*qd.shape, 0))


def direction(qd: Array, v0: float) -> Array:
    """Answer s(qd): the sign of velocities, smoothed over v0 where that is not 0."""
    smooth: Array = np.tanh(qd / v0) if v0 else np.sign(qd)
    return smooth


def _column(term: Term, qd: Array, s: Array, load: Array, vt: float, vx: float) -> Array:
    match term:
        case "viscous":
            return qd
        case "coulomb":
            return s
        case "offset":
            return np.ones_like(qd)
        case "asymmetry":
            return np.abs(qd)
        case "quadratic":
            return qd * np.abs(qd)
        case "cubic":
            cubed: Array = qd**3
            return cubed
        case "saturating":
            return direction(qd, vx)
        case "stribeck":
            return s * np.exp(-((qd / vt) ** 2))
        case "load":
            return load * s
        case "load_viscous":
            return load * qd


def unit(term: Term, joint: Joint) -> str:
    """Unit of the parameter of a term."""
    effort = "N" if joint.sigma is Sigma.PRISMATIC else "N m"
    x = joint.position_unit
    match term:
        case "viscous" | "asymmetry":
            return f"{effort} s/{x}"
        case "coulomb" | "offset" | "stribeck" | "saturating":
            return effort
        case "quadratic":
            return f"{effort} s^2/{x}^2"
        case "cubic":
            return f"{effort} s^3/{x}^3"
        case "load":
            return "1"
        case "load_viscous":
            return f"s/{x}"
