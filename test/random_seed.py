# SPDX-License-Identifier: Apache-2.0
"""Seeds of random tests: a new seed in each short run, fixed seeds in each exhaustive run."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from typing import Any

import pytest


def sizes(short: int, long: int, seeds: Sequence[int]) -> Any:
    """Return a mark for tests with `count` and `seed`.

    `short` with a new seed, or `long` with each fixed seed.
    """
    exhaustive = (pytest.param(long, seed, marks=pytest.mark.exhaustive) for seed in seeds)
    return pytest.mark.parametrize(("count", "seed"), [pytest.param(short, None, id="new"), *exhaustive])


def drawn(seed: int | None) -> int:
    """Return the seed; None stands for DYN_SEED or a new seed, which pytest prints if the test fails."""
    chosen = int(os.environ.get("DYN_SEED", secrets.randbits(32))) if seed is None else seed
    print(f"DYN_SEED={chosen}")
    return chosen
