# SPDX-License-Identifier: Apache-2.0
"""Base parameters as combinations of standard ones; coefficients are numbers or polynomials in lengths."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from dyn_core.algorithms.base_parameters.torque_effects import Matrix
from dyn_core.robot.dynamic_parameters import INERTIAL, parameter_names

Power: TypeAlias = tuple[tuple[str, int], ...]
"""A product of powers of variables: their names, ascending, with exponents."""

ROUNDING = 1e-14  # Coefficients smaller than this are taken as rounding errors


@dataclass(frozen=True)
class Polynomial:
    """A polynomial that algorithms over scalars accept as a scalar."""

    terms: Mapping[Power, float]  # coefficients that are not 0, by product of powers

    def __add__(self, other: Polynomial | float) -> Polynomial:
        terms = dict(self.terms)
        for power, coefficient in polynomial(other).terms.items():
            terms[power] = terms.get(power, 0.0) + coefficient
        return Polynomial({power: x for power, x in terms.items() if abs(x) > ROUNDING})

    def __mul__(self, other: Polynomial | float) -> Polynomial:
        total = Polynomial({})
        for a, x in self.terms.items():
            total += Polynomial({_product(a, b): x * y for b, y in polynomial(other).terms.items()})
        return total

    def __neg__(self) -> Polynomial:
        return Polynomial({power: -x for power, x in self.terms.items()})

    def __sub__(self, other: Polynomial | float) -> Polynomial:
        return self + -polynomial(other)

    def __rsub__(self, other: float) -> Polynomial:
        return polynomial(other) + -self

    __radd__ = __add__
    __rmul__ = __mul__

    @property
    def text(self) -> str:
        """The polynomial as Python text, such as ``d3**2 + 2*d3*r4``; ``0`` without terms."""
        text = " ".join(
            f"{'-' if x < 0.0 else '+'} {_term(power, abs(x))}" for power, x in self.terms.items()
        )
        return (text[2:] if text.startswith("+") else text.replace("- ", "-", 1)) or "0"


def variable(name: str) -> Polynomial:
    """Return the polynomial of a single variable."""
    return Polynomial({((name, 1),): 1.0})


def polynomial(value: Polynomial | float) -> Polynomial:
    """Return a polynomial unchanged, and a number as a constant polynomial."""
    if isinstance(value, Polynomial):
        return value
    return Polynomial({(): float(value)} if value != 0.0 else {})


def _product(a: Power, b: Power) -> Power:
    exponents = dict(a)
    for name, exponent in b:
        exponents[name] = exponents.get(name, 0) + exponent
    return tuple(sorted(exponents.items()))


def _term(power: Power, size: float) -> str:
    factors = [name if exponent == 1 else f"{name}**{exponent}" for name, exponent in power]
    number = f"{size:.15g}"
    return "*".join(factors if factors and number == "1" else [number, *factors])


# Base parameters as data: independent combinations of standard parameters, and their names.


@dataclass(frozen=True, eq=False)
class Combinations:
    """Independent combinations of parameters.

    Attributes:
        standard_names: names of the parameters that are combined.
        kept: the parameter that each combination replaces, in ascending order.
        matrix: ``combinations = matrix @ parameters`` (SI units); the columns of `kept` are the unit matrix.
    """

    standard_names: tuple[str, ...]
    kept: tuple[str, ...]
    matrix: Matrix

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the combinations: ``XXR2`` if others are grouped in XX2, else ``XX2``."""
        return tuple(
            grouped_name(name) if np.count_nonzero(row) > 1 else name
            for name, row in zip(self.kept, self.matrix, strict=True)
        )

    @property
    def expressions(self) -> tuple[str, ...]:
        """The combinations as Python text, such as ``XXR2 = XX2 - YY2``, with numbers of 15 digits."""
        return self.written(self.matrix)

    def written(self, coefficients: Matrix, present: Collection[str] | None = None) -> tuple[str, ...]:
        """Return the combinations of the parameters in `present` as text, with `coefficients`."""
        included = np.array([present is None or name in present for name in self.standard_names])
        columns = [np.flatnonzero((row != 0.0) & included).tolist() for row in self.matrix]
        return tuple(
            f"{name} = {combination(kept, self.standard_names, row, of_row)}"
            for name, kept, row, of_row in zip(self.names, self.kept, coefficients, columns, strict=True)
        )

    @property
    def no_effect(self) -> tuple[str, ...]:
        """Names of the parameters that are in no combination."""
        used = np.any(self.matrix != 0.0, axis=0)
        return tuple(name for name, in_use in zip(self.standard_names, used, strict=True) if not in_use)

    @property
    def grouped(self) -> dict[str, tuple[str, ...]]:
        """Names of the combinations that contain each parameter that is grouped with others."""
        left = {*self.kept, *self.no_effect}
        names = np.array(self.names)
        return {
            name: tuple(names[self.matrix[:, k] != 0.0].tolist())
            for k, name in enumerate(self.standard_names)
            if name not in left
        }

    def values(self, standard: Mapping[str, float]) -> Matrix:
        """Values of the combinations (SI units) from those of parameters by name, which may be more."""
        values: Matrix = self.matrix @ np.array([standard[name] for name in self.standard_names])
        return values


