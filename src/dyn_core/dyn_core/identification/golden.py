# SPDX-License-Identifier: Apache-2.0
"""The least value of a function between two places."""

from __future__ import annotations

import math
from collections.abc import Callable

_PART = (math.sqrt(5.0) - 1.0) / 2.0


def lowest(function: Callable[[float], float], low: float, high: float, evaluations: int) -> float:
    """Answer where a function is least between two places, if it falls and then rises, by golden sections."""
    left, right = high - _PART * (high - low), low + _PART * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(evaluations - 2):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - _PART * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _PART * (high - low)
            at_right = function(right)
    return left if at_left < at_right else right
