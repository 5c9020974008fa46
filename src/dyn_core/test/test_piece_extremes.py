# SPDX-License-Identifier: Apache-2.0
"""Where polynomials turn, beside NumPy's polynomials and beside fine samples."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import Polynomial

from dyn_core.control.piece_extremes import hull, turning_points


@pytest.mark.parametrize("seed", range(50))
def test_greatest_values_are_at_turning_points_or_ends(seed: int) -> None:
    random = np.random.default_rng(seed)
    degree = int(random.integers(0, 6))
    rows = np.zeros((20, 6))
    rows[:, : degree + 1] = random.normal(size=(20, degree + 1)) * 10.0 ** random.uniform(-3, 3, (20, 1))
    derivatives = np.zeros((20, 6))
    derivatives[:, :5] = rows[:, 1:] * np.arange(1.0, 6.0)
    found = turning_points(derivatives)
    assert ((found >= 0.0) & (found <= 1.0)).all()
    u = np.linspace(0.0, 1.0, 2001)
    for row, at, bounds in zip(rows, found, hull(rows), strict=True):
        polynomial = Polynomial(row)
        values = polynomial(np.concatenate(([0.0, 1.0], at)))
        fine = polynomial(u)
        size = np.abs(row).max() + 1e-300
        assert values.max() >= fine.max() - 1e-12 * size
        assert values.min() <= fine.min() + 1e-12 * size
        assert bounds.max() >= values.max() - 1e-12 * size
        assert bounds.min() <= values.min() + 1e-12 * size
        assert bounds[0] == row[0]
        assert bounds[-1] == pytest.approx(row.sum(), abs=1e-12 * size)


def test_known_roots_of_all_degrees_at_once() -> None:
    all_roots = ((0.25,), (0.25, 0.5), (0.1, 0.5, 3.0), (-1.0, 0.2, 0.4, 0.8))
    rows = np.zeros((4, 6))
    for row, roots in zip(rows, all_roots, strict=True):
        row[: len(roots) + 1] = Polynomial.fromroots(roots).coef
    for at, roots in zip(turning_points(rows), all_roots, strict=True):
        for root in roots:
            assert np.abs(at - np.clip(root, 0.0, 1.0)).min() < 1e-12


def test_leading_coefficients_of_rounding_and_nothing_at_all() -> None:
    rows = np.array([[-0.25, 1.0, 1e-17], [-0.25, 1.0, 1e-9], [0.0, 0.0, 0.0]])
    found = turning_points(rows)
    assert np.abs(found[0] - 0.25).min() < 1e-12
    assert np.abs(found[1] - 0.25).min() < 1e-9
    assert turning_points(np.zeros((0, 4))).shape == (0, 3)
