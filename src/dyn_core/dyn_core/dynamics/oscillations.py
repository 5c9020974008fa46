# SPDX-License-Identifier: Apache-2.0
"""How fast a robot swings on its springs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dyn_core.dynamics.inertia_matrix import inertia_matrix
from dyn_core.dynamics.springs import stiffness_matrix
from dyn_core.loops.coordinates import configuration
from dyn_core.robot.robot import Robot

Array = npt.NDArray[np.float64]
_NOTHING = 1e-14  # part of the greatest inertia, below which one is rounding


def oscillations(robot: Robot, q: Sequence[float]) -> list[float]:
    """Angular frequencies (rad/s) of ``A qdd = -K q`` at positions q, the greatest first.

    They are the roots of the eigenvalues of ``A^-1 K``, 0 for motions that no spring resists. Motions that
    no inertia resists are left out.
    """
    at = configuration(robot, q)
    A: Array = np.array(at.inertia(inertia_matrix(robot, at.q)))
    K: Array = np.array(at.inertia(stiffness_matrix(robot.joints)))
    values, vectors = np.linalg.eigh(A)
    moved = values > _NOTHING * values.max(initial=0.0)
    half = vectors[:, moved] / np.sqrt(values[moved])
    squares = np.linalg.eigvalsh(half.T @ K @ half)
    found: list[float] = np.sqrt(np.maximum(squares, 0.0))[::-1].tolist()
    return found