def grouped_name(name: str) -> str:
    """Return the name of a parameter in which others are grouped: XX2 becomes XXR2."""
    letters = name.rstrip("0123456789")
    return f"{letters}R{name[len(letters) :]}"


def combination(first: str, names: Sequence[str], coefficients: Matrix, columns: Iterable[int]) -> str:
    """Return a linear combination of names as text; the term of `first` comes first if it is included."""
    terms = []
    for k in sorted(columns, key=lambda k: names[k] != first):
        factor = polynomial(coefficients[k])
        sign, text = ("-", (-factor).text) if factor.text.startswith("-") else ("+", factor.text)
        text = f"({text})" if len(factor.terms) > 1 else text
        terms.append(f"{sign} {names[k]}" if text == "1" else f"{sign} {text}*{names[k]}")
    text = " ".join(terms) or "0"
    return text.removeprefix("+ ") if text.startswith("+") else text.replace("- ", "-", 1)


# Base (minimum) inertial parameters of a robot

PER_BODY = (*INERTIAL, "Ia")  # Inertial parameters of a body and of the rotor of its joint


def standard_names(joints: int) -> tuple[str, ...]:
    """Names of the 11 n standard inertial parameters of n joints."""
    return tuple(f"{name}{j}" for j in range(1, joints + 1) for name in PER_BODY)


@dataclass(frozen=True, eq=False, repr=False)
class BaseParameters(Combinations):
    """Independent combinations of inertial parameters that give all joint torques.

    Attributes:
        standard_names: names of the standard inertial parameters: XX1 to M1, Ia1, XX2 ....
        kept: the standard parameter that each base parameter replaces, in ascending order.
        matrix: ``base = matrix @ standard`` (SI units); the columns of `kept` are the unit matrix.
        robot_name: name of the robot.
        joints: number of its joints.
        method: ``"symbolic"`` or ``"numeric"``.
        coefficients: entries of `matrix` as polynomials in lengths of the robot; None for numbers.
        lengths: these lengths (m) by symbol: b, d and r of the joints.
        by_numbers: names of parameters whose grouping is found in random states, not by rules.
    """

    robot_name: str
    joints: int
    method: str
    coefficients: Matrix | None = None
    lengths: Mapping[str, float] = field(default_factory=dict)
    by_numbers: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<{len(self.kept)} base parameters of '{self.robot_name}', {self.method}>"

    @property
    def expressions(self) -> tuple[str, ...]:
        """The base parameters as Python text, such as ``XXR2 = XX2 - YY2``.

        Numbers have 15 digits; numbers from random states have the 12 digits that are accurate.
        """
        return self.expressions_of(self.standard_names)

    def expressions_of(self, present: Collection[str]) -> tuple[str, ...]:
        """Return `expressions` with these parameters only, for a robot whose other parameters are 0."""
        if self.coefficients is not None:
            return self.written(self.coefficients, present)
        if self.method == "symbolic" and not self.by_numbers:
            return self.written(self.matrix, present)
        known = [float(f"{x:.12g}") for x in self.matrix.flat]
        return self.written(np.array(known).reshape(self.matrix.shape), present)

    @property
    def columns(self) -> tuple[int, ...]:
        """Indices of `kept` in `standard_names`."""
        index = {name: k for k, name in enumerate(self.standard_names)}
        return tuple(index[name] for name in self.kept)

    @property
    def regressor_columns(self) -> tuple[int, ...]:
        """Indices of `kept` in `Robot.parameter_names` and among the columns of a regressor."""
        index = {name: k for k, name in enumerate(parameter_names(self.joints))}
        return tuple(index[name] for name in self.kept)


NEGLIGIBLE = 1e-6
"""Coefficient of a combination that counts as 0: numeric base parameters have fewer accurate digits."""


def without_parameters(found: BaseParameters, without: Collection[str]) -> BaseParameters:
    """Return the base parameters without parameters that are always 0.

    A base parameter that replaces one of these replaces the first parameter grouped in it instead: one
    that is named after a missing body is then named after its rotor.
    """
    present = [k for k, name in enumerate(found.standard_names) if name not in without]
    names = tuple(found.standard_names[k] for k in present)
    matrix, kept = found.matrix[:, present].copy(), list(found.kept)
    rows = []
    for i, name in enumerate(kept):
        terms = np.flatnonzero(np.abs(matrix[i]) > NEGLIGIBLE)
        if not len(terms):
            continue
        rows.append(i)
        if name in without:
            k = int(terms[0])
            kept[i] = names[k]
            matrix[i] /= matrix[i, k]
            others = np.arange(len(kept)) != i
            matrix[others] -= np.outer(matrix[others, k], matrix[i])
    matrix = np.ascontiguousarray(matrix[rows])
    matrix.flags.writeable = False
    as_before = np.array_equal(matrix, found.matrix[np.ix_(rows, present)])
    coefficients = found.coefficients
    return replace(
        found,
        standard_names=names,
        kept=tuple(kept[i] for i in rows),
        matrix=matrix,
        coefficients=coefficients[np.ix_(rows, present)] if coefficients is not None and as_before else None,
        by_numbers=tuple(name for name in found.by_numbers if name not in without),
    )
