# SPDX-License-Identifier: Apache-2.0
"""Expanded Lagrange form of a small robot: SymPy expressions, and their text or LaTeX."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, TypeAlias

from dyn_core.algorithms.dynamics.lagrange_form import refuse_loops
from dyn_core.core.errors import DynError
from dyn_core.lagrange.listing import Listing, latex_name, written_definitions
from dyn_core.lagrange.named_robot import Rows, named_robot
from dyn_core.lagrange.trigonometric_sums import SAME, Factor, Harmonics, Power, by_power, greatest, variable
from dyn_core.robot.robot import Robot

MOST_JOINTS = 4
"""Largest number of joints of an expanded robot: for more joints the expressions are too long to read."""


@dataclass(frozen=True)
class ExpandedLagrange:
    """Coefficients of ``tau = A qdd + B [qd qd] + C [qd^2] + Q`` (SYMORO+ 2003, eq. (A2.1)), in SI units.

    Symbols have the names of the robot's parameters, with the numbers of its joints: ``q2`` for a position,
    ``MX2``, ``d2``, and ``g`` for the magnitude of the acceleration of gravity. All are real.

    Attributes:
        coordinates: numbers of the joints of the rows.
        A: inertia matrix with the inertia of the rotors, n x n.
        B: coefficients of the products qd_1 qd_2, qd_1 qd_3 ..., qd_2 qd_3 ..., n x n (n - 1) / 2.
        C: coefficients of the squares of the velocities, n x n.
        Q: gravity torques, n x 1.
        definitions: pairs of a symbol and its expression of other symbols, as text.
        values: values (SI units) of all symbols, including those in definitions, except positions.
    """

    coordinates: tuple[int, ...]
    A: Any
    B: Any
    C: Any
    Q: Any
    definitions: tuple[tuple[str, str], ...]
    values: Mapping[str, float]

    @property
    def coriolis_matrix(self) -> Any:
        """Matrix H of the Christoffel symbols, in ``qd1``, ``qd2`` ...: dA/dt - 2 H is skew-symmetric."""
        n = len(self.coordinates)
        qd = [symbol(f"qd{j}") for j in self.coordinates]
        H = sympy_library().zeros(n, n)
        for i in range(n):
            for j in range(n):
                H[i, j] += self.C[i, j] * qd[j]
            for column, (j, k) in enumerate(combinations(range(n), 2)):
                H[i, j] += self.B[i, column] * qd[k] / 2
                H[i, k] += self.B[i, column] * qd[j] / 2
        return H


def expanded_lagrange(robot: Robot, base_parameters: bool = False, numbers: bool = False) -> ExpandedLagrange:
    """Return the Lagrange form of a robot of at most four joints as SymPy expressions.

    Args:
        robot: the robot, a tree. Parameters and lengths that are 0 have no symbol.
        base_parameters: whether to use base parameters (see `base_parameters`), such as ``ZZR1`` for ZZ1 with
            others grouped in it, instead of standard parameters.
        numbers: whether parameters, lengths and gravity are numbers, so that only positions are symbols.

    Raises:
        DynError: the robot has more joints, or loops, or SymPy is not installed.
    """
    refuse_loops(robot)
    if len(robot.joints) > MOST_JOINTS:
        raise DynError(
            "expanded-form-too-large", robot=robot.name, count=len(robot.joints), limit=MOST_JOINTS
        )
    sympy_library()
    named = named_robot(robot, variable, base_parameters, numbers)
    A, B, C, Q = (_matrix(rows, not numbers) for rows in named.lagrange_matrices())
    named = named.used({free.name for matrix in (A, B, C, Q) for free in matrix.free_symbols})
    return ExpandedLagrange(robot.coordinates, A, B, C, Q, named.definitions, named.values)


def _matrix(rows: Rows, exact: bool) -> Any:
    """Return a SymPy matrix, without coefficients that are rounding errors compared to the greatest."""
    sympy = sympy_library()
    least = 1e-12 * max((greatest(value) for row in rows for value in row), default=0.0)
    written = [expression(value, least, exact) for row in rows for value in row]
    return sympy.ImmutableMatrix(len(rows), len(rows[0]) if rows else 0, written)


# Text and LaTeX


def expanded_listing(robot: Robot, grouped: bool, numbers: bool, latex: bool, digits: int) -> Listing:
    """Return the Lagrange form of a tree of at most four joints, expanded; see `customised_listing`.

    `digits` is the number of digits of numbers that are not fractions.
    """
    found = expanded_lagrange(robot, grouped, numbers)
    A, B, C, Q = (
        [[_written(entry, latex, digits) for entry in row] for row in matrix.tolist()]
        for matrix in (found.A, found.B, found.C, found.Q)
    )
    definitions = written_definitions(found.definitions, latex)
    return Listing(found.coordinates, definitions, found.values, (), A, B, C, [row[0] for row in Q])


def _written(entry: Any, latex: bool, digits: int) -> str:
    sympy = sympy_library()
    entry = entry.xreplace({number: sympy.Float(number, digits) for number in entry.atoms(sympy.Float)})
    return _latex(entry) if latex else str(sympy.sstr(entry, full_prec=False))


def _latex(entry: Any) -> str:
    """Return LaTeX with sums outside fractions and parentheses of one size, so that lines can be broken."""
    names = {symbol: latex_name(symbol.name) for symbol in entry.free_symbols}
    options = {"symbol_names": names, "full_prec": False, "long_frac_ratio": 0}
    text = str(sympy_library().latex(entry, **options))
    for sized, plain in ((r"{\left(", "("), (r" \right)}", ")"), (r"\left(", "("), (r"\right)", ")")):
        text = text.replace(sized, plain)
    return text


# Sums of harmonics as SymPy expressions

Factors: TypeAlias = tuple[Factor, ...]

NEAR = 1e-12
"""Relative difference within which a number is written as a fraction, or as one times a root of 2 or 3."""

LARGEST = 64
"""Largest denominator of such a fraction."""


def expression(value: Harmonics | float, least: float, exact: bool) -> Any:
    """Return a sum as a SymPy expression, with one term for each product of cosines and sines.

    The coefficient of a term is a sum of products of powers of symbols, with common factors taken out.
    Coefficients up to `least` are taken as rounding errors; `exact` writes numbers as fractions and roots if
    possible.
    """
    gathered: dict[Factors, dict[Power, Any]] = {}
    for power, products in by_power(value, least).items():
        for product in products:
            same = gathered.setdefault(product.factors, {})
            same[power] = same.get(power, 0) + _number(product.coefficient, exact)
    return sympy_library().Add(*(_term(factors, sums) for factors, sums in gathered.items()))


def symbol(name: str) -> Any:
    """Return the symbol of a name, a real number."""
    return sympy_library().Symbol(name, real=True)


def _term(factors: Factors, sums: Mapping[Power, Any]) -> Any:
    """Return ``sum of number * power``, with common factors in front, times the factors."""
    sympy = sympy_library()
    power, (number, rest) = _common_power(list(sums)), _common_number(list(sums.values()))
    common = _symbols(power)
    added = [sympy.Mul(left, _symbols(own) / common) for own, left in zip(sums, rest, strict=True)]
    return sympy.Mul(number, common, sympy.Add(*added), *map(_wave, factors))


def _common_power(powers: Sequence[Power]) -> Power:
    """Return the variables that all powers contain, with their least exponents."""
    others = [dict(power) for power in powers]
    least = ((name, min(other.get(name, 0) for other in others)) for name, _ in powers[0])
    return tuple((name, exponent) for name, exponent in least if exponent)


def _common_number(numbers: Sequence[Any]) -> tuple[Any, list[Any]]:
    """Return the common factor of the numbers, with their sign if all have the same, and the quotients."""
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


def sympy_library() -> Any:
    """Import SymPy on first use and return it; raise DynError with the way to install it if it is missing."""
    try:
        import sympy
    except ImportError as error:
        raise DynError("sympy-missing") from error
    return sympy
