# SPDX-License-Identifier: Apache-2.0
"""The static checks of `make lint`, one test each."""

from __future__ import annotations

import subprocess
import sys

import lint
import pytest


@pytest.mark.parametrize("check", lint.CHECKS)
def test_static_check(check: str) -> None:
    if (program := lint.missing_program(check)) is not None:
        pytest.skip(f"{program} is not installed")
    done = subprocess.run(
        [sys.executable, lint.__file__, check], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
