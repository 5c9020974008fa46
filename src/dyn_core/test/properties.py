# SPDX-License-Identifier: Apache-2.0
"""What the tests use of hypothesis; files that import this are skipped where it is absent.

The examples are others in each run; one that fails is printed, with its seed.
"""

from __future__ import annotations

import depth
import pytest

hypothesis = pytest.importorskip("hypothesis", reason="hypothesis is not installed")
st = pytest.importorskip("hypothesis.strategies", reason="hypothesis is not installed")

given = hypothesis.given


def examples(of_all: int, of_each_run: int = depth.EACH_RUN):
    """Return settings with as many examples as this run tries, and no limit of time."""
    return hypothesis.settings(
        max_examples=depth.number(of_all, of_each_run), deadline=None, database=None, print_blob=True
    )
