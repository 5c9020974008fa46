# SPDX-License-Identifier: Apache-2.0
"""What the tests use of hypothesis; files that import this are skipped where it is absent."""

from __future__ import annotations

import pytest

hypothesis = pytest.importorskip("hypothesis", reason="hypothesis is not installed")
st = pytest.importorskip("hypothesis.strategies", reason="hypothesis is not installed")

given = hypothesis.given
settings = hypothesis.settings
