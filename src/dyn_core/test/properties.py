# SPDX-License-Identifier: Apache-2.0
"""Names of hypothesis for the tests; files that import this module are skipped where it is absent.

Each run tries other examples. A failing example is printed with its seed.
"""

from __future__ import annotations

import depth
import pytest

hypothesis = pytest.importorskip("hypothesis", reason="hypothesis is not installed")
st = pytest.importorskip("hypothesis.strategies", reason="hypothesis is not installed")

given = hypothesis.given


def examples(of_all: int, of_each_run: int = depth.EACH_RUN):
    """Return settings with the number of examples of this run and without a time limit."""
    return hypothesis.settings(
        max_examples=depth.number(of_all, of_each_run), deadline=None, database=None, print_blob=True
    )
