# SPDX-License-Identifier: Apache-2.0
"""Number of examples that the tests try: some in each run, all in the exhaustive run."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest

TIMES = float(os.environ.get("DYN_EXAMPLES", "0"))
"""DYN_EXAMPLES=1 tries all random examples, DYN_EXAMPLES=10 ten times as many."""
EACH_RUN = 30


def number(of_all: int, of_each_run: int = EACH_RUN) -> int:
    """Return the number of random examples in this run."""
    return max(1, round(of_all * TIMES)) if TIMES else min(of_all, of_each_run)


def some(cases: Iterable[Any], *tried: object) -> list[Any]:
    """Return all cases, with those that are not in `tried` marked as exhaustive.

    A case is named by itself, or by the first of its values.
    """
    rows = [case if isinstance(case, tuple) else (case,) for case in cases]
    left = pytest.mark.exhaustive
    return [pytest.param(*row, marks=() if row[0] in tried or row in tried else left) for row in rows]


def each(things: Iterable[Any], *tried: object) -> list[Any]:
    """Return the items that a test loops over: those in `tried`, or all in the exhaustive run."""
    return [thing for thing in things if TIMES or thing in tried]
