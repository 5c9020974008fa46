# SPDX-License-Identifier: Apache-2.0
"""The filter of both sides keeps what is slow, takes what is fast, and differentiates."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_core.signals.decimation import Decimation


def sines(frequency: float, count: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    phase = 2.0 * np.pi * frequency * np.arange(count)
    return np.sin(phase), 2.0 * np.pi * frequency * np.cos(phase)


@pytest.mark.parametrize("factor", [2, 5, 10, 40])
def test_what_is_slow_stays(factor: int) -> None:
    decimation = Decimation(factor)
    value, slope = sines(0.2 / factor)
    kept = slice(decimation.reach, decimation.reach + factor * decimation.count(4000), factor)
    np.testing.assert_allclose(decimation.of(value), value[kept], atol=5e-3)
    np.testing.assert_allclose(decimation.derivative(value), slope[kept], atol=5e-3 * slope.max())


@pytest.mark.parametrize("factor", [5, 10, 40])
def test_both_filters_are_one(factor: int) -> None:
    """The derivative of what is filtered is the filtered derivative, to many digits."""
    decimation = Decimation(factor)
    value, slope = sines(0.3 / factor)
    difference = decimation.derivative(value) - decimation.of(slope)
    assert np.abs(difference).max() < 2e-4 * np.abs(slope).max()


def test_what_is_fast_goes() -> None:
    value, _ = sines(0.08)
    assert np.abs(Decimation(10).of(value)).max() < 5e-3


def test_constants_and_lines_are_exact() -> None:
    decimation = Decimation(10)
    line = np.arange(500.0)
    np.testing.assert_allclose(decimation.of(np.ones(500)), 1.0, rtol=1e-14)
    np.testing.assert_allclose(decimation.derivative(line), 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.diff(decimation.of(line)), 10.0, rtol=1e-12)


def test_counts() -> None:
    decimation = Decimation(10)
    assert decimation.count(2 * decimation.reach) == 0
    assert decimation.count(2 * decimation.reach + 1) == 1
    assert decimation.count(2 * decimation.reach + 10) == 1
    assert decimation.count(2 * decimation.reach + 11) == 2
    assert Decimation(1).count(7) == 7
    values = np.random.default_rng(0).normal(size=(300, 2, 3))
    assert decimation.of(values).shape == (decimation.count(300), 2, 3)
    np.testing.assert_array_equal(Decimation(1).of(values), values)


def test_what_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="a whole number from 1"):
        Decimation(0)
    with pytest.raises(ValueError, match="give 2 or more"):
        Decimation(1).derivative(np.zeros(10))


@pytest.mark.parametrize("factor", [1, 2, 5, 20])
def test_memory_is_that_of_white_noise(factor: int) -> None:
    """The variance of sums of samples that are kept, beside that of as many independent ones."""
    decimation = Decimation(factor)
    noise = np.random.default_rng(0).normal(size=(1000, 100 * factor + 2 * decimation.reach))
    left = decimation.of(noise.T)
    ratio = left.sum(axis=0).var() / (len(left) * left.var())
    assert ratio == pytest.approx(
        decimation.memory, rel=0.15
    )  # the variance of 1000 sums is known to some 4.5 %
