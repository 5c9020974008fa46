# SPDX-License-Identifier: Apache-2.0
"""Torques of stops where velocities are a linear function of them."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_core.simulation.integrators.integration_step import stop_torques


@pytest.mark.parametrize(
    ("f", "slopes", "expected"),
    [
        ([-1.0], [[-2.0]], [0.0]),
        ([3.0], [[-2.0]], [1.5]),
        ([1.0, 2.0], [[-2.0, -1.0], [-1.0, -3.0]], [0.2, 0.6]),
        ([1.0, -2.0], [[-2.0, 1.0], [1.0, -2.0]], [0.5, 0.0]),
        ([1.0, 1.0], [[-2.0, -2.0], [-2.0, -2.0]], [0.5, 0.0]),  # one joint, twice: one stop is enough
        ([1.0, 2.0, 3.0], [[-4.0, 1.0, 0.0], [1.0, -4.0, 1.0], [0.0, 1.0, -4.0]], None),
    ],
)
def test_they_solve_the_complementarity_problem(
    f: list[float], slopes: list[list[float]], expected: list[float] | None
) -> None:
    found = stop_torques(lambda s: np.array(f) + np.array(slopes) @ s, len(f))
    left = np.array(f) + np.array(slopes) @ found
    assert found.min() >= 0.0
    assert left.max() < 1e-9
    assert np.abs(left[found > 0.0]).max(initial=0.0) < 1e-9
    if expected is not None:
        np.testing.assert_allclose(found, expected, atol=1e-12)
