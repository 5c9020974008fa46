# SPDX-License-Identifier: Apache-2.0
"""What users give to the functions of a parallel robot, checked."""

from __future__ import annotations

import numpy.typing as npt

from dyn_core.facade.arrays import Array, as_floats
from dyn_core.parallel.parallel_robot import ParallelRobot


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
