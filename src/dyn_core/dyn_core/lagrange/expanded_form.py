# SPDX-License-Identifier: Apache-2.0
"""Sums of harmonics as expressions of SymPy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from dyn_core.expansion.sympy_library import sympy_library
from dyn_core.expansion.trigonometric_products import SAME, Factor, by_power
from dyn_core.lagrange.trigonometric_sums import Harmonics, Power

Factors: TypeAlias = tuple[Factor, ...]

NEAR = 1e-12
"""How near a number is to the fraction, times a root of 2 or 3, that it is written as."""

LARGEST = 64
"""The largest denominator of such a fraction."""


def expression(value: Harmonics | float, least: float, exact: bool) -> Any:
    """Answer a sum as an expression of SymPy: for each product of cosines and sines one term.

    What multiplies it is a sum of products of powers of symbols, whose common factors are taken out.

    Args:
        value: the sum.
        least: coefficients that are not greater are taken for rounding.
        exact: whether numbers are written as fractions and roots where they are some.
    """
    gathered: dict[Factors, dict[Power, Any]] = {}
    for power, products in by_power(value, least).items():
        for product in products:
            same = gathered.setdefault(product.factors, {})
            same[power] = same.get(power, 0) + _number(product.coefficient, exact)
    return sympy_library().Add(*(_term(factors, sums) for factors, sums in gathered.items()))


def symbol(name: str) -> Any:
    """Answer the symbol of a name, a real number."""
    return sympy_library().Symbol(name, real=True)


def _term(factors: Factors, sums: Mapping[Power, Any]) -> Any:
    """Answer ``sum of number * power``, with what is common to all of it in front, times the factors."""
    sympy = sympy_library()
    power, (number, rest) = _common_power(list(sums)), _common_number(list(sums.values()))
    added = [sympy.Mul(left, _symbols(_less(own, power))) for own, left in zip(sums, rest, strict=True)]
    return sympy.Mul(number, _symbols(power), sympy.Add(*added), *map(_wave, factors))


def _common_power(powers: Sequence[Power]) -> Power:
    """Answer the variables that all the powers have, with their least exponents."""
    others = [dict(power) for power in powers]
    least = ((name, min(other.get(name, 0) for other in others)) for name, _ in powers[0])
    return tuple((name, exponent) for name, exponent in least if exponent)


def _less(power: Power, common: Power) -> Power:
    taken = dict(common)
    return tuple((name, exponent - taken.get(name, 0)) for name, exponent in power)


def _common_number(numbers: Sequence[Any]) -> tuple[Any, list[Any]]:
    """Answer what all the numbers are multiples of, with their sign if they have the same; and of what."""
    sympy = sympy_library()
    sign = -1 if all(number < 0 for number in numbers) else 1
    if all(number.is_Rational for number in numbers):
        common = sign * sympy.gcd_list(numbers)
        return common, [number / common for number in numbers]
    common = sign * abs(numbers[0])
    if all(abs(abs(number) - abs(common)) <= SAME * abs(common) for number in numbers):
        return common, [sympy.sign(number) * sign for number in numbers]
    return sympy.Integer(sign), [number * sign for number in numbers]


def _symbols(power: Power) -> Any:
    return sympy_library().Mul(*(symbol(name) ** exponent for name, exponent in power))


def _wave(factor: Factor) -> Any:
    sympy = sympy_library()
    terms = (sympy.Rational(m.numerator, m.denominator) * symbol(name) for name, m in factor.angle)
    return getattr(sympy, factor.kind)(sympy.Add(*terms))


def _number(value: float, exact: bool) -> Any:
    sympy = sympy_library()
    for square in (1, 2, 3) if exact else ():
        fraction = Fraction(value / math.sqrt(square)).limit_denominator(LARGEST)
        if fraction and abs(float(fraction) * math.sqrt(square) - value) <= NEAR * abs(value):
            return sympy.Rational(fraction.numerator, fraction.denominator) * sympy.sqrt(square)
    whole = round(value)
    return sympy.Integer(whole) if abs(value - whole) <= NEAR * abs(value) else sympy.Float(value)
