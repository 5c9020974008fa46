# SPDX-License-Identifier: Apache-2.0
"""What the tests use of hypothesis; files that import this are skipped where it is absent.

The examples are the same in every run. DYN_EXAMPLES=10 makes them ten times as many.
"""

from __future__ import annotations

import os

import pytest

hypothesis = pytest.importorskip("hypothesis", reason="hypothesis is not installed")
st = pytest.importorskip("hypothesis.strategies", reason="hypothesis is not installed")

given = hypothesis.given
TIMES = float(os.environ.get("DYN_EXAMPLES", "1"))


def examples(count: int):
    """Answer settings with this number of examples, times DYN_EXAMPLES, and no limit of time."""
    return hypothesis.settings(max_examples=max(1, round(count * TIMES)), deadline=None, derandomize=True)
