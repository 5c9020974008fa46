# SPDX-License-Identifier: Apache-2.0
"""Sums of cosines and sines written as the fewest products: ``1/2 - cos(2 q)/2`` as ``sin(q)^2``."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Literal, NamedTuple

from dyn_core.lagrange.trigonometric_sums import Harmonics, Multiples, Power, terms_of

SAME = 1e-9
"""Coefficients are equal if they differ by less than this, relatively."""


class Factor(NamedTuple):
    """A cosine or sine of a sum of multiples of angles, of which the first is positive."""

    kind: Literal["cos", "sin"]
    angle: Multiples


class Product(NamedTuple):
    """A number times cosines and sines, ascending."""

    coefficient: float
    factors: tuple[Factor, ...]


def by_power(value: Harmonics | float, least: float) -> dict[Power, list[Product]]:
    """Answer the coefficients of a sum, of each product of powers of its variables, as few products.

    Args:
        value: the sum.
        least: what is not greater is taken for rounding.
    """
    found: dict[Power, list[Product]] = {}
    for (power, k), c in terms_of(value).items():
        double = 2.0 if k else 1.0
        if not k or k[0][1] > 0:  # that of -k is the conjugate
            parts = (
                Product(double * c.real, _factors("cos", k)),
                Product(-double * c.imag, _factors("sin", k)),
            )
            kept = [part for part in parts if abs(part.coefficient) > least]
            if kept:
                found.setdefault(power, []).extend(kept)
    return {power: merged(sorted(products, key=_order)) for power, products in found.items()}


def greatest(value: Harmonics | float) -> float:
    """Answer the greatest absolute value of a coefficient; 0 for none."""
    return max((abs(c) for c in terms_of(value).values()), default=0.0)


def merged(products: list[Product]) -> list[Product]:
    """Replace pairs of products that differ in one factor by one product, as long as there are some."""
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
    """Answer a sum as one product: cos x + cos y = 2 cos((x + y)/2) cos((x - y)/2), and the like."""
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
    """Answer a factor; none for cos 0, which is 1."""
    if kind == "sin":
        return (Factor("sin", angle),) if angle else ()
    return (Factor("cos", angle),) if angle else ()


def _combined(x: Multiples, y: Multiples, sign: int) -> Multiples:
    """Answer ``(x + sign y) / 2``."""
    total = dict(x)
    for name, m in y:
        total[name] = total.get(name, m - m) + sign * m
    return tuple(sorted((name, m / 2) for name, m in total.items() if m != 0))


def _order(product: Product) -> tuple[int, tuple[Factor, ...]]:
    return len(product.factors), product.factors
