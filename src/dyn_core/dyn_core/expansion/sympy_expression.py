# SPDX-License-Identifier: Apache-2.0
"""Sums of harmonics as expressions of SymPy."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from dyn_core.expansion.harmonics import Harmonics
from dyn_core.expansion.sympy_library import sympy_library
from dyn_core.expansion.trigonometric_products import Product, by_power

NEAR = 1e-12
"""How near a number is to the fraction, times a root of 2 or 3, that it is written as."""

LARGEST = 64
"""The largest denominator of such a fraction."""


def expression(value: Harmonics | float, least: float, exact: bool) -> Any:
    """Answer a sum as an expression of SymPy: products of powers of symbols, cosines and sines.

    Args:
        value: the sum.
        least: coefficients that are not greater are taken for rounding.
        exact: whether numbers are written as fractions and roots where they are some.
    """
    sympy = sympy_library()
    total = []
    for power, products in by_power(value, least).items():
        symbols = [symbol(name) ** exponent for name, exponent in power]
        total += [sympy.Mul(*symbols, _product(product, exact)) for product in products]
    return sympy.Add(*total)


def symbol(name: str) -> Any:
    """Answer the symbol of a name, a real number."""
    return sympy_library().Symbol(name, real=True)


def _product(product: Product, exact: bool) -> Any:
    sympy = sympy_library()
    factors = [_number(product.coefficient, exact)]
    for kind, angle in product.factors:
        argument = sympy.Add(
            *(sympy.Rational(m.numerator, m.denominator) * symbol(name) for name, m in angle)
        )
        factors.append(sympy.cos(argument) if kind == "cos" else sympy.sin(argument))
    return sympy.Mul(*factors)


def _number(value: float, exact: bool) -> Any:
    sympy = sympy_library()
    for square in (1, 2, 3) if exact else ():
        fraction = Fraction(value / math.sqrt(square)).limit_denominator(LARGEST)
        if fraction and abs(float(fraction) * math.sqrt(square) - value) <= NEAR * abs(value):
            return sympy.Rational(fraction.numerator, fraction.denominator) * sympy.sqrt(square)
    whole = round(value)
    return sympy.Integer(whole) if value == whole else sympy.Float(value)
