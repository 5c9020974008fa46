# SPDX-License-Identifier: Apache-2.0
"""Sums of cosines and sines of sums of angles, with coefficients of named variables.

A sum is stored as ``sum of c v^p exp(i k.q)`` with complex numbers c, powers v^p of variables, and multiples
k of the angles q. Products add powers and multiples, so the form is canonical at every step: expressions
that are equal by trigonometry are equal term by term, and terms cancel without a search.

`merged` rewrites a sum with the fewest products, such as ``1/2 - cos(2 q)/2`` as ``sin(q)^2``.
"""

from __future__ import annotations

import cmath
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple, TypeAlias, TypeVar

Count = TypeVar("Count", int, Fraction)

Power: TypeAlias = tuple[tuple[str, int], ...]
"""A product of powers of variables: their names, ascending, with exponents."""

Multiples: TypeAlias = tuple[tuple[str, Fraction], ...]
"""A sum of multiples of angles: their names, ascending, with factors that are not 0."""


@dataclass(frozen=True, eq=False)
class Harmonics:
    """A sum that algorithms accept as a scalar.

    Attributes:
        terms: the coefficients c that are not 0; those of k and -k are conjugate.
    """

    terms: Mapping[tuple[Power, Multiples], complex]

    def __add__(self, other: Harmonics | float) -> Harmonics | float:
        terms = dict(self.terms)
        for key, c in terms_of(other).items():
            terms[key] = terms.get(key, 0.0) + c
        return _harmonics(terms)

    def __mul__(self, other: Harmonics | complex) -> Harmonics | float:
        if not isinstance(other, Harmonics):
            return _harmonics({key: other * c for key, c in self.terms.items()})
        terms: dict[tuple[Power, Multiples], complex] = {}
        for (power, k), c in self.terms.items():
            for (other_power, other_k), d in other.terms.items():
                key = _summed(power, other_power), _summed(k, other_k)
                terms[key] = terms.get(key, 0.0) + c * d
        return _harmonics(terms)

    def __neg__(self) -> Harmonics:
        return Harmonics({key: -c for key, c in self.terms.items()})

    def __sub__(self, other: Harmonics | float) -> Harmonics | float:
        return self + -other

    def __rsub__(self, other: float) -> Harmonics | float:
        return -self + other

    __radd__ = __add__
    __rmul__ = __mul__

    def cos(self) -> Harmonics | float:
        """Return the cosine of a sum of multiples of variables, which become angles."""
        return self._wave(0.5)

    def sin(self) -> Harmonics | float:
        """Return the sine of a sum of multiples of variables, which become angles."""
        return self._wave(-0.5j)

    def _wave(self, half: complex) -> Harmonics | float:
        """Return a multiple of exp(i self), and its conjugate."""
        turn = half * self._turn()
        assert isinstance(turn, Harmonics)
        return turn + Harmonics(
            {(power, tuple((a, -m) for a, m in k)): c.conjugate() for (power, k), c in turn.terms.items()}
        )

    def _turn(self) -> Harmonics:
        """Return exp(i self)."""
        constant, multiples = 0.0, []
        for (power, angles), c in self.terms.items():
            assert not angles, "an angle is a sum of multiples of variables"
            if not power:
                constant = c.real
                continue
            ((name, exponent),) = power
            assert exponent == 1, "an angle is a sum of multiples of variables"
            multiples.append((name, Fraction(repr(c.real))))
        return Harmonics({((), tuple(sorted(multiples))): cmath.exp(1j * constant)})


def variable(name: str) -> Harmonics:
    """Return the sum of a single variable."""
    return Harmonics({(((name, 1),), ()): 1.0 + 0.0j})


def terms_of(value: Harmonics | float) -> Mapping[tuple[Power, Multiples], complex]:
    """Return the terms of a sum, or of a number."""
    if isinstance(value, Harmonics):
        return value.terms
    return {((), ()): complex(value)} if value != 0.0 else {}


def _harmonics(terms: Mapping[tuple[Power, Multiples], complex]) -> Harmonics | float:
    """Return a sum; the number 0 if no term is left, so that algorithms see the zero."""
    left = {key: c for key, c in terms.items() if c != 0.0}
    return Harmonics(left) if left else 0.0


Counts: TypeAlias = tuple[tuple[str, Count], ...]


