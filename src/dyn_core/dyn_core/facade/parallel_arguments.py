# SPDX-License-Identifier: Apache-2.0
"""What users give to the functions of a parallel robot, checked."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dyn_core.algorithms.parallel.parallel_robot import ParallelRobot
from dyn_core.core.arrays import Array, as_floats

ROTATION = 1e-6
"""How far from the identity R R^T of a rotation matrix may be."""


def platform_arguments(robot: ParallelRobot, T: npt.ArrayLike, **vectors: npt.ArrayLike) -> list[Array]:
    """Answer a placement as (16,) or (N, 16), and vectors of as many samples.

    Args:
        robot: the robot.
        T: placement (4, 4) or (N, 4, 4).
        vectors: V and Vd (6,) or (N, 6), efforts tau by actuator.

    Raises:
        ValueError: a shape is wrong.
    """
    placement = as_floats("T", T)
    if placement.ndim not in (2, 3) or placement.shape[-2:] != (4, 4):
        raise ValueError(f"T: expected the shape (4, 4) or (N, 4, 4), but it has {placement.shape}")
    samples = placement.shape[:-2]
    arrays = [placement.reshape(*samples, 16)]
    for name, value in vectors.items():
        array = as_floats(name, value)
        expected = (*samples, len(robot.actuated) if name == "tau" else 6)
        if array.shape != expected:
            raise ValueError(f"{name}: expected the shape {expected}, but it has {array.shape}")
        arrays.append(array)
    return arrays


def refuse_no_rotation(T: Array) -> None:
    """Raise ValueError where what a placement (16,) has for its rotation is none."""
    R = T.reshape(4, 4)[:3, :3]
    off = float(np.max(np.abs(R @ R.T - np.eye(3))))
    if off > ROTATION:
        what = f"R R^T is off the identity matrix by {off:.3g}"
    elif np.linalg.det(R) < 0.0:
        what = "it mirrors, its determinant is -1"
    else:
        return
    raise ValueError(f"T: its first three rows and columns R are no rotation matrix: {what}")
