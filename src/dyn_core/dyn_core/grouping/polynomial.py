# SPDX-License-Identifier: Apache-2.0
"""Polynomials with named variables: scalars that keep the lengths of a robot apart as symbols."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

Power: TypeAlias = tuple[tuple[str, int], ...]
"""A product of powers of variables: their names, ascending, with exponents."""

ROUNDING = 1e-14
"""Coefficients that are smaller than this are taken for rounding."""


@dataclass(frozen=True)
class Polynomial:
    """A sum of products of powers with coefficients, which algorithms over scalars can compute with.

    Attributes:
        terms: coefficients that are not 0, by product.
    """

    terms: Mapping[Power, float]

    def __add__(self, other: Polynomial | float) -> Polynomial:
        """Answer self + other."""
        terms = dict(self.terms)
        for power, coefficient in polynomial(other).terms.items():
            terms[power] = terms.get(power, 0.0) + coefficient
        return Polynomial({power: x for power, x in terms.items() if abs(x) > ROUNDING})

    def __mul__(self, other: Polynomial | float) -> Polynomial:
        """Answer self * other."""
        total = Polynomial({})
        for a, x in self.terms.items():
            total += Polynomial({_product(a, b): x * y for b, y in polynomial(other).terms.items()})
        return total

    def __neg__(self) -> Polynomial:
        """Answer -self."""
        return Polynomial({power: -x for power, x in self.terms.items()})

    def __sub__(self, other: Polynomial | float) -> Polynomial:
        """Answer self - other."""
        return self + -polynomial(other)

    def __rsub__(self, other: float) -> Polynomial:
        """Answer other - self."""
        return polynomial(other) + -self

    __radd__ = __add__
    __rmul__ = __mul__

    @property
    def text(self) -> str:
        """The sum as text that Python reads: ``d3**2 + 2*d3*r4``; ``0`` for none."""
        text = " ".join(
            f"{'-' if x < 0.0 else '+'} {_term(power, abs(x))}" for power, x in self.terms.items()
        )
        return (text[2:] if text.startswith("+") else text.replace("- ", "-", 1)) or "0"


def variable(name: str) -> Polynomial:
    """Answer a variable."""
    return Polynomial({((name, 1),): 1.0})


def polynomial(value: Polynomial | float) -> Polynomial:
    """Answer a polynomial, of a number if it is none."""
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
