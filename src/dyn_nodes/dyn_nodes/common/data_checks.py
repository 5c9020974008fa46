# SPDX-License-Identifier: Apache-2.0
"""Numbers from messages that can be computed with, and text from messages that can be shown."""

from __future__ import annotations

import math
from collections.abc import Sequence

LARGEST = 1e9
"""What a joint does or a body has is smaller in SI units, and products of such numbers do not overflow."""
_LONGEST = 400


def plausible(numbers: Sequence[float]) -> bool:
    """Whether numbers are finite and no larger than a robot can have them."""
    return math.hypot(*numbers) <= LARGEST


def too_large(numbers: Sequence[float]) -> bool:
    """Whether one of the numbers is finite, and larger than a robot can have it."""
    return any(LARGEST < abs(number) < math.inf for number in numbers)


def culprit(numbers: Sequence[float]) -> int:
    """Answer which of the numbers is no number, or else is the largest."""
    return max(range(len(numbers)), key=lambda k: math.inf if math.isnan(numbers[k]) else abs(numbers[k]))


def one_line(text: str) -> str:
    """Answer a sentence with text from a message as one line that is not too long, of what can be seen."""
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]} ... {text[-_LONGEST // 2 :]}"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
