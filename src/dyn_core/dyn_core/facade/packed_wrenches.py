# SPDX-License-Identifier: Apache-2.0
"""External wrenches, from those of links as users give them to the row that programs take."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from dyn_core.facade.arrays import Array
from dyn_core.facade.external import external_wrenches, packed
from dyn_core.model.robot import Robot


def packed_wrenches(
    robot: Robot, wrenches: Mapping[str, npt.ArrayLike] | None, samples: tuple[int, ...]
) -> Array | None:
    """Answer the wrenches of links in a row, (6 n,) or (N, 6 n); None where there are none.

    Args:
        robot: the robot.
        wrenches: by link, ``[force; moment]`` (N, N m) that the link exerts on the environment,
            in the frame of the link and about its origin; one for all samples, or one a sample.
        samples: ``()`` for one sample, ``(N,)`` for a batch.
    """
    if wrenches is None or (isinstance(wrenches, Mapping) and not wrenches):
        return None
    row = None if samples or not isinstance(wrenches, Mapping) else _of_child_links(robot, wrenches)
    return row if row is not None else packed(robot, external_wrenches(robot, wrenches, samples), samples)


def _of_child_links(robot: Robot, wrenches: Mapping[str, npt.ArrayLike]) -> Array | None:
    """Answer the row of one sample where all are arrays of links that have a place in it, as most are."""
    places = robot.child_link_places
    row = np.zeros(6 * len(places))
    for name, value in wrenches.items():
        k = places.get(name)
        if k is None or type(value) is not np.ndarray or value.shape != (6,) or value.dtype != np.float64:
            return None
        row[6 * k : 6 * k + 6] = value
    return row
