# SPDX-License-Identifier: Apache-2.0
"""Residuals of white noise are told from those of a model that lacks something, behind any filter."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_core.identification.diagnosis.reliability import whiteness
from dyn_core.signals.decimation import Decimation

RUNS = 200


def behind(decimation: Decimation, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[tuple[int, int]]]:
    """Answer residuals of noise behind a filter, all of which are used, in one stretch."""
    left = decimation.of(noise)
    return left, np.ones(left.shape, dtype=bool), [(0, len(left))]


@pytest.mark.parametrize("factor", [1, 2, 5, 20])
def test_white_noise_is_white_behind_the_filter(factor: int) -> None:
    """Probabilities are even between 0 and 1: each quarter has 50 of 200 with a deviation of 6."""
    decimation = Decimation(factor)
    noise = np.random.default_rng(factor).normal(size=(600 * factor, RUNS))
    left, used, segments = behind(decimation, noise)
    found = whiteness(left, used, decimation, segments)
    counts, _ = np.histogram(found, bins=4, range=(0.0, 1.0))
    assert counts.sum() == RUNS
    assert np.all(np.abs(counts - RUNS / 4) < 4 * 6.1)


@pytest.mark.parametrize("factor", [1, 5])
def test_what_a_model_lacks_is_seen(factor: int) -> None:
    decimation = Decimation(factor)
    noise = np.random.default_rng(0).normal(size=(600 * factor, 20))
    slow = np.sin(2.0 * np.pi * np.arange(len(noise)) / (40.0 * factor))[:, None]
    left, used, segments = behind(decimation, noise / np.sqrt(factor) + slow)
    assert np.all(whiteness(left, used, decimation, segments) < 1e-3)


def test_gaps_and_joints_that_stand_are_no_memory() -> None:
    """Zeros in the place of equations that there are not, and another level behind a gap, say nothing."""
    decimation = Decimation(5)
    noise = np.random.default_rng(0).normal(size=(5000, 50))
    left, used, _ = behind(decimation, noise)
    segments = [(0, 400), (400, len(left))]
    used[600:700] = False
    left[600:700] = 50.0
    found = whiteness(left, used, decimation, segments)
    assert np.median(found) == pytest.approx(0.5, abs=0.2)


def test_too_few_residuals_say_nothing() -> None:
    decimation = Decimation(5)
    left, used, segments = behind(decimation, np.random.default_rng(0).normal(size=(600, 2)))
    assert np.isnan(whiteness(left, used, decimation, segments)).all()
    assert np.isnan(whiteness(0.0 * left, used, Decimation(1), segments)).all()
