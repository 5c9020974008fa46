# SPDX-License-Identifier: Apache-2.0
"""Seeds of random tests: a new one in each short run, and the same ones in each exhaustive run."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from typing import Any

import pytest


def sizes(short: int, long: int, seeds: Sequence[int]) -> Any:
    """Return a mark that gives a test `count` and `seed`: `short` of a new seed, or `long` of each seed."""
    exhaustive = (pytest.param(long, seed, marks=pytest.mark.exhaustive) for seed in seeds)
    return pytest.mark.parametrize(("count", "seed"), [pytest.param(short, None, id="new"), *exhaustive])


def drawn(seed: int | None) -> int:
    """Return the seed; for None that of DYN_SEED or a new one, which pytest shows where the test fails."""
    chosen = int(os.environ.get("DYN_SEED", secrets.randbits(32))) if seed is None else seed
    print(f"DYN_SEED={chosen}")
    return chosen
