# SPDX-License-Identifier: Apache-2.0
"""Requirements on base parameters: both methods find the same, and they give the torques of random states."""

from __future__ import annotations

import numpy as np

import dyn_core
from dyn_core.algorithms.base_parameters.numeric_relations import random_regressor
from dyn_core.robot.robot import Robot


def assert_same_torques(robot: Robot, found: dyn_core.BaseParameters, mount: str = "fixed") -> None:
    """Each column is the stated combination of base columns, to 1e-9 of the greatest entry."""
    W = random_regressor(robot, mount, seed=7)
    if not any(name.startswith("Ia") for name in found.standard_names):
        W = np.delete(W, np.s_[10::11], axis=1)
    scale = max(np.abs(W).max(initial=0.0), 1.0)
    np.testing.assert_allclose(W[:, found.columns] @ found.matrix, W, rtol=0.0, atol=1e-9 * scale)


def assert_methods_agree(robot: Robot, mount: str = "fixed") -> dyn_core.BaseParameters:
    symbolic, numeric = (dyn_core.base_parameters(robot, how, mount) for how in ("symbolic", "numeric"))
    assert symbolic.kept == numeric.kept
    W = random_regressor(robot, mount, seed=3)
    scale = max(1.0, np.abs(symbolic.matrix).max(initial=0.0))
    # Where a column is almost a combination of others, the numeric coefficients have fewer correct digits.
    tolerance = np.maximum(1e-9, 1e-13 / distances(W[:, symbolic.columns]))
    assert np.all(np.abs(numeric.matrix - symbolic.matrix) <= scale * tolerance[:, None])
    for found in (symbolic, numeric):
        assert_same_torques(robot, found, mount)
    if mount == "fixed":
        assert rank(W) == len(symbolic.kept)
    return symbolic


def distances(W: np.ndarray) -> np.ndarray:
    """Distance of each column from the span of the other columns, relative to its length."""
    if not W.size:
        return np.ones(W.shape[1])
    return 1.0 / np.linalg.norm(np.linalg.pinv(W / np.linalg.norm(W, axis=0)), axis=1)


def rank(W: np.ndarray) -> int:
    """Rank of the columns after scaling; columns that are only rounding do not count."""
    lengths = np.linalg.norm(W, axis=0)
    present = lengths > 1e-11 * lengths.max(initial=0.0)
    return np.linalg.matrix_rank(W[:, present] / lengths[present], tol=1e-9) if present.any() else 0
