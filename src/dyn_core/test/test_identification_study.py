# SPDX-License-Identifier: Apache-2.0
"""A short form of `make truth`: from logs of arms whose parameters are known, with no setting given."""

from __future__ import annotations

import numpy as np
import pytest
from identification_study import ARMS, MISTAKES, Arm, arm_of, is_named, run

SEEDS = range(3)


@pytest.fixture(scope="module", params=ARMS)
def case(request: pytest.FixtureRequest) -> Arm:
    return arm_of(request.param)


def test_essential_parameters_are_within_three_deviations(case: Arm) -> None:
    runs = [run(case, seed) for seed in SEEDS]
    assert all(one.possible for one in runs)
    assert all(set(one.names) == set(case.expected) for one in runs)
    assert min(one.essential.mean() for one in runs) > 0.8
    errors = np.concatenate([one.errors[one.essential] for one in runs])
    assert np.abs(errors).max() <= 3.0
    # Deviations that are far too large are worth as little as such that are too small.
    assert 0.6 < np.sqrt(np.mean(errors**2)) < 1.1


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_named(case: Arm, mistake: str) -> None:
    assert is_named(case, mistake, seed=1)
