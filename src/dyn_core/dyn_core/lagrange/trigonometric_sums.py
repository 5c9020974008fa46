# SPDX-License-Identifier: Apache-2.0
"""Scalars that are sums of cosines and sines of sums of angles, with coefficients of named variables.

A sum is kept as ``sum of c v^p exp(i k.q)`` with complex numbers c, powers v^p of variables, and multiples k
of the angles q. Products add powers and multiples, so that the form is canonical at every step: what is equal
by trigonometry is equal term by term, and what cancels is gone, without any search.
"""

from __future__ import annotations

import cmath
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, TypeVar

Count = TypeVar("Count", int, Fraction)

Power: TypeAlias = tuple[tuple[str, int], ...]
"""A product of powers of variables: their names, ascending, with exponents."""

Multiples: TypeAlias = tuple[tuple[str, Fraction], ...]
"""A sum of multiples of angles: their names, ascending, with factors that are not 0."""


@dataclass(frozen=True, eq=False)
class Harmonics:
    """A sum that algorithms over scalars can compute with; it is never a number alone.

    Attributes:
        terms: the coefficients c that are not 0; those of k and -k are conjugate.
    """

    terms: Mapping[tuple[Power, Multiples], complex]

    def __add__(self, other: Harmonics | float) -> Harmonics | float:
        """Answer self + other."""
        terms = dict(self.terms)
        for key, c in terms_of(other).items():
            terms[key] = terms.get(key, 0.0) + c
        return _harmonics(terms)

    def __mul__(self, other: Harmonics | complex) -> Harmonics | float:
        """Answer self * other."""
        if not isinstance(other, Harmonics):
            return _harmonics({key: other * c for key, c in self.terms.items()})
        terms: dict[tuple[Power, Multiples], complex] = {}
        for (power, k), c in self.terms.items():
            for (other_power, other_k), d in other.terms.items():
                key = _summed(power, other_power), _summed(k, other_k)
                terms[key] = terms.get(key, 0.0) + c * d
        return _harmonics(terms)

    def __neg__(self) -> Harmonics:
        """Answer -self."""
        return Harmonics({key: -c for key, c in self.terms.items()})

    def __sub__(self, other: Harmonics | float) -> Harmonics | float:
        """Answer self - other."""
        return self + -other

    def __rsub__(self, other: float) -> Harmonics | float:
        """Answer other - self."""
        return -self + other

    __radd__ = __add__
    __rmul__ = __mul__

    def cos(self) -> Harmonics | float:
        """Answer the cosine of a sum of multiples of variables, which become angles."""
        return self._wave(0.5)

    def sin(self) -> Harmonics | float:
        """Answer the sine of such a sum."""
        return self._wave(-0.5j)

    def _wave(self, half: complex) -> Harmonics | float:
        """Answer a multiple of exp(i self), and its conjugate."""
        turn = half * self._turn()
        assert isinstance(turn, Harmonics)
        return turn + _conjugate(turn)

    def _turn(self) -> Harmonics:
        """Answer exp(i self)."""
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
    """Answer a variable."""
    return Harmonics({(((name, 1),), ()): 1.0 + 0.0j})


def terms_of(value: Harmonics | float) -> Mapping[tuple[Power, Multiples], complex]:
    """Answer the terms of a sum, or of a number."""
    if isinstance(value, Harmonics):
        return value.terms
    return {((), ()): complex(value)} if value != 0.0 else {}


def _harmonics(terms: Mapping[tuple[Power, Multiples], complex]) -> Harmonics | float:
    """Answer a sum; 0 where nothing is left, so that algorithms see what vanishes."""
    left = {key: c for key, c in terms.items() if c != 0.0}
    return Harmonics(left) if left else 0.0


def _conjugate(turn: Harmonics) -> Harmonics:
    return Harmonics(
        {(power, tuple((a, -m) for a, m in k)): c.conjugate() for (power, k), c in turn.terms.items()}
    )


def _summed(
    a: tuple[tuple[str, Count], ...], b: tuple[tuple[str, Count], ...]
) -> tuple[tuple[str, Count], ...]:
    if not a or not b:
        return a or b
    total = dict(a)
    for name, count in b:
        total[name] = total[name] + count if name in total else count
    return tuple(sorted((name, count) for name, count in total.items() if count))
