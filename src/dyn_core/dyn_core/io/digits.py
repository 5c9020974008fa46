# SPDX-License-Identifier: Apache-2.0
"""How exactly a decimal number was printed."""

from __future__ import annotations

from typing import NamedTuple


class Digits(NamedTuple):
    """Precision of a printed number.

    Attributes:
        figures: how many significant digits it has, without the zeros at its end.
        unit: worth of its last digit.
    """

    figures: int
    unit: float


def printed_digits(word: str) -> Digits:
    """Answer the precision of a decimal number: ``-1.5708`` has 5 digits and a unit of 1e-4."""
    mantissa, _, power = word.lower().lstrip("+-").partition("e")
    whole, _, decimals = mantissa.partition(".")
    decimals = decimals.rstrip("0")
    figures = len((whole + decimals).lstrip("0"))
    exponent = int(power) if power and len(power) < 8 else 0
    return Digits(figures, 10.0 ** max(-330, min(300, exponent - len(decimals))))
