# SPDX-License-Identifier: Apache-2.0
"""The expanded Lagrange form as text or LaTeX."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from dyn_core.expansion.expanded_lagrange import expanded_lagrange
from dyn_core.expansion.latex_name import latex_expression, latex_name
from dyn_core.expansion.sympy_library import sympy_library
from dyn_core.lagrange.listing import Listing
from dyn_core.robot.robot import Robot


def expanded_listing(robot: Robot, grouped: bool, numbers: bool, latex: bool, digits: int) -> Listing:
    """Answer the Lagrange form of a tree of at most four joints, expanded.

    Args:
        robot: the robot.
        grouped: whether base parameters take the place of the standard ones.
        numbers: whether parameters, lengths and gravity are numbers.
        latex: whether the text is LaTeX.
        digits: how many digits numbers have that are no fractions.
    """
    found = expanded_lagrange(robot, grouped, numbers)
    written = partial(_written, _latex if latex else _text, digits)
    return Listing(
        found.coordinates,
        tuple(
            (latex_name(name), latex_expression(text)) if latex else (name, text)
            for name, text in found.definitions
        ),
        found.values,
        (),
        _rows(found.A, written),
        _rows(found.B, written),
        _rows(found.C, written),
        [row[0] for row in _rows(found.Q, written)],
    )


def _rows(matrix: Any, written: Callable[[Any], str]) -> list[list[str]]:
    return [[written(entry) for entry in row] for row in matrix.tolist()]


def _written(written: Callable[[Any], str], digits: int, entry: Any) -> str:
    sympy = sympy_library()
    return written(
        entry.xreplace({number: sympy.Float(number, digits) for number in entry.atoms(sympy.Float)})
    )


def _text(entry: Any) -> str:
    return str(sympy_library().sstr(entry, full_prec=False))


def _latex(entry: Any) -> str:
    """Answer LaTeX with sums outside fractions, and parentheses of one size: its lines can be broken."""
    names = {symbol: latex_name(symbol.name) for symbol in entry.free_symbols}
    options = {"symbol_names": names, "full_prec": False, "long_frac_ratio": 0}
    text = str(sympy_library().latex(entry, **options))
    for sized, plain in ((r"{\left(", "("), (r" \right)}", ")"), (r"\left(", "("), (r"\right)", ")")):
        text = text.replace(sized, plain)
    return text
