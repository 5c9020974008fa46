# SPDX-License-Identifier: Apache-2.0
"""How counts grow with the number of joints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple


class Polynomial(NamedTuple):
    """The first term ``leading n^degree`` of counts that are a polynomial."""

    degree: int
    leading: float


def polynomial(counts: Sequence[int]) -> Polynomial | None:
    """Answer the polynomial that the counts for successive numbers of joints are; None where they are none.

    The differences of its degree are all the same: at least three of them must be there to show it.
    """
    differences = list(counts)
    for degree in range(len(counts) - 2):
        if len(set(differences)) == 1:
            return Polynomial(degree, differences[0] / math.factorial(degree))
        differences = [b - a for a, b in pairwise(differences)]
    return None


def slope(count: int, of_twice: int) -> float:
    """Exponent with which counts grow between a number of joints and twice that number."""
    return math.log2(of_twice / count)
