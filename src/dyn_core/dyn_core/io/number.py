# SPDX-License-Identifier: Apache-2.0
"""Decimal numbers as text."""

from __future__ import annotations

import math
import re

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def finite_number(word: str) -> float | None:
    """Answer a decimal number; None where the word is none, or is too great for one."""
    value = float(word) if _NUMBER.fullmatch(word) else math.nan
    return value if math.isfinite(value) else None