def _summed(a: Counts[Count], b: Counts[Count]) -> Counts[Count]:
    if not a or not b:
        return a or b
    total = dict(a)
    for name, count in b:
        total[name] = total[name] + count if name in total else count
    return tuple(sorted((name, count) for name, count in total.items() if count))


# Products

SAME = 1e-11
"""Coefficients are equal if they differ by less than this, relatively: far above rounding errors, and
below the 1e-10 to which forms agree with the model, also where lengths or angles differ by little."""


class Factor(NamedTuple):
    """A ``"cos"`` or ``"sin"`` of a sum of multiples of angles, whose first multiple is positive."""

    kind: str
    angle: Multiples


class Product(NamedTuple):
    """A number times cosines and sines, ascending."""

    coefficient: float
    factors: tuple[Factor, ...]


def by_power(value: Harmonics | float, least: float) -> dict[Power, list[Product]]:
    """Return the coefficient of each product of powers, as the fewest products of cosines and sines.

    Coefficients up to `least` are taken as rounding errors.
    """
    found: dict[Power, list[Product]] = {}
    for (power, k), c in terms_of(value).items():
        double = 2.0 if k else 1.0
        if not k or k[0][1] > 0:  # the term of -k is the conjugate
            for kind, part in (("cos", double * c.real), ("sin", -double * c.imag)):
                if abs(part) > least:
                    found.setdefault(power, []).append(Product(part, _factors(kind, k)))
    return {
        power: merged(sorted(products, key=lambda product: (len(product.factors), product.factors)))
        for power, products in found.items()
    }


def greatest(value: Harmonics | float) -> float:
    """Return the greatest absolute value of a coefficient; 0 without terms."""
    return max((abs(c) for c in terms_of(value).values()), default=0.0)


def merged(products: list[Product]) -> list[Product]:
    """Replace pairs of products that differ in one factor by one product, until no such pair is left."""
    products = list(products)
    while True:
        for a, b in combinations(range(len(products)), 2):
            one = _together(products[a], products[b])
            if one is not None:
                products[a] = one
                del products[b]
                break
        else:
            return products


def _together(a: Product, b: Product) -> Product | None:
    """Return a sum as one product, such as cos x + cos y = 2 cos((x + y)/2) cos((x - y)/2), or None."""
    if abs(abs(a.coefficient) - abs(b.coefficient)) > SAME * abs(a.coefficient):
        return None
    own, other = Counter(a.factors) - Counter(b.factors), Counter(b.factors) - Counter(a.factors)
    if own.total() > 1 or other.total() > 1 or own.total() + other.total() == 0:
        return None
    constant = Factor("cos", ())
    (x,), (y,) = list(own.elements()) or [constant], list(other.elements()) or [constant]
    half_sum, half_difference = _combined(x.angle, y.angle, 1), _combined(x.angle, y.angle, -1)
    if x.kind != y.kind or any(m.denominator != 1 for _, m in (*half_sum, *half_difference)):
        return None
    alike = a.coefficient * b.coefficient > 0.0
    coefficient, kinds = 2.0 * a.coefficient, ("cos", "cos")
    if x.kind == "cos" and not alike:
        coefficient, kinds = -coefficient, ("sin", "sin")
    elif x.kind == "sin":
        kinds = ("sin", "cos") if alike else ("cos", "sin")
    factors = list((Counter(a.factors) & Counter(b.factors)).elements())
    for kind, angle in zip(kinds, (half_sum, half_difference), strict=True):
        if angle and angle[0][1] < 0:
            angle = tuple((name, -m) for name, m in angle)
            coefficient = -coefficient if kind == "sin" else coefficient
        factors += _factors(kind, angle)
    return Product(coefficient, tuple(sorted(factors)))


def _factors(kind: str, angle: Multiples) -> tuple[Factor, ...]:
    """Return a factor; no factor for an angle of 0."""
    return (Factor(kind, angle),) if angle else ()


def _combined(x: Multiples, y: Multiples, sign: int) -> Multiples:
    """Return ``(x + sign y) / 2``."""
    total = dict(x)
    for name, m in y:
        total[name] = total.get(name, m - m) + sign * m
    return tuple(sorted((name, m / 2) for name, m in total.items() if m != 0))
